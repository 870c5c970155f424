"""Parameters, operations, groups and bytes, against published figures and formulas."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from railweave.errors import Problem
from railweave.model.intent.job_file import read_jobs
from railweave.prediction.jobs.build import build, turns
from railweave.prediction.jobs.plan import Layout, planned, presets, spread
from tests.prediction.jobs.plans import plan_of


@pytest.mark.parametrize(
    ("model", "billion"),
    [
        ("gpt3-175b", 175), ("llama2-70b", 69), ("llama3-8b", 8.03), ("llama3-70b", 70.6), ("llama3-405b", 405),
        ("mixtral-8x22b", 141), ("deepseek-v3", 671),
    ],
)  # fmt: skip
def test_presets_have_the_parameters_that_were_published(tmp_path: Path, model: str, billion: float) -> None:
    plan = plan_of(tmp_path, 1, model=model, layer=None, batch={"global": 1})
    assert plan.model.parameters / 1e9 == pytest.approx(billion, rel=0.005)
    assert presets().keys() >= {model}


def test_operations_are_those_of_the_formula(tmp_path: Path) -> None:
    """SC21, section 5.1, without recomputing: 72 B s L h^2 (1 + s / 6h + V / 12 L h)."""
    model = {
        "layers": 24,
        "hidden": 2304,
        "heads": 24,
        "vocabulary": 51200,
        "sequence": 2048,
        "gated": False,
        "tied": True,
    }
    plan = plan_of(tmp_path, 1, model=model, batch={"global": 512})
    wanted = 72 * 512 * 2048 * 24 * 2304**2 * (1 + 2048 / (6 * 2304) + 51200 / (12 * 24 * 2304))
    assert plan.flops == pytest.approx(wanted, rel=1e-12)


def test_ranks_are_in_the_order_of_megatron() -> None:
    layout = Layout(tensor=2, context=2, data=2, pipeline=2, expert=2)
    assert layout.groups("TP", 0) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert layout.groups("CP", 0) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert layout.groups("DP", 1) == [[8, 10, 12, 14], [9, 11, 13, 15]]
    assert layout.groups("EP", 0) == [[0, 2], [4, 6], [1, 3], [5, 7]]
    assert layout.groups("EDP", 0) == [[0, 4], [2, 6], [1, 5], [3, 7]]


def test_turns_of_a_pipeline() -> None:
    def said(stage: int, stages: int, microbatches: int, parts: int) -> str:
        return " ".join(
            f"{'F' if one.forward else 'B'}{one.microbatch}{'ab'[one.part] if parts > 1 else ''}"
            for one in turns(stage, stages, microbatches, parts)
        )

    assert said(0, 2, 3, 1) == "F0 F1 B0 F2 B1 B2"
    assert said(1, 2, 3, 1) == "F0 B0 F1 B1 F2 B2"
    assert said(0, 2, 2, 2) == "F0a F1a F0b F1b B0b B1b B0a B1a"
    assert said(1, 2, 4, 2).startswith("F0a F1a F0b B0b F1b B1b")


def test_layers_that_do_not_come_out_even() -> None:
    """Llama 3 405B has 126 layers on 16 stages: the first and the last have one less (section 3.3.2)."""
    counts = [len(stage[0]) for stage in spread(126, 16, 1)]
    assert sum(counts) == 126
    assert counts == [7, *[8] * 14, 7]


def test_bytes_are_those_of_the_formulas(tmp_path: Path) -> None:
    model = {
        "layers": 4,
        "hidden": 512,
        "heads": 8,
        "kv_heads": 4,
        "ffn": 2048,
        "vocabulary": 1000,
        "sequence": 256,
        "experts": 8,
        "top_k": 2,
    }
    plan = plan_of(
        tmp_path, 32, model=model, parallel={"tensor": 2, "context": 2, "pipeline": 2, "expert": 4},
        batch={"global": 8, "micro": 2}, overlap={"bucket": 10**12},
    )  # fmt: skip
    graph = build(plan, lambda _: None)
    sizes = {(one.kind, one.collective): one.size_bytes for one in graph.communications if one.rank_class == 1}
    tokens, h = 2 * 256 // 2, 512  # of a rank: micro-batch x sequence / context
    assert sizes["TP", "all-gather"] == tokens * h * 2
    assert sizes["CP", "all-gather"] == 2 * 2 * 256 * 4 * 64 * 2 // 2
    assert sizes["EP", "all-to-all"] == tokens * h * 2 * 2 // 2
    assert sizes["PP", "send-recv"] == tokens * h * 2 // 2
    attention = 2 * h * 64 * (8 + 4)
    shared = 2 * ((attention + h * 8 + 2 * h) // 2) + 1000 * h // 2
    assert sizes["DP", "reduce-scatter"] == shared * 4
    assert sizes["EDP", "reduce-scatter"] == 2 * (8 // 4 * 3 * h * 2048 // 2) * 4
    assert sizes["DP", "all-gather"] == 2 * ((attention + h * 8 + 2 * h) // 2) * 2


@pytest.mark.parametrize(
    ("changed", "line", "what"),
    [
        ({"model": "llama9"}, 1, "there is no model 'llama9'"),
        ({"parallel": {"tensor": 3}}, 4, "heads"),
        ({"parallel": {"data": 4}}, 3, "need 4 GPUs, but the job's servers have 8"),
        ({"batch": {"global": 7}}, 2, "7 sequences are not a multiple"),
        ({"parallel": {"pipeline": 99}}, 4, "80 layers cannot be divided into 99 parts"),
    ],
)
def test_what_cannot_be_is_said_with_its_line(tmp_path: Path, changed: dict[str, object], line: int, what: str) -> None:
    job = {"model": "llama3-70b", "batch": {"global": 8}, "parallel": {"tensor": 1}} | changed
    path = tmp_path / "job.yaml"
    path.write_text("".join(_lines(job)))
    found = planned(read_jobs(path), 0, "H100", 8)
    assert isinstance(found, list)
    assert all(isinstance(one, Problem) for one in found)
    assert any(what in one.what and f"job.yaml:{line}" in str(one.place) for one in found), list(map(str, found))


def _lines(job: dict[str, object]) -> list[str]:
    return [f"model: {job['model']}\n", f"batch: {yaml.safe_dump(job['batch'], default_flow_style=True)}", "parallel:\n", *(
        f"  {name}: {value}\n" for name, value in job["parallel"].items()  # type: ignore[attr-defined]
    )]  # fmt: skip
