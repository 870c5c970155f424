"""What holds for every job on every network: more bandwidth and fewer faults never make a step slower, by more than the band."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import railweave
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.prediction.simulation.training.answer import JobResult
from railweave.prediction.simulation.training.question import predict_training
from tests.conftest import EXAMPLES
from tests.drawn import examples

TOPOLOGY = "fabrics.backend.topology"
BALANCING = st.sampled_from(["ecmp", "dlb", "spray", "rlb"])
FAULTS = st.sampled_from(
    [
        {"kind": "device-down", "device": "spine1"},
        {"kind": "device-down", "device": "spine4"},
        {"kind": "link-down", "link": "stripe1-leaf1--spine2"},
        {"kind": "link-down", "link": "stripe2-leaf8--spine1"},
    ]
)


@cache
def network(links: int = 1, spines: int = 4) -> Network:
    changes = {
        f"{TOPOLOGY}.links_per_spine": str(links),
        f"{TOPOLOGY}.spines": str(spines),
        f"{TOPOLOGY}.oversubscription": "4",
    }
    return railweave.load(EXAMPLES / "h100-rlb.yaml", changes=changes)


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, object]:
    """A small job on 32 GPUs."""
    tensor = draw(st.sampled_from([1, 2, 4, 8]))
    pipeline = draw(st.sampled_from([1, 2]))
    context = draw(st.sampled_from([1, 2]))
    data = 32 // tensor // pipeline // context
    experts = draw(st.sampled_from([0, 8]))
    model = {"layers": 4, "hidden": 2048, "heads": 16, "ffn": 8192, "vocabulary": 1000, "sequence": 1024}
    parallel = {"tensor": tensor, "pipeline": pipeline, "context": context, "zero": draw(st.integers(0, 3))}
    if experts:
        model |= {"experts": experts, "top_k": 2}
        parallel["expert"] = min(8, data * context)
    overlap = {name: draw(st.booleans()) for name in ("gradients", "parameters", "pipeline", "tensor", "expert")}
    return {
        "model": model,
        "parallel": parallel,
        "batch": {"global": data * draw(st.sampled_from([2, 4]))},
        "overlap": overlap | {"bucket": draw(st.sampled_from([10**6, 10**9]))},
        "qps": draw(st.sampled_from([1, 4])),
        "hosts": draw(st.sampled_from(["H100-[01-04]", "stripes-alternate"])),
    }


def predicted(net: Network, job: dict[str, object], lb: str, fault: dict[str, str] | None = None) -> JobResult:
    with tempfile.TemporaryDirectory() as folder, in_force(net.catalog):
        path, scenario = Path(folder, "job.yaml"), None
        path.write_text(yaml.safe_dump(job))
        if fault is not None:
            scenario = Path(folder, "fault.yaml")
            scenario.write_text(yaml.safe_dump({"faults": [{"at": "0us", **fault}]}))
        (found,) = predict_training(net, path, lb=lb, scenario=scenario).jobs
    return found


def no_slower(better: JobResult, worse: JobResult) -> bool:
    """Whether a step is no slower than another, by more than the band."""
    return better.step_ps <= worse.step_ps * (1 + (worse.band.error or 0))


@settings(max_examples=examples(20, 6))
@given(jobs(), BALANCING)
def test_more_bandwidth_never_makes_a_step_slower(job: dict[str, object], lb: str) -> None:
    one, two = (predicted(network(links), job, lb) for links in (1, 2))
    assert no_slower(two, one)
    narrow, wide = (predicted(network(1, spines), job, lb) for spines in (1, 2))
    assert no_slower(wide, narrow)


@settings(max_examples=examples(20, 6))
@given(jobs(), BALANCING, FAULTS)
def test_a_fault_never_makes_a_step_quicker(job: dict[str, object], lb: str, fault: dict[str, str]) -> None:
    whole, broken = predicted(network(), job, lb), predicted(network(), job, lb, fault)
    assert no_slower(whole, broken)


@settings(max_examples=examples(20, 6))
@given(jobs(), BALANCING)
def test_parts_and_bytes_add_up(job: dict[str, object], lb: str) -> None:
    found = predicted(network(), job, lb)
    assert abs(sum(found.parts.values()) - found.step_ps) <= found.step_ps * 1e-6 + 100
    rows = found.sent.links()
    tiers = {one.name: one.up_bytes + one.down_bytes for one in found.sent.tiers()}
    for name, total in tiers.items():
        assert abs(sum(row["bytes"] for row in rows if row["tier"] == name) - total) <= len(rows)
    assert all(row["busy"] <= 1 + 1e-3 for row in rows)
    # what goes up to the spines comes down from them
    for one in found.sent.tiers():
        assert one.up_bytes == one.down_bytes or abs(one.up_bytes - one.down_bytes) <= 1e-3 * one.up_bytes
