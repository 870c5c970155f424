"""Faults of a running lab, made by kernel tools, vtysh, nft and signals, none by railweave: what is done and undone, and what must be said of it.

Each kind draws a device or a link by a seeded die and gives a ``Fault``; None where a lab has nothing that the kind could break.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import ip_interface, ip_network

from railweave.live.lab import lldp
from railweave.live.lab.frr import routers
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.links import router_lines
from railweave.live.lab.kernel.namespace import spaces_of
from railweave.live.lab.names import namespace
from railweave.live.lab.plan import Plug, Wire
from railweave.live.lab.running import Running
from railweave.model.device.model import DeviceConfig, Session
from railweave.model.findings import Finding
from railweave.systems import system


@dataclass(frozen=True)
class Fault:
    """A fault of a lab.

    - ``at``: the devices that a finding may name: where the fault is, at either end of a link.
    - ``words``: a pattern of the first finding's id, place and message together, in this order.
    - ``settle_s``: how long it takes until devices show it.
    """

    what: str
    at: tuple[str, ...]
    words: str
    begin: Callable[[], object]
    end: Callable[[], object]
    settle_s: float = 3

    def named(self, finding: Finding) -> bool:
        """Whether a finding is at a device of the fault, with its cause."""
        said = f"{finding.id} {finding.where}: {finding.what}"
        return finding.where.partition(" ")[0] in self.at and re.search(self.words, said) is not None


class Bench:
    """A running lab in which faults are made, by the tools that an operator has."""

    def __init__(self, lab: Running, dice: random.Random) -> None:
        self.lab, self.plan, self.dice = lab, lab.plan, dice

    def inside(self, space: str, command: str, *, check: bool = True) -> str:
        """Run a shell command in the namespace of a device or of a VRF."""
        name = namespace(self.lab.place.lab, space)
        done = subprocess.run(
            ["ip", "netns", "exec", name, "sh", "-c", command], capture_output=True, text=True, timeout=30, check=False
        )
        assert not check or done.returncode == 0, (space, command, done.stderr)
        return done.stdout

    def vtysh(self, device: str, lines: Iterable[str]) -> None:
        """Type lines into a router's vtysh, in its configuration mode."""
        pid = next(
            pid
            for daemon in ("zebra", "bgpd")
            if (pid := routers.daemon_pid(self.lab.place, device, daemon)) is not None
        )
        inside = [
            f"--{kind}=/proc/{pid}/ns/{file}" for kind, file in (("mount", "mnt"), ("uts", "uts"), ("net", "net"))
        ]
        typed = [word for line in ("configure terminal", *lines) for word in ("-c", line)]
        command = ["nsenter", *inside, "chroot", routers.running_root(pid), "vtysh", *typed]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        said = [line for line in f"{done.stdout}{done.stderr}".splitlines() if line.startswith("% ")]
        assert done.returncode == 0, (device, lines, done.stdout, done.stderr)
        assert not said, (device, lines, said)

    def text(self, device: str) -> str:
        """The designed frr.conf of a router."""
        config = self.plan.configs[device]
        return system(config.nos).files(config)["frr.conf"]

    def switch(self, *, role: str = "", has: Callable[[DeviceConfig], object] = lambda _: True) -> DeviceConfig | None:
        """A switch, drawn."""
        there = [config for config in self.plan.configs.values() if (not role or config.role == role) and has(config)]
        return self.dice.choice(there) if there else None

    def host(self) -> str:
        """A server, drawn."""
        return self.dice.choice(list(self.plan.hosts))

    @cached_property
    def links(self) -> list[Wire]:
        """The cables between switches."""
        return [wire for wire in self.plan.wires if {wire.a.device, wire.b.device} <= self.plan.configs.keys()]

    @cached_property
    def nics(self) -> list[Wire]:
        """The cables of servers, with the server at end ``a``."""
        return [wire for wire in self.plan.wires if wire.a.device in self.plan.hosts]

    def end(self) -> Plug:
        """An end of a cable between switches, drawn."""
        wire = self.dice.choice(self.links)
        return self.dice.choice([wire.a, wire.b])

    def space(self, plug: Plug) -> str:
        """The namespace of an interface."""
        return self.plan.space(plug.device, plug.interface)

    def session(self, config: DeviceConfig) -> Session:
        """A session between switches, drawn."""
        assert config.bgp is not None
        return self.dice.choice([session for group in config.bgp.groups for session in group.sessions])

    def by_shell(
        self, space: str, do: str, undo: str, at: Iterable[str], words: str, settle_s: float = 3, what: str = ""
    ) -> Fault:
        """A fault made by a shell command in a namespace, and taken away by another."""
        return Fault(
            f"{space}: {what or do}",
            tuple(at),
            words,
            lambda: self.inside(space, do),
            lambda: self.inside(space, undo),
            settle_s,
        )

    def by_vtysh(self, device: str, do: Sequence[str], undo: Sequence[str], words: str, settle_s: float = 4) -> Fault:
        """A fault typed into vtysh, and typed away."""
        return Fault(
            f"{device}: {' / '.join(do)}",
            (device,),
            words,
            lambda: self.vtysh(device, do),
            lambda: self.vtysh(device, undo),
            settle_s,
        )

    def prefixes(self, leaf: str = "") -> list[tuple[str, str]]:
        """Prefixes of servers that are in the underlay's own table, each with its leaf."""
        return [
            (str(prefix), config.name)
            for config in self.plan.configs.values()
            if not config.vrfs and (not leaf or config.name == leaf)
            for gateway in config.gateways
            for prefix in (ip_interface(str(address)).network for address in gateway.addresses)
        ] or [
            (str(config.loopback), config.name)
            for config in self.plan.configs.values()
            if config.role == "leaf" and (not leaf or config.name == leaf)
        ]


Draw = Callable[[Bench], Fault | None]
KINDS: dict[str, Draw] = {}
"""Every kind of fault by its name."""


def kind(name: str) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        KINDS[name] = draw
        return draw

    return add


ROUTE_MAPS_S = 8
"""FRR waits 5 s for more lines before it applies a route map (bgp route-map delay-timer)."""


# Links and ports.


@kind("port set down")
def _port_down(bench: Bench) -> Fault:
    plug = bench.end()
    far = next(end for wire in bench.links for end, other in ((wire.a, wire.b), (wire.b, wire.a)) if other == plug)
    words = f"link set {plug.interface}"
    return bench.by_shell(
        bench.space(plug), f"ip {words} down", f"ip {words} up", [plug.device, far.device], r"^port-(shut|down) "
    )


@kind("NIC set down")
def _nic_down(bench: Bench) -> Fault:
    wire = bench.dice.choice(bench.nics)
    words = f"ip link set {wire.a.interface}"
    return bench.by_shell(
        wire.a.device, f"{words} down", f"{words} up", [wire.a.device, wire.b.device], r"^(nic-down|port-down) "
    )


@kind("leaf's port to a server set down")
def _server_port_down(bench: Bench) -> Fault:
    wire = bench.dice.choice(bench.nics)
    words = f"ip link set {wire.b.interface}"
    return bench.by_shell(
        bench.space(wire.b), f"{words} down", f"{words} up", [wire.a.device, wire.b.device], r"^port-(shut|down) "
    )


@kind("MTU of a port")
def _port_mtu(bench: Bench) -> Fault:
    plug, mtu = bench.end(), bench.dice.choice([1500, 4096, 9000])
    words = f"ip link set {plug.interface} mtu"
    return bench.by_shell(
        bench.space(plug), f"{words} {mtu}", f"{words} {plug.mtu}", [plug.device], rf"^port-mtu-differs .*\b{mtu}\b"
    )


@kind("MTU of a NIC")
def _nic_mtu(bench: Bench) -> Fault:
    plug, mtu = bench.dice.choice(bench.nics).a, bench.dice.choice([1500, 4200])
    words = f"ip link set {plug.interface} mtu"
    return bench.by_shell(
        plug.device, f"{words} {mtu}", f"{words} {plug.mtu}", [plug.device], rf"^nic-mtu-differs .*\b{mtu}\b"
    )


@kind("cables swapped")
def _swapped(bench: Bench) -> Fault | None:
    """Two cables between switches, exchanged at the device where both end."""
    config = bench.switch()
    assert config is not None
    pairs = [
        (first, second)
        for first in bench.links
        for second in bench.links
        if first is not second
        and first.b.device == second.b.device == config.name
        and first.a.device != second.a.device
    ]
    if not pairs:
        return None
    first, second = bench.dice.choice(pairs)
    crossed = (replace(first, b=second.b), replace(second, b=first.b))
    return Fault(
        f"{config.name}: {first.link} and {second.link}",
        (config.name, first.a.device, second.a.device),
        r"^(cables-swapped|cable-wrong) ",
        lambda: rewire(bench.lab, (first, second), crossed),
        lambda: rewire(bench.lab, crossed, (first, second)),
        2 * lldp.INTERVAL_S + 2,  # both ends have announced themselves by then
    )


def rewire(lab: Running, gone: Iterable[Wire], made: Iterable[Wire]) -> None:
    """Pull cables and plug in others between the same ports, of routers that are off meanwhile: FRR does not take up a new interface under an old name."""
    plan, made = lab.plan, list(made)
    routed = {plug.device for wire in made if wire.a.device in plan.configs for plug in (wire.a, wire.b)}
    pids = [routers.daemon_pid(lab.place, device, daemon) for device in routed for daemon in lab.frr.daemons]
    processes.end([pid for pid in pids if pid is not None])

    def run(space: str, lines: Iterable[str]) -> None:
        batch = "\n".join(lines)
        words = ["ip", *(["-n", namespace(lab.place.lab, space)] if space else []), "-batch", "-"]
        subprocess.run(words, input=batch, text=True, check=True, capture_output=True)

    for wire in gone:
        run(plan.space(wire.a.device, wire.a.interface), [f"link del {wire.a.interface}"])
    for wire in made:
        ends = [
            f"name {plug.interface} netns {namespace(lab.place.lab, plan.space(plug.device, plug.interface))} mtu {plug.mtu}"
            + (f" address {plug.mac}" if plug.mac else "")
            for plug in (wire.a, wire.b)
        ]
        run("", [f"link add {ends[0]} type veth peer {ends[1]}"])
    for device, interface in {(plug.device, plug.interface) for wire in made for plug in (wire.a, wire.b)}:
        config = plan.configs.get(device)
        lines = router_lines(config) if config else [f"link set {interface} up"]
        run(
            plan.space(device, interface),
            [line for line in lines if line.startswith(f"link set {interface} ") or line.endswith(f" dev {interface}")],
        )
        lldp.configure(lab.place, plan, device)
    configs = [plan.configs[device] for device in sorted(routed)]
    routers.start(lab.place, lab.frr, configs, lambda _: None)
    routers.solicit(lab.place, plan.configs.values())


@kind("link flaps")
def _flaps(bench: Bench) -> Fault:
    wire = bench.dice.choice(bench.links)
    words = f"ip link set {wire.b.interface}"
    rounds = "; ".join([f"{words} down; sleep 0.5; {words} up; sleep 0.5"] * 3)
    return bench.by_shell(
        bench.space(wire.b),
        rounds,
        ":",
        [wire.a.device, wire.b.device],
        r"^(port-flapped|link-flapped|session-flapped|\S*flap\S*) ",
        12,
        f"{wire.b.interface} down and up three times",
    )


# Addresses.


@kind("gateway's address taken away")
def _gateway(bench: Bench) -> Fault | None:
    config = bench.switch(has=lambda config: config.gateways)
    if config is None:
        return None
    gateway = bench.dice.choice(config.gateways)
    words = f"{bench.dice.choice(gateway.addresses)} dev {gateway.name}"
    return bench.by_shell(
        bench.plan.space(config.name, gateway.name),
        f"ip addr del {words}",
        f"ip addr add {words} nodad" if ":" in words else f"ip addr add {words}",
        [config.name],
        r"^gateway-address-differs ",
    )


@kind("another address on a gateway")
def _gateway_extra(bench: Bench) -> Fault | None:
    config = bench.switch(has=lambda config: config.gateways)
    if config is None:
        return None
    gateway = bench.dice.choice(config.gateways)
    words = f"192.0.2.1/24 dev {gateway.name}"
    return bench.by_shell(
        bench.plan.space(config.name, gateway.name),
        f"ip addr add {words}",
        f"ip addr del {words}",
        [config.name],
        r"192\.0\.2\.1",
    )


@kind("gateway address of another leaf")
def _gateway_duplicate(bench: Bench) -> Fault | None:
    """A leaf has the gateway address of another leaf, beside its own."""
    leaves = [config for config in bench.plan.configs.values() if config.gateways]
    if len(leaves) < 2:
        return None
    config, other = bench.dice.sample(leaves, 2)
    address = bench.dice.choice(bench.dice.choice(other.gateways).addresses)
    if any(address in gateway.addresses for gateway in config.gateways):
        return None
    gateway = config.gateways[0]
    words = f"{address} dev {gateway.name}"
    return bench.by_shell(
        bench.plan.space(config.name, gateway.name),
        f"ip addr add {words}{' nodad' if ':' in words else ''}",
        f"ip addr del {words}",
        [config.name],
        rf"{re.escape(str(address).partition('/')[0])}.*{other.name}|{other.name}.*{re.escape(str(address).partition('/')[0])}",
    )


@kind("NIC's address taken away")
def _nic_address(bench: Bench) -> Fault | None:
    wire = bench.dice.choice(bench.nics)
    addresses = _addresses(bench, wire.a)
    if not addresses:
        return None
    address = bench.dice.choice(addresses)
    words = f"{address} dev {wire.a.interface}"
    return bench.by_shell(
        wire.a.device,
        f"ip addr del {words}; sysctl -qw net.ipv6.conf.{wire.a.interface}.accept_ra=0",
        f"sysctl -qw net.ipv6.conf.{wire.a.interface}.accept_ra=1; ip addr add {words}"
        + (" valid_lft 40 preferred_lft 20" if ":" in address else ""),
        [wire.a.device],
        r"^nic-address-missing ",
    )


def _addresses(bench: Bench, plug: Plug) -> list[str]:
    said = json.loads(bench.inside(bench.space(plug), f"ip -j addr show dev {plug.interface} scope global"))
    return [
        f"{entry['local']}/{entry['prefixlen']}"
        for link in said
        for entry in link.get("addr_info", ())
        if "local" in entry
    ]


@kind("address of another server")
def _duplicate(bench: Bench) -> Fault | None:
    first, second = bench.dice.sample(bench.nics, 2)
    addresses = _addresses(bench, second.a)
    if first.a.device == second.a.device or not addresses:
        return None
    address = bench.dice.choice(addresses)
    words = f"{address} dev {first.a.interface}"
    plain = re.escape(address.partition("/")[0])
    return bench.by_shell(
        first.a.device,
        f"ip addr add {words}{' nodad' if ':' in address else ''}",
        f"ip addr del {words}",
        [first.a.device],
        rf"^server-address-duplicate .*{plain}.*{second.a.device}",
    )


@kind("IPv4 address on a NIC")
def _stray_ipv4(bench: Bench) -> Fault:
    plug = bench.dice.choice(bench.nics).a
    words = f"192.168.77.{bench.dice.randrange(2, 250)}/24 dev {plug.interface}"
    return bench.by_shell(
        plug.device, f"ip addr add {words}", f"ip addr del {words}", [plug.device], r"192\.168\.77\.\d+"
    )


@kind("loopback address taken away")
def _loopback(bench: Bench) -> Fault | None:
    config = bench.switch(has=lambda config: config.overlay is not None)
    if config is None:
        return None
    words = f"{config.loopback} dev lo"
    return bench.by_shell(
        config.name,
        f"ip addr del {words}",
        f"ip addr add {words}",
        [config.name],
        rf"{re.escape(str(config.loopback).partition('/')[0])}",
        12,
    )


@kind("address of a fabric port")
def _link_address(bench: Bench) -> Fault | None:
    plug = bench.end()
    addresses = _addresses(bench, plug)
    if not addresses:
        return None
    words = f"{addresses[0]} dev {plug.interface}"
    return bench.by_shell(
        plug.device,
        f"ip addr del {words}",
        f"ip addr add {words}",
        [plug.device],
        rf"{plug.interface}",
        8,
    )


# Neighbors.


@kind("permanent neighbor on a server")
def _neighbor(bench: Bench) -> Fault:
    plug = bench.dice.choice(bench.nics).a
    words = f"2001:db8::77 dev {plug.interface}"
    return bench.by_shell(
        plug.device,
        f"ip -6 neigh add {words} lladdr 02:00:00:00:00:77 nud permanent",
        f"ip -6 neigh del {words}",
        [plug.device],
        r"^server-neighbor-permanent ",
    )


@kind("wrong permanent neighbor on a leaf")
def _leaf_neighbor(bench: Bench) -> Fault | None:
    """A leaf has another MAC address for a server's address, for ever."""
    wire = bench.dice.choice(bench.nics)
    addresses = _addresses(bench, wire.a)
    config = bench.plan.configs[wire.b.device]
    gateway = next(
        (g.name for g in config.gateways if bench.plan.space(config.name, g.name) == bench.space(wire.b)), ""
    )
    if not addresses or not gateway:
        return None
    address = bench.dice.choice(addresses).partition("/")[0]
    return bench.by_shell(
        bench.plan.space(config.name, gateway),
        f"ip neigh replace {address} dev {gateway} lladdr 02:00:00:00:00:66 nud permanent",
        f"ip neigh del {address} dev {gateway}",
        [config.name],
        rf"02:00:00:00:00:66|{re.escape(address)}",
    )


# Rules and routes.


@kind("server's rule taken away")
def _rule(bench: Bench) -> Fault | None:
    host = bench.plan.hosts[bench.host()]
    rules = [rule for rule in host.rules if rule.from_]
    if not rules:
        return None
    rule = bench.dice.choice(rules)
    family = "-6" if ":" in str(rule.from_) else "-4"
    words = f"from {rule.from_} lookup {rule.table}"
    priority = f" priority {rule.priority}" if rule.priority else ""
    return bench.by_shell(
        host.name,
        f"ip {family} rule del {words}",
        f"ip {family} rule add {words}{priority}",
        [host.name],
        r"^server-rule-missing ",
    )


@kind("stray rule on a server")
def _stray_rule(bench: Bench) -> Fault | None:
    host = bench.plan.hosts[bench.host()]
    rules = [rule for rule in host.rules if rule.from_]
    if not rules:
        return None
    rule = bench.dice.choice(rules)
    family = "-6" if ":" in str(rule.from_) else "-4"
    words = f"from {rule.from_} lookup 254 priority 7"
    return bench.by_shell(
        host.name, f"ip {family} rule add {words}", f"ip {family} rule del {words}", [host.name], r"^server-rule-stray "
    )


@kind("server's route taken away")
def _server_route(bench: Bench) -> Fault | None:
    host = bench.plan.hosts[bench.host()]
    routes = [route for route in host.routes if route.via]
    if not routes:
        return None
    route = bench.dice.choice(routes)
    family = "-6" if ":" in str(route.via) else "-4"
    words = f"{route.to} via {route.via} dev {route.dev} table {route.table}"
    there = bench.inside(host.name, f"ip {family} route show {route.to} table {route.table} dev {route.dev}").strip()
    if not there:
        return None
    return bench.by_shell(
        host.name,
        f"ip {family} route del {words}",
        f"ip {family} route add {there.splitlines()[0]} dev {route.dev} table {route.table}",
        [host.name],
        r"^server-route-missing ",
    )


@kind("stray route on a server")
def _server_stray_route(bench: Bench) -> Fault | None:
    host = bench.plan.hosts[bench.host()]
    routes = [route for route in host.routes if route.via]
    if not routes:
        return None
    route = bench.dice.choice(routes)
    six = ":" in str(route.via)
    words = f"{'2001:db8:99::/48' if six else '203.0.113.0/24'} dev {route.dev} table {route.table}"
    return bench.by_shell(
        host.name,
        f"ip {'-6' if six else '-4'} route add {words}",
        f"ip {'-6' if six else '-4'} route del {words}",
        [host.name],
        r"^server-route-stray ",
    )


def _family(prefix: str) -> str:
    return "-6" if ":" in prefix else "-4"


@kind("blackhole in a switch's kernel")
def _blackhole(bench: Bench) -> Fault:
    prefix, leaf = bench.dice.choice(bench.prefixes())
    device = bench.dice.choice([name for name in bench.plan.configs if name != leaf])
    words = f"blackhole {prefix} metric 1"
    return bench.by_shell(
        device,
        f"ip {_family(prefix)} route add {words}",
        f"ip {_family(prefix)} route del {words}",
        [device],
        rf"^route-drops .*{re.escape(prefix)}",
    )


@kind("Null0 by vtysh")
def _null_route(bench: Bench) -> Fault:
    prefix, leaf = bench.dice.choice(bench.prefixes())
    device = bench.dice.choice([name for name in bench.plan.configs if name != leaf])
    words = f"{'ipv6' if ':' in prefix else 'ip'} route {prefix} Null0"
    return bench.by_vtysh(device, [words], [f"no {words}"], rf"(route-drops|configuration-\S+) .*{re.escape(prefix)}")


def _more_specific(prefix: str) -> str:
    net = ip_network(prefix)
    if net.prefixlen == net.max_prefixlen:
        return prefix
    return str(next(net.subnets(new_prefix=min(net.prefixlen + 16, net.max_prefixlen))))


@kind("more specific route in a switch's kernel")
def _kernel_route(bench: Bench) -> Fault | None:
    prefix, leaf = bench.dice.choice(bench.prefixes())
    specific = _more_specific(prefix)
    plug = bench.end()
    if plug.device == leaf or specific == prefix:
        return None
    via = "via fe80::1 " if ":" in specific else ""
    words = f"{specific} {via}dev {plug.interface}"
    return bench.by_shell(
        plug.device,
        f"ip {_family(prefix)} route add {words}",
        f"ip {_family(prefix)} route del {words}",
        [plug.device],
        rf"^route-\S+ .*{re.escape(specific)}",
    )


@kind("static route by another port")
def _static_route(bench: Bench) -> Fault | None:
    prefix, leaf = bench.dice.choice(bench.prefixes())
    plug = bench.end()
    if plug.device == leaf:
        return None
    hop = f"fe80::2 {plug.interface}" if ":" in prefix else plug.interface
    words = f"{'ipv6' if ':' in prefix else 'ip'} route {prefix} {hop}"
    return bench.by_vtysh(
        plug.device, [words], [f"no {words}"], rf"(route-\S+|configuration-\S+) .*{re.escape(prefix)}"
    )


@kind("rule on a switch that drops")
def _switch_rule(bench: Bench) -> Fault:
    plug = bench.end()
    family = "-6" if ":" in bench.prefixes()[0][0] else "-4"
    words = f"iif {plug.interface} blackhole priority 5"
    return bench.by_shell(
        plug.device,
        f"ip {family} rule add {words}",
        f"ip {family} rule del {words}",
        [plug.device],
        r"^forwarding-off ",
    )


@kind("rule on a switch for some prefixes")
def _switch_prefix_rule(bench: Bench) -> Fault:
    prefix, leaf = bench.dice.choice(bench.prefixes())
    device = bench.dice.choice([name for name in bench.plan.configs if name != leaf])
    words = f"to {prefix} blackhole priority 5"
    return bench.by_shell(
        device,
        f"ip {_family(prefix)} rule add {words}",
        f"ip {_family(prefix)} rule del {words}",
        [device],
        rf"{re.escape(prefix)}",
    )


# Forwarding and filters.


@kind("forwarding off")
def _forwarding(bench: Bench) -> Fault:
    config = bench.switch()
    assert config is not None
    name = "net.ipv6.conf.all.forwarding" if ":" in bench.prefixes()[0][0] else "net.ipv4.ip_forward"
    return bench.by_shell(config.name, f"sysctl -qw {name}=0", f"sysctl -qw {name}=1", [config.name], r"forwarding")


@kind("hash policy of the kernel")
def _hash(bench: Bench) -> Fault:
    config = bench.switch()
    assert config is not None
    family = "ipv6" if ":" in bench.prefixes()[0][0] else "ipv4"
    name = f"net.{family}.fib_multipath_hash_policy"
    return bench.by_shell(config.name, f"sysctl -qw {name}=0", f"sysctl -qw {name}=1", [config.name], r"hash")


@kind("reverse path filter of the kernel")
def _reverse_path(bench: Bench) -> Fault | None:
    config = bench.switch()
    assert config is not None
    if ":" in bench.prefixes()[0][0]:
        return None
    name = "net.ipv4.conf.all.rp_filter"
    return bench.by_shell(config.name, f"sysctl -qw {name}=1", f"sysctl -qw {name}=0", [config.name], r"rp_filter")


@kind("IPv6 off on a port")
def _ipv6_off(bench: Bench) -> Fault | None:
    plug = bench.end()
    if ":" not in bench.prefixes()[0][0]:
        return None
    name = f"net.ipv6.conf.{plug.interface}.disable_ipv6"
    return bench.by_shell(
        bench.space(plug), f"sysctl -qw {name}=1", f"sysctl -qw {name}=0", [plug.device], rf"{plug.interface}", 8
    )


@kind("accept_ra off on a NIC")
def _accept_ra(bench: Bench) -> Fault | None:
    plug = bench.dice.choice(bench.nics).a
    if not any(gateway.advertisements for config in bench.plan.configs.values() for gateway in config.gateways):
        return None
    name = f"net.ipv6.conf.{plug.interface}.accept_ra"
    return bench.by_shell(
        plug.device, f"sysctl -qw {name}=0", f"sysctl -qw {name}=1", [plug.device], r"accept_ra|nic-address-missing", 24
    )


def _nft(hook: str, rule: str) -> tuple[str, str]:
    chain = f"{{ type filter hook {hook} priority 0; policy accept; }}"
    return (
        f"nft add table inet stray && nft add chain inet stray c '{chain}' && nft add rule inet stray c {rule}",
        "nft delete table inet stray",
    )


@kind("nft drops what a switch forwards")
def _nft_forward(bench: Bench) -> Fault:
    config = bench.switch()
    assert config is not None
    port = bench.dice.choice([interface.name for interface in config.interfaces if interface.kind == "fabric"])
    rule = bench.dice.choice(["udp dport 4791 drop", f'iifname "{port}" drop', "counter drop"])
    do, undo = _nft("forward", rule)
    return bench.by_shell(config.name, do, undo, [config.name], r"^\S*filter\S* |nft", what=f"nft forward {rule}")


@kind("nft drops BGP")
def _nft_bgp(bench: Bench) -> Fault:
    config = bench.switch()
    assert config is not None
    do, undo = _nft("input", "tcp dport 179 drop; nft add rule inet stray c tcp sport 179 drop")
    return bench.by_shell(config.name, do, undo, [config.name], r"filter|nft", 14, "nft input tcp 179 drop")


@kind("nft drops on a server")
def _nft_server(bench: Bench) -> Fault:
    host = bench.host()
    do, undo = _nft("input", "udp dport 4791 drop")
    return bench.by_shell(host, do, undo, [host], r"filter|nft|firewall|4791", what="nft input udp 4791 drop")


@kind("tc drops on a port")
def _tc(bench: Bench) -> Fault:
    plug = bench.end()
    six = ":" in bench.prefixes()[0][0]
    udp = f"protocol {'ipv6' if six else 'ip'} u32 match u8 17 0xff at {6 if six else 9}"
    do = f"tc qdisc add dev {plug.interface} clsact && tc filter add dev {plug.interface} ingress prio 7 {udp} action drop"
    return bench.by_shell(
        bench.space(plug),
        do,
        f"tc qdisc del dev {plug.interface} clsact",
        [plug.device],
        r"filter|tc",
        what=f"tc on {plug.interface}",
    )


# Policies, colors, sessions, by vtysh.


def _edited(
    bench: Bench,
    pattern: str,
    change: Callable[[re.Match[str]], tuple[list[str], list[str]]],
    words: str,
    settle_s: float = 5,
) -> Fault | None:
    """A statement of a designed frr.conf, changed by vtysh in its context. ``change`` gives the lines that do and undo it."""
    there: list[tuple[str, list[str], re.Match[str]]] = []
    for device in bench.plan.configs:
        above: list[str] = []
        for line in bench.text(device).splitlines():
            depth = len(line) - len(line.lstrip())
            stripped = line.strip()
            above = above[:depth]
            if stripped in {"exit", "exit-address-family", "!"}:
                continue
            if match := re.fullmatch(pattern, stripped):
                there.append((device, list(above), match))
            above = [*above, stripped]
    if not there:
        return None
    device, above, match = bench.dice.choice(there)
    do, undo = change(match)
    return bench.by_vtysh(device, [*above, *do], [*above, *undo], words, settle_s)


def _replaced(pattern: str, new: Callable[[Bench, re.Match[str]], str], words: str, settle_s: float = 5) -> Draw:
    """A kind: a statement replaced by another that takes its place."""

    def draw(bench: Bench) -> Fault | None:
        return _edited(bench, pattern, lambda match: ([new(bench, match)], [match[0]]), words, settle_s)

    return draw


def _removed(pattern: str, words: str, settle_s: float = 5) -> Draw:
    """A kind: a statement taken away."""

    def draw(bench: Bench) -> Fault | None:
        return _edited(bench, pattern, lambda match: ([f"no {match[0]}"], [match[0]]), words, settle_s)

    return draw


def _added(pattern: str, line: Callable[[Bench, re.Match[str]], str], words: str, settle_s: float = 5) -> Draw:
    """A kind: a statement added where another stands."""

    def draw(bench: Bench) -> Fault | None:
        def change(match: re.Match[str]) -> tuple[list[str], list[str]]:
            text = line(bench, match)
            return [text], [f"no {text}"]

        return _edited(bench, pattern, change, words, settle_s)

    return draw


def _router_id(bench: Bench) -> Fault | None:
    first, second = bench.dice.sample(list(bench.plan.configs.values()), 2)
    if first.bgp is None or second.bgp is None:
        return None
    words = [f"router bgp {first.bgp.asn}", f"bgp router-id {second.bgp.router_id}"]
    undo = [f"router bgp {first.bgp.asn}", f"bgp router-id {first.bgp.router_id}"]
    return bench.by_vtysh(first.name, words, undo, rf"router.id.*{re.escape(str(second.bgp.router_id))}", 12)


def _bfd_off(bench: Bench) -> Fault | None:
    config = bench.switch(has=lambda config: config.bgp is not None and config.bgp.bfd is not None)
    if config is None or config.bgp is None:
        return None
    group = bench.dice.choice(config.bgp.groups)
    words = [f"router bgp {config.bgp.asn}", f"neighbor {group.name} bfd"]
    return bench.by_vtysh(
        config.name, [words[0], f"no {words[1]}"], [words[0], f"{words[1]} profile fabric"], r"[Bb][Ff][Dd]", 6
    )


def _wrong_prefix(bench: Bench) -> Fault | None:
    """A gateway advertises one more prefix, of another rail."""
    return _edited(
        bench,
        r"ipv6 nd prefix (\S+) (\d+) (\d+)",
        lambda _: (["ipv6 nd prefix 2001:db8:bad::/64 40 20"], ["no ipv6 nd prefix 2001:db8:bad::/64 40 20"]),
        r"2001:db8:bad::",
        8,
    )


def _of_tenant(bench: Bench, pattern: str, new: Callable[[re.Match[str]], str], words: str) -> Fault | None:
    return _edited(
        bench, pattern, lambda match: ([f"no {match[0]}", new(match)], [f"no {new(match)}", match[0]]), words, 8
    )


def _shutdown(bench: Bench) -> Fault:
    plug = bench.end()
    words = [f"interface {plug.interface}", "shutdown"]
    return replace(
        bench.by_vtysh(
            plug.device,
            words,
            [words[0], "no shutdown"],
            rf"(port-shut|port-down|configuration-\S+) .*{plug.interface}",
        ),
        at=tuple({end.device for wire in bench.links if plug in (wire.a, wire.b) for end in (wire.a, wire.b)}),
    )


def _hijack(bench: Bench, specific: bool) -> Fault | None:
    """A switch originates a prefix of a leaf that is not its own, or a part of it: with the policies that it then needs to pass."""
    prefixes = bench.prefixes()
    prefix, leaf = bench.dice.choice(prefixes)
    config = bench.switch(has=lambda config: config.name != leaf and config.bgp is not None)
    if config is None or config.bgp is None:
        return None
    wanted = _more_specific(prefix) if specific else prefix
    if specific and wanted == prefix:
        return None
    six = ":" in wanted
    groups = [group.name for group in config.bgp.groups]
    family = f"address-family {'ipv6' if six else 'ipv4'} unicast"
    outs = re.findall(r"neighbor (\S+) route-map (\S+) out", bench.text(config.name))
    maps = sorted({name for group, name in outs if group in groups})
    words = [
        *(line for name in maps for line in (f"route-map {name} permit 1", "exit")),
        f"router bgp {config.bgp.asn}",
        "no bgp network import-check",
        family,
        f"network {wanted}",
    ]
    undo = [
        f"router bgp {config.bgp.asn}",
        "bgp network import-check",
        family,
        f"no network {wanted}",
        "exit",
        "exit",
        *(f"no route-map {name} permit 1" for name in maps),
    ]
    fault = bench.by_vtysh(config.name, words, undo, re.escape(wanted), ROUTE_MAPS_S + 2)
    return replace(fault, what=f"{config.name} originates {wanted} of {leaf}")


def _static_hijack(bench: Bench) -> Fault | None:
    """A leaf has a gateway address in a prefix of another leaf, which it then redistributes as its own."""
    leaves = [config for config in bench.plan.configs.values() if config.gateways and not config.vrfs]
    if len(leaves) < 2:
        return None
    config, other = bench.dice.sample(leaves, 2)
    address = bench.dice.choice(other.gateways[0].addresses)
    length = str(address).partition("/")[2]
    net = str(ip_interface(str(address)).network)
    wanted = f"{net.partition('/')[0]}77/{length}"
    gateway = config.gateways[0].name
    fault = bench.by_shell(
        config.name,
        f"ip addr add {wanted} dev {gateway} nodad",
        f"ip addr del {wanted} dev {gateway}",
        [config.name],
        re.escape(wanted.partition("/")[0]) + "|" + re.escape(net),
        8,
    )

    def end() -> None:
        """Take away what servers learned of the prefix too."""
        fault.end()
        known = re.escape(net.partition("::")[0])
        for wire in bench.nics:
            if wire.b.device == config.name:
                nic = wire.a.interface
                bench.inside(
                    wire.a.device,
                    f"for a in $(ip -6 -o addr show dev {nic} | grep -o ' {known}:[^ ]*'); do ip addr del $a dev {nic}; done; "
                    f"ip -6 route flush dev {nic} {net}",
                )

    return replace(fault, end=end)


KINDS |= {
    # Policies and colors.
    "policy term refuses": _replaced(
        r"route-map (\S+) permit (\d+)", lambda _, m: f"route-map {m[1]} deny {m[2]}", r"route-map", ROUTE_MAPS_S
    ),
    "policy's match taken away": _removed(r"match (?:ip|ipv6) address prefix-list \S+", r"prefix-list", ROUTE_MAPS_S),
    "entry of a prefix list": _removed(
        r"(?:ip|ipv6) prefix-list own\S* seq \d+ permit \S+", r"prefix-list", ROUTE_MAPS_S
    ),
    "policy of a session taken away": _removed(r"neighbor \S+ route-map \S+ (?:in|out)", r"route-map", ROUTE_MAPS_S),
    "wrong color": _replaced(
        r"set large-community (\d+:\d+):(\d+) additive",
        lambda _, m: f"set large-community {m[1]}:{int(m[2]) + 7} additive",
        r"large-community|color",
        ROUTE_MAPS_S,
    ),
    "color's preference": _replaced(
        r"set local-preference (\d+)",
        lambda _, m: f"set local-preference {int(m[1]) // 4}",
        r"local-preference",
        ROUTE_MAPS_S,
    ),
    "community list": _removed(
        r"bgp large-community-list standard \S+ seq \d+ permit \S+", r"large-community", ROUTE_MAPS_S
    ),
    # Sessions.
    "AS of a neighbor": _replaced(
        r"neighbor (\S+) (interface )?remote-as (\d+)",
        lambda bench, m: f"neighbor {m[1]} {m[2] or ''}remote-as {int(m[3]) + 3}",
        r"remote-as|\bAS \d+",
        10,
    ),
    "own AS towards a neighbor": _added(
        r"neighbor (\S+) peer-group \S+",
        lambda _, m: f"neighbor {m[1]} local-as 64999 no-prepend replace-as",
        r"64999",
        12,
    ),
    "router id of another switch": _router_id,
    "session shut down": _added(r"neighbor (\S+) peer-group \S+", lambda _, m: f"neighbor {m[1]} shutdown", r"shut", 4),
    "most prefixes": _added(
        r"neighbor (\S+) activate", lambda _, m: f"neighbor {m[1]} maximum-prefix 1", r"maximum.prefix", 8
    ),
    "timers of a session": _added(
        r"neighbor (\S+) peer-group \S+", lambda _, m: f"neighbor {m[1]} timers 1 3", r"timers|hold", 8
    ),
    "BFD timers": _replaced(
        r"transmit-interval (\d+)", lambda _, m: f"transmit-interval {int(m[1]) + 150}", r"transmit-interval|\bms\b"
    ),
    "BFD off": _bfd_off,
    "password of a session": _added(
        r"neighbor (\S+) peer-group \S+", lambda _, m: f"neighbor {m[1]} password wrong", r"password", 14
    ),
    "one path only": _replaced(r"maximum-paths (\d+)", lambda _, __: "maximum-paths 1", r"maximum-paths|leaves by"),
    "session not activated": _removed(r"neighbor \S+ activate", r"activate", 8),
    "redistribution taken away": _removed(r"redistribute connected.*", r"redistribute|no other leaf", 8),
    "connection timer": _replaced(
        r"neighbor (\S+) timers connect (\d+)", lambda _, m: f"neighbor {m[1]} timers connect 60", r"timers connect"
    ),
    # Router advertisements.
    "no router advertisements": _replaced(
        r"no ipv6 nd suppress-ra", lambda _, __: "ipv6 nd suppress-ra", r"suppress-ra|advertis", 24
    ),
    "interval of router advertisements": _replaced(
        r"ipv6 nd ra-interval (\d+)", lambda _, m: f"ipv6 nd ra-interval {int(m[1]) + 6}", r"ra-interval|interval"
    ),
    "lifetime of a router": _replaced(
        r"ipv6 nd ra-lifetime (\d+)", lambda _, __: "ipv6 nd ra-lifetime 0", r"ra-lifetime|lifetime", 6
    ),
    "prefix advertised wrongly": _wrong_prefix,
    # Prefixes of others.
    "prefix of another leaf originated": lambda bench: _hijack(bench, specific=False),
    "part of another leaf's prefix originated": lambda bench: _hijack(bench, specific=True),
    "gateway in another leaf's prefix": _static_hijack,
    # Tenants.
    "route target not imported": lambda bench: _of_tenant(
        bench, r"route-target import (\S+)", lambda m: "route-target import 64512:9999", r"route.target"
    ),
    "another route target exported": lambda bench: _of_tenant(
        bench, r"route-target export (\S+)", lambda m: "route-target export 64512:9999", r"route.target"
    ),
    "another VNI": lambda bench: _of_tenant(
        bench, r"vni (\d+)", lambda m: f"vni {int(m[1]) + 5000}", r"\b[Vv][Nn][Ii]\b"
    ),
    "route distinguisher": lambda bench: _of_tenant(
        bench, r"rd (\S+):(\d+)", lambda m: f"rd {m[1]}:9999", r"\brd\b|distinguisher"
    ),
    "VNIs not advertised": _removed(r"advertise-all-vni", r"advertise-all-vni", 8),
    "prefixes of a tenant not advertised": _removed(r"advertise ipv[46] unicast", r"advertise ipv", 8),
    # Others.
    "port shut by its configuration": _shutdown,
}


@kind("another host name")
def _host_name(bench: Bench) -> Fault | None:
    """FRRouting 10.3 accepts ``hostname`` in vtysh and ignores it, so the host itself is renamed."""
    config = bench.switch()
    assert config is not None
    pid = routers.daemon_pid(bench.lab.place, config.name, "zebra")
    rename = f"nsenter --uts=/proc/{pid}/ns/uts hostname {config.name}"
    return bench.by_shell(config.name, f"{rename}x", rename, [config.name], r"hostname|host-name", 3)


# Daemons.


def _daemon(bench: Bench, word: str) -> Fault | None:
    config = bench.switch()
    assert config is not None
    daemon = bench.dice.choice(
        [name for name in ("zebra", "bgpd", "bfdd") if name in routers.daemons_of(bench.lab.frr, config)]
    )
    lab = bench.lab

    def send(number: signal.Signals) -> None:
        pid = routers.daemon_pid(lab.place, config.name, daemon)
        assert pid is not None
        os.kill(pid, number)

    def again() -> None:
        if routers.daemon_pid(lab.place, config.name, daemon) is None:
            routers.restart(lab.place, lab.frr, config, daemon)

    if word == "killed":
        return Fault(
            f"{config.name}: {daemon} killed",
            (config.name,),
            rf"^daemon-not-running .*{daemon}",
            lambda: send(signal.SIGKILL),
            again,
        )
    return Fault(
        f"{config.name}: {daemon} frozen",
        (config.name,),
        rf"^daemon-\S+ .*{daemon}",
        lambda: send(signal.SIGSTOP),
        lambda: send(signal.SIGCONT),
        4,
    )


KINDS |= {
    "daemon killed": lambda bench: _daemon(bench, "killed"),
    "daemon frozen": lambda bench: _daemon(bench, "frozen"),
}


# What servers and tenants' namespaces have.

ROGUE = """
import socket, struct, sys, time
interface, prefix, lifetime = sys.argv[1], sys.argv[2], int(sys.argv[3])
sender = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
index = socket.if_nametoindex(interface)
option = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 30 if lifetime else 0, 30 if lifetime else 0, 0) + socket.inet_pton(socket.AF_INET6, prefix)
for _ in range(int(sys.argv[4])):
    sender.sendto(struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0) + option, ("ff02::1", 0, 0, index))
    time.sleep(2)
"""


@kind("rogue router advertisements")
def _rogue(bench: Bench) -> Fault | None:
    """A server advertises itself as a router of a prefix that the design does not have."""
    wire = bench.dice.choice(bench.nics)
    neighbors = [
        other
        for other in bench.nics
        if other.b.device == wire.b.device
        and other.a.device != wire.a.device
        and bench.space(other.b) == bench.space(wire.b)
    ]
    if not neighbors or not any(gateway.advertisements for gateway in bench.plan.configs[wire.b.device].gateways):
        return None
    name = namespace(bench.lab.place.lab, wire.a.device)
    sending: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        words = [
            "ip",
            "netns",
            "exec",
            name,
            sys.executable,
            "-c",
            ROGUE,
            wire.a.interface,
            "2001:db8:666::",
            "30",
            "60",
        ]
        sending.append(subprocess.Popen(words))

    def end() -> None:
        for process in sending:
            process.kill()
            process.wait()
        bench.inside(wire.a.device, f"{sys.executable} -c '{ROGUE}' {wire.a.interface} 2001:db8:666:: 0 1")
        for other in neighbors:
            bench.inside(
                other.a.device,
                f"for a in $(ip -6 -o addr show dev {other.a.interface} | grep -o '2001:db8:666:[^ ]*'); do "
                f"ip addr del $a dev {other.a.interface}; done; "
                f"ip -6 route flush dev {other.a.interface} 2001:db8:666::/64",
            )

    port = bench.plan.network.cable(wire.link).b.port
    return Fault(
        f"{wire.a.device} {wire.a.interface} advertises 2001:db8:666::/64",
        (wire.b.device, wire.a.device),
        rf"advertis.*({re.escape(port)}|{re.escape(wire.b.interface)}|{wire.a.device})|({re.escape(port)}|{re.escape(wire.b.interface)}|{wire.a.device}).*advertis",
        begin,
        end,
        6,
    )


@kind("tunnel taken away")
def _tunnel(bench: Bench) -> Fault | None:
    config = bench.switch(has=lambda config: config.vrfs)
    if config is None:
        return None
    space = bench.dice.choice([space for space in spaces_of(config) if space != config.name])
    said = json.loads(bench.inside(space, "ip -j -d link show type vxlan"))
    if not said:
        return None
    device = bench.dice.choice([entry["ifname"] for entry in said])
    return bench.by_shell(
        space,
        f"ip link set {device} down",
        f"ip link set {device} up",
        [config.name],
        r"(?i)vni|vxlan|tunnel|vrf|tenant",
        8,
    )


@kind("server's port out of its bridge")
def _unbridged(bench: Bench) -> Fault | None:
    wire = bench.dice.choice(bench.nics)
    said = json.loads(bench.inside(bench.space(wire.b), f"ip -j link show {wire.b.interface}"))
    bridge = said[0].get("master")
    if not bridge:
        return None
    return bench.by_shell(
        bench.space(wire.b),
        f"ip link set {wire.b.interface} nomaster",
        f"ip link set {wire.b.interface} master {bridge}",
        [wire.b.device],
        rf"{wire.b.interface}|{re.escape(bench.plan.network.cable(wire.link).b.port)}",
        24,
    )
