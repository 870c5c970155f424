"""AVD: IS-IS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.names import ISIS_INSTANCE, secret

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway

PASSIVE: dict[str, Any] = {"isis_enable": ISIS_INSTANCE, "isis_passive": True}
"""An interface whose prefix is advertised, without IS-IS on it."""


def _key(reference: str | None) -> dict[str, Any]:
    return {"both": {"mode": "md5", "key_type": "0", "key": secret(reference)}} if reference else {}


def on_port(config: DeviceConfig, port: str) -> dict[str, Any]:
    """IS-IS on a port between switches; empty where it does not run."""
    own = config.isis
    metrics = {link.interface: link.metric for link in own.ports} if own else {}
    if own is None or port not in metrics:
        return {}
    found: dict[str, Any] = {
        "isis_enable": ISIS_INSTANCE,
        "isis_circuit_type": "level-2",
        "isis_metric": metrics[port],
        "isis_network_point_to_point": True,
    }
    if own.bfd:
        every = own.bfd.minimum_interval
        found |= {"isis_bfd": True, "bfd": {"interval": every, "min_rx": every, "multiplier": own.bfd.multiplier}}
    return {**found, "isis_authentication": _key(own.key)} if own.key else found


def on_gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    """IS-IS on a server-facing interface; empty where its prefix is not advertised."""
    return PASSIVE if config.isis and (gateway.port or gateway.name) in config.isis.passive else {}


def router_isis(config: DeviceConfig) -> dict[str, Any]:
    """The instance; empty where the device does not run it."""
    own = config.isis
    if own is None:
        return {}
    found: dict[str, Any] = {
        "instance": ISIS_INSTANCE,
        "net": own.net,
        "router_id": own.router_id,
        "is_type": "level-2",
        "log_adjacency_changes": True,
    }
    found |= {"authentication": _key(own.key)} if own.key else {}
    for family in own.families:
        found[f"address_family_{family}"] = {"enabled": True, "maximum_paths": own.maximum_ecmp}
    return {"router_isis": found}
