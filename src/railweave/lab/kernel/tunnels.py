"""The VXLAN tunnels of tenants: in each VRF a bridge with the device of its VNI, whose packets leave by the switch itself.

FRR's zebra finds the device only where it appears after the VRF, and not always then (FRR's issue 19403): this comes
after the daemons, and what zebra did not find is made again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.lab.kernel.namespace import ip_batch
from railweave.lab.kernel.spaces import vrf_space
from railweave.lab.names import namespace

if TYPE_CHECKING:
    from railweave.config.addresses import Address
    from railweave.device.model import DeviceConfig, Vrf
    from railweave.lab.running import Running

PORT = 4789
"""The UDP port of VXLAN (RFC 7348)."""

PATIENCE_S, LIMIT_S = 3, 30
"""How long zebra is given to find a device before it is made again, and how long altogether."""

HEADER_BYTES = {"ipv4": 20 + 8 + 8 + 14, "ipv6": 40 + 8 + 8 + 14}
"""What a tunnel puts before an IP packet: outer IP, UDP, VXLAN and the inner frame's Ethernet header."""


def device(vrf: Vrf) -> str:
    """The VXLAN device of a VRF."""
    return f"vni{vrf.vni}"


def bridge(vrf: Vrf) -> str:
    """The bridge by which a VRF's packets reach its VXLAN device; type-5 routes go there."""
    return f"br{vrf.vni}"


def endpoint(config: DeviceConfig) -> Address | None:
    """The address that a switch's tunnels end on; None where it has none. FRR has one for all VNIs."""
    return config.overlay.endpoints[0].address if config.overlay and config.overlay.endpoints else None


def overhead(config: DeviceConfig) -> int:
    """Bytes that a switch's tunnels add to a packet."""
    end = endpoint(config)
    return HEADER_BYTES[end.family if end else "ipv4"]


def make(lab: Running) -> None:
    """Make the tunnels of all VRFs, and wait until FRR has found them. Raises ``LabError``."""
    routers = [config for config in lab.plan.configs.values() if config.vrfs]
    for config in routers:
        for vrf in config.vrfs:
            mtu = _mtu(config, vrf)
            space = namespace(lab.place.lab, vrf_space(config.name, vrf.name))
            ip_batch([f"link add {bridge(vrf)} mtu {mtu} type bridge mcast_snooping 0 stp_state 0"], inside=space)
            ip_batch([f"link set {bridge(vrf)} mtu {mtu} up"], inside=space)
            _add(lab, config, vrf)
    for config in routers:
        wait(lab, config)


def _add(lab: Running, config: DeviceConfig, vrf: Vrf) -> None:
    own = namespace(lab.place.lab, config.name)
    space = namespace(lab.place.lab, vrf_space(config.name, vrf.name))
    # With a traffic class the kernel looks up each packet's way; without, all that go to one leaf take that of the first.
    words = f"type vxlan id {vrf.vni} local {endpoint(config)} dstport {PORT} nolearning tos inherit"
    ip_batch(
        [
            f"link add link-netns {own} name {device(vrf)} mtu {_mtu(config, vrf)} {words}",
            f"link set {device(vrf)} master {bridge(vrf)}",
            f"link set {device(vrf)} type bridge_slave learning off",
            f"link set {device(vrf)} up",
        ],
        inside=space,
    )


def _mtu(config: DeviceConfig, vrf: Vrf) -> int:
    return max(gateway.mtu for gateway in config.gateways if gateway.vrf == vrf.name)


def wait(lab: Running, config: DeviceConfig) -> None:
    """Wait until zebra has every VRF of a router with its tunnel; a device that it missed is made again."""
    until = time.monotonic() + LIMIT_S
    again = time.monotonic() + PATIENCE_S
    while missing := _missing(lab, config):
        if time.monotonic() > until:
            raise LabError(f"{config.name}: FRR does not find the tunnel of {', '.join(vrf.name for vrf in missing)}")
        if time.monotonic() > again:
            for vrf in missing:
                space = namespace(lab.place.lab, vrf_space(config.name, vrf.name))
                ip_batch([f"link del {device(vrf)}"], inside=space)
                _add(lab, config, vrf)
            again = time.monotonic() + PATIENCE_S
        time.sleep(0.1)


def _missing(lab: Running, config: DeviceConfig) -> list[Vrf]:
    with lab.vty(config.name, "zebra") as vty:
        known = vty.json("show vrf vni").get("vrfs", [])
    up = {one["vrf"] for one in known if one.get("state") == "Up"}
    return [vrf for vrf in config.vrfs if vrf.name not in up]
