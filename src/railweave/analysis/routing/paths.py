"""NICs by name, and the path of each queue pair: its GIDs, and every link that it may use, with the share of its traffic.

Queue pair number i of a connection uses path color i mod P, where P is the number of colors (docs/load-balancing.md). Its
source and destination addresses are in prefixes of that color, so its return path has the same color.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.errors import InputError, NetworkPart, Option, Problem
from railweave.json_values import JsonObject
from railweave.model.config.addresses import WORDS, Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.routing.table import Routes
    from railweave.model.network.devices import Nic, NicAddress
    from railweave.model.network.model import Network


PLUS = "+"
"""The separator in the name of a merged device in NCCL logs, such as mlx5_0+mlx5_1."""
PINNED = {
    "links": "pinned",
    "switches": "pinned to its switches; parallel links between two of them share its packets",
    "": "not pinned",
}
"""The description of a path by what always stays the same on it: its links, its switches, or neither."""
MOST_PARALLEL = 4
"""The largest number of parallel links that printed text names one by one. JSON output names all of them."""


def find_nic(network: Network, name: str) -> tuple[str, Nic]:
    """Return (server name, NIC) for ``SERVER:NIC``, where NIC is the NIC's name in the design, its Linux interface or its RDMA device.

    Raises ``InputError`` for unknown names.
    """
    server_name, _, nic_name = name.partition(":")
    names = [server.name for server in network.servers]
    if server_name not in names:
        raise InputError(
            [Problem(NetworkPart(name), f"there is no server {server_name!r}", f"servers are {_some(names)}")]
        )
    server = network.server(server_name)
    if not nic_name and server.nics:
        message, fix = f"no NIC of {server_name} is named", f"write HOST:NIC, as {server_name}:{server.nics[0].name}"
        raise InputError(
            [Problem(NetworkPart(server_name), message, f"{fix}; its NICs are {_some([n.name for n in server.nics])}")]
        )
    nic = server.nic(nic_name)
    if nic is None:
        raise InputError(
            [
                Problem(
                    NetworkPart(name),
                    f"{server_name} has no NIC {nic_name!r}",
                    f"its NICs are {_some([n.name for n in server.nics])}",
                )
            ]
        )
    return server_name, nic


def find_ports(network: Network, name: str) -> tuple[str, tuple[Nic, ...]]:
    """Return (server name, ports of a NIC) for ``SERVER:PORT+PORT``, or with a single port for ``SERVER:NIC``.

    Raises ``InputError`` for an unknown name, a repeated port, and ports of different NICs.
    """
    server, _, rest = name.partition(":")
    ports = [find_nic(network, f"{server}:{word}")[1] for word in rest.split(PLUS)]
    first, number = ports[0], nic_number(network, ports[0])
    for other in ports[1:]:
        if nic_number(network, other) != number:
            port_names = [nic.name for nic in network.server(server).nics if nic_number(network, nic) == number]
            message = f"{first.name} and {other.name} are not ports of one NIC"
            fix = f"{first.name} is of {server}:{PLUS.join(port_names)}" if len(port_names) > 1 else "name one NIC"
            raise InputError([Problem(NetworkPart(name), message, fix)])
    if len({nic.name for nic in ports}) < len(ports):
        raise InputError([Problem(NetworkPart(name), f"{name!r} names a port twice", "name each once")])
    return server, tuple(ports)


def nic_number(network: Network, nic: Nic) -> tuple[str, int]:
    """Return (fabric, number of the NIC on that fabric), which identifies a NIC of a server.

    All ports of a NIC give the same value.
    """
    return nic.fabric, network.fabric(nic.fabric).nic_number(nic.rail)


def plane_of(network: Network, nic: Nic) -> int:
    """Return the index of a port on its NIC, from 0, which is also the number of the port's plane."""
    adapters = network.fabric(nic.fabric).adapters
    return (nic.rail - 1) // adapters if adapters else 0


def port_pairs(network: Network, sources: tuple[Nic, ...], targets: tuple[Nic, ...]) -> list[tuple[Nic, Nic]]:
    """Return the pairs of ports of two NICs between which packets are sent, as (source port, target port).

    The two ports of a pair are in the same plane. The pairs are in the order of ``sources``. If both NICs have a single port,
    the two ports are a pair even in different planes.
    """
    if len(sources) == len(targets) == 1:
        return [(sources[0], targets[0])]
    there = {plane_of(network, nic): nic for nic in targets}
    return [(nic, there[plane]) for nic in sources if (plane := plane_of(network, nic)) in there]


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


if TYPE_CHECKING:
    _State = tuple[str, tuple[str, ...]]
    """Where packets are, and the prefixes that they still go by, in order."""

SHARE_DIGITS = 6
MAXIMUM_HOPS = 32
MOST_QUEUE_PAIRS = 16_384
"""The maximum number of queue pairs of one connection, equal to the limit of perftest."""


@dataclass(frozen=True, slots=True)
class LinkShare:
    """A link, in the direction of travel, and the expected share (0 to 1) of the queue pair's traffic on it."""

    link: str
    share: float


@dataclass(frozen=True, slots=True)
class QueuePairPath(JsonObject):
    """The path of one queue pair. ``hops`` holds the possible links of each hop; it is empty if the destination cannot be reached.

    If a hop has several links, a hash or DLB (dynamic load balancing) chooses among them. Each link's share is then only an
    expected value, and ``pinned`` is False. ``pinned_to`` has three values:

    - ``links``: the path always uses these links.
    - ``switches``: the path always uses the same switches, because the links of each hop are parallel.
    - an empty string: the path may use different switches.
    """

    JSON = ("qp", "src_gid", "dst_gid", "color", "hops", "pinned", "pinned_to")

    qp: int
    src_gid: str
    dst_gid: str
    color: str
    hops: tuple[tuple[LinkShare, ...], ...]
    pinned: bool

    @property
    def pinned_to(self) -> Literal["links", "switches", ""]:
        """The part of the path that stays the same while its links are up: ``links``, ``switches``, or an empty string if neither."""
        if self.pinned:
            return "links"
        return "switches" if self.hops and all(len(by_ends(hop)) == 1 for hop in self.hops) else ""

    def title(self) -> str:
        """Return a line with the queue pair's path color, its GIDs, and the extent to which its path is pinned."""
        pinned = PINNED[self.pinned_to] if self.hops else "no path"
        return f"qp {self.qp}  {self.color}  {self.src_gid} -> {self.dst_gid}  {pinned}"

    def to_text(self, before: QueuePairPath | None = None) -> str:
        """Return the title and a line for each hop. The line names a single link, or parallel links together with the share of each.

        ``before`` is an already printed queue pair on the same links. If it is given, one line refers to it instead.
        """
        if before is not None:
            return f"{self.title()}\n    the same links as qp {before.qp}"
        return "\n".join([self.title(), *(f"    {line}" for hop in self.hops for line in _hop_lines(hop))])


def _hop_lines(hop: tuple[LinkShare, ...]) -> Iterator[str]:
    joined = by_ends(hop)
    if len(joined) > 1:
        yield f"one of {len(hop)}:"
    inner = "    " if len(joined) > 1 else ""
    for ends, links in joined.items():
        shares = " or ".join(dict.fromkeys(f"{link.share:.1%}" for link in links))
        if len(links) > 1:
            ports = ["--".join(end.partition(":")[2] for end in link.link.split("--")) for link in links]
            named = ", ".join(ports) if len(ports) <= MOST_PARALLEL else f"{ports[0]}, {ports[1]}, … {ports[-1]}"
            yield f"{inner}{ends}: {len(links)} parallel links, {shares} each: {named}"
        else:
            yield f"{inner}{links[0].link}" + (f"  {shares}" if len(hop) > 1 else "")


def by_ends(hop: tuple[LinkShare, ...]) -> dict[str, list[LinkShare]]:
    """Return the links of a hop, grouped by the two devices that they connect (key ``A--B``). Each list holds parallel links."""
    shares: dict[str, list[LinkShare]] = {}
    for link_share in hop:
        ends = "--".join(end.partition(":")[0] for end in link_share.link.split("--"))
        shares.setdefault(ends, []).append(link_share)
    return shares


def queue_pair_paths(
    network: Network, routes: Routes, src: str, dst: str, qps: int, family: Family | None = None
) -> list[QueuePairPath]:
    """Return the path of each of ``qps`` queue pairs from NIC ``src`` to NIC ``dst`` (``SERVER:NIC``).

    For NICs with several ports, ``SERVER:PORT+PORT`` names the N ports that a job uses as one device. Queue pair q then
    uses port q mod N and path color q div N. N does not count ports that are absent by ``status:``. If a port has no
    path, its queue pairs use the remaining ports on the same path color, as with port failover.

    ``family`` is the address family of the GIDs. By default it is the family that jobs use. Raises ``InputError`` if a
    NIC is unknown, unconnected or without an address of the family, or if the NICs have no family in common.
    """
    if not 1 <= qps <= MOST_QUEUE_PAIRS:
        raise InputError([Problem(Option("--qps"), f"{qps} queue pairs", f"give 1 to {MOST_QUEUE_PAIRS:,}")])
    source_host, sources = find_ports(network, src)
    target_host, targets = find_ports(network, dst)
    if (source_host, sources) == (target_host, targets):
        message = "source and destination are the same NIC, so no packet goes over the network"
        raise InputError([Problem(NetworkPart(dst), message, "name two NICs")])
    source, target = sources[0], targets[0]
    if source.fabric != target.fabric:
        raise InputError(
            [
                Problem(
                    NetworkPart(dst),
                    f"{src} is on fabric {source.fabric}, {dst} on {target.fabric}",
                    "choose NICs of one fabric",
                )
            ]
        )
    both = port_pairs(network, sources, targets)
    if not both:
        message = f"no port of {src} is of a plane of {dst}: planes have no link between them"
        raise InputError([Problem(NetworkPart(dst), message, "name ports of one plane, or all ports of both NICs")])
    for name, nic in [(src, source) for source in sources] + [(dst, target) for target in targets]:
        if not nic.addresses:
            raise InputError(
                [Problem(NetworkPart(name), "the NIC has no address: it waits for a tenant", "make it a member of one")]
            )
        if family is not None and all(address.family != family for address in nic.addresses):
            message = f"the NIC has no {WORDS[family]} address, only {_families(nic)}"
            raise InputError(
                [Problem(NetworkPart(name), message, f"choose the other family, or {_second(network, nic)}")]
            )
    fabric = network.fabric(source.fabric)
    result: list[QueuePairPath] = []
    wanted = family or network.job_family(source.fabric, source.tenant)
    source_families: set[Family] = {address.family for address in sources[0].addresses}
    shared = source_families.intersection(address.family for address in targets[0].addresses)
    if not shared:
        message = f"{src} has {_families(sources[0])} addresses, {dst} {_families(targets[0])}"
        fix = "queue pairs need one address family at both ends: choose other NICs, or give both NICs both families"
        raise InputError([Problem(NetworkPart(dst), message, fix)])
    if len(shared) == 1:
        wanted = next(iter(shared))
    lanes = _Lanes(network, routes, (source_host, target_host), both, wanted)
    for qp in range(qps):
        turn, (source, target) = lanes.of(qp)
        sending = source.addresses_of(wanted)
        answering = target.addresses_of(sending[0].family)
        here = sending[turn % len(sending)]
        there = next(
            (candidate for candidate in answering if candidate.color == here.color), answering[turn % len(answering)]
        )
        hops = _hops(network, routes, (source_host, source), (target_host, target), there)
        result.append(
            QueuePairPath(
                qp,
                here.address,
                there.address,
                fabric.color_name(here.color),
                hops,
                bool(hops) and all(len(hop) == 1 for hop in hops),
            )
        )
    return result


def ports_without_path(network: Network, routes: Routes, src: str, dst: str, family: Family | None = None) -> list[str]:
    """Return the ports of NIC ``src`` that are absent or have no path to ``dst``, as ``SERVER:PORT``. Queue pairs use its other ports.

    ``family`` is the address family of the GIDs; None is the family that jobs use.
    """
    (source, sources), (target, targets) = find_ports(network, src), find_ports(network, dst)
    both = port_pairs(network, sources, targets)
    wanted = family or network.job_family(sources[0].fabric, sources[0].tenant)
    lanes = _Lanes(network, routes, (source, target), both, wanted)
    return [f"{source}:{here.name}" for here, there in both if (here, there) not in lanes.pairs]


class _Lanes:
    """The port pairs that the queue pairs of a connection use: ports that exist on both NICs and have a path.

    The simulator chooses ports in the same way (``prediction.simulation.model.addresses``). If no pair has a path, all
    pairs remain in use.
    """

    def __init__(
        self,
        network: Network,
        routes: Routes,
        servers: tuple[str, str],
        both: list[tuple[Nic, Nic]],
        family: Family | None,
    ) -> None:
        self.pairs, self._ports = both, len(both)
        if len(both) > 1:
            self.pairs = [pair for pair in both if _reaches(network, routes, servers, pair, family)] or both
            counts = [
                sum(_link(server, pair[side]) not in network.absent for pair in both)
                for side, server in enumerate(servers)
            ]
            self._ports = max(counts) or len(both)  # as NCCL has it: the number of the NIC that has more of them

    def of(self, qp: int) -> tuple[int, tuple[Nic, Nic]]:
        """Return (turn, (source port, destination port)) of queue pair number ``qp``.

        Queue pairs are dealt to the ports in turns; the turn selects the path color.
        """
        turn, lane = divmod(qp, self._ports)
        return turn, self.pairs[lane % len(self.pairs)]


def _reaches(
    network: Network, routes: Routes, servers: tuple[str, str], pair: tuple[Nic, Nic], family: Family | None
) -> bool:
    source, target = pair
    there = target.addresses_of(source.addresses_of(family)[0].family)[0]
    return bool(_hops(network, routes, (servers[0], source), (servers[1], target), there))


def _link(server: str, nic: Nic) -> str:
    """Return the name of the link between a NIC and its leaf."""
    return f"{server}:{nic.name}--{nic.leaf}:{nic.leaf_port}"


def _families(nic: Nic) -> str:
    """Return the address families of a NIC for messages, for example ``IPv4 and IPv6``."""
    return " and ".join(
        word for known, word in WORDS.items() if any(address.family == known for address in nic.addresses)
    )


def _second(network: Network, nic: Nic) -> str:
    """Return a suggestion, for an error message, of how to give a NIC with one address family the other family too.

    The suggestion depends on the obstacle: the NIC's layer-2 network, its tenant's pools or the fabric's addressing.
    """
    fabric = network.fabric(nic.fabric)
    if nic.network:
        return "make it a routed member of its tenant: a layer-2 network has one prefix"
    if any(tenant.server_pools for tenant in fabric.tenants if tenant.name == nic.tenant):
        return "give its tenant a pool of it in `server_pools:`"
    if len(network.families_of(nic.fabric)) > 1:
        return "give its server's entry of `other_links:` a `dual_stack:`"
    return "give the fabric `dual_stack:`"


def path_hops(
    network: Network, routes: Routes, source: tuple[str, Nic], target: tuple[str, Nic], address: str
) -> tuple[tuple[LinkShare, ...], ...]:
    """Return the hops from a NIC (``source``) to an address of another NIC (``target``), each hop as its possible links.

    The result is empty if there is no path. ``source`` and ``target`` are (server name, NIC).
    """
    there = next(nic_address for nic_address in target[1].addresses if nic_address.address == address)
    return _hops(network, routes, source, target, there)


def _hops(
    network: Network, routes: Routes, source: tuple[str, Nic], target: tuple[str, Nic], there: NicAddress
) -> tuple[tuple[LinkShare, ...], ...]:
    """Return the hops from the source's leaf to the destination, each as its possible links, according to the forwarding tables.

    Each next-hop group splits traffic evenly. ``source`` and ``target`` are (server name, NIC). ``there`` is the destination
    address. The result is empty if there is no path.
    """
    first, last = _link(*source), _link(*target)
    gone = {source[1].leaf, target[1].leaf, first, last, source[0], target[0]} & routes.down
    if gone or source == target:
        return ()
    at = _start(network, routes, source, target, there)
    hops: list[tuple[LinkShare, ...]] = [(LinkShare(first, 1.0),)]
    while at and any(left for _, left in at):
        links: dict[str, float] = {}
        following: dict[_State, float] = {}
        for (device, left), share in at.items():
            group = routes.next_hops(device, left[0]) if left else ()
            if left and not group:
                return ()
            for link in group:
                part = share / len(group)
                links[link] = links.get(link, 0.0) + part
                state = _arrived(routes, _far_end(network, device, link), left)
                following[state] = following.get(state, 0.0) + part
            if not left:  # it waits for the other ways
                following[device, left] = following.get((device, left), 0.0) + share
        hops.append(tuple(LinkShare(link, round(share, SHARE_DIGITS)) for link, share in links.items()))
        at = following
        if len(hops) > MAXIMUM_HOPS:
            return ()
    if set(at) != {(target[1].leaf, ())}:
        return ()
    hops.append((LinkShare(last, 1.0),))
    return tuple(hops)


def _start(
    network: Network, routes: Routes, source: tuple[str, Nic], target: tuple[str, Nic], there: NicAddress
) -> dict[_State, float]:
    """Return the initial states of packets at the source's leaf, with the share of each state. Return {} if the leaf has no route.

    A state is (device, prefixes that the packet must reach one after the other). ``source`` and ``target`` are (server name, NIC), and
    ``there`` is the destination address. A packet to a routed NIC must reach the NIC's prefix. In a layer-2 network, it must reach the
    tunnel endpoint of the NIC's leaf. A leaf without that network first sends the packet to any leaf that has it (type 5). Between
    tenants, the source's VRF may have a route because the fabric file lets prefixes leak, or by mistake.
    """
    leaf, nic = source[1].leaf, target[1]
    segment = network.segment_of(*target)
    subnet = segment.subnet_of(there)
    if not nic.network:
        here = routes.held(leaf, source[1].tenant, subnet.prefix)
        return {_arrived(routes, leaf, (subnet.prefix,)): 1.0} if here else {}
    bridged = (source[1].tenant, source[1].network) == (nic.tenant, nic.network)
    exits = (leaf,) if bridged else routes.shared.leaves(leaf, source[1].tenant, subnet.prefix)
    tenant = next(tenant for tenant in network.fabric(nic.fabric).tenants if tenant.name == nic.tenant)
    vni = next(network.vni for network in tenant.networks if network.name == nic.network)
    if any(nic.leaf not in routes.shared.bridged.get((exit_leaf, vni), ()) for exit_leaf in exits):
        return {}
    ways = [(routes.shared.endpoints[exit_leaf], subnet.routed_by) for exit_leaf in exits]
    return {_arrived(routes, leaf, tuple(dict.fromkeys(way))): 1 / len(ways) for way in ways}


def _arrived(routes: Routes, device: str, left: tuple[str, ...]) -> _State:
    """Return the state of a packet at a device: (device, prefixes that the packet must still reach).

    Prefixes at the start of ``left`` that are on the device itself are removed.
    """
    while left and routes.is_local(device, left[0]):
        left = left[1:]
    return device, left


def _far_end(network: Network, device: str, link: str) -> str:
    cable = network.cable(link)
    return cable.b.device if cable.a.device == device else cable.a.device
