"""``router isis``, and the interfaces that it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Isis, IsisPort
from railweave.systems.eos.read.settings import EOS_BFD, bfd_of
from railweave.systems.eos.read.values import address, number, peer_of, secret

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.addresses import Address, Family
    from railweave.model.config.taking import Taking
    from railweave.model.device.model import Gateway
    from railweave.model.device.timers import Bfd
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.eos.read.stanzas import Stanzas

METRIC = 10
"""Of an interface that says nothing else (ISO 10589, and EOS)."""


def running(stanzas: Stanzas) -> tuple[set[str], set[str]]:
    """The interfaces that IS-IS runs on, and those whose prefixes it only advertises."""
    there = set(stanzas.word("isis enable <value>"))
    quiet = {name for name, said in stanzas.flag("isis passive").items() if said} & there
    return there - quiet, quiet


def isis(
    taking: Taking,
    stanzas: Stanzas,
    ports: Mapping[str, Port],
    loopback: Address,
    order: Sequence[str],
    gateways: Mapping[str, Gateway],
) -> Isis | None:
    """IS-IS; None where there is none. ``order`` are the ports, ``gateways`` those of interfaces."""
    header = taking.last("router isis <name>")
    if header is None:
        return None
    net = taking.last("net <value>", below=header)
    named = taking.last("router-id ipv4 <value>", below=header)
    level = taking.last("is-type <level>", below=header)
    if level is not None and level["level"] != "level-2":
        taking.leave(level)
    there, quiet = running(stanzas)
    metrics = stanzas.number("isis metric <value>", 1, 2**24 - 1)
    families: list[Family] = []
    width = 1
    for family in ("ipv4", "ipv6"):
        for section in taking.each(f"address-family {family} unicast", below=header):
            families.append("ipv4" if family == "ipv4" else "ipv6")
            for one in taking.each("maximum-paths <value>", below=section):
                width = number(one["value"], 1, 4096) or width
    key = taking.last("authentication key 0|7|8a <secret>", below=header)
    stanzas.word("isis authentication key 0|7|8a <value>")
    return Isis(
        net=net["value"] if net else "",
        router_id=(address(named["value"]) if named else None) or loopback,
        ports=tuple(
            IsisPort(name, "", peer_of(ports[name].description)[0], metrics.get(name, METRIC))
            for name in order
            if name in there
        ),
        passive=tuple(own.port or own.name for name, own in gateways.items() if name in quiet),
        families=tuple(dict.fromkeys(families)),
        maximum_ecmp=width,
        key=secret(key["secret"]) if key else None,
        bfd=_bfd(stanzas, there),
    )


def _bfd(stanzas: Stanzas, there: set[str]) -> Bfd | None:
    """BFD where all of the interfaces have it."""
    listening = {name for name, said in stanzas.flag("isis bfd").items() if said}
    found = EOS_BFD
    for name, one in stanzas.each("bfd interval <interval> min-rx <receive> multiplier <times>"):
        said = bfd_of(one)
        if said is None:
            stanzas.taking.leave(one)
        elif name in there:
            found = said
    return found if there and there <= listening else None
