"""The file of a plan gives the same plan again; what is no plan is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.errors import SpecError
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
