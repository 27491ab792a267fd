"""The page, as text and in a real browser."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from libra_opt.cli import main
from libra_opt.experiments.cell import Cell
from libra_opt.experiments.report import page
from libra_opt.experiments.report.labels import labels
from libra_opt.experiments.run import Task, failed, run_task
from libra_opt.experiments.storage import write_results
from tests.experiments.browser import show
from tests.experiments.made import HOSTILE, hostile_workload

pytest.importorskip("plotly")

NO_HELP = "<script>alert('setting')</script>.json"


@pytest.fixture(scope="module")
def results():
    """Two policies, two seeds, two periods of a workload with hostile names; and a cell that failed."""
    workload = hostile_workload()
    found = []
    for policy in ("static_best", "libra_greedy"):
        for seed in (1, 2):
            for period in (30.0, 60.0):
                cell = Cell(workload=NO_HELP, digest="sha256:0", policy=policy, seed=seed, period_seconds=period)
                found.append(run_task(Task(cell, workload, keep_timeline=(seed, period) == (1, 30.0))))
    return [*found, failed(found[0].cell.replace({"seed": 9}), "<img src=x onerror=alert(2)>")]


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_results(place / "results.jsonl", results)
    assert main(["report", str(place / "results.jsonl"), "-o", str(place / "report.html"), "--title", "<script>title</script>"]) == 0
    return place / "report.html"


@pytest.fixture(scope="module")
def shown(written, tmp_path_factory):
    return show(written, tmp_path_factory.mktemp("profile"), "#run=1&resource=1&period=3")


class Elements(HTMLParser):
    """The elements of a page as a browser would find them, and its text outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text, self._is_script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._is_script = tag == "script"
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, _tag):
        self._is_script = False

    def handle_data(self, data):
        if not self._is_script:
            self.text.append(data)

    def named(self, tag):
        return [attributes for found, attributes in self.found if found == tag]


def told(page_text):
    return "".join(Elements(page_text).text)


def test_plots_are_drawn_in_a_browser_and_the_console_stays_silent(shown):
    assert shown.console == ()
    assert 'data-drawn="yes"' in shown.dom
    drawn = re.findall(r'<div class="plot[^"]*" id="([^"]+)"[^>]*>(?=<div class="plot-container)', shown.dom)
    assert {"comparison-0", "comparison-1", "period-0", "allocation", "jobs", "queue", "utilisation"} <= set(drawn)
    assert shown.dom.count('class="main-svg"') >= 2 * len(drawn)


def test_every_job_has_its_layer_and_every_reason_its_row(results, shown):
    timeline = next(result.timeline for result in results if result.timeline is not None and result.timeline.plans)
    there = [job for job in timeline.jobs if job.first <= 3 < job.first + len(job.actions)]
    rows = re.search(r'<table id="reasons">.*?</table>', shown.dom, flags=re.DOTALL)[0]
    assert rows.count('<th scope="row">') == len(there) >= 3
    assert any(timeline.told[job.told[3 - job.first]].code in rows for job in there)
    assert "3, from minute 1.5; plan" in shown.dom


def test_names_out_of_files_stay_text(written, shown):
    for text in (written.read_text(), shown.dom):
        page_of = Elements(text)
        assert len(page_of.named("script")) == 4  # two with values, plotly and ours
        assert not page_of.named("img")
        assert not [name for _, attributes in page_of.found for name in attributes if name.startswith("on")]
        assert "<script>title</script>" in "".join(page_of.text)
        assert "\u202e" not in text
        assert "\x1b" not in text
    assert HOSTILE[0] in told(shown.dom)


def test_page_asks_nothing_of_any_network(written):
    page_of = Elements(written.read_text())
    assert not [name for _, attributes in page_of.found for name in attributes if name in ("src", "href")]
    assert not page_of.named("link")
    assert "default-src 'none'" in page_of.named("meta")[1]["content"]


def test_screenshot_shows_more_than_an_empty_page(written, tmp_path):
    show(written, tmp_path, screenshot=tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_headings_go_down_by_one_and_tables_say_what_they_are(written):
    page_of = Elements(written.read_text())
    levels = [int(tag[1]) for tag, _ in page_of.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(page_of.named("table")) == len(page_of.named("caption")) > 0
    plots = [attributes for attributes in page_of.named("div") if attributes.get("class") == "plot"]
    assert len(plots) == 7
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in plots)
    assert page_of.named("html") == [{"lang": "en"}]


def test_comparison_period_curve_failures_and_sources_are_told_in_text(written):
    text = told(written.read_text())
    for part in ("Comparison", "Choosing the period", "card-hours of finished steps per hour", "synthetic", "95 % interval", "best", "Assumed"):
        assert part in text
    assert "failed: static_best, seed 9: <img src=x onerror=alert(2)>" in text


def test_page_without_results_says_so_and_needs_no_script(tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    assert main(["report", str(tmp_path / "none.jsonl"), "-o", str(tmp_path / "none.html")]) == 0
    text = (tmp_path / "none.html").read_text()
    assert "There are no results" in text
    assert "<script" not in text


def test_results_without_timelines_make_a_page_with_tables_and_curves(results, tmp_path):
    text = page([result.model_copy(update={"timeline": None}) for result in results], "measures alone")
    (tmp_path / "page.html").write_text(text)
    shown = show(tmp_path / "page.html", tmp_path / "profile")
    assert "No run in the file has a timeline" in shown.dom
    assert shown.console == ()
    assert 'data-drawn="yes"' in shown.dom


def test_values_of_scripts_are_the_json_that_was_put_in(results, written):
    runs = json.loads(re.search(r'id="runs">(.*?)</script>', written.read_text(), flags=re.DOTALL)[1])
    kept = [result.timeline for result in results if result.timeline is not None]
    assert [run["begins"] for run in runs] == [list(timeline.begins) for timeline in kept]
    assert runs[0]["jobs"][0]["id"] == HOSTILE[0]


def test_labels_differ_where_names_only_differ_late():
    long = "x" * 60
    assert len(set(labels([f"{long}1", f"{long}2", f"{long}1"]))) == 3


@pytest.mark.parametrize(
    "argv", [("report", "none.jsonl", "-o", "p.html"), ("report", "none.jsonl", "-o", "no/where.html"), ("report", "-", "-o", "p.html", "--against", "x")]
)
def test_bad_call_writes_nothing(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err.count("\n") >= 2
