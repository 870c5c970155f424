"""The file of a plan gives the same plan again; what is no plan is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.errors import FileLine, SpecError
from railweave.operations.bench.plan import End, NcclTests, Perftest, Plan, PlannedRun, read_plan
from railweave.operations.store.records import Prediction

PAIR = PlannedRun(
    name="pairs/leaf/01/h1-gpu0",
    part="pairs",
    why="the cable of H1's first NIC",
    test=Perftest(
        "ib_write_bw",
        End("H2", "gpu0_eth", "10.0.0.2"),
        End("H1", "gpu0_eth", "10.0.0.1", "mlx5_0", 0),
        None,
        1,
        "cuda",
        color="blue",
    ),
    round=1,
    timeout_s=60,
    estimate_s=5,
    tolerance=0.05,
    predictions=(Prediction("write bandwidth", 65536, "", "bandwidth_gbps", 390, 380, 395, "packet, seed 0"),),
    links=("H1:gpu0_eth", "leaf1:et-0/0/1"),
)
JOB = PlannedRun(
    "all",
    "collectives",
    "all of it",
    NcclTests("all-reduce", ("H1", "H2"), 8, 1, 8, 1 << 30, variables=(("NCCL_ALGO", "Ring"),)),
    1,
    600,
    60,
    0.1,
)
PLAN = Plan("quick", "fabric.yaml", "ab" * 32, (PAIR, JOB), ("no loops: perftest has none",))


def test_its_file_gives_the_same_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(PLAN.to_json())
    assert read_plan(tmp_path / "plan.json") == PLAN


def test_runs_of_a_round_go_at_once() -> None:
    assert PLAN.estimate_s == 65


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "is no JSON"),
        ("[]", "is no plan of benchmarks"),
        (json.dumps(json.loads(PLAN.to_json()) | {"version": 9}), "a plan of version 9"),
        (json.dumps(json.loads(PLAN.to_json()) | {"runs": [{}]}), "a part is missing"),
        (
            json.dumps(
                json.loads(PLAN.to_json()) | {"runs": [json.loads(PLAN.to_json())["runs"][0] | {"test": {"no": 1}}]}
            ),
            "a part is missing",
        ),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(SpecError, match=what):
        read_plan(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"ib_write_bw"', '"/bin/sh"', "perftest has no program '/bin/sh'"),
        ('"ib_write_bw"', '"../ib_write_bw"', "perftest has no program"),
        ('"all-reduce"', '"../../bin/x"', "there is no collective"),
        ('"NCCL_ALGO"', '"LD_PRELOAD"', "does not set the variable 'LD_PRELOAD'"),
        ('"NCCL_ALGO"', '"NCCL_X;reboot"', "does not set the variable"),
        ('"NCCL_ALGO"', '"PATH"', "does not set the variable 'PATH'"),
        ('"NCCL_ALGO",\n      "Ring"', '"NCCL_NET_PLUGIN",\n      "/tmp/x.so"', "a plan names no file"),
        ('"NCCL_ALGO",\n      "Ring"', '"NCCL_DEBUG_FILE",\n      "/etc/x"', "a plan names no file"),
        ('"10.0.0.2"', '"fe80::1%$(reboot)"', "is no address"),
        ('"mlx5_0"', '"../x"', "is no RDMA device"),
        ('"cuda"', '"disk"', "there is no memory"),
        ('"host": "H1"', '"host": ""', "'' is no name of a server"),
        ('"host": "H1"', '"host": "-oProxyCommand=x"', "is no name of a server"),
        ('"qps": 1', '"qps": "1"', "qps of test is '1', and is to be int"),
        ('"qps": 1', '"qps": true', "qps of test is True, and is to be int"),
        ('"qps": 1', '"qps": 0', "qps is 0"),
        ('"timeout_s": 60,', '"timeout_s": 1e9,', "timeout_s of"),
        ('"tolerance": 0.05', '"tolerance": NaN', "is not finite"),
        ('"H1",\n     "H2"', '5,\n     "H2"', "not text"),
        ('"low": 380', '"low": []', "low of"),
        ('"gpu": 0', '"gpu": "0; reboot"', "gpu of"),
    ],
)
def test_a_plan_runs_only_what_bench_plan_writes(old: str, new: str, what: str) -> None:
    text = PLAN.to_json().decode()
    assert old in text
    with pytest.raises(SpecError) as caught:
        Plan.from_json(text.replace(old, new, 1), "plan.json")
    [problem, *_] = caught.value.problems
    assert what in problem.what
    if "of another form" not in problem.what:
        assert isinstance(problem.place, FileLine)
        assert (
            new.rsplit("\n", maxsplit=1)[-1].rsplit(": ", maxsplit=1)[-1].strip(' "')
            in text.replace(old, new, 1).splitlines()[problem.place.line - 1]
        )


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000, b"\xff\xfe"])
def test_a_hostile_file_is_no_plan(text: str | bytes) -> None:
    with pytest.raises(SpecError):
        Plan.from_json(text, "plan.json")
