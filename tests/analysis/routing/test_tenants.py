"""Tenants reach their own and nobody else, whoever is in which; a mistake in a target shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.analysis.routing.table import UNREACHABLE, Routes
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.analysis.routing.fabrics import configurations
from tests.conftest import EXAMPLES, designed, example
from tests.drawn import examples

TENANTS = ("red", "blue", "green")


def network_of(owners: dict[str, str], vtep: str, mode: str, link: str, peering: str) -> Network:
    """Two stripes of two leaves; ``owners`` gives the tenant of NICs (``n1:gpu0_eth``)."""
    members = {tenant: [nic for nic, owner in owners.items() if owner == tenant] for tenant in TENANTS}
    listed = "\n".join(f"      {name}: {{members: {nics}}}" for name, nics in members.items() if nics)
    links = "10.252.0.0/14" if vtep == "ipv4" else "fd00:ffff::/48"
    text = f"""
name: generated
fabrics:
  backend:
    topology: {{stripes: 2, spines: 2, leaves_per_stripe: 2, oversubscription: 16, servers_per_stripe: 2}}
    leaf: {{device: qfx5240-64od, release: 23.4X100-D31}}
    load_balancing: {{mode: {mode}}}
    underlay: {{peering: {peering}}}
    pools: {{fabric_links: "{links}"}}
    addressing: {{server_link: {link}}}
    overlay: {{vtep: {vtep}}}
    {"tenants:" if listed else ""}
{listed}
servers:
  - {{names: "n[1-4]", model: h100-8gpu-cx7}}
"""
    with TemporaryDirectory() as folder:
        return designed(Path(folder), text)[0]


def routes_of(network: Network) -> Routes:
    return ControlPlane(configurations(network)).routes()


NICS = [f"n{server}:gpu{gpu}_eth" for server in range(1, 5) for gpu in (0, 1, 4, 7)]


@pytest.mark.slow
@settings(max_examples=examples(25, 8))
@given(
    st.lists(st.sampled_from(["", *TENANTS]), min_size=len(NICS), max_size=len(NICS)),
    st.sampled_from(["ipv4", "ipv6"]),
    st.sampled_from(["rlb", "dlb-flowlet"]),
    st.sampled_from(["access", "routed"]),
    st.sampled_from(["auto-discovered", "numbered"]),
)
def test_a_nic_reaches_exactly_its_tenants_nics(
    owners: list[str], vtep: str, mode: str, link: str, peering: str
) -> None:
    network = network_of(dict(zip(NICS, owners, strict=True)), vtep, mode, link, peering)
    routes = routes_of(network)
    for source, mine in zip(NICS, owners, strict=True):
        for target, theirs in zip(NICS, owners, strict=True):
            if source == target or not mine or not theirs:
                continue
            paths = queue_pair_paths(network, routes, source, target, 2)
            assert all(bool(path.hops) == (mine == theirs) for path in paths), (source, target)
    errors = [one for one in run_checks(Subject.of(network), slow=False) if one.severity == "error"]
    assert errors == []


def test_path_colors_pin_queue_pairs_inside_a_tenant() -> None:
    owners = dict.fromkeys(NICS, "red")
    network = network_of(owners, "ipv6", "rlb", "access", "auto-discovered")
    paths = queue_pair_paths(network, routes_of(network), "n1:gpu0_eth", "n3:gpu0_eth", 2)
    spines = [path.hops[1][0].link.partition("--")[2].partition(":")[0] for path in paths]
    assert spines == ["spine1", "spine2"]
    assert all(path.pinned for path in paths)


def mistaken(network: Network, leaf: str, **change: object) -> Subject:
    """The network with the first VRF of a leaf told something else."""

    def told(config: DeviceConfig) -> DeviceConfig:
        if config.name != leaf:
            return config
        return replace(config, vrfs=(replace(config.vrfs[0], **change), *config.vrfs[1:]))  # type: ignore[arg-type]

    return Subject(network, {one.name: told(one) for one in configurations(network)})


def test_a_target_of_another_tenant_leaks_and_is_named() -> None:
    network = example("evpn-gpu-isolation")
    other = network.fabrics[0].tenants[1].route_target
    subject = mistaken(network, "stripe1-leaf1", import_targets=(network.fabrics[0].tenants[0].route_target, other))
    found = [one for one in run_checks(subject, slow=False) if one.severity == "error"]
    assert [(one.id, one.where) for one in found] == [("tenant-isolation", "stripe1-leaf1")]
    assert "tenant tenant-2" in found[0].what


def test_a_wrong_export_target_cuts_a_leaf_off() -> None:
    network = example("evpn-gpu-isolation")
    subject = mistaken(network, "stripe1-leaf1", export_targets=("target:64512:1",))
    found = [one for one in run_checks(subject, slow=False) if one.severity == "error"]
    assert {one.id for one in found} == {"unreachable"}
    # The other leaf has the tenant's rails of the other stripe only: it alone misses what this leaf originates.
    assert {one.where for one in found} == {"stripe2-leaf1"}


@pytest.mark.parametrize("down", ["spine1", "spine4"])
def test_without_a_spine_tunnels_take_the_others(down: str) -> None:
    network = example("evpn-server-isolation")
    plane = ControlPlane(configurations(network))
    whole, routes = plane.routes(), plane.routes([down])
    [path] = queue_pair_paths(network, routes, "H100-01:gpu0_eth", "H100-03:gpu0_eth", 1)
    assert len(path.hops[1]) == 12
    assert not any(down in one.link for one in path.hops[1])
    assert whole.holds.keys() == routes.holds.keys()


def test_a_leaf_without_the_tenant_has_no_route_to_it() -> None:
    network = network_of({"n1:gpu0_eth": "red", "n3:gpu0_eth": "red"}, "ipv4", "dlb-flowlet", "access", "numbered")
    routes = routes_of(network)
    prefix = network.segment_of("n1", network.server("n1").nics[0]).subnets[0].prefix
    reached = {name for name, fib in routes.fibs.items() if int(fib.group[routes.index[prefix]]) != UNREACHABLE}
    # The leaves of rail 1, and the spines, which send the tunnel on.
    assert reached == {"stripe1-leaf1", "stripe2-leaf1", "spine1", "spine2"}


MIXED = {server: [f"{server}:gpu{n}_eth" for n in range(0, 8, 3)] for server in ("H100-01", "H100-02", "H100-03")}
MIXED |= {server: [f"{server}:eth{n}" for n in range(1, 9, 3)] for server in ("MI300-01", "MI300-03", "MI300-04")}


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_a_nic_reaches_exactly_its_tenants_nics_between_unlike_switches(data: st.DataObject) -> None:
    """The mixed bed of the EVPN test report with any NICs in any tenants: QFX5130, 5230 and 5240 in one fabric."""
    nics = [nic for names in MIXED.values() for nic in names]
    owners = data.draw(st.lists(st.sampled_from(["", *TENANTS]), min_size=len(nics), max_size=len(nics)))
    members = {tenant: [nic for nic, owner in zip(nics, owners, strict=True) if owner == tenant] for tenant in TENANTS}
    wanted = "\n".join(f"      {name}: {{members: {list(nics)}}}" for name, nics in members.items() if nics)
    text = (EXAMPLES / "evpn-functional.yaml").read_text()
    head, _, rest = text.partition("    tenants:\n")
    given_tenants = f"    tenants:\n{wanted}\n" if wanted else ""
    with TemporaryDirectory() as folder:
        network = designed(Path(folder), head + given_tenants + rest[rest.index("    load_balancing:") :])[0]
    routes = routes_of(network)
    for source, mine in zip(nics, owners, strict=True):
        for target, theirs in zip(nics, owners, strict=True):
            if source != target and mine and theirs:
                paths = queue_pair_paths(network, routes, source, target, 1)
                assert all(bool(path.hops) == (mine == theirs) for path in paths), (source, target)
    assert [one for one in run_checks(Subject.of(network), slow=False) if one.severity == "error"] == []
