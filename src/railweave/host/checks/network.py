"""Checks of addresses, routes and rules, and of settings that interfere with them.

Such settings are router advertisements, ARP, firewall, traffic control and network daemons.
"""

from __future__ import annotations

import ipaddress
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .. import changes, strays
from ..entries import Route, Rule, route_of, rule_of
from ..kernel import Kernel, command_line
from ..machine import CannotTellError, objects
from ..readiness import address_of
from . import mtu_probes
from .outcome import alike, failed, not_applicable, of_nic, of_server, ok, warning
from .second_files import setting_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..host_file import Address, PathAddress, Prefix
    from ..machine import Machine
    from ..strays import Stray
    from .outcome import Outcome
    from .server import Server, WantedNic


_MOST_NAMED = 4


_APPLY = "sudo railweave host apply"


_SYSCTL = "/proc/sys/net"


def _shown(server: Server, nic: WantedNic) -> list[dict[str, Any]]:
    for row in server.machine.rows("ip", "-j", "addr", "show"):
        if row.get("ifname") == nic.netdev:
            return objects(row.get("addr_info"))
    raise CannotTellError("ip shows no such interface")


def _without(nic: WantedNic, version: int) -> str:
    there = any(path.prefix.version == version for path in nic.plan.paths)
    return "" if there else f"it has no path by IPv{version}"


@of_nic(
    "host-addresses",
    rule="The NIC has an address in the prefix of every planned path, and the address is usable.",
    why="A path without an address cannot be used; an address that failed duplicate detection (dadfailed) belongs "
    "to a different server.",
    how="ip -j addr show",
    source="Thor2 guide, section 2.6, check 10; host.json nics[].addresses",
)
def addresses(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC has an address for each of its paths."""
    if server.generic:
        yield from _usable_addresses(server, nic)
        return
    path_addresses = [address_of(path, _shown(server, nic)) for path in nic.plan.paths]
    missing = [why for address, why in path_addresses if address is None]
    if missing:
        remedy = (
            "sudo netplan apply" if not nic.slaac else f"does {nic.leaf} send router advertisements? sudo netplan apply"
        )
        if nic.slaac and (cause := _no_advertisements(server, nic)):
            missing, remedy = [f"{cause[0]}, so there is no address: {'; '.join(missing)}"], cause[1]
        yield failed("; ".join(missing), f"{len(path_addresses)} addresses", f"host.json {nic.key}.addresses", remedy)
    else:
        yield ok(f"{len(path_addresses)} addresses")


def _no_advertisements(server: Server, nic: WantedNic) -> tuple[str, str] | None:
    """Return (reason why the kernel ignores addresses in router advertisements, fix). Return None if its settings accept them.

    If a configuration file sets the value, the reason names the file.
    """
    machine, folder = server.machine, f"{_SYSCTL}/ipv6/conf/{nic.netdev}"
    have = {
        name: machine.number(f"{folder}/{name}")
        for name in ("disable_ipv6", "accept_ra", "forwarding", "autoconf", "accept_ra_pinfo")
    }
    kernel = server.advertisements_by == "kernel"
    causes = {
        "disable_ipv6": (have["disable_ipv6"] == 1, 0),
        "accept_ra": (kernel and (have["accept_ra"] == 0 or bool(have["forwarding"] and have["accept_ra"] == 1)), 2),
        "autoconf": (kernel and have["autoconf"] == 0, 1),
        "accept_ra_pinfo": (kernel and have["accept_ra_pinfo"] == 0, 1),
    }
    for name, (off, right) in causes.items():
        if off:
            key = f"net.ipv6.conf.{nic.netdev}.{name}"
            place = setting_of(machine, key, f"net.ipv6.conf.all.{name}", f"net.ipv6.conf.default.{name}")
            also = f" and forwarding is {have['forwarding']}" if name == "accept_ra" and have["forwarding"] else ""
            seen = f"{name} is {have[name]}{also}{f' ({place})' if place else ''}"
            return seen, f"sudo sysctl -w {key}={right}" + (f"; change {place.partition(': ')[0]}" if place else "")
    return None


def _usable_addresses(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the addresses of a NIC on a server without a design.

    No address may be a duplicate, and the NIC must have as many addresses as other NICs of its kind.
    """

    def read(other: WantedNic) -> tuple[int, int]:
        shown = [row for row in _shown(server, other) if row.get("scope", "global") == "global" and "local" in row]
        return tuple(sum(str(row.get("family")) == family for row in shown) for family in ("inet", "inet6"))  # type: ignore[return-value]

    duplicates = [str(row.get("local")) for row in _shown(server, nic) if row.get("dadfailed")]
    if duplicates:
        remedy = f"find the other owner: ip neigh show on the peers; then sudo ip addr del ADDRESS dev {nic.netdev}"
        yield failed(f"{', '.join(duplicates)}: another server has it", "an address of its own", "RFC 4862", remedy)
        return
    remedy = "sudo netplan apply; does the switch port send router advertisements?"
    yield from alike(server, nic, read, lambda pair: f"{pair[0]} IPv4 and {pair[1]} IPv6 addresses", remedy=remedy)


@of_nic(
    "host-stray-addresses",
    rule="The NIC has no unplanned address.",
    why="NCCL and MPI may use an unplanned address, especially an IPv4 address, and its GID changes the indexes "
    "of other GIDs.",
    how="ip -j addr show",
    source="Thor2 guide, section 2.6, check 10 (GID index)",
    design=True,
)
def stray(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC has no address outside the planned prefixes, and no address of another server inside them."""
    others: list[str] = []
    foreign: list[str] = []
    for row in _shown(server, nic):
        try:
            address = ipaddress.ip_address(str(row.get("local")))
        except ValueError:
            continue
        inside = [path for path in nic.plan.paths if address in path.prefix]
        if inside and all(_of_another(server, nic, path, address) for path in inside):
            foreign.append(f"{address}/{row.get('prefixlen')}")
        elif not inside and not address.is_link_local:
            others.append(f"{address}/{row.get('prefixlen')}")
    origin = f"host.json {nic.key}.addresses"
    remedy = "; ".join(f"sudo ip addr del {address} dev {nic.netdev}" for address in (*foreign, *others))
    if foreign:
        seen = "; ".join([f"{address}, which is for another server" for address in foreign] + others)
        yield failed(seen, "planned addresses alone", origin, remedy)
    elif others:
        yield warning(", ".join(others), "planned addresses alone", origin, remedy)
    else:
        yield ok("none")


def _of_another(server: Server, nic: WantedNic, path: PathAddress, address: Address) -> bool:
    """Return True if an address within a path's prefix belongs to another server.

    A static address belongs to another server if it is not the planned address. A SLAAC address belongs to another
    server if it was formed from another MAC address (RFC 4291, appendix A).
    """
    if not path.slaac or address == path.address:
        return path.address is not None and address != path.address
    if address.version != 6 or (int(address) >> 24) & 0xFFFF != 0xFFFE:
        return False
    mac = server.machine.text(f"/sys/class/net/{nic.netdev}/address") or ""
    if not re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", mac):
        return False
    digits = int(mac.replace(":", ""), 16) ^ (2 << 40)
    return int(address) & ((1 << 64) - 1) != (digits >> 24 << 40) | 0xFFFE000000 | (digits & 0xFFFFFF)


@of_server(
    "host-routes",
    rule="The kernel has the planned routes and rules.",
    why="Without them, all paths of a NIC use the same routing table, and path colors have no effect.",
    how="ip -j -N -d route show table all; ip -j -N -d rule show",
    source="host.json routes, rules; Thor2 guide, section 2.4 (source routing)",
    unless=lambda server: "" if server.plan.entries else "no route and no rule is planned",
    design=True,
)
def routes(server: Server) -> Iterator[Outcome]:
    """Check that all planned routes and rules exist. An entry with the same effect suffices, as for ``host apply``."""
    missing = changes.undone(server.plan, _kernel(server))
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


def _kernel(server: Server) -> Kernel:
    machine = server.machine

    def shown(*words: str) -> list[tuple[int, dict[str, Any]]]:
        return [
            (family, row) for family in (4, 6) for row in machine.rows("ip", "-j", f"-{family}", "-N", "-d", *words)
        ]

    def read() -> Kernel:
        try:
            return Kernel(
                tuple(route_of(family, row) for family, row in shown("route", "show", "table", "all") if row),
                tuple(rule_of(family, row) for family, row in shown("rule", "show") if row),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise CannotTellError(f"ip shows a route or rule that is not understood: {error}") from None

    return machine.once(("the kernel's routes and rules",), read)


@of_server(
    "host-stray-rules",
    rule="No unplanned rule has priority over a planned rule and matches its packets.",
    why="The first rule that matches a packet selects its routing table: traffic leaves by a different NIC or color.",
    how="ip -j -N -d rule show",
    source="ip-rule(8); host.json rules, nics[].addresses",
    design=True,
)
def stray_rules(server: Server) -> Iterator[Outcome]:
    """Check that no unplanned rule matches packets that a planned rule should match."""
    planned = [rule for _, rule in server.plan.entries if isinstance(rule, Rule)]
    prefixes = dict.fromkeys(str(path.prefix) for nic in server.nics for path in nic.plan.paths)
    yield from _strays(strays.stray_rules(planned, _kernel(server).rules, prefixes), "host.json rules")


@of_server(
    "host-stray-routes",
    rule="The routing tables of the plan contain the planned routes and no others.",
    why="A route with a longer prefix, or with a different source, device, gateway or metric, sends packets over "
    "a different path than planned.",
    how="ip -j -N -d route show table all",
    source="host.json routes; ip-route(8)",
    unless=lambda server: "" if server.plan.entries else "no route and no rule is planned",
    design=True,
)
def stray_routes(server: Server) -> Iterator[Outcome]:
    """Check that the planned routing tables have no unplanned routes."""
    planned = [route for _, route in server.plan.entries if isinstance(route, Route)]
    sources: dict[int, list[str]] = {}
    for nic in server.nics:
        for path in nic.plan.paths:
            sources.setdefault(path.table, []).append(str(path.prefix))
    yield from _strays(strays.stray_routes(planned, _kernel(server).routes, sources), "host.json routes")


@of_server(
    "host-stray-neighbors",
    rule="No planned NIC has a permanent neighbor entry.",
    why="The kernel never refreshes a permanent entry: after a NIC or leaf is replaced, packets to it are lost.",
    how="ip -j neigh show nud permanent",
    source="ip-neighbour(8): the design has no permanent neighbors",
)
def stray_neighbors(server: Server) -> Iterator[Outcome]:
    """Check that planned NICs have no permanent entries in the neighbor (ARP) table."""
    shown = server.machine.rows("ip", "-j", "neigh", "show", "nud", "permanent")
    rows = [(str(row.get("dev")), str(row.get("dst")), str(row.get("lladdr", ""))) for row in shown if row.get("dev")]
    yield from _strays(strays.stray_neighbors(rows, {nic.netdev for nic in server.nics}), "no plan has one")


def _strays(entries: list[Stray], origin: str) -> Iterator[Outcome]:
    """Yield one outcome for all unplanned entries of a kind: failed if an entry certainly diverts traffic, otherwise a warning.

    ``origin`` names the source of the expected state, such as "host.json rules".
    """
    if not entries:
        yield ok("none")
        return
    entries = sorted(entries, key=lambda entry: not entry.certain)
    more = f"; and {len(entries) - _MOST_NAMED} more" if len(entries) > _MOST_NAMED else ""
    seen = "; ".join(entry.what for entry in entries[:_MOST_NAMED]) + more
    remedy = "; ".join(entry.remedy for entry in entries[:_MOST_NAMED])
    yield (failed if entries[0].certain else warning)(seen, "none", origin, remedy)


@of_nic(
    "host-router-advertisements",
    rule="If addresses come from router advertisements, the kernel accepts them, even if it forwards packets.",
    why="A host that forwards packets ignores router advertisements unless accept_ra is 2: its addresses expire.",
    how="/proc/sys/net/ipv6/conf/NIC/{accept_ra,forwarding,disable_ipv6,addr_gen_mode}",
    source="Linux, Documentation/networking/ip-sysctl (accept_ra); RFC 4862",
    unless=lambda _, nic: _without(nic, 6),
    design=True,
)
def advertisements(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that IPv6 is on. If the kernel should process router advertisements, check also that it accepts them."""
    folder = f"{_SYSCTL}/ipv6/conf/{nic.netdev}"
    have = {
        setting: server.machine.number(f"{folder}/{setting}") for setting in ("accept_ra", "forwarding", "disable_ipv6")
    }
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
    rule="NICs that share an IPv4 subnet answer ARP only for their own address, and packets that arrive on a "
    "different NIC than expected are not dropped.",
    why="Otherwise one NIC answers for all others, and the traffic of all NICs arrives at this NIC.",
    how="/proc/sys/net/ipv4/conf/{all,NIC}/{arp_ignore,arp_announce,rp_filter}",
    source="Thor2 guide, section 2.4 (arp_ignore 2, arp_announce 1)",
    unless=lambda server, nic: "" if server.generic else _without(nic, 4),
)
def arp(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the ARP settings and ``rp_filter`` of IPv4 NICs; the kernel uses the larger of ``all`` and the interface's own value."""
    if server.generic and not _subnets(server, nic):
        yield not_applicable("it has no IPv4 address")
        return
    own_prefixes = (
        _subnets(server, nic)
        if server.generic
        else {path.prefix for path in nic.plan.paths if path.prefix.version == 4}
    )
    values: dict[str, int] = {}
    for name in ("arp_ignore", "arp_announce", "rp_filter"):
        both = [server.machine.number(f"{_SYSCTL}/ipv4/conf/{interface}/{name}") for interface in ("all", nic.netdev)]
        if None in both:
            raise CannotTellError(f"the kernel shows no {name} of it")
        values[name] = max(value for value in both if value is not None)
    shared = any(
        other is not nic
        and own_prefixes & (_subnets(server, other) if server.generic else {path.prefix for path in other.plan.paths})
        for other in server.nics
    )
    wanted = {"arp_ignore": 1, "arp_announce": 1} if shared else {}
    wrong = [name for name, least in wanted.items() if values[name] < least]
    wrong += ["rp_filter"] if values["rp_filter"] == 1 and (shared or not server.generic) else []
    seen = ", ".join(f"{name} {value}" for name, value in values.items())
    if wrong:
        right = {"arp_ignore": 2, "arp_announce": 1, "rp_filter": 2}
        remedy = "sudo sysctl -w " + " ".join(f"net.ipv4.conf.{nic.netdev}.{name}={right[name]}" for name in wrong)
        should = ", ".join(f"{name} {right[name]}" for name in wrong)
        yield failed(seen, should, "Thor2 guide, section 2.4", remedy)
    else:
        yield ok(seen)


def _subnets(server: Server, nic: WantedNic) -> set[Prefix]:
    """Return the IPv4 subnets of the addresses that an interface has."""
    return {
        ipaddress.ip_network(f"{row['local']}/{row['prefixlen']}", strict=False)
        for row in _shown(server, nic)
        if row.get("family") == "inet" and "local" in row and "prefixlen" in row
    }


@of_server(
    "host-firewall",
    rule="No firewall drops incoming packets by default.",
    why="RDMA traffic bypasses the firewall, but NCCL's bootstrap, MPI and rdma_cm do not: jobs hang at their start.",
    how="nft -j list ruleset; iptables-legacy -S, ip6tables-legacy -S",
    source="Thor2 guide, section 2.6, check 15",
    root=True,
)
def firewall(server: Server) -> Iterator[Outcome]:
    """Check that no firewall chain or rule drops incoming RoCE traffic."""
    remedies, dropping = strays.firewall_drops(server.machine)
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


def _routes(server: Server, nic: WantedNic) -> list[Route]:
    """Return the planned routes of a NIC, or the kernel's routes of the NIC if the plan has none."""
    planned = [entry for dev, entry in server.plan.entries if dev == nic.netdev and isinstance(entry, Route)]
    return planned or [route for route in _kernel(server).routes if route.dev == nic.netdev]


@of_nic(
    "host-path-mtu",
    rule="Packets of the interface's MTU reach the gateway and come back.",
    why="A switch port with a smaller MTU drops large packets in silence, in one direction or both: jobs hang.",
    how="ping -c 1 -W 1 -M do -s SIZE -I NIC GATEWAY (one packet of the full size, a small one if that is lost; if neither is answered, also with -I ADDRESS; -t 1 -I NIC -I ADDRESS to an address beyond GATEWAY tells in which direction the large one is lost)",
    source="Thor2 guide, section 2.6, check 12; ping(8); RFC 792 and RFC 4443 (time exceeded)",
)
def path_mtu(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Send one packet of the full MTU to each gateway, which answers with a packet of the same size.

    If no answer arrives, report the direction in which packets are lost.
    """
    machine, routes = server.machine, _routes(server, nic)
    gateways = mtu_probes.gateways(routes)
    if not gateways:
        yield not_applicable("it has no gateway")
        return
    mtu = machine.number(f"/sys/class/net/{nic.netdev}/mtu")
    if mtu is None:
        raise CannotTellError("the kernel shows no MTU of it")
    rows = _shown(server, nic)
    for gateway in gateways:
        senders = [nic.netdev, *mtu_probes.beside(rows, gateway)]
        if any(mtu_probes.answered(machine, sender, gateway, mtu) for sender in senders):
            continue
        small = mtu_probes.SMALL
        if not any(mtu_probes.answered(machine, sender, gateway, small) for sender in senders):
            raise CannotTellError(f"{gateway} does not answer, not even a small packet")
        target = mtu_probes.beyond(routes, rows, gateway)
        addresses_here = [str(row["local"]) for row in rows if "local" in row]
        loss = mtu_probes.loss(machine, senders, gateway, target, mtu, addresses_here)
        remedy = _LARGER[loss.way].format(port=f"{nic.leaf} {nic.leaf_port}", mtu=mtu, gateway=gateway, nic=nic.netdev)
        seen = f"{gateway} answers {small} bytes, and not {mtu}; {loss.seen}"
        yield failed(seen, f"{mtu} bytes there and back", "the interface's MTU", remedy)
        return
    yield ok(f"{mtu} bytes there and back: {', '.join(gateways)}")


_LARGER = {
    "": "raise the MTU of {port} to {mtu} bytes or more, in both directions",
    "there": "raise the MTU of {port} for packets that it receives to {mtu} bytes or more",
    "back": "raise the largest frame that {port} sends and that the NIC of {nic} receives to {mtu} bytes and headers",
    "here": "ip route get {gateway} shows the MTU: remove it from the route, or, if learned, sudo ip route flush cache",
}
"""The remedy for each direction in which packets of the full size are lost."""


@of_server(
    "host-traffic-control",
    rule="No traffic control rule (tc) delays, limits or drops packets of the planned NICs.",
    why="A rule from an earlier experiment stays active, and no other check finds it.",
    how="tc -j qdisc show",
    source="tc(8)",
)
def traffic_control(server: Server) -> Iterator[Outcome]:
    """Check that the NICs have no queueing disciplines that drop, limit or delay packets."""
    names = {nic.netdev for nic in server.nics}
    wrong = [
        f"{row.get('kind')} on {row.get('dev')}"
        for row in server.machine.rows("tc", "-j", "qdisc", "show")
        if row.get("dev") in names and row.get("kind") in {"netem", "tbf", "htb", "hfsc", "cake", "red", "sfb"}
    ]
    if wrong:
        remedy = "; ".join(f"sudo tc qdisc del dev {discipline.split()[-1]} root" for discipline in wrong)
        yield failed(", ".join(wrong), "none", "the design shapes nothing on servers", remedy)
    else:
        yield ok("none")


_YES = frozenset({"1", "yes", "y", "true", "t", "on", "infinity"})


_NETWORKD = (
    "put ConfigureWithoutCarrier=yes into [Network] of {} (netplan: ignore-carrier: true), then networkctl reload"
)


_NETWORK_MANAGER = (
    "install networkmanager.conf as /etc/NetworkManager/conf.d/railweave.conf, then systemctl reload NetworkManager"
)


@of_nic(
    "host-carrier",
    rule="While its link is down, the NIC keeps its addresses, routes and rules.",
    why="Otherwise a link failure of a few seconds removes the GIDs that queue pairs use, and jobs end.",
    how="/run/systemd/netif/links/N and the .network file that it names; /run/NetworkManager/devices/N and NetworkManager --print-config",
    source="systemd.network(5), IgnoreCarrierLoss; NetworkManager.conf(5), ignore-carrier",
    design=True,
)
def carrier(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the daemon that manages the NIC keeps its addresses, routes and rules when the carrier is lost."""
    machine = server.machine
    index = machine.number(f"/sys/class/net/{nic.netdev}/ifindex")
    if index is None:
        raise CannotTellError(f"/sys/class/net/{nic.netdev}/ifindex cannot be read")
    link = machine.text(f"/run/systemd/netif/links/{index}") or ""
    state = dict(re.findall(r'^(\w+)="?(.*?)"?$', link, re.MULTILINE))
    device = machine.text(f"/run/NetworkManager/devices/{index}") or ""
    if state.get("NETWORK_FILE") and state.get("ADMIN_STATE") != "unmanaged":
        files = [state["NETWORK_FILE"], *state.get("NETWORK_FILE_DROPINS", "").split()]
        kept, remedy = _networkd_keeps(machine, files), _NETWORKD.format(files[0])
        daemon = "systemd-networkd"
    elif re.search(r"^managed=true", device, re.MULTILINE):
        kept, remedy = _network_manager_keeps(machine, nic.netdev), _NETWORK_MANAGER
        daemon = "NetworkManager"
    else:
        yield not_applicable("neither systemd-networkd nor NetworkManager manages it")
        return
    if kept:
        yield ok(f"{daemon} ignores the loss of its carrier")
    else:
        yield failed(f"{daemon} drops them", "they stay", "netplan.yaml, networkmanager.conf", remedy)


def _networkd_keeps(machine: Machine, files: list[str]) -> bool:
    settings: dict[str, str] = {}
    for file in files:
        text = machine.text(file)
        if text is None:
            raise CannotTellError(f"{file} cannot be read")
        settings.update(
            re.findall(r"^[ \t]*(ConfigureWithoutCarrier|IgnoreCarrierLoss)[ \t]*=[ \t]*(\S+)", text, re.MULTILINE)
        )
    # The loss of a carrier is ignored by default if addresses are configured without a carrier.
    setting = settings.get("IgnoreCarrierLoss", settings.get("ConfigureWithoutCarrier", "no"))
    return setting.lower() in _YES


def _network_manager_keeps(machine: Machine, netdev: str) -> bool:
    """Return True if NetworkManager is configured to ignore the carrier of the interface ``netdev``.

    The device sections that match the interface decide. If none has the setting, the list in ``[main]`` decides.
    """
    settings: list[str] = []
    fallback = ""
    for section in re.split(r"^\[", machine.output("NetworkManager", "--print-config"), flags=re.MULTILINE):
        values = dict(re.findall(r"^([\w.-]+)[ \t]*=[ \t]*(.*?)[ \t]*$", section, re.MULTILINE))
        if "ignore-carrier" not in values:
            continue
        if section.startswith("main]"):
            fallback = values["ignore-carrier"]
        elif section.startswith("device") and _matches(values.get("match-device", "*"), netdev):
            settings.append(values["ignore-carrier"].lower())
    return all(setting in _YES for setting in settings) if settings else _matches(fallback, netdev)


def _matches(devices: str, netdev: str) -> bool:
    """Return True if a NetworkManager device list (``devices``) includes the interface ``netdev``. Only matches by name and type count.

    Source: NetworkManager.conf(5), Device List Format.
    """
    for word in filter(None, re.split(r"[;,\s]+", devices)):
        name = word.removeprefix("interface-name:").removeprefix("~")
        if name in {"type:ethernet", f"={netdev}"} or fnmatchcase(netdev, name):
            return True
    return False
