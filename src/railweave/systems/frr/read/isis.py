"""``router isis``, and the interfaces it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Isis, IsisPort
from railweave.systems.frr.read.bfd import default
from railweave.systems.frr.read.text import secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address, Family
    from railweave.model.config.taking import Taking
    from railweave.model.device.timers import Bfd
    from railweave.systems.frr.read.ports import Port

_FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")


def isis(
    taking: Taking,
    ports: Mapping[str, Port],
    profiles: Mapping[str, Bfd],
    router_id: Address,
    loopbacks: tuple[str, ...],
) -> Isis | None:
    """IS-IS: level 2, wide metrics; None where it does not run. Lines that say otherwise are not understood."""
    net, key, stands = "", None, False
    for one in taking.each("router isis <area>"):
        stands = True
        for line in taking.each("<words...>", below=one) if one.below else ():
            match line["words"].split():
                case ["net", text]:
                    net = text
                case ["is-type", "level-2-only"] | ["metric-style", "wide"] | ["log-adjacency-changes"]:
                    pass
                case ["domain-password" | "area-password", "md5" | "clear", text]:
                    key = secret(text)
                case _:
                    taking.leave(line)
    if not stands:
        return None
    running = [one for one in ports.values() if one.isis and one.isis.families and not one.isis.passive]
    passive = [one for one in ports.values() if one.isis and one.isis.families and one.isis.passive]
    used = {family for one in (*running, *passive) if one.isis for family in one.isis.families}
    watched = [one.isis.bfd for one in running if one.isis]
    profile = watched[0] if watched and len(set(watched)) == 1 else None
    return Isis(
        net=net,
        router_id=router_id,
        ports=tuple(
            IsisPort(one.name, "", one.description.split(" ")[0], one.isis.metric) for one in running if one.isis
        ),
        passive=tuple(one.name for one in passive if one.name not in loopbacks),
        families=tuple(family for family in _FAMILIES if family in used),
        maximum_ecmp=1,
        key=next((one.isis.key for one in running if one.isis and one.isis.key), key),
        bfd=None if profile is None else profiles.get(profile) or default(),
    )
