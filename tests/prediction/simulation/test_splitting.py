"""Whether messages are split over all queue pairs: the rule of the design beside predictions, and what is said of its cost."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import pytest

import railweave
from railweave.model.catalog.rdma import COSTLY, QUEUE_PAIRS, SPLIT, split_cost
from railweave.model.device.queue_pairs import designed_variables
from railweave.model.network.model import Network
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from tests.conftest import example

MIB = 1 << 20
ASKED = (("all-gather", 128), ("all-reduce", 256), ("all-to-all", 64))
PLAIN = (
    ("evpn-gpu-isolation", "tenant-3", "0"),
    ("evpn-server-isolation", "tenant-1", "0"),
    ("multitenancy-lab", "tenant-1", "0"),
    ("mi300x-leaf-31", None, "0"),
    ("dci-50km", None, "1"),
    ("h100-rlb", None, "0"),
    ("two-planes", None, "0"),
)
"""Examples, a tenant each, and the design's choice: between sites distance bounds a queue pair."""


def with_job(network: Network, **job: Any) -> Network:
    hosts = network.hosts.model_copy(update={"job": network.hosts.job.model_copy(update=job)})
    return replace(network, hosts=hosts)


@pytest.mark.slow
def test_the_design_takes_what_predictions_prefer() -> None:
    """As the existing choice of a number of queue pairs has it: by the product of the times of three collectives.

    Over all examples the choice is better; on each it is at most a tenth from the better one.
    """
    over_all = 1.0
    for name, tenant, wanted in PLAIN:
        network = with_job(example(name), qps_per_connection=4)
        given = designed_variables(
            network, 4 if network.hosts.job.net_plugin or any(f.colors for f in network.fabrics) else 1
        )
        assert (given[QUEUE_PAIRS], given[SPLIT]) == ("4", wanted)
        bed = bed_of(network, tenant=tenant)
        times = {
            split: [predict(network, what, size * MIB, nccl={SPLIT: split}, bed=bed).time_ps for what, size in ASKED]
            for split in ("0", "1")
        }
        other = "1" if wanted == "0" else "0"
        gained = prod(theirs / own for own, theirs in zip(times[wanted], times[other], strict=True))
        assert gained > 1 - COSTLY, (name, times)
        over_all *= gained
    assert over_all > 1 + COSTLY


@pytest.mark.parametrize(
    ("name", "qps", "gbps", "ports"),
    [
        ("two-planes", 4, 400, 2),
        ("h100-rlb", 4, 400, 1),
        ("h100-rlb", 2, 400, 1),
        ("h100-rlb-8up", 8, 400, 1),
        ("mi300x-leaf-31", 1, 400, 1),
    ],
)
def test_the_arithmetic_of_the_finding_is_beyond_predictions(name: str, qps: int, gbps: int, ports: int) -> None:
    bed = bed_of(example(name))
    whole, split = (
        predict(example(name), "all-to-all", 32 * MIB, qps=qps, nccl={SPLIT: choice}, bed=bed, engine="flow").time_ps
        for choice in ("0", "1")
    )  # by flows: the finding counts posts, not congestion
    cost = split_cost(gbps, ports, qps)
    assert split / whole - 1 <= cost + COSTLY
    assert (cost > COSTLY) == (split > (1 + COSTLY) * whole)


@pytest.mark.parametrize(
    ("name", "asked", "costs"),
    [
        ("two-planes", {"collective": "all-reduce", "size": "64M"}, False),
        ("two-planes", {"collective": "all-reduce", "size": "64M", "nccl": [f"{SPLIT}=1"]}, True),
        ("h100-rlb", {"collective": "all-to-all", "size": "4M", "nccl": [f"{SPLIT}=1"]}, True),
        # NVLSTree has messages of 64 KiB
        ("h100-rlb", {"collective": "all-reduce", "size": "64M", "nccl": [f"{SPLIT}=1"]}, True),
        ("h100-rlb", {"collective": "all-to-all", "size": "4M", "qps": 1, "nccl": [f"{SPLIT}=1"]}, False),
        ("h100-rlb", {"collective": "all-to-all", "size": "4M"}, False),
        ("dci-50km", {"collective": "all-to-all", "size": "16M"}, False),
        (
            "evpn-gpu-isolation",
            {"collective": "all-gather", "size": "128M", "tenant": "tenant-3", "qps": 16, "nccl": [f"{SPLIT}=1"]},
            True,
        ),
    ],
)
def test_a_simulation_names_the_setting_that_costs_more_than_a_tenth(
    name: str, asked: dict[str, Any], costs: bool
) -> None:
    found = railweave.simulate(example(name), **asked, watch=False)
    remarks = [one for one in found.steps[0].prediction.remarks if SPLIT in one]
    assert bool(remarks) is costs
    if remarks:
        whole = railweave.simulate(example(name), **{**asked, "nccl": [f"{SPLIT}=0"]}, watch=False)
        assert f"with {SPLIT}=0 it takes {whole.time_ps / 1e6:,.1f} us" in remarks[0]
        assert found.time_ps > (1 + COSTLY) * whole.time_ps
        assert remarks[0] in found.to_text()
        assert remarks[0] in found.to_json()["notes"]


@pytest.mark.parametrize(
    ("environment", "colors", "wanted"),
    [
        ({}, 4, {QUEUE_PAIRS: "4", SPLIT: "0"}),
        ({}, 1, {}),
        ({SPLIT: 1}, 4, {QUEUE_PAIRS: "4", SPLIT: "1"}),
        ({SPLIT: None}, 4, {QUEUE_PAIRS: "4"}),
        ({SPLIT: "$MINE", QUEUE_PAIRS: "2"}, 4, {QUEUE_PAIRS: "2"}),
    ],
)
def test_simulations_take_what_servers_are_given(
    environment: dict[str, str | int | None], colors: int, wanted: dict[str, str]
) -> None:
    assert designed_variables(with_job(example("h100-rlb"), environment=environment), colors) == wanted


def test_an_explicit_setting_of_the_fabric_file_is_what_runs() -> None:
    network = example("h100-rlb")
    bed = bed_of(network)
    parts = predict(with_job(network, environment={SPLIT: 1}), "all-to-all", 16 * MIB, bed=bed)
    assert parts.time_ps == predict(network, "all-to-all", 16 * MIB, nccl={SPLIT: "1"}, bed=bed).time_ps
