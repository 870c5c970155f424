"""Addresses, routes and rules of this server, and what stands in their way: router advertisements, ARP, firewall, traffic control."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any

from .. import changes
from ..entries import route_of, rule_of
from ..kernel import Kernel, command_line
from ..machine import CannotTellError, objects
from ..readiness import address_of
from .outcome import failed, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic

_APPLY = "sudo railweave host apply"
_SYSCTL = "/proc/sys/net"
_LEGACY_DROP = re.compile(r"-A INPUT\b.*--dports? (?:\S+,)?4791\b.*-j (?:DROP|REJECT)\b")


def _shown(server: Server, nic: WantedNic) -> list[dict[str, Any]]:
    for one in server.machine.rows("ip", "-j", "addr", "show"):
        if one.get("ifname") == nic.netdev:
            return objects(one.get("addr_info"))
    raise CannotTellError("ip shows no such interface")


def _without(nic: WantedNic, version: int) -> str:
    there = any(path.prefix.version == version for path in nic.plan.paths)
    return "" if there else f"it has no path by IPv{version}"


@of_nic(
    "host-addresses",
    what="The NIC has an address in the prefix of every planned path, and it is usable.",
    why="No address, no path; a duplicate one (dadfailed) is another server's.",
    how="ip -j addr show",
    source="Thor2 guide, section 2.6, check 10; host.json nics[].addresses",
)
def addresses(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Find each path's address."""
    found = [address_of(path, _shown(server, nic)) for path in nic.plan.paths]
    missing = [why for address, why in found if address is None]
    if missing:
        remedy = (
            "sudo netplan apply" if not nic.slaac else f"does {nic.leaf} send router advertisements? sudo netplan apply"
        )
        yield failed("; ".join(missing), f"{len(found)} addresses", f"host.json {nic.key}.addresses", remedy)
    else:
        yield ok(f"{len(found)} addresses")


@of_nic(
    "host-stray-addresses",
    what="The NIC has no address that is not planned.",
    why="NCCL and MPI may take a stray address, of IPv4 above all, for the network's, and its GID moves the others.",
    how="ip -j addr show",
    source="Thor2 guide, section 2.6, check 10 (GID index)",
)
def stray(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Look for addresses outside the planned prefixes."""
    others: list[str] = []
    for one in _shown(server, nic):
        try:
            address = ipaddress.ip_address(str(one.get("local")))
        except ValueError:
            continue
        if not address.is_link_local and not any(address in path.prefix for path in nic.plan.paths):
            others.append(f"{address}/{one.get('prefixlen')}")
    if others:
        remedy = "; ".join(f"sudo ip addr del {one} dev {nic.netdev}" for one in others)
        yield warning(", ".join(others), "planned addresses alone", f"host.json {nic.key}.addresses", remedy)
    else:
        yield ok("none")


@of_server(
    "host-routes",
    what="The planned routes and rules are in the kernel.",
    why="Without them every path of a NIC leaves by one table, and a color means nothing.",
    how="ip -j -N -d route show table all; ip -j -N -d rule show",
    source="host.json routes, rules; Thor2 guide, section 2.4 (source routing)",
    unless=lambda server: "" if server.plan.entries else "no route and no rule is planned",
)
def routes(server: Server) -> Iterator[Outcome]:
    """Compare as ``host apply`` does."""
    machine = server.machine

    def shown(*words: str) -> list[tuple[int, dict[str, Any]]]:
        return [
            (family, one) for family in (4, 6) for one in machine.rows("ip", "-j", f"-{family}", "-N", "-d", *words)
        ]

    try:
        kernel = Kernel(
            tuple(route_of(family, one) for family, one in shown("route", "show", "table", "all") if one),
            tuple(rule_of(family, one) for family, one in shown("rule", "show") if one),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise CannotTellError(f"ip shows a route or rule that is not understood: {error}") from None
    missing = changes.undone(server.plan, kernel)
    if missing:
        first = command_line(("add", missing[0]))
        yield failed(
            f"{len(missing)} of {len(server.plan.entries)} missing, such as: {first}",
            "all",
            "host.json routes, rules",
            _APPLY,
        )
    else:
        yield ok(f"{len(server.plan.entries)} in place")


@of_nic(
    "host-router-advertisements",
    what="The kernel takes router advertisements where addresses come by them, and forwarding does not switch that off.",
    why="On a host that forwards packets the kernel ignores them unless accept_ra is 2: addresses time out.",
    how="/proc/sys/net/ipv6/conf/NIC/{accept_ra,forwarding,disable_ipv6,addr_gen_mode}",
    source="Linux, Documentation/networking/ip-sysctl (accept_ra); RFC 4862",
    unless=lambda _, nic: _without(nic, 6),
)
def advertisements(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare what the kernel does with what the plan leaves to it."""
    folder = f"{_SYSCTL}/ipv6/conf/{nic.netdev}"
    have = {one: server.machine.number(f"{folder}/{one}") for one in ("accept_ra", "forwarding", "disable_ipv6")}
    if have["disable_ipv6"]:
        yield failed(
            "IPv6 is off",
            "on",
            f"host.json {nic.key}.addresses",
            f"sudo sysctl -w net.ipv6.conf.{nic.netdev}.disable_ipv6=0",
        )
    elif have["accept_ra"] is None:
        raise CannotTellError("the kernel shows no accept_ra of it")
    elif not nic.slaac or server.advertisements_by != "kernel":
        yield ok(f"accept_ra {have['accept_ra']}: not the kernel's task here")
    elif have["accept_ra"] == 2 or (have["accept_ra"] == 1 and not have["forwarding"]):
        yield ok(f"accept_ra {have['accept_ra']}")
    else:
        wanted = 2 if have["forwarding"] else 1
        seen = f"accept_ra {have['accept_ra']}, forwarding {have['forwarding']}"
        remedy = f"sudo sysctl -w net.ipv6.conf.{nic.netdev}.accept_ra={wanted}"
        yield failed(seen, f"accept_ra {wanted}", "host.json router_advertisements", remedy)


@of_nic(
    "host-arp",
    what="NICs that share an IPv4 subnet answer ARP for their own address alone, and replies by another way are not dropped.",
    why="Otherwise one NIC answers for all, and the traffic of eight comes in by one.",
    how="/proc/sys/net/ipv4/conf/{all,NIC}/{arp_ignore,arp_announce,rp_filter}",
    source="Thor2 guide, section 2.4 (arp_ignore 2, arp_announce 1)",
    unless=lambda _, nic: _without(nic, 4),
)
def arp(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Look at IPv4 NICs: the kernel takes the larger of ``all`` and the interface's own."""
    own = {path.prefix for path in nic.plan.paths if path.prefix.version == 4}
    values: dict[str, int] = {}
    for name in ("arp_ignore", "arp_announce", "rp_filter"):
        both = [server.machine.number(f"{_SYSCTL}/ipv4/conf/{one}/{name}") for one in ("all", nic.netdev)]
        if None in both:
            raise CannotTellError(f"the kernel shows no {name} of it")
        values[name] = max(one for one in both if one is not None)
    shared = any(other is not nic and own & {path.prefix for path in other.plan.paths} for other in server.nics)
    wanted = {"arp_ignore": 1, "arp_announce": 1} if shared else {}
    wrong = [name for name, least in wanted.items() if values[name] < least]
    wrong += ["rp_filter"] if values["rp_filter"] == 1 else []
    seen = ", ".join(f"{name} {value}" for name, value in values.items())
    if wrong:
        right = {"arp_ignore": 2, "arp_announce": 1, "rp_filter": 2}
        remedy = "sudo sysctl -w " + " ".join(f"net.ipv4.conf.{nic.netdev}.{name}={right[name]}" for name in wrong)
        should = ", ".join(f"{name} {right[name]}" for name in wrong)
        yield failed(seen, should, "Thor2 guide, section 2.4", remedy)
    else:
        yield ok(seen)


@of_server(
    "host-firewall",
    what="No firewall drops what comes in by default.",
    why="RDMA itself passes it by, but NCCL's bootstrap, MPI and rdma_cm do not: jobs hang at their start.",
    how="nft -j list ruleset; iptables-legacy -S, ip6tables-legacy -S",
    source="Thor2 guide, section 2.6, check 15",
    root=True,
)
def firewall(server: Server) -> Iterator[Outcome]:
    """Look for chains of the input hook that drop."""
    said = [
        inner for one in server.machine.rows("nft", "-j", "list", "ruleset") for inner in objects(one.get("nftables"))
    ]
    chains = [inner for one in said for inner in objects(one.get("chain"))]
    dropping = [
        f"{one.get('family')} {one.get('table')} {one.get('name')}"
        for one in chains
        if one.get("hook") == "input" and one.get("policy") == "drop"
    ]
    remedies = [
        f"sudo nft delete rule {rule.get('family')} {rule.get('table')} {rule.get('chain')} handle {rule.get('handle')}"
        for one in said
        for rule in objects(one.get("rule"))
        if _drops_roce(rule)
    ]
    for tool in ("iptables-legacy", "ip6tables-legacy"):  # tables of the old kind, which nft does not list
        lines = server.machine.run(tool, "-S").out.splitlines() if server.machine.has(tool) else []
        dropping += [f"{tool} INPUT" for one in lines if one.split() == ["-P", "INPUT", "DROP"]]
        remedies += [f"sudo {tool} -D {one[3:]}" for one in lines if _LEGACY_DROP.match(one)]
    if remedies:
        seen = f"{len(remedies)} rules drop UDP port 4791"
        yield failed(seen, "none", "Thor2 guide, section 2.6, check 15", remedies[0])
    elif dropping:
        remedy = "let the other servers' addresses and the NICs in, or: sudo ufw disable; sudo systemctl disable --now firewalld"
        yield warning(
            f"drops by default: {', '.join(dropping)}", "accepts", "Thor2 guide, section 2.6, check 15", remedy
        )
    else:
        yield ok("accepts by default")


def _drops_roce(rule: dict[str, Any]) -> bool:
    words = str(rule.get("expr"))
    return "4791" in words and ("'drop'" in words or "'reject'" in words)


@of_server(
    "host-traffic-control",
    what="No traffic control delays, limits or drops packets of the planned NICs.",
    why="What somebody set for a trial stays, and is found nowhere else.",
    how="tc -j qdisc show",
    source="tc(8)",
)
def traffic_control(server: Server) -> Iterator[Outcome]:
    """Look for queueing disciplines that do more than queue."""
    names = {nic.netdev for nic in server.nics}
    wrong = [
        f"{one.get('kind')} on {one.get('dev')}"
        for one in server.machine.rows("tc", "-j", "qdisc", "show")
        if one.get("dev") in names and one.get("kind") in {"netem", "tbf", "htb", "hfsc", "cake", "red", "sfb"}
    ]
    if wrong:
        remedy = "; ".join(f"sudo tc qdisc del dev {one.split()[-1]} root" for one in wrong)
        yield failed(", ".join(wrong), "none", "the design shapes nothing on servers", remedy)
    else:
        yield ok("none")
