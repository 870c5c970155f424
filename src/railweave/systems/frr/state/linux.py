"""What the Linux kernel under FRRouting and SONiC says: ``ip -j`` (iproute2), the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.device_state import Clock
from railweave.model.state.ports import Errors, InterfaceState
from railweave.model.state.protocols import Ipv6Neighbor
from railweave.model.state.question import Question

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value


DROPPING = {"blackhole", "unreachable", "prohibit"}
"""Names of the kernel for routes and rules that drop packets, without a word or with one to their sender (ip-route(8))."""


def forwarding_questions() -> list[Question]:
    """Questions about forwarding itself."""
    return [
        Question(f"{name}-{family}", "json", {"ssh": f"ip -j -{number} {what}"})
        for family, number in (("ipv4", 4), ("ipv6", 6))
        for name, what in (("forwarding", "netconf"), ("rules", "rule"))
    ]


def links(answer: Value | None) -> dict[str, InterfaceState] | None:
    """The interfaces of ``ip -j -s link``, or of ``ip -j address``, which has their addresses."""
    if answer is None:
        return None
    found: dict[str, InterfaceState] = {}
    for one in answer.each():
        name = one.get("ifname").text()
        if name is None:
            continue
        words = {word for flag in one.all("flags") if (word := flag.text())}
        state = one.get("operstate").text()
        received, sent = one.get("stats64", "rx"), one.get("stats64", "tx")
        found[name] = InterfaceState(
            name,
            admin_up="UP" in words if words else None,
            oper_up={"UP": True, "DOWN": False, "LOWERLAYERDOWN": False}.get(state or ""),
            mtu=one.get("mtu").integer(),
            mac=one.get("address").mac(),
            addresses=_addresses(one) if "addr_info" in one.keys else None,
            errors=Errors(
                in_errors=received.get("errors").integer(),
                out_errors=sent.get("errors").integer(),
                in_discards=received.get("dropped").integer(),
                out_discards=sent.get("dropped").integer(),
            ),
            in_bytes=received.get("bytes").integer(),
            out_bytes=sent.get("bytes").integer(),
        )
    return found


def _addresses(link: Value) -> tuple[str, ...]:
    return tuple(text for one in link.all("addr_info") if (text := one.get("local").text()))


def not_forwarding(answers: Answers) -> dict[str, tuple[str, ...]] | None:
    """The ports from which nothing is forwarded, of ``ip -j netconf`` and ``ip -j rule``.

    Linux forwards IPv6 by one setting for all interfaces, IPv4 by one for each (Documentation/networking/ip-sysctl.rst). A rule of
    the routing policy may drop what comes from a port, or everything, before any route is looked at (ip-rule(8)).
    """
    found: dict[str, tuple[str, ...]] = {}
    for family in ("ipv4", "ipv6"):
        settings, rules = answers.tree(f"forwarding-{family}"), answers.tree(f"rules-{family}")
        off = {
            name
            for one in (settings.each() if settings else [])
            if one.get("forwarding").flag() is False and (name := one.get("interface").text())
        }
        off = off - {"default", "lo"} if family == "ipv4" else off & {"all"}
        for one in rules.each() if rules else []:
            whole = one.get("src").text() == "all" and not one.keys & {
                "dst",
                "fwmark",
                "oif",
                "dport",
                "sport",
                "ipproto",
            }
            if whole and one.get("action").lower() in DROPPING:
                off.add(one.get("iif").text() or "all")
        if settings is not None or rules is not None:
            found[family] = tuple(sorted(off))
    return found or None


def ipv6_neighbors(answer: Value | None) -> tuple[Ipv6Neighbor, ...] | None:
    """The neighbor cache of ``ip -j -6 neigh``; entries that failed have no ``mac``."""
    if answer is None:
        return None
    return tuple(
        Ipv6Neighbor(
            address,
            one.get("dev").text(),
            one.get("lladdr").mac(),
            next((text for state in one.all("state") if (text := state.lower())), None),
            "router" in one.keys,
        )
        for one in answer.each()
        if (address := one.get("dst").text()) is not None
    )


def clock(answers: Answers) -> Clock | None:
    """The clock of ``date -u +%s``."""
    text = answers.text("clock")
    if text is None:
        return None
    word = text.strip()
    if not word.isascii() or not word.isdecimal() or len(word) > 12:
        answers.note("clock", "", f"seconds since 1970 were expected, and it is {word[:60]!r}")
        return None
    return Clock(float(word))
