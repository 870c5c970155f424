"""General statements of FRR about the whole device: its name, the defaults of its release, and forwarding."""

from __future__ import annotations

from dataclasses import dataclass

from railweave.model.config.codecs import choice
from railweave.model.config.statements import Statements, fixed, ignored, line
from railweave.systems.frr.statements import FAMILY, WORD


@dataclass(frozen=True, slots=True)
class General:
    """The general settings of a device. ``ipv4`` and ``ipv6`` are True if the switch forwards the family, None if no statement sets this."""

    name: str = ""
    release: str = ""
    profile: str = ""
    ipv4: bool | None = None
    ipv6: bool | None = None


BASIC, PROFILES = "FRR manual, Basic Commands, Basic Config Commands", "FRR manual, Basic Commands, Profiles"
ZEBRA = "FRRouting/frr zebra/zebra_vty.c"
GENERAL = Statements(
    General,
    (
        line("frr version <release>", PROFILES, usual="", release=WORD),
        line(
            "frr defaults <profile>",
            PROFILES,
            usual="",
            profile=choice({name: name for name in ("datacenter", "traditional")}),
        ),
        line("hostname <name>", BASIC, usual="", name=WORD),
        fixed("log syslog informational", BASIC),
        fixed("service integrated-vtysh-config", "FRR manual, VTY shell, Integrated configuration mode"),
        line("ipv6 forwarding", ZEBRA, sets={"ipv6": True}),
        line("no ipv6 forwarding", ZEBRA, sets={"ipv6": False}),
        # With shared next-hop objects, the kernel loses routes if several uplinks go down together (FRR issue 14481).
        fixed("no zebra nexthop kernel enable", ZEBRA),
        line("ip forwarding", ZEBRA, sets={"ipv4": True}),
        line("no ip forwarding", ZEBRA, sets={"ipv4": False}),
        ignored(
            "<_family> protocol <_protocol> route-map <_name>",
            "the source address of the device's own packets, if the route-map only sets that",
            "FRR manual, Zebra, zebra Route Filtering",
            _family=FAMILY,
            _protocol=WORD,
            _name=WORD,
        ),
    ),
    disrupts=(),
)
"""The table of the general statements of a device. They are at the top level, before all other statements."""
