"""Tenants with external routers and leaks: whose default route a VRF may hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.analysis.routing.fabrics import configurations
from tests.conftest import designed
from tests.two_stripes import text

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

LINES = """
addressing: {server_pool: "fd20::/32"}
tenants:
  svc:
    members: ["H100-04"]
    external: {fw: {asn: 65500, links: [{leaf: stripe1-leaf1, port: et-0/0/50, prefix: "2001:db8::/127"}]}}
  t1: {members: ["H100-[01-03]:gpu[0-3]_eth"], leaks: [svc]}
  t2:
    members: ["H100-[01-03]:gpu[4-7]_eth"]
    external: {r2: {asn: 65501, links: [{leaf: LEAF, port: et-0/0/51, prefix: "2001:db8::2/127"}]}}
"""


def found(network: Network, subject: Subject | None = None) -> list[str]:
    own = subject or Subject.of(network)
    return [one.what for one in run_checks(own, slow=False) if one.id == "tenant-isolation"]


def test_two_tenants_with_a_default_route_each(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, text(LINES.replace("LEAF", "stripe1-leaf1")))
    assert found(network) == []


def test_the_default_route_of_a_tenant_apart_is_named(tmp_path: Path) -> None:
    """t1 reaches svc, and so holds a default route; by a wrong route target it has that of t2, on another leaf, too."""
    network, _ = designed(tmp_path, text(LINES.replace("LEAF", "stripe2-leaf1")))
    assert found(network) == []
    other = next(one.route_target for one in network.fabrics[0].tenants if one.name == "t2")
    configs = {one.name: one for one in configurations(network)}
    leaf = configs["stripe1-leaf1"]
    vrfs = tuple(
        replace(one, import_targets=(*one.import_targets, other)) if one.name == "t1" else one for one in leaf.vrfs
    )
    configs["stripe1-leaf1"] = replace(leaf, vrfs=vrfs)
    assert "VRF t1 holds ::/0, of tenant t2" in found(network, Subject(network, configs))
