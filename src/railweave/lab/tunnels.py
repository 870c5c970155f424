"""The VXLAN tunnels of tenants: in each VRF a bridge with the device of its VNI, whose packets leave by the switch itself.

The device is made in the switch's own namespace, where its tunnels stay, and moved into the VRF's. FRR's zebra finds it
only where it appears after the VRF (FRR's issue 19403), so this comes after the daemons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.lab.names import namespace
from railweave.lab.namespace import ip_batch
from railweave.lab.spaces import vrf_space

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig, Vrf
    from railweave.lab.plan import Plan

PORT = 4789
"""The UDP port of VXLAN (RFC 7348)."""

HEADER_BYTES = {"ipv4": 20 + 8 + 8 + 14, "ipv6": 40 + 8 + 8 + 14}
"""What a tunnel puts before an IP packet: outer IP, UDP, VXLAN and the inner frame's Ethernet header."""


def device(vrf: Vrf) -> str:
    """The VXLAN device of a VRF."""
    return f"vni{vrf.vni}"


def bridge(vrf: Vrf) -> str:
    """The bridge by which a VRF's packets reach its VXLAN device; type-5 routes go there."""
    return f"br{vrf.vni}"


def endpoint(config: DeviceConfig) -> str:
    """The address that a switch's tunnels end on; empty where it has none. FRR has one for all VNIs."""
    return config.overlay.endpoints[0].address if config.overlay and config.overlay.endpoints else ""


def overhead(config: DeviceConfig) -> int:
    """Bytes that a switch's tunnels add to a packet."""
    return HEADER_BYTES["ipv6" if ":" in endpoint(config) else "ipv4"]


def make(lab: str, plan: Plan) -> None:
    """Make the tunnels of all VRFs. Raises ``LabError``."""
    for config in plan.configs.values():
        own = namespace(lab, config.name)
        for vrf in config.vrfs:
            space = namespace(lab, vrf_space(config.name, vrf.name))
            mtu = max(gateway.mtu for gateway in config.gateways if gateway.vrf == vrf.name)
            words = f"type vxlan id {vrf.vni} local {endpoint(config)} dstport {PORT} nolearning"
            ip_batch([f"link add {bridge(vrf)} mtu {mtu} type bridge mcast_snooping 0 stp_state 0"], inside=space)
            ip_batch([f"link add {device(vrf)} mtu {mtu} {words}", f"link set {device(vrf)} netns {space}"], inside=own)
            ip_batch(
                [
                    f"link set {device(vrf)} master {bridge(vrf)}",
                    f"link set {device(vrf)} type bridge_slave learning off",
                    f"link set {bridge(vrf)} mtu {mtu} up",
                    f"link set {device(vrf)} up",
                ],
                inside=space,
            )
