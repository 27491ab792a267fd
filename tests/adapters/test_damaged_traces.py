"""A damaged trace is read or refused, and never an error of another kind."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.adapters import agentcgroup, dlrm2025, genai2026, search_r1, series_csv, spotgpu2026
from libra_opt.errors import InputError
from libra_opt.recordings import Document

STEP = '{"prompt_group_id": 3, "turns": [{"engine_latency_s": 40, "total_len_after": 900}], "tool_calls": [{"turn": 0, "latency_s": 0.5}]}\n'
LOG = "timing/gen:10.0 timing/ref:1.0 timing/values:0.5 timing/adv:0.5 timing/update_critic:4.0 timing/update_actor:4.0\n"
PODS = "timestamp_anon,value,container_ip\n" + "".join(f"{1000 + 57 * t},0.5,p\n" for t in range(130))
WHOLE = {
    genai2026: {"duty": PODS, "memory": PODS, "host": PODS},
    dlrm2025: {"instances": "app_name,cpu_request,gpu_request,rdma_request,memory_request,creation_time,deletion_time\n" + "a,1,1,1,1,0,360000\n" * 3},
    spotgpu2026: {"hours": ",".join(("hour", *spotgpu2026.MODELS)) + "\n" + "".join(f"{t},1,2,3,4,5,6\n" for t in range(5))},
    agentcgroup: {"samples": "group,task,epoch,mem_usage,cpu_percent\n" + "".join(f"g,t,{t},5MB,3%\n" for t in range(300))},
    search_r1: {"trajectories": STEP * 3, "phases": LOG},
    series_csv: {"own": "series,period,value,step,phase\n" + "".join(f"a,{t},{t},0,1\n" for t in range(9))},
}
PIECES = st.sampled_from(["", ",", "\n", '"', "\x00", "-1", "1e300", "1e-300", "nan", "[]", "{}", "null", "99999999999999999999", "x", "%", "é"])


def converted(converter, documents):
    if converter is series_csv:
        return series_csv.convert(documents["own"][0])
    return converter.convert(documents)


@pytest.mark.parametrize("converter", WHOLE, ids=lambda converter: converter.__name__.rsplit(".", 1)[1])
def test_whole_trace_is_read(converter):
    made = converted(converter, {part: [Document(part, text)] for part, text in WHOLE[converter].items()})
    assert all(np.nanmax(measured.series.values) > 0 for measured in made.measured)


@pytest.mark.parametrize("converter", WHOLE, ids=lambda converter: converter.__name__.rsplit(".", 1)[1])
@given(pick=st.integers(0, 10), place=st.floats(0, 1), length=st.integers(0, 12), piece=PIECES)
def test_damaged_trace_is_read_or_refused(converter, pick, place, length, piece):
    texts = dict(WHOLE[converter])
    part = list(texts)[pick % len(texts)]
    start = int(place * len(texts[part]))
    texts[part] = texts[part][:start] + piece + texts[part][start + length :]
    with contextlib.suppress(InputError):
        made = converted(converter, {name: [Document(name, text)] for name, text in texts.items()})
        for measured in made.measured:
            values = measured.series.values
            assert values.shape[0] == len(measured.labels)
            assert ((values >= 0) & (values < np.inf) | np.isnan(values)).all()
