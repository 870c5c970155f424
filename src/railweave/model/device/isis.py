"""IS-IS of one switch: a level-2 area over all links between switches, everything else passive."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address
from railweave.model.device.model import Isis, IsisPort
from railweave.model.device.own import own_type
from railweave.model.device.timers import Bfd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.config.addresses import Family
    from railweave.model.device.model import Gateway, Interface
    from railweave.model.network.devices import Switch
    from railweave.model.network.fabric import Fabric


def system_id(router_id: str) -> str:
    """The system id that a router id gives, digit by digit: 10.255.0.1 is 0102.5500.0001."""
    digits = "".join(f"{octet:03d}" for octet in ipaddress.IPv4Address(router_id).packed)
    return ".".join(digits[place : place + 4] for place in (0, 4, 8))


def isis_config(
    fabric: Fabric,
    switch: Switch,
    interfaces: Sequence[Interface],
    gateways: Sequence[Gateway],
    families: tuple[Family, ...],
    maximum_ecmp: int,
) -> Isis | None:
    """The IS-IS configuration of a switch; None where its fabric runs BGP."""
    underlay = fabric.underlay
    if underlay.protocol != "isis":
        return None
    wanted = underlay.isis
    return Isis(
        net=f"{wanted.area}.{system_id(switch.router_id)}.00",
        router_id=Address(switch.router_id),
        ports=tuple(
            IsisPort(one.name, one.link, one.peer, wanted.metric) for one in interfaces if one.kind == "fabric"
        ),
        passive=tuple(one.port or one.name for one in gateways if not one.vrf),
        families=families,
        maximum_ecmp=maximum_ecmp,
        key=wanted.key,
        bfd=own_type(Bfd, underlay.bfd) if underlay.bfd.enabled else None,
    )
