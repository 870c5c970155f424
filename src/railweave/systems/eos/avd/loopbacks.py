"""AVD: loopbacks, and which of them tunnels end on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.addresses import addressed
from railweave.systems.eos.avd.isis import PASSIVE
from railweave.systems.eos.names import ROUTER_LOOPBACK, TUNNEL_LOOPBACK

if TYPE_CHECKING:
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.model import DeviceConfig

FIRST_VRF_LOOPBACK = 100
DESCRIPTIONS = {ROUTER_LOOPBACK: "router id", TUNNEL_LOOPBACK: "tunnels"}


def loopback_interfaces(config: DeviceConfig) -> list[dict[str, Any]]:
    """The loopbacks that have addresses."""
    passive = PASSIVE if config.isis else {}
    found = [
        {"name": name, "description": DESCRIPTIONS[name], **addressed(addresses), **passive}
        for name, addresses in _addresses(config).items()
    ]
    of_vrfs = [
        {
            "name": f"Loopback{FIRST_VRF_LOOPBACK + vrf.unit}",
            "description": f"loopback of {vrf.name}",
            "vrf": vrf.name,
            **addressed(list(vrf.loopbacks)),
        }
        for vrf in config.vrfs
        if vrf.unit is not None
    ]
    return [*found, *of_vrfs]


def tunnel_source(config: DeviceConfig) -> str | None:
    """The loopback with the address that tunnels begin on; None where there are none."""
    if config.overlay is None or not config.overlay.endpoints:
        return None
    begins = config.overlay.endpoints[0].address.prefix
    return next(name for name, addresses in _addresses(config).items() if begins in addresses)


def _addresses(config: DeviceConfig) -> dict[str, list[Prefix]]:
    """Addresses with their lengths, by loopback: tunnels share that of the router where they share its address."""
    router = [config.loopback]
    tunnels: list[Prefix] = []
    if config.overlay is not None:
        if (sessions := config.overlay.loopback.prefix) not in router:
            router.append(sessions)
        for one in config.overlay.endpoints:
            if (end := one.address.prefix) not in (*router, *tunnels):
                tunnels.append(end)
    return {ROUTER_LOOPBACK: router, **({TUNNEL_LOOPBACK: tunnels} if tunnels else {})}
