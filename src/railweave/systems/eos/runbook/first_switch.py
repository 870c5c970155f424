"""Statements that no public document ties to a model or release: what to look for on the first leaf and spine that load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.runbook.check import Check
from railweave.systems.eos.render.qos import FIXED_QUEUE, lossless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig, QosConfig

HEADER = ("Statement", "Look for", "What is known")

Row = tuple[str, str, str]
"""A statement, what shows that it works, and where it is from."""


def first_switch(config: DeviceConfig) -> list[Check]:
    """Return the check of the first leaf and spine; none if every statement is documented for them."""
    rows = [*_qos(config), *_tunnels(config), *_routing(config), *_encryption(config)]
    if not rows:
        return []
    points = (
        "load one leaf and one spine first: a line that the switch refuses is shown while the file is copied into the session",
        "each statement below works as its row says; if not, stop, and put what the switch takes into `extra:`",
    )
    commands = ("show session-config diffs", "show running-config")
    return [Check("First leaf and first spine only", commands, points, HEADER, tuple(rows))]


def _qos(config: DeviceConfig) -> Iterator[Row]:
    qos = config.qos
    if qos is None:
        return
    yield (
        "`uc-tx-queue` in a profile, `qos map traffic-class … to tx-queue`",
        "`show qos maps` has each class on the queue of its number, `show qos interfaces` the shares and ECN of these queues",
        "queues: Thor2 guide, section 2.5.1 (7060CX); map: AVD and openconfig/featureprofiles. No document has both on one model",
    )
    if any(one.queue == FIXED_QUEUE for one in qos.classes.values()):
        yield (
            f"traffic class and queue {FIXED_QUEUE}",
            f"`show qos maps` has class {FIXED_QUEUE} on queue {FIXED_QUEUE}, and `show qos interfaces` its shape rate",
            "CNPs in it: Thor2 guide, section 2.5.1. EOS ties the two together and sends its own control traffic there",
        )
    if lossless(qos):
        yield from _pausing(qos)


def _pausing(qos: QosConfig) -> Iterator[Row]:
    if qos.watchdog:
        yield (
            "`bandwidth guaranteed percent 1`",
            "`show priority-flow-control status` has the watchdog on for the lossless queues",
            "AVD, `qos_profiles.uc_tx_queues`; Arista's manual has guaranteed bandwidth for some platforms only",
        )
    yield (
        "`ingress headroom bytes`, `headroom-pool limit bytes`",
        "`show platform trident mmu queue profile` has the same bytes, rounded to cells",
        "AVD, `platform.trident.mmu`; the ranges are not public. Public deployments of 7060X6 and 7060DX5 limit the pool to 9600 to 24000 cells",
    )


def _tunnels(config: DeviceConfig) -> Iterator[Row]:
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return
    if overlay.tunnel_dscp:
        yield (
            "`vxlan qos dscp propagation encapsulation`",
            "a capture on an uplink has the DSCP of the inner packet in the outer header",
            "AVD, `vxlan_interface.vxlan1.vxlan.qos`; the models are not public. Without it traffic classes give the DSCP",
        )
    six = any(prefix.family == "ipv6" for vrf in config.vrfs for prefix in vrf.prefixes)
    if six and not any(prefix.family == "ipv4" for vrf in config.vrfs for prefix in vrf.prefixes):
        yield (
            "VLAN interfaces with IPv6 only, advertised as EVPN type 5",
            "`show bgp evpn route-type ip-prefix ipv6` has the prefix of each VLAN interface, and another leaf routes to it",
            "AVD, `vlan_interfaces` and `router_bgp.vrfs`; no document has type 5 of a VLAN interface without IPv4",
        )


def _routing(config: DeviceConfig) -> Iterator[Row]:
    if any(one.advertisements for one in config.gateways):
        yield (
            "`ipv6 nd ra interval` with two numbers",
            "`show ipv6 nd ra interface` has both the longest and the shortest interval",
            "EOS manual, `ipv6 nd ra interval`; AVD has no key for it",
        )
    if any(
        one.action.add_communities for policy in (config.bgp.policies if config.bgp else ()) for one in policy.terms
    ):
        yield (
            "`set large-community … additive`",
            "`show bgp … detail` on a spine has the community of each path color, and one that came with the route is still there",
            "AVD takes `set` as free text; without `additive` path colors would replace each other",
        )


def _encryption(config: DeviceConfig) -> Iterator[Row]:
    if any(one.macsec for one in config.interfaces):
        yield (
            "`mac security`",
            "`show mac security interface` has the links secured; if it says that a license is missing, install one first",
            "AVD, `mac_security.license`: whether a license is needed depends on release and model",
        )
