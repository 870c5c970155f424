"""Ports that are shut, and what does not run because of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


def without_shut_ports(config: DeviceConfig) -> DeviceConfig:
    """The configuration as it is in force: without ports that are shut, and without sessions and IS-IS on their links."""
    shut = {one.link for one in config.interfaces if not one.enabled}
    if not shut:
        return config
    bgp = config.bgp and replace(
        config.bgp,
        groups=tuple(
            replace(group, sessions=tuple(one for one in group.sessions if one.link not in shut))
            for group in config.bgp.groups
        ),
    )
    return replace(
        config,
        interfaces=tuple(one for one in config.interfaces if one.enabled),
        bgp=bgp,
        isis=config.isis
        and replace(config.isis, ports=tuple(one for one in config.isis.ports if one.link not in shut)),
        ospf=config.ospf
        and replace(config.ospf, ports=tuple(one for one in config.ospf.ports if one.link not in shut)),
        vrfs=tuple(
            replace(vrf, external=tuple(one for one in vrf.external if one.session.link not in shut))
            for vrf in config.vrfs
        ),
    )
