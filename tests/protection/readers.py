"""Small readers of what is rendered, apart from renderers: whether a packet to a switch gets through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from railweave.model.device.model import DeviceConfig
from railweave.systems import system
from tests.protection.packets import Packet, within

Files = dict[str, str]


def typed(config: DeviceConfig, packet: Packet) -> bool:
    """By the rules of the ``DeviceConfig``, on a system that tells everything apart that they say."""
    wanted = config.protection
    assert wanted is not None
    family = "ipv6" if packet.six else "ipv4"
    for rule in wanted.rules:
        source = wanted.source(rule)
        if (
            rule.family == family
            and (rule.plane == "management") == packet.management
            and rule.protocol == packet.protocol
            and (not source.prefixes or any(within(packet.source, one) for one in source.prefixes))
            and (not source.interfaces or packet.interface in source.interfaces)
            and _in(rule.source_ports, packet.sent_from)
            and _in(rule.destination_ports, packet.sent_to)
            and (not rule.icmp_types or packet.icmp_type in rule.icmp_types)
            and rule.hop_limit in {None, packet.hop_limit}
            and not (rule.established and packet.begins)
        ):
            return not _dropped(config, packet)
    return False


def _in(ranges: Sequence[tuple[int, int]], port: int) -> bool:
    return not ranges or any(first <= port <= last for first, last in ranges)


def _dropped(config: DeviceConfig, packet: Packet) -> bool:
    wanted = config.protection
    assert wanted is not None
    return any(gateway.name == packet.interface for gateway in config.gateways) and any(
        rule.protocol == packet.protocol
        and any(within(packet.destination, one) for one in rule.destinations)
        and _in(rule.destination_ports, packet.sent_to)
        for rule in wanted.server_ports
    )


# Junos: the set form, a condition a line.


def junos(config: DeviceConfig, files: Files, packet: Packet) -> bool:
    """By the filters of ``junos.set``: of the interface that the packet comes by, then of lo0."""
    lines = files["junos.set"].splitlines()
    family = "inet6" if packet.six else "inet"
    ports = ["re0:mgmt-0 unit 0"] if packet.management else [_unit(config, packet.interface), "lo0 unit 0"]
    for port in ports:
        bound = [line.split()[-1] for line in lines if f"interfaces {port} family {family} filter input " in line]
        assert len(bound) <= 1
        if bound and not _junos_filter(lines, family, bound[0], packet):
            return False
    return True


def _unit(config: DeviceConfig, name: str) -> str:
    if name.startswith("irb."):
        return f"irb unit {name.partition('.')[2]}"
    return f"{name} unit 0"


def _junos_filter(lines: Iterable[str], family: str, name: str, packet: Packet) -> bool:
    terms: dict[str, list[str]] = {}
    head = f"set firewall family {family} filter {name} term "
    for line in lines:
        if line.startswith(head):
            term, _, rest = line.removeprefix(head).partition(" ")
            terms.setdefault(term, []).append(rest)
    lists: dict[str, list[str]] = {}
    for line in lines:
        if found := re.fullmatch(r"set policy-options prefix-list (\S+) (\S+)", line):
            lists.setdefault(found[1], []).append(found[2])
    for conditions in terms.values():
        if _junos_term(conditions, lists, packet):
            return "then accept" in conditions
    return False


def _junos_term(term: Iterable[str], lists: dict[str, list[str]], packet: Packet) -> bool:
    wanted: dict[str, list[str]] = {}
    for line in term:
        words = line.split()
        if words[0] == "from":
            wanted.setdefault(words[1], []).append(words[-1])
    for key, values in wanted.items():
        match key:
            case "source-prefix-list":
                good = any(within(packet.source, one) for value in values for one in lists[value])
            case "destination-address":
                good = any(within(packet.destination, one) for one in values)
            case "protocol" | "next-header":
                good = packet.protocol == ("icmp" if values[0].startswith("icmp") else values[0])
            case "source-port":
                good = _junos_port(values, packet.sent_from)
            case "destination-port":
                good = _junos_port(values, packet.sent_to)
            case "icmp-type":
                good = str(packet.icmp_type) in values
            case "ttl" | "hop-limit":
                good = str(packet.hop_limit) in values
            case "tcp-established":
                good = not packet.begins
            case "rdma-opcode" | "first-byte-of-payload":
                good = False  # no RDMA packet is for the switch
            case _:
                raise AssertionError(key)
        if not good:
            return False
    return True


def _junos_port(values: Iterable[str], port: int) -> bool:
    ranges = [tuple(map(int, (one.split("-") * 2)[:2])) for one in values]
    return any(first <= port <= last for first, last in ranges)


# EOS, and Enterprise SONiC, whose lists are written alike.

_ENTRY = re.compile(
    r"(permit|deny|discard) (\S+) (any|host \S+|\S+/\d+)( eq \d+| range \d+ \d+)? (any|host \S+|\S+/\d+)( eq \d+| range \d+ \d+)?(.*)"
)


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    header = ""
    for line in text.splitlines():
        if line.startswith(" "):
            found[header].append(line.strip())
        else:
            header = line
            found.setdefault(header, [])
    return found


def _in_list(entries: Iterable[str], packet: Packet) -> bool:
    for entry in entries:
        words = re.sub(r"^(seq )?\d+ ", "", entry)
        found = _ENTRY.fullmatch(words)
        if found is None:
            assert entry == "counters per-entry", entry
            continue
        verdict, protocol, source, sent_from, to, sent_to, more = found.groups()
        if (
            protocol in {"ip", "ipv6", packet.protocol, packet.protocol + "v6"}
            and _place(packet.source, source)
            and _place(packet.destination, to)
            and _port(packet.sent_from, sent_from)
            and _port(packet.sent_to, sent_to)
            and _rest(packet, more.split())
        ):
            return verdict == "permit"
    return False


def _place(address: str, text: str) -> bool:
    return address == text.removeprefix("host ") if text.startswith("host ") else within(address, text)


def _port(port: int, text: str | None) -> bool:
    numbers = [int(one) for one in (text or "").split() if one.isdigit()]
    return not numbers or numbers[0] <= port <= numbers[-1]


def _rest(packet: Packet, words: list[str]) -> bool:
    match words:
        case []:
            return True
        case ["established", *more]:
            return not packet.begins and _rest(packet, more)
        case ["hop-limit" | "ttl", "eq", number, *more]:
            return packet.hop_limit == int(number) and _rest(packet, more)
        case ["type", number, *more]:
            return packet.icmp_type == int(number) and _rest(packet, more)
        case _:
            raise AssertionError(words)


def eos(config: DeviceConfig, files: Files, packet: Packet) -> bool:
    """By the access lists of ``eos.conf``: of the interface, then of the control plane in the packet's VRF."""
    sections = _sections(files["eos.conf"])
    ip = "ipv6" if packet.six else "ip"
    vrf = "MGMT" if packet.management else packet.vrf
    where = f" vrf {vrf} in" if vrf else " in"
    vlans = {one.name: f"Vlan{one.vlan}" for one in config.gateways if one.vlan}
    at_port = _bound(sections.get(f"interface {vlans.get(packet.interface, packet.interface)}", []), ip, " in")
    control = _bound(sections["system control-plane"], ip, where)
    assert len(control) == 1
    return all(_in_list(sections[f"{ip} access-list {name}"], packet) for name in (*at_port, *control))


def _bound(lines: Iterable[str], ip: str, where: str) -> list[str]:
    pattern = re.compile(rf"{ip} access-group (\S+){re.escape(where)}")
    return [found[1] for line in lines if (found := pattern.fullmatch(line))]


def dell_sonic(config: DeviceConfig, files: Files, packet: Packet) -> bool:
    """By the access lists of ``sonic.cli``; there is no other for the management port."""
    sections = _sections(files["sonic.cli"])
    ip = "ipv6" if packet.six else "ip"
    name = packet.interface.replace("Vlan", "Vlan ")
    at_port = _bound(sections.get(f"interface {name}", []), ip, " in")
    control = _bound(sections["line vty"], ip, " in")
    del config
    return all(_in_list(sections[f"{ip} access-list {one}"], packet) for one in (*at_port, *control))


# FRR: nft.


def frr(config: DeviceConfig, files: Files, packet: Packet) -> bool:
    """By ``nftables.conf``, each rule's conditions from left to right."""
    del config
    lines = [line.strip() for line in files["nftables.conf"].splitlines()]
    start = next(place for place, line in enumerate(lines) if line.startswith("type filter hook input"))
    for line in lines[start + 1 :]:
        if line == "counter name dropped drop":
            return False
        words, _, _ = line.partition(" comment ")
        assert words.endswith(" accept"), line
        if _nft(words.removesuffix(" accept"), packet):
            return True
    raise AssertionError("no rule for the rest")


def _nft(text: str, packet: Packet) -> bool:
    text = text.replace("tcp flags & (ack | rst) != 0", "established yes")
    for key, value in re.findall(
        r"(iifname|ip6? saddr|ip6? (?:ttl|hoplimit)|icmp(?:v6)? type|(?:tcp|udp) [sd]port|meta nfproto|limit name|established) "
        r"(\{[^}]*\}|\S+)",
        text,
    ):
        values = [one.strip(' "') for one in value.strip("{} ").split(",")]
        words = key.split()
        match words:
            case ["iifname"]:
                good = packet.interface in values
            case ["ip" | "ip6", "saddr"]:
                good = packet.six == (words[0] == "ip6") and any(within(packet.source, one) for one in values)
            case ["ip" | "ip6", _]:
                good = packet.six == (words[0] == "ip6") and str(packet.hop_limit) in values
            case ["icmp" | "icmpv6", "type"]:
                six = words[0] == "icmpv6"
                good = packet.protocol == "icmp" and packet.six == six and str(packet.icmp_type) in values
            case ["tcp" | "udp", "sport"]:
                good = packet.protocol == words[0] and _junos_port(values, packet.sent_from)
            case ["tcp" | "udp", "dport"]:
                good = packet.protocol == words[0] and _junos_port(values, packet.sent_to)
            case ["meta", "nfproto"]:
                good = packet.six == (values == ["ipv6"])
            case ["established"]:
                good = packet.protocol == "tcp" and not packet.begins
            case ["limit", "name"]:
                good = True
            case _:
                raise AssertionError(key)
        if not good:
            return False
    return True


# SONiC: what caclmgrd of sonic-net/sonic-host-services makes of the tables.

_SERVICES = {"SSH": ("tcp", 22), "SNMP": ("udp", 161), "NTP": ("udp", 123)}


def sonic(config: DeviceConfig, files: Files, packet: Packet) -> bool:
    """By the lists of server ports, then by the rules of caclmgrd: what it always takes, services, and the rest dropped."""
    db = json.loads(files["config_db.json"])
    key = "IPV6" if packet.six else "IP"
    ports = _members(config, packet.interface)
    if any(table["type"] in {"L3", "L3V6"} and set(ports) <= set(table["ports"]) for table in _tables(db)) and ports:
        kind = "L3V6" if packet.six else "L3"
        for _, row in _rows(db, kind):
            if (
                within(packet.destination, row[f"DST_{key}"])
                and row["IP_PROTOCOL"] == {"tcp": "6", "udp": "17", "icmp": "1"}[packet.protocol]
                and _junos_port([row.get("L4_DST_PORT") or row["L4_DST_PORT_RANGE"]], packet.sent_to)
            ):
                return row["PACKET_ACTION"] != "DROP"
    if packet.protocol == "icmp" or (packet.protocol == "tcp" and packet.sent_to == 179):
        return True
    if packet.protocol == "tcp" and not packet.begins:  # as conntrack has it
        return True
    if packet.protocol == "udp" and packet.sent_from in {53, 123}:  # the same
        return True
    for table, row in _rows(db, "CTRLPLANE"):
        source = row.get(f"SRC_{key}")
        [service] = table["services"]
        protocol, port = _SERVICES.get(service, ("tcp", int(str(row.get("L4_DST_PORT", 0)))))
        if (
            source
            and within(packet.source, source)
            and row.get("IN_PORTS") in {None, packet.interface}
            and (service == "ANY" or (packet.protocol, packet.sent_to) == (protocol, port))
        ):
            return True
    return False


Db = dict[str, dict[str, dict[str, Any]]]


def _tables(db: Db) -> Iterable[dict[str, Any]]:
    return db["ACL_TABLE"].values()


def _rows(db: Db, kind: str) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
    for name, row in db["ACL_RULE"].items():
        table = db["ACL_TABLE"][name.partition("|")[0]]
        if table["type"] == kind:
            yield table, row


def _members(config: DeviceConfig, interface: str) -> list[str]:
    """The server ports of a gateway's interface."""
    for gateway in config.gateways:
        if gateway.name == interface:
            return (
                [gateway.port] if gateway.port else [p.name for p in config.interfaces if p.vlan == gateway.vlan_name]
            )
    return []


READERS = {"junos": junos, "eos": eos, "dell_sonic": dell_sonic, "frr": frr, "sonic": sonic}


def passes(config: DeviceConfig, packets: Iterable[Packet]) -> dict[str, bool]:
    """Whether each packet gets through, by what is rendered."""
    files = system(config.nos).files(config)
    return {one.what: READERS[config.nos](config, files, one) for one in packets}
