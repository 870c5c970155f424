"""``router isis``, and what stands under each interface that it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import ISIS_INSTANCE, secret

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway, IsisPort


def link_of(config: DeviceConfig, port: str) -> IsisPort | None:
    """The link of a port that IS-IS runs on."""
    found = config.isis
    return next((one for one in found.ports if one.interface == port), None) if found else None


def advertises(config: DeviceConfig, gateway: Gateway) -> bool:
    """Whether IS-IS advertises the prefix of a gateway."""
    return config.isis is not None and (gateway.port or gateway.name) in config.isis.passive


def passive() -> list[str]:
    """The lines of an interface whose prefix IS-IS advertises without running on it."""
    return [f"isis enable {ISIS_INSTANCE}", "isis passive"]


def on_port(config: DeviceConfig, port: str) -> list[str]:
    """The lines of a port between switches; none where IS-IS does not run on it."""
    found, link = config.isis, link_of(config, port)
    if found is None or link is None:
        return []
    lines = [
        f"isis enable {ISIS_INSTANCE}",
        "isis circuit-type level-2",
        f"isis metric {link.metric}",
        "isis network point-to-point",
    ]
    if found.bfd:
        every = found.bfd.minimum_interval
        lines += ["isis bfd", f"bfd interval {every} min-rx {every} multiplier {found.bfd.multiplier}"]
    if found.key:
        lines += ["isis authentication mode md5", f"isis authentication key 0 {secret(found.key)}"]
    return lines


def router_isis(config: DeviceConfig) -> list[Section]:
    """``router isis``: level 2 alone; metrics are wide on EOS unless told otherwise."""
    found = config.isis
    if found is None:
        return []
    key = ("authentication mode md5", f"authentication key 0 {secret(found.key)}") if found.key else ()
    families = [
        section(f"address-family {one} unicast", f"maximum-paths {found.maximum_ecmp}") for one in found.families
    ]
    body = (f"net {found.net}", f"router-id ipv4 {found.router_id}", "is-type level-2", "log-adjacency-changes")
    return [section(f"router isis {ISIS_INSTANCE}", body, key, families)]
