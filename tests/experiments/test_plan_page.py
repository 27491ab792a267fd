"""The page of one plan, as text and in a real browser."""

import json
import re

import pytest

from libra_opt import State, allocate, write
from libra_opt.cli import main
from tests.experiments.browser import show
from tests.experiments.made import HOSTILE
from tests.experiments.test_report import Elements, told

pytest.importorskip("plotly")

POOL, QUEUE, RESOURCE = "<i>pool</i>", "</script><b>queue</b>", "<u>mem</u>"
STATE = State.model_validate(
    {
        "about": {"title": "<script>about</script>", "synthetic": True},
        "resources": [{"name": "gpu", "unit": "<s>cards</s>", "costly": True}, {"name": RESOURCE, "unit": "GiB", "compressible": False}],
        "pools": [{"name": POOL, "capacity": {"gpu": 12, RESOURCE: "64Gi"}}],
        "queues": [{"name": QUEUE, "nominal_quota": {"gpu": 2}, "borrowing_limit": {"gpu": 1}}],
        "jobs": [
            {"id": HOSTILE[0], "queue": QUEUE, "demand": {"gpu": 8}},
            {"id": HOSTILE[1], "demand": {"gpu": 8, RESOURCE: "32Gi"}, "allocation": {"pool": POOL, "resources": {"gpu": 2, RESOURCE: "16Gi"}}},
            {"id": HOSTILE[2], "min_quota": {"gpu": 8}, "demand": {"gpu": 8}, "weight": 0.5},
            {"id": HOSTILE[3], "min_quota": {"gpu": 99}, "demand": {"gpu": 99}},
        ],
    }
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("plan")
    (place / "state.json").write_text(write(STATE))
    (place / "plan.json").write_text(write(allocate(STATE)))
    assert (
        main(["report", str(place / "plan.json"), "--state", str(place / "state.json"), "-o", str(place / "plan.html"), "--title", "<script>x</script>"]) == 0
    )
    return place


@pytest.fixture(scope="module")
def shown(place, tmp_path_factory):
    return show(place / "plan.html", tmp_path_factory.mktemp("profile"))


def test_plots_are_drawn_in_a_browser_and_the_console_stays_silent(shown):
    assert shown.console == ()
    assert 'data-drawn="yes"' in shown.dom
    drawn = re.findall(r'<div class="plot[^"]*" id="([^"]+)"[^>]*>(?=<div class="plot-container)', shown.dom)
    assert set(drawn) == {"utilisation", "decisions", "wishes"}


def test_every_job_has_its_row_with_its_reason_and_prices(place):
    plan = allocate(STATE)
    text = told((place / "plan.html").read_text())
    for job in plan.jobs:
        assert job.reason.message in text
        assert job.reason.code in text
    for part in (
        "R10 gpu of queue",
        "WaitingForQuota",
        "ExceedsMaxQuota",
        "value wanted",
        "its price",
        "gpu 2, <u>mem</u> 16Gi in <i>pool</i>",
        "queue ceiling",
    ):
        assert part in text
    assert f"{plan.certificate.priced_bound:.6f}" in text
    assert f"{plan.prices[0].price:.6g} per " in text


def test_names_out_of_plan_and_state_stay_text(place, shown):
    for text in ((place / "plan.html").read_text(), shown.dom):
        page_of = Elements(text)
        assert len(page_of.named("script")) == 4  # two with values, plotly and ours
        assert not [tag for tag in ("img", "i", "b", "u", "s") if page_of.named(tag)]
        assert not [name for _, attributes in page_of.found for name in attributes if name.startswith("on")]
        assert "<script>x</script>" in "".join(page_of.text)
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "default-src 'none'" in page_of.named("meta")[1]["content"]
    assert HOSTILE[0] in told(shown.dom)


def test_plan_alone_and_plan_without_prices_have_a_page(place):
    greedy = allocate(STATE.replace({"options": STATE.options.replace({"backend": "greedy"})}))
    (place / "greedy.json").write_text(write(greedy))
    assert main(["report", str(place / "greedy.json"), "-o", str(place / "greedy.html")]) == 0
    text = told((place / "greedy.html").read_text())
    assert "This back-end gives no prices." in text
    assert "held" not in re.findall(r'<th scope="col">([^<]*)</th>', (place / "greedy.html").read_text())


def test_plan_of_nothing_has_a_page_without_plots(tmp_path):
    (tmp_path / "plan.json").write_text(write(allocate(State())))
    assert main(["report", str(tmp_path / "plan.json"), "-o", str(tmp_path / "plan.html")]) == 0
    assert "<script" not in (tmp_path / "plan.html").read_text()


def test_state_of_another_plan_and_state_beside_results_are_refused(place, tmp_path, capsys):
    other = json.loads(write(STATE)) | {"jobs": []}
    (tmp_path / "other.json").write_text(json.dumps(other))
    (tmp_path / "none.jsonl").write_text("")
    assert main(["report", str(place / "plan.json"), "--state", str(tmp_path / "other.json"), "-o", str(tmp_path / "p.html")]) == 2
    assert "is not the state of this plan" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.jsonl"), "--state", str(place / "state.json"), "-o", str(tmp_path / "p.html")]) == 2
    assert "--state" in capsys.readouterr().err
    assert not (tmp_path / "p.html").exists()
