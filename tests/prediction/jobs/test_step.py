"""Steps whose time is arithmetic: no overlap, full overlap, pipelines on links that cost nothing, one link that binds."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.prediction.jobs.graph import COMPUTE
from railweave.prediction.jobs.run import exposed
from tests.prediction.jobs.plans import plan_of, step

MS = 10**9
LAYER = 3 * MS
"""Forward and backward of a layer, as the small job has it measured."""


def _part(found: list[dict[str, int]], kind: str) -> int:
    return max(one.get(kind, 0) for one in found)


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 4), (4, 8), (8, 8), (4, 1)])
def test_a_pipeline_waits_for_as_many_micro_batches_as_it_has_stages_less_one(
    tmp_path: Path, stages: int, microbatches: int
) -> None:
    """SC21, section 2.2.1: the bubble is (p - 1) / (m + p - 1) of the step."""
    plan = plan_of(tmp_path, stages, parallel={"pipeline": stages, "zero": 0}, batch={"global": microbatches})
    graph, times = step(plan)
    optimizer = max(op.time_ps for op in graph.ops if op.label == "optimizer")
    wanted = (microbatches + stages - 1) * LAYER * 8 // stages
    assert times.step_ps == pytest.approx(wanted + optimizer, rel=1e-4)
    found = exposed(graph, times)
    assert all(sum(one.values()) == times.step_ps for one in found)
    assert found[0]["bubble"] / wanted == pytest.approx((stages - 1) / (microbatches + stages - 1), rel=1e-3)


@pytest.mark.parametrize("parts", [2, 4])
def test_interleaving_divides_the_bubble(tmp_path: Path, parts: int) -> None:
    """SC21, section 2.2.2: (p - 1) / (v m) of the time without a bubble."""
    given = {"pipeline": 2, "virtual": parts, "zero": 0}
    plan = plan_of(tmp_path, 2, parallel=given, batch={"global": 8})
    graph, times = step(plan)
    optimizer = max(op.time_ps for op in graph.ops if op.label == "optimizer")
    ideal = 8 * LAYER * 8 // 2
    assert times.step_ps - optimizer == pytest.approx(ideal * (1 + 1 / (parts * 8)), rel=1e-4)


def test_gradients_that_nothing_hides_are_added(tmp_path: Path) -> None:
    none = {"gradients": False, "parameters": False, "bucket": 10**12}
    plan = plan_of(tmp_path, 4, parallel={"zero": 0}, overlap=none)
    graph, times = step(plan, {"DP": 7 * MS})
    without = step(plan)[1].step_ps
    assert times.step_ps - without == 7 * MS
    assert exposed(graph, times)[0]["DP"] == 7 * MS


def test_gradients_are_hidden_but_for_the_last(tmp_path: Path) -> None:
    """A bucket a layer, each quicker than a layer goes backward: what is left after the last is one, and the embedding's."""
    plan = plan_of(tmp_path, 4, parallel={"zero": 0}, overlap={"bucket": 1})
    graph, times = step(plan, {"DP": MS})
    sent = [op for op in graph.ops if op.communication is not None]
    assert len(sent) == 8 + 1
    assert _part(exposed(graph, times), "DP") == 2 * MS


def test_gradients_that_take_longer_than_computing_bind(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 4, parallel={"zero": 0}, overlap={"bucket": 1}, batch={"global": 4})
    graph, times = step(plan, {"DP": 10 * MS})
    optimizer = max(op.time_ps for op in graph.ops if op.label == "optimizer")
    # 8 layers forward, one backward, then nine buckets one after another
    assert times.step_ps == pytest.approx(8 * MS + 2 * MS + 9 * 10 * MS + optimizer, rel=1e-4)


def test_parameters_of_the_next_layer_are_gathered_while_one_is_computed(tmp_path: Path) -> None:
    """FSDP: gathered before each layer, forth and back; hidden where that takes less than a layer, but for the first."""
    plan = plan_of(tmp_path, 4, parallel={"zero": 3}, batch={"global": 4})
    graph, times = step(plan, {"DP": MS // 2})
    gathered = [op for op in graph.ops if op.communication is not None and op.label in {"parameters", "again"}]
    assert len(gathered) == 2 * 8
    assert _part(exposed(graph, times), "DP") <= 4 * MS // 2


def test_tensor_parallel_is_exposed_and_overlap_hides_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 2, parallel={"tensor": 2, "zero": 0}, batch={"global": 1})
    graph, times = step(plan, {"TP": MS // 10})
    # gathered and scattered around both blocks, forward and backward
    assert _part(exposed(graph, times), "TP") == 8 * 8 * MS // 10
    hidden = plan_of(tmp_path, 2, parallel={"tensor": 2, "zero": 0}, batch={"global": 1}, overlap={"tensor": True})
    graph, quicker = step(hidden, {"TP": MS // 10})
    assert quicker.step_ps < times.step_ps
    assert _part(exposed(graph, quicker), "TP") <= 8 * MS


def test_a_pipeline_that_does_not_overlap_waits_for_what_it_sends(tmp_path: Path) -> None:
    given = {"pipeline": 2, "zero": 0}
    waiting = plan_of(tmp_path, 2, parallel=given, overlap={"pipeline": False})
    free = plan_of(tmp_path, 2, parallel=given, overlap={"pipeline": True})
    assert step(waiting, {"PP": MS})[1].step_ps > step(free, {"PP": MS})[1].step_ps > step(free)[1].step_ps


def test_slower_communication_never_makes_a_step_quicker(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        32,
        parallel={"tensor": 2, "pipeline": 2, "context": 2, "zero": 1},
        overlap={"bucket": 1},
        batch={"global": 32},
    )
    steps = [step(plan, time)[1].step_ps for time in (0, 10**7, 10**8, 3 * 10**8, 10**9, 10**10)]
    assert steps == sorted(steps)


def test_everything_of_a_class_adds_up_to_the_step(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 16, parallel={"tensor": 2, "pipeline": 4, "zero": 1}, overlap={"bucket": 1})
    graph, times = step(plan, 3 * 10**8)
    for one in exposed(graph, times):
        assert sum(one.values()) == times.step_ps
        assert min(one.values()) > 0
        assert one[COMPUTE] > 0


def test_what_is_sent_before_other_things_that_computing_waits_for_is_not_sent_beside_them(tmp_path: Path) -> None:
    """Keys are gathered over contexts when they are computed, which waits for what tensors gather."""
    plan = plan_of(tmp_path, 4, parallel={"tensor": 2, "context": 2, "zero": 0}, batch={"global": 1})

    def more(times: dict[str, int]) -> int:
        return step(plan, times)[1].step_ps - step(plan)[1].step_ps

    tensor, context = more({"TP": MS // 10}), more({"CP": MS // 5})
    assert tensor > 0
    assert context > 0
    assert more({"TP": MS // 10, "CP": MS // 5}) == tensor + context
