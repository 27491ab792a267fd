"""The recorded and scale states: honest about what is assumed, made again by the converter, solved and proven."""

import json
from pathlib import Path

import pytest

from libra_opt.adapters.fgd2023 import CARD_GIB, SCENES, convert
from libra_opt.adapters.files import read_bytes
from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import read_state, write
from libra_opt.errors import InputError
from libra_opt.verification import verify
from tests.instances.planned import INSTANCES, planned

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "instances" / "recorded").glob("*.json"))
SCALE = sorted((ROOT / "instances" / "scale").glob("*.json.gz"))
TRACE = ROOT.parent / "shared" / "traces" / "fgd2023"
NODES = TRACE / "openb_node_list_gpu_node.csv"
PODS = TRACE / "openb_pod_list_gpuspec33.created_before_11924146.csv"

NODE_HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"
POD_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"


def held(path):
    return read_state(read_bytes(str(path)), path.name)


def test_there_are_at_least_six_recorded_states():
    assert [path.stem for path in RECORDED] == sorted(SCENES)
    assert len(RECORDED) >= 6


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_state_says_what_is_recorded_and_what_assumed(path):
    about = held(path).about
    assert about.recorded
    assert about.assumed
    assert about.source
    assert about.licence == "Apache-2.0"
    assert not about.synthetic


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_state_is_contended_over_several_card_models(path):
    ledger = held(path).ledger
    assert len(ledger.pools) >= 2
    assert set(ledger.pools) <= set(CARD_GIB)
    asked = sum(demand[0] for demand in ledger.demand)
    cores = sum(demand[2] for demand in ledger.demand)
    assert asked > sum(capacity[0] for capacity in ledger.capacity) or cores > sum(capacity[2] for capacity in ledger.capacity)


def test_some_recorded_states_share_cards_by_the_thousandth():
    shares = [path for path in RECORDED if any(demand[0] % 1000 for demand in held(path).ledger.demand) and held(path).resources[0].quantum == 0.001]
    assert len(shares) >= 6


@pytest.mark.skipif(not NODES.is_file() or not PODS.is_file(), reason="the fgd2023 lists are not at hand beside the repository")
def test_converting_the_trace_again_gives_the_same_bytes(tmp_path):
    assert main(["convert", "fgd2023", str(NODES), str(PODS), "-o", str(tmp_path / "again")]) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert made == {path.name: path.read_bytes() for path in RECORDED}


def test_converter_names_every_bad_line():
    nodes = NODE_HEADER + "n0,1000,1024,2,T4\nn1,-1,1024,2,H100\n"
    with pytest.raises(InputError) as caught:
        convert(nodes, POD_HEADER)
    assert [fault.path for fault in caught.value.faults] == ["line 3, model", "line 3, cpu_milli"]


def test_converter_names_a_missing_column():
    with pytest.raises(InputError, match="gpu_milli"):
        convert(NODE_HEADER, POD_HEADER.replace("gpu_milli,", ""))


def test_converter_refuses_a_value_beyond_one_card():
    with pytest.raises(InputError, match="1500 is more than one card"):
        convert(NODE_HEADER, POD_HEADER + "p,1000,1024,1,1500,,LS,Running,0,10,0\n")


def test_converter_gives_empty_states_for_an_empty_trace():
    assert all(not state.jobs for state in convert(NODE_HEADER, POD_HEADER).values())


@pytest.mark.parametrize("path", [*RECORDED, *SCALE], ids=lambda path: path.name)
def test_instance_solves_with_defaults_to_a_verified_plan_within_a_thousandth(path):
    state, plan = planned(path.relative_to(INSTANCES).as_posix())
    assert verify(state, plan).broken == ()
    assert plan.certificate.status in {"optimal", "within_gap"}
    assert plan.certificate.gap <= 0.001


@pytest.mark.parametrize("backend", ["lp_relaxation", "greedy"])
@pytest.mark.parametrize("path", [*RECORDED, *SCALE], ids=lambda path: path.name)
def test_approximate_plan_of_an_instance_verifies(path, backend):
    state = held(path)
    state = state.replace({"options": state.options.replace({"backend": backend})})
    plan = allocate(state)
    assert verify(state, plan).broken == ()


def test_instances_are_in_the_form_that_is_written():
    for path in [*RECORDED, *SCALE]:
        content = read_bytes(str(path)).decode()
        assert content == write(read_state(content)) + "\n"
        assert json.loads(content)["format"] == "libra-opt/state/1"
