"""The VXLAN tunnels of tenants in a lab.

Each VRF has a bridge with the VXLAN device of its VNI. Outer packets use the switch's main namespace.

The VNI of a layer-2 network also has a VXLAN device. This device is a port of the VLAN's bridge and leads to the other leaves with this
VLAN.

FRR's zebra finds a VXLAN device only if the device appears after the VRF, and sometimes not even then (FRR's issue 19403). Therefore
tunnels are created after the daemons start, and devices that zebra did not find are created again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import ip_batch, vrf_space
from railweave.live.lab.names import namespace
from railweave.systems.frr.host import VXLAN_PORT, Tunnel, endpoint, tunnels

if TYPE_CHECKING:
    from railweave.live.lab.running import Running
    from railweave.model.device.model import DeviceConfig

PATIENCE_S, LIMIT_S = 3, 30
"""Two times in seconds: the wait before a device that zebra has not found is created again, and the longest wait in total."""

HEADER_BYTES = {"ipv4": 20 + 8 + 8 + 14, "ipv6": 40 + 8 + 8 + 14}
"""The bytes that a tunnel adds before an IP packet: outer IP, UDP, VXLAN and the inner frame's Ethernet header."""


def overhead(config: DeviceConfig) -> int:
    """Return the number of bytes that a switch's tunnels add to a packet."""
    end = endpoint(config)
    return HEADER_BYTES[end.family if end else "ipv4"]


def make(lab: Running) -> None:
    """Create the tunnels of all switches, and wait until FRR has found them.

    Raises ``LabError`` if FRR does not find a tunnel within ``LIMIT_S`` seconds.
    """
    routers = [config for config in lab.plan.configs.values() if config.vrfs]
    for config in routers:
        for tunnel in tunnels(config):
            if not tunnel.layer_2:
                space = _space(lab, config, tunnel)
                ip_batch(
                    [f"link add {tunnel.bridge} mtu {tunnel.mtu} type bridge mcast_snooping 0 stp_state 0"],
                    inside=space,
                )
                ip_batch([f"link set {tunnel.bridge} mtu {tunnel.mtu} up"], inside=space)
            _add(lab, config, tunnel)
    for config in routers:
        wait(lab, config)


def _space(lab: Running, config: DeviceConfig, tunnel: Tunnel) -> str:
    return namespace(lab.place.lab, vrf_space(config.name, tunnel.vrf))


def _add(lab: Running, config: DeviceConfig, tunnel: Tunnel) -> None:
    router_namespace = namespace(lab.place.lab, config.name)
    # With a traffic class the kernel looks up each packet's way; without, all that go to one leaf take that of the first.
    words = f"type vxlan id {tunnel.vni} local {endpoint(config)} dstport {VXLAN_PORT} nolearning tos inherit"
    ip_batch(
        [
            f"link add link-netns {router_namespace} name {tunnel.device} mtu {tunnel.mtu} {words}",
            f"link set {tunnel.device} master {tunnel.bridge}",
            f"link set {tunnel.device} type bridge_slave learning off",
            f"link set {tunnel.device} up",
        ],
        inside=_space(lab, config, tunnel),
    )


def wait(lab: Running, config: DeviceConfig) -> None:
    """Wait until zebra has found every tunnel of a router. Devices that zebra missed are created again.

    Raises ``LabError`` after ``LIMIT_S`` seconds.
    """
    until = time.monotonic() + LIMIT_S
    again = time.monotonic() + PATIENCE_S
    while missing := _missing(lab, config):
        if time.monotonic() > until:
            names = ", ".join(dict.fromkeys(tunnel.vrf for tunnel in missing))
            raise LabError(f"{config.name}: FRR does not find the tunnel of {names}")
        if time.monotonic() > again:
            for tunnel in missing:
                ip_batch([f"link del {tunnel.device}"], inside=_space(lab, config, tunnel))
                _add(lab, config, tunnel)
            again = time.monotonic() + PATIENCE_S
        time.sleep(0.1)


def _missing(lab: Running, config: DeviceConfig) -> list[Tunnel]:
    with lab.vty(config.name, "zebra") as vty:
        known = vty.json("show vrf vni").get("vrfs", [])
        bridged = vty.json("show evpn vni")
    up = {vrf["vrf"] for vrf in known if vrf.get("state") == "Up"}
    return [
        tunnel
        for tunnel in tunnels(config)
        if (str(tunnel.vni) not in bridged if tunnel.layer_2 else tunnel.vrf not in up)
    ]
