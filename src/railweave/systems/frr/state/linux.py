"""The state of the Linux kernel under FRRouting and SONiC: ``ip -j`` (iproute2), the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.device_state import Clock
from railweave.model.state.field_maps import Fields, choice, column, keyed, listed, texts
from railweave.model.state.ports import Errors, InterfaceState
from railweave.model.state.protocols import Ipv6Neighbor
from railweave.systems.state_table import Ask

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value


DROPPING = {"blackhole", "unreachable", "prohibit"}
"""Names of the kernel for routes and rules that drop packets, without a word or with one to their sender (ip-route(8))."""

FORWARDING = tuple(
    Ask(f"{name}-{family}", f"ip -j -{number} {subject}", by="shell")
    for family, number in (("ipv4", 4), ("ipv6", 6))
    for name, subject in (("forwarding", "netconf"), ("rules", "rule"))
)
"""Questions about forwarding itself."""


def _admin_up(flags: Value) -> bool | None:
    return "UP" in listed if (listed := texts(flags)) else None


links = keyed(
    "[]",
    Fields(
        InterfaceState,
        "name!=ifname admin_up=flags oper_up=operstate mtu mac=address:mac "
        "in_bytes=stats64/rx/bytes out_bytes=stats64/tx/bytes",
        admin_up=_admin_up,
        oper_up=choice({"up": True, "down": False, "lowerlayerdown": False}),
        addresses=lambda link: column("addr_info[]/local")(link) if "addr_info" in link.keys else None,
        errors=Fields(
            Errors,
            "in_errors=stats64/rx/errors out_errors=stats64/tx/errors "
            "in_discards=stats64/rx/dropped out_discards=stats64/tx/dropped",
        ),
    ),
)
"""The interfaces of ``ip -j -s link``, or of ``ip -j address``, which has their addresses."""

ipv6_neighbors = listed(
    "[]",
    Fields(
        Ipv6Neighbor,
        "address!=dst interface=dev mac=lladdr:mac state",
        state=lambda states: next((text.lower() for text in texts(states)), None),
        router=lambda entry: "router" in entry.keys,
    ),
)
"""The neighbor cache of ``ip -j -6 neigh``; entries that failed have no ``mac``."""

_NARROWER = {"dst", "fwmark", "oif", "dport", "sport", "ipproto"}
"""Conditions of a rule that leave other packets alone."""


def not_forwarding(answers: Answers) -> dict[str, tuple[str, ...]] | None:
    """Return the ports from which nothing is forwarded, of ``ip -j netconf`` and ``ip -j rule``; None without an answer to either.

    Linux forwards IPv6 by one setting for all interfaces, IPv4 by one for each (Documentation/networking/ip-sysctl.rst). A rule of
    the routing policy may drop what comes from a port, or everything, before any route is looked at (ip-rule(8)).
    """
    made: dict[str, tuple[str, ...]] = {}
    for family in ("ipv4", "ipv6"):
        settings, rules = answers.tree(f"forwarding-{family}"), answers.tree(f"rules-{family}")
        off = {
            name
            for setting in (settings.each() if settings else [])
            if setting.get("forwarding").flag() is False and (name := setting.get("interface").text())
        }
        off = off - {"default", "lo"} if family == "ipv4" else off & {"all"}
        for rule in rules.each() if rules else []:
            whole = rule.get("src").text() == "all" and not rule.keys & _NARROWER
            if whole and rule.get("action").lower() in DROPPING:
                off.add(rule.get("iif").text() or "all")
        if settings is not None or rules is not None:
            made[family] = tuple(sorted(off))
    return made or None


def clock(answers: Answers) -> Clock | None:
    """Return the clock of ``date -u +%s``; None without an answer, or with a note if the answer is no number."""
    text = answers.text("clock")
    if text is None:
        return None
    word = text.strip()
    if not word.isascii() or not word.isdecimal() or len(word) > 12:
        answers.note("clock", "", f"seconds since 1970 were expected, and it is {word[:60]!r}")
        return None
    return Clock(float(word))
