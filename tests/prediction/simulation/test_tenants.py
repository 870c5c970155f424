"""Jobs of tenants: whose it must be said, and what the tunnel costs."""

from __future__ import annotations

import pytest

from railweave import simulate
from railweave.errors import InputError
from tests.conftest import example


def test_it_must_be_said_whose_job_it_is() -> None:
    with pytest.raises(InputError, match="tenant-1, tenant-2, tenant-3"):
        simulate(example("evpn-gpu-isolation"), "all-reduce", "1M")
    with pytest.raises(InputError, match="there is no tenant 'tenant-9'"):
        simulate(example("evpn-gpu-isolation"), "all-reduce", "1M", tenant="tenant-9")
    with pytest.raises(InputError, match="no tenants"):
        simulate(example("h100-rlb"), "all-reduce", "1M", tenant="tenant-1")


def test_a_tenants_job_has_its_nics_and_pays_for_the_tunnel() -> None:
    """70 bytes more on each packet between leaves (RFC 7348, over IPv6), beside 50."""
    network = example("evpn-gpu-isolation")
    inside = simulate(network, "all-reduce", "1M", tenant="tenant-1")
    [step] = inside.steps
    nics = {flow["src"] for flow in step.prediction.flows}
    assert nics == {f"H100-0{server}:gpu{gpu}_eth" for server in range(1, 5) for gpu in (0, 1)}
    plain = simulate(
        network, "all-reduce", "1M", tenant="tenant-1", settings={"switch.vxlan": "yes", "switch.vxlan-overhead": "50"}
    )
    sent = [sum(job.links["tx_bytes"]) for job in (inside, plain)]
    assert sent[0] > sent[1]
