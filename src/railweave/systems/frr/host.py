"""Settings of the Linux host below FRRouting that the design decides: links (MTU, bridges, VXLAN, VRFs, aliases) and kernel parameters.

``frr.conf`` cannot contain these settings (``render.gaps``). ``designed`` returns them as two separate texts. ``ROWS``
has the commands that set and remove each kind of statement, in the order of execution. The running statements are read
from zebra (``show interface vrf all json``) and from ``/proc/sys``. Zebra also sees VRFs that are network namespaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from railweave.errors import RenderError
from railweave.model.config.compare import compare
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.config.tree import Disruption, Node
from railweave.model.device.balancing import Hash
from railweave.model.device.port_model import Interface
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address
    from railweave.model.config.tree import Command, Name, Refusal, Step
    from railweave.model.device.model import DeviceConfig, Vrf

LINKS, PARAMETERS = "links.conf", "sysctl.conf"
"""The names of the two texts: statements about links, and kernel parameters."""
_PARAMETERS = ("net/ipv6/conf/all/forwarding", "net/ipv4/ip_forward", *(f"net/{family}/fib_multipath_hash_policy" for family in ("ipv6", "ipv4")))  # fmt: skip
QUERIES = {
    LINKS: "show interface vrf all",
    PARAMETERS: f"grep -s . {' '.join(f'/proc/sys/{name}' for name in _PARAMETERS)}",
}
"""The query for the running state of each text: a command of ``vtysh`` with JSON output, and a shell command."""

OTHER_END = "-off"
"""The suffix of the name of a veth peer. The peer stays down, so that the gateway at the veth's other end has no carrier.

Such a gateway belongs to a VLAN without ports.
"""
VXLAN_PORT = 4789
"""The UDP port of VXLAN (RFC 7348)."""

_LEFT_ALONE = re.compile(rf"(?:lo|dummy)\d*|eth0|mgmt\d*|.+{OTHER_END}")
"""A pattern of links that railweave does not configure: loopbacks, management ports, and veth peers of gateways without ports."""
_OURS = re.compile(r"(?:irb\.|br|vni)\d+")
"""A pattern of links with the names of designed bridges and tunnels. Other links are never removed."""


class Tunnel(NamedTuple):
    """The VXLAN device of a VNI. The device is a port of ``bridge``, in the namespace of ``vrf``.

    Type-5 routes of a VRF point to the bridge of the VRF's VNI. For the VNI of a layer-2 network, the bridge is that of the
    network's VLAN.
    """

    vni: int
    vrf: str
    bridge: str
    mtu: int
    layer_2: bool

    @property
    def device(self) -> str:
        """The name of the VXLAN device."""
        return f"vni{self.vni}"


def tunnels(config: DeviceConfig) -> list[Tunnel]:
    """Return the tunnels of a switch: one for each VRF, then one for each layer-2 network on the switch."""
    switch_tunnels = [
        Tunnel(vrf.vni, vrf.name, f"br{vrf.vni}", _mtu(config, vrf), layer_2=False) for vrf in config.vrfs
    ]
    vlans = {gateway.vlan_name: gateway for gateway in config.gateways}
    for vlan in config.mac_vrf.vlans if config.mac_vrf else ():
        gateway = vlans[vlan.name]
        switch_tunnels.append(Tunnel(vlan.vni, gateway.vrf, gateway.name, gateway.mtu, layer_2=True))
    return switch_tunnels


_USUAL_MTU = 1500
"""The MTU in bytes that Linux gives to new interfaces."""


def _mtu(config: DeviceConfig, vrf: Vrf) -> int:
    """Return the largest MTU of a VRF's gateways or, if the VRF has none, the default MTU of Linux interfaces."""
    return max((gateway.mtu for gateway in config.gateways if gateway.vrf == vrf.name), default=_USUAL_MTU)


def endpoint(config: DeviceConfig) -> Address | None:
    """Return the address at which a switch's tunnels end, or None if it has no tunnels. FRR has one such address for all VNIs."""
    return config.overlay.endpoints[0].address if config.overlay and config.overlay.endpoints else None


def vrf_by_interface(config: DeviceConfig) -> dict[str, str]:
    """Return the VRF by interface name, for the interfaces in VRFs: gateways, and ports in the VLANs of gateways."""
    vrfs = {gateway.name: gateway.vrf for gateway in config.gateways if gateway.vrf}
    by_vlan = {
        gateway.vlan_name: gateway.vrf for gateway in config.gateways if gateway.vlan is not None and gateway.vrf
    }
    vrfs.update({port.name: by_vlan[port.vlan] for port in config.interfaces if port.vlan in by_vlan})
    return vrfs


def parameters(config: DeviceConfig) -> dict[str, int]:
    """Return the values of the kernel parameters that the design decides, by their path below ``/proc/sys``.

    The parameters enable forwarding for each address family, and select the fields of the ECMP hash.
    """
    static = config.balancing.hash
    return {name: 1 if "forward" in name or static.layer4 else 0 for name in _PARAMETERS}


@dataclass(frozen=True)
class Row:
    """A kind of statement about a link, ``link NAME KEY VALUE``.

    - ``put``: the commands that set the statement.
    - ``removed``: the command that removes the statement. An empty text means that the statement stays, or is removed together with
      its link.
    - ``late``: True if the statement is removed only after ``frr.conf`` has changed.
    """

    put: tuple[str, ...]
    removed: str = ""
    late: bool = True


_ADDED = "in_vrf '{vrf}' ip link add dev {link} type"
_UP = "on {link} ip link set dev {link} up"
TYPES: Mapping[str, Row] = {
    "bridge": Row((f"{_ADDED} bridge mcast_snooping 0 stp_state 0", _UP), "gone {link}"),
    "unused": Row((f"{_ADDED} veth peer name {{link}}{OTHER_END}", _UP), "gone {link}"),
    "vxlan": Row(("tunnel {link} '{vrf}' {vni} {local} {bridge} {mtu}",), "gone {link}"),
}
"""The commands for each kind of link that the host has to create. The statement is ``link NAME type KIND [VNI LOCAL] [vrf VRF]``."""
ROWS: Mapping[str, Row] = {
    "type": Row((), "gone {link}"),
    "vrf": Row(("to_vrf {link} '{value}'", _UP), "to_vrf {link} ''", late=False),
    "master": Row(("join {link} {value}",), "leave {link}", late=False),
    "mtu": Row(("on {link} ip link set dev {link} mtu {value}",)),
    "alias": Row(("on {link} ip link set dev {link} alias '{value}'",), "on {link} ip link set dev {link} alias ''", late=False),
}  # fmt: skip
"""For each KEY of a statement ``link NAME KEY VALUE``, the commands that set and remove the statement, in the order of execution.

``alias`` is the description of a server's port. ``frr.conf`` has only the descriptions of ports between switches. The plan of a change
finds the NIC that would lose its switch port by the alias.
"""
THEN_DAEMONS = "# then frr.conf"
"""The line that separates commands before the change of ``frr.conf`` from those after the change.

Tunnels are created after the change, because zebra finds a VXLAN device only if it already has the VRF (FRR's issue 19403).
"""
_SHELL = r"""
namespace_of() {
  ip link show dev "$1" > /dev/null 2>&1 && return
  for one in /run/netns/*; do
    if [ -e "$one" ] && nsenter --net="$one" ip link show dev "$1" > /dev/null 2>&1; then echo "$one"; return; fi
  done
}
on() { space=$(namespace_of "$1"); shift; ${space:+nsenter --net="$space"} "$@"; }
in_vrf() {
  vrf=$1; shift
  if [ -z "$vrf" ]; then "$@"
  elif [ -e "/run/netns/$vrf" ]; then nsenter --net="/run/netns/$vrf" "$@"
  else "$@" && ip link set dev "$4" master "$vrf"; fi
}
shown() { on "$1" ip -o link show dev "$1" | sed -n "s,.* $2 \\([^ ]*\\).*,\\1,p"; }
pin() {
  if [ -n "$1" ]; then
    address=$(shown "$1" link/ether)
    [ "$address" = 00:00:00:00:00:00 ] || on "$1" ip link set dev "$1" address "$address"
  fi
}
join() { pin "$2"; on "$1" ip link set dev "$1" master "$2"; }
leave() { pin "$(shown "$1" master)"; on "$1" ip link set dev "$1" nomaster; }
gone() { pin "$(shown "$1" master)"; on "$1" ip link del dev "$1"; }
known() {
  n=0
  until vtysh -c "show evpn vni $1 json" 2> /dev/null | grep '"vni"' > /dev/null && ! vtysh -c "show evpn vni $1 json" | grep '"state": *"Down"' > /dev/null; do
    n=$((n + 1)); [ $n -lt 10 ] || return 1; sleep 0.5
  done
}
tunnel() {
  for attempt in 1 2 3 4; do
    [ $attempt = 1 ] || gone "$1"
    inside=; if [ -n "$2" ] && [ -e "/run/netns/$2" ]; then inside="netns $2"; fi
    # With a traffic class the kernel looks up each packet's path; without, all that go to one leaf take that of the first.
    ip link add dev "$1" mtu "$6" $inside type vxlan id "$3" local "$4" dstport VXLAN_PORT nolearning tos inherit || return
    join "$1" "$5" && on "$1" ip link set dev "$1" type bridge_slave learning off && on "$1" ip link set dev "$1" up || return
    known "$3" && return
  done
  echo "FRR does not find the tunnel of VNI $3 yet" >&2
}
to_vrf() {
  pin "$(shown "$1" master)"
  if [ -z "$2" ]; then
    if [ -n "$(namespace_of "$1")" ]; then on "$1" ip link set dev "$1" netns $$; else ip link set dev "$1" nomaster; fi
  elif [ -e "/run/netns/$2" ]; then on "$1" ip link set dev "$1" netns "$2"
  else ip link set dev "$1" master "$2"; fi
}
"""
"""Shell functions that the commands use.

``on LINK`` runs a command in the network namespace that contains the link. A VRF is a network namespace or a device.
``pin`` fixes the MAC address of a bridge before a port joins or leaves. Otherwise the bridge would take the lowest MAC
address of its ports. Servers use the bridge's MAC address for their gateway, and zebra announces it as the router's MAC address.
``tunnel`` creates a VXLAN device, and creates the device again if zebra does not find it (FRR's issue 19403).
"""


SHELL = _SHELL.replace("VXLAN_PORT", str(VXLAN_PORT))


@dataclass(frozen=True)
class HostTree:
    """Statements about links, or kernel parameters, as a flat tree for comparison. The members are those of ``ConfigTree``."""

    nodes: tuple[Node, ...]
    keeps_empty: bool = True
    disruptions: tuple[Disruption, ...] = (
        Disruption(
            rf"link (?:{_OURS.pattern}|(?P<port>\S+)) (vrf|master|type)$",
            "traffic of the port",
            "the port leaves its bridge or VRF, or the link is made again",
            "ip-link(8)",
            ("remove", "replace"),
        ),
    )

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the commands that carry out ``steps``, the differences between two trees.

        Commands before the line ``THEN_DAEMONS`` run before ``frr.conf`` changes, all others after the change.
        """
        first, last = list[str](), list[str]()
        after = {node.name: node.values for node in self.nodes}
        remade = {step.node.name[1] for step in steps if step.node.name[2:] == ("type",) and step.kind != "remove"}
        gone = {step.node.name[1] for step in steps if step.node.name[2:] == ("type",) and step.kind == "remove"}
        tunnelled = {name[1] for name, values in after.items() if name[2:] == ("type",) and values[0] == "vxlan"}
        puts = {step.node.name for step in steps if step.kind != "remove"}
        moved = {name[1] for name in puts if name[2:] == ("vrf",)}
        puts |= {
            name
            for name, values in after.items()
            if name[1] in remade or (name[2:] == ("master",) and (name[1] in moved or values[0] in remade))
        }
        for step in steps:
            _, link, *key = step.node.name
            if step.kind == "replace" and key == ["type"]:
                first.append(ROWS["type"].removed.format(link=link))
            elif step.kind == "remove" and key and (key == ["type"] or link not in gone):
                row = ROWS[key[0]]
                (last if row.late else first).extend([row.removed.format(link=link)] if row.removed else [])
        keys = list(ROWS)
        for name in sorted(
            (name for name in after if name in puts), key=lambda name: keys.index(name[2]) if name[2:] else 0
        ):
            if name[1] not in tunnelled & remade or name[2] == "type":
                (last if name[1] in tunnelled else first).extend(_put(name, after))
        return [*first, THEN_DAEMONS, *last] if last else list(first)

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        """Return an empty list for all ``steps``, because the kernel refuses a command only when the command runs."""
        del steps
        return ()


def _put(name: Name, nodes: Mapping[Name, tuple[str, ...]]) -> Iterator[str]:
    """Yield the commands that set the statement ``name``. ``nodes`` has the values of all statements, by name."""
    values = nodes[name]
    if name[0] == "sysctl":
        yield f"echo {values[0]} > /proc/sys/{name[1]}"
    elif name[2] == "type":
        words, _, vrf = " ".join(values).partition(" vrf ")
        kind, vni, local = (*words.split(), "", "")[:3]
        for command in TYPES[kind].put:
            bridge, mtu = (nodes.get(("link", name[1], key), ("",))[0] for key in ("master", "mtu"))
            yield command.format(link=name[1], vrf=vrf, vni=vni, local=local, bridge=bridge, mtu=mtu)
    else:
        for command in ROWS[name[2]].put:
            yield command.format(link=name[1], value=" ".join(values))


def designed(config: DeviceConfig) -> dict[str, str]:
    """Return the statements of a design as one text for links and one for kernel parameters, by file name."""
    statements = (*_bridges(config), *_ports(config), *_tunnels(config))
    return {
        LINKS: _text(_links(statements)),
        PARAMETERS: _text(_parameter(name, str(value)) for name, value in parameters(config).items()),
    }


def _bridges(config: DeviceConfig) -> Iterator[tuple[str, str, str]]:
    """Yield the statements (link, key, value) of the bridges that are gateways of VLANs.

    A gateway whose VLAN has no ports is a link of type ``unused``, which never comes up.
    """
    used = {port.vlan for port in config.interfaces}
    for gateway in config.gateways:
        if gateway.vlan is not None:
            kind = "bridge" if gateway.vlan_name in used else "unused"
            yield gateway.name, "type", f"{kind}{f' vrf {gateway.vrf}' if gateway.vrf else ''}"
            yield gateway.name, "mtu", str(gateway.mtu)


def _ports(config: DeviceConfig) -> Iterator[tuple[str, str, str]]:
    vrfs = vrf_by_interface(config)
    bridges = {gateway.vlan_name: gateway.name for gateway in config.gateways if gateway.vlan is not None}
    routed = {gateway.port: gateway.mtu for gateway in config.gateways if gateway.port}
    for port in config.interfaces:
        if port.outside:
            continue
        if vrfs.get(port.name):
            yield port.name, "vrf", vrfs[port.name]
        if port.vlan in bridges:
            yield port.name, "master", bridges[port.vlan]
        yield port.name, "mtu", str(routed.get(port.name, port.mtu - ETHERNET_HEADER))
        if port_alias := alias(port):
            yield port.name, "alias", port_alias


def alias(port: Interface) -> str:
    """Return the alias of the link of a server's port, which names the NIC at the other end. The result is empty for other ports."""
    return port.description if port.kind == "server" and not port.outside else ""


def _tunnels(config: DeviceConfig) -> Iterator[tuple[str, str, str]]:
    for tunnel in tunnels(config):
        vrf = f" vrf {tunnel.vrf}" if tunnel.vrf else ""
        if not tunnel.layer_2:
            yield tunnel.bridge, "type", f"bridge{vrf}"
            yield tunnel.bridge, "mtu", str(tunnel.mtu)
        yield tunnel.device, "type", f"vxlan {tunnel.vni} {endpoint(config)}{vrf}"
        yield tunnel.device, "master", tunnel.bridge
        yield tunnel.device, "mtu", str(tunnel.mtu)


def _links(statements: Iterable[tuple[str, str, str]]) -> tuple[Node, ...]:
    """Return statements (link, key, value) as nodes of a tree, with a mark on statements that are never removed.

    A statement may be removed if it is about a designed bridge or tunnel, or about a port of such a bridge. All other statements stay,
    and so does the MTU of a port.
    """
    every = list(statements)
    ports = {link for link, key, value in every if key == "master" and _OURS.fullmatch(value)}
    return tuple(
        Node(
            ("link", link, key),
            tuple(value.split()),
            stays=not _OURS.fullmatch(link) and (key == "mtu" or link not in ports),
        )
        for link, key, value in every
    )


def _parameter(name: str, value: str) -> Node:
    return Node(("sysctl", name), (value,), stays=True)


def _text(nodes: Iterable[Node]) -> str:
    return "".join(f"{' '.join((*node.name, *node.values))}\n" for node in nodes)


def is_one(file: str) -> bool:
    """Return True if ``file`` is one of the two files of host settings."""
    return file.rpartition("/")[2] in QUERIES


def parsed(file: str, text: str) -> HostTree:
    """Return the statements in a text, which is written by ``designed`` or is the output of a query in ``QUERIES``.

    Raises ``RenderError`` if the text is neither.
    """
    if file.rpartition("/")[2] == LINKS and text.lstrip().startswith("{"):
        try:
            shown: Any = parse_json(text)
            vrfs = {name: str(link.get("vrfName", "default")) for name, link in shown.items()}
            nodes = _links(
                statement
                for name, link in shown.items()
                for statement in _shown(name, link, vrfs.get(link.get("masterInterface"), vrfs[name]))
            )
        except (ValueError, AttributeError, TypeError, KeyError):
            raise RenderError("it is not what `show interface vrf all json` prints", 1) from None
        return HostTree(nodes)
    links, values = list[tuple[str, str, str]](), list[Node]()
    for at, line in enumerate(text.splitlines(), 1):
        path, colon, value = line.partition(":")
        words = line.split()
        if colon and path.startswith("/proc/sys/"):
            values.append(_parameter(path.removeprefix("/proc/sys/"), value.strip()))
        elif len(words) == 3 and words[0] == "sysctl":
            values.append(_parameter(words[1], words[2]))
        elif len(words) > 3 and words[0] == "link" and words[2] in ROWS:
            links.append((words[1], words[2], " ".join(words[3:])))
        elif words:
            raise RenderError(f"`{line}` is no statement about a link or a kernel parameter", at)
    return HostTree((*_links(links), *values))


def _shown(name: str, link: Mapping[str, Any], vrf: str) -> Iterator[tuple[str, str, str]]:
    """Yield the statements (link, key, value) of a link that zebra shows. Links that the kernel does not have are left out.

    ``vrf`` is the VRF of the link. A port of a bridge is in the bridge's VRF.
    """
    if _LEFT_ALONE.fullmatch(name) or link.get("pseudoInterface") or not link.get("mtu") or vrf == "mgmt":
        return
    kind, inside = str(link.get("interfaceType")), "" if vrf == "default" else f" vrf {vrf}"
    if kind == "Bridge":
        yield name, "type", f"bridge{inside}"
    elif kind == "Vxlan":
        vni = (
            next(iter(cast("Mapping[str, Any]", link.get("vxlanId") or {})), "0")
            if isinstance(link.get("vxlanId"), dict)
            else str(link.get("vxlanId"))
        )
        yield name, "type", f"vxlan {vni} {link.get('vtepIp')}{inside}"
    elif _OURS.fullmatch(name):
        yield name, "type", f"unused{inside}"
    elif inside:
        yield name, "vrf", vrf
    if link.get("masterInterface"):
        yield name, "master", str(link["masterInterface"])
    yield name, "mtu", str(link["mtu"])
    if re.fullmatch(r"[\w./: ,-]+", shown := " ".join(str(link.get("OsDescription") or "").split())):
        yield name, "alias", shown


def printed(nodes: Sequence[Node]) -> str:
    """Return statements, given as the nodes of a tree, as text with one statement on each line."""
    return _text(nodes)


def changes(file: str, now: str, then: str) -> list[str]:
    """Return the commands that change the host's settings from the text ``now`` to the text ``then``."""
    return [str(command) for command in compare(parsed(file, now), parsed(file, then)).commands]


def applied(config: DeviceConfig, file: str, text: str) -> DeviceConfig:
    """Return a configuration that was read from ``frr.conf``, extended by the host settings in ``text``.

    ``file`` tells which settings these are: links (the MTUs of ports and gateways, and the ports of servers with their VLANs
    and descriptions), or kernel parameters (the fields of the ECMP hash).
    """
    values = {node.name[1:]: " ".join(node.values) for node in parsed(file, text).nodes}
    if file.rpartition("/")[2] == PARAMETERS:
        ports = all(value == "1" for (name,), value in values.items() if name.endswith("hash_policy"))
        return replace(config, balancing=replace(config.balancing, hash=Hash(layer4=ports)))

    def mtu(name: str, usual: int, header: int) -> int:
        known = values.get((name, "mtu"))
        return int(known) + header if known and known.isdecimal() else usual

    gateways = tuple(
        replace(
            gateway,
            mtu=mtu(gateway.name, gateway.mtu, 0),
            vlan_name=str(gateway.vlan or ""),
        )
        for gateway in config.gateways
    )
    known = {port.name for port in config.interfaces} | {gateway.name for gateway in gateways}
    vlans = {gateway.name: str(gateway.vlan) for gateway in gateways if gateway.vlan is not None}
    servers = tuple(
        Interface(
            name,
            "",
            "server",
            values.get((name, "alias"), ""),
            "",
            "",
            0,
            0,
            mtu(name, 0, ETHERNET_HEADER),
            0,
            vlan=vlans.get(values.get((name, "master"), "")),
        )
        for name in dict.fromkeys(name for name, *_ in values)
        if name not in known and not _OURS.fullmatch(name)
    )
    ports = tuple(replace(port, mtu=mtu(port.name, port.mtu, ETHERNET_HEADER)) for port in config.interfaces)
    return replace(config, interfaces=(*ports, *servers), gateways=gateways)
