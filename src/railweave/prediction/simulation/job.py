"""The job that runs on a network, for ``prediction.collectives``: its servers in rank order, with their GPUs and NICs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Option, Problem
from railweave.model.intent.base import expand
from railweave.model.network.devices import alternating, crossings, fewest_crossings
from railweave.model.network.nvlink import nvlink_domains
from railweave.model.network.status import lost_nics
from railweave.prediction.collectives.job import Job, JobError, Nic, Server, gpu_link
from railweave.prediction.simulation.model.addresses import NONE, ports_of_hosts
from railweave.prediction.simulation.model.wiring import Wiring, fabrics, servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network


ALTERNATE = "stripes-alternate"
"""The value of ``--hosts`` for an order of servers that alternates between stripes (groups of leaves with their servers).

With two stripes, every hop of a ring between servers then crosses the spines.
"""

MOST_SHOWN = 16
"""The largest number of servers that a text lists in full. Longer lists show the first servers and the last."""


def ordered(stripes: Mapping[str, str], asked: str | None) -> list[str]:
    """Return the names of the servers that take part in a job, in the order of their ranks.

    - ``stripes``: the stripe (group of leaves) of each server of the network, in the network's order.
    - ``asked``: None for all servers in the network's order, ``stripes-alternate``, the number of servers to take from the beginning, or a
      list of names and host lists: ``H100-01,H100-[03-04],H100-02``.

    Raises ``InputError`` for a name that is unknown or occurs twice, and for too many servers.
    """
    if asked is None:
        return list(stripes)
    if asked.strip().isdecimal():
        return _first(list(stripes), int(asked))
    if asked.strip() == ALTERNATE:
        return alternating(stripes)
    fix = f"servers are {shown(list(stripes))}; write names, host lists such as H100-[01-04], or {ALTERNATE}"
    chosen: list[str] = []
    for word in lists(asked):
        try:
            names = expand(word)
        except ValueError as error:
            raise InputError([Problem(Option("--hosts"), str(error), fix)]) from None
        for name in names:
            if name not in stripes or name in chosen:
                description = f"{name} is named twice" if name in chosen else f"there is no server {name!r} in this job"
                raise InputError([Problem(Option("--hosts"), description, fix)])
            chosen.append(name)
    return chosen


def _first(names: list[str], count: int) -> list[str]:
    if not 1 <= count <= len(names):
        raise InputError([Problem(Option("--hosts"), f"{count} servers", f"give 1 to {len(names)}, or names")])
    return names[:count]


def order_text(order: Sequence[str], stripes: Mapping[str, str], processes: int) -> str:
    """Return the servers in rank order and the number of processes on each as text, such as ``H100-01, H100-02; 8 processes each``.

    ``stripes`` has the stripe (group of leaves) of each server. If servers are on several stripes, the text also states the number of hops
    of a ring that cross the spines.
    """
    text = f"{shown(order)}; {processes} process{'' if processes == 1 else 'es'} each"
    crossing, least = crossings(order, stripes), fewest_crossings(order, stripes)
    if not least:
        return text
    return f"{text}; {crossing} of {len(order)} hops of a ring cross the spines" + (
        "" if crossing == least else f", {least} would be enough with the servers of a stripe next to each other"
    )


def shown(names: Sequence[str]) -> str:
    """Return the names of servers as text. If there are many, the text has the first names, the last name and the count."""
    if len(names) <= MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_SHOWN - 1])}, … {names[-1]} ({len(names)})"


def lists(text: str) -> list[str]:
    """Split a text into names and host lists, at the commas that are not in brackets."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def job_network(network: Network, fabric: str | None = None) -> Network:
    """Return the network reduced to one fabric and its servers. If ``fabric`` is None, the fabric is that of the GPUs' NICs.

    Raises ``InputError`` if no fabric has this name. Also raises it if ``fabric`` is None and several fabrics connect
    GPUs, because GPUs on different fabrics cannot reach each other.
    """
    known = [fabric.name for fabric in network.fabrics]
    beside_gpus = fabrics(network)
    if fabric is not None and fabric not in known:
        raise InputError(
            [Problem(Option("--fabric"), f"there is no fabric {fabric!r}", f"fabrics are {', '.join(known)}")]
        )
    if fabric is None and len(beside_gpus) > 1:
        description = f"{len(beside_gpus)} fabrics connect GPUs, and have no path to each other"
        raise InputError(
            [Problem(Option("--fabric"), description, f"choose the job's fabric: {', '.join(beside_gpus)}")]
        )
    taken = fabric or next(iter(beside_gpus), known[0])
    if known == [taken]:
        return network
    own_servers = [
        replace(server, nics=tuple(nic for nic in server.nics if nic.fabric == taken)) for server in network.servers
    ]
    return replace(
        network,
        fabrics=tuple(fabric for fabric in network.fabrics if fabric.name == taken),
        switches=tuple(switch for switch in network.switches if switch.fabric == taken),
        segments=tuple(segment for segment in network.segments if segment.fabric == taken),
        cables=tuple(cable for cable in network.cables if cable.fabric == taken),
        servers=tuple(server for server in own_servers if server.nics),
    )


def job_of(
    network: Network,
    wiring: Wiring,
    tenant: str | None = None,
    order: str | None = None,
    processes: int | None = None,
    *,
    gpus: int | None = None,
    whole: Network | None = None,
) -> tuple[Job, NDArray[np.uint32]]:
    """Return (the job of all servers of a network or of a tenant, the engine's host number of each of the job's NICs).

    The second member is in the order of ``Job.nics``.

    - ``order``: the servers that take part, in the order of their ranks (``ordered``).
    - ``processes``: the number of processes per server; None means one for each GPU.
    - ``gpus``: the number of GPUs per server that take part. These are the first GPUs, with the NICs next to them.
    - ``whole``: the network with the devices and links that ``status:`` marks as absent; None if ``network`` is this whole network. The
      NVLink domains are those of the whole network. NCCL treats a domain as one server, and so does the job.

    ``wiring`` has the numbered nodes, ports and cables. Raises ``JobError`` if the servers are not alike, and ``InputError`` if the tenant
    of the job is not given, or if ``order`` is invalid.
    """
    whole = whole or network
    domains = nvlink_domains(whole)
    whose = _tenant(network, tenant)
    known_fabrics = {fabric.name: fabric for fabric in network.fabrics}
    rails = {
        f"{server.name}:{nic.name}": known_fabrics[nic.fabric].nic_number(nic.rail)
        for server in network.servers
        for nic in server.nics
    }
    models = {server.name: server.model for server in network.servers}
    ports: list[list[int]] = ports_of_hosts(network, wiring).tolist()
    rates: list[int] = wiring.cables[wiring.port_cable[wiring.first_port[: len(wiring.nics)]], 2].tolist()
    job_servers: list[Server] = []
    hosts: list[int] = []
    vendors: list[str] = []
    known = {name: (server_hosts, count) for name, server_hosts, count in servers(network, wiring, whose)}
    of_stripe = stripes(network, known)
    for name in _together(ordered(of_stripe, order), order, of_stripe, domains):
        every, there = known[name]
        used = _used(there, gpus)
        used_hosts = every[: -(-used * len(every) // there)]
        model = network.catalog.servers.get(models[name])
        vendors.append(model.gpu_vendor if model else "NVIDIA")
        gpu = model.gpu if model else "H100"
        nics = tuple(_nic(wiring, host, ports[host], rails, rates) for host in used_hosts)
        nearest = tuple(number * len(every) // there for number in range(used))
        job_servers.append(Server(name, nics, nearest, gpu, link=gpu_link(gpu)))
        hosts += used_hosts
    library = "RCCL" if vendors[:1] == ["AMD"] else "NCCL"
    try:
        return Job(_joined(job_servers, domains), library, processes), np.array(hosts, np.uint32)
    except JobError as error:
        without = {name: nics for name, nics in lost_nics(whole).items() if name in known}
        if without and any(problem.place == Argument("job") for problem in error.problems):
            raise InputError([_without(without)]) from None
        raise InputError([_of_option(problem) for problem in error.problems]) from None


def _together(names: list[str], asked: str | None, stripes: Mapping[str, str], domains: Mapping[str, str]) -> list[str]:
    """Return the servers in rank order, with the servers of each NVLink domain next to each other.

    ``asked`` is the order that the user requested. ``stripes`` and ``domains`` have the stripe (group of leaves) and the domain of each
    server. If the order alternates between stripes, the result alternates between the stripes of domains. Raises ``InputError`` if an order
    by name divides a domain.
    """
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(domains.get(name, name), []).append(name)
    joined = [name for servers in members.values() for name in servers]
    if joined == names:
        return names
    if asked is not None and asked.strip() == ALTERNATE:
        of_domain = {domain: stripes[servers[0]] for domain, servers in sorted(members.items(), key=_first_of(stripes))}
        return [name for domain in alternating(of_domain) for name in members[domain]]
    apart = next(domain for domain, servers in members.items() if not _adjacent(names, servers))
    description = f"the servers of NVLink domain {apart} are not next to each other: {shown(members[apart])}"
    raise InputError([Problem(Option("--hosts"), description, f"name them next to each other: {shown(joined)}")])


def _first_of(stripes: Mapping[str, str]) -> Callable[[tuple[str, list[str]]], int]:
    """Return a sort key for (domain, servers): the position of the domain's first server in ``stripes``, which is in network order."""
    places = {name: place for place, name in enumerate(stripes)}
    return lambda item: min(places[name] for name in item[1])


def _adjacent(names: Sequence[str], servers: Sequence[str]) -> bool:
    first = names.index(servers[0])
    return list(names[first : first + len(servers)]) == list(servers)


def _joined(servers: Sequence[Server], domains: Mapping[str, str]) -> tuple[Server, ...]:
    """Return the servers of a job after joining the servers of each NVLink domain into one server with all their GPUs and NICs.

    ``domains`` has the domain of each server. Raises ``InputError`` if domains take part with different numbers of servers.
    """
    members: dict[str, list[Server]] = {}
    for server in servers:
        members.setdefault(domains.get(server.name, server.name), []).append(server)
    counts = {domain: len(of_domain) for domain, of_domain in members.items() if of_domain[0].name in domains}
    if len(set(counts.values())) > 1:
        raise InputError([_uneven(members, counts)])
    return tuple(
        _as_one(domain, of_domain) if len(of_domain) > 1 else of_domain[0] for domain, of_domain in members.items()
    )


def _uneven(members: Mapping[str, Sequence[Server]], counts: Mapping[str, int]) -> Problem:
    """Return the error that NVLink domains have different numbers of servers. Its advice names the servers to leave out.

    ``members`` has the servers of each domain, and ``counts`` their number.
    """
    least, most = min(counts.values()), max(counts.values())
    small, large = (next(domain for domain, count in counts.items() if count == number) for number in (least, most))
    best = max(
        set(counts.values()), key=lambda level: (level * sum(count >= level for count in counts.values()), level)
    )
    spare = [
        server.name for domain, count in counts.items() for server in members[domain][best if count >= best else 0 :]
    ]
    return Problem(
        Option("--hosts"),
        f"NVLink domains take part with different numbers of servers: {small} with {least}, {large} with {most}; "
        "all domains of a job must be equal",
        f"leave out {shown(spare)}",
    )


def _as_one(domain: str, servers: Sequence[Server]) -> Server:
    """Return one server with all GPUs and NICs of the servers of an NVLink domain.

    Raises ``JobError`` if the servers differ.
    """
    first = servers[0]
    Job(tuple(servers))  # raises if they differ
    nearest = tuple(len(first.nics) * number + nic for number in range(len(servers)) for nic in first.nearest)
    return replace(
        first,
        name=domain,
        nics=tuple(nic for server in servers for nic in server.nics),
        nearest=nearest,
        members=tuple(server.name for server in servers),
    )


def _used(there: int, asked: int | None) -> int:
    """Return the number of a server's GPUs that take part in a job: ``asked``, or all ``there`` GPUs if ``asked`` is None.

    Raises ``InputError`` if the server has fewer than ``asked``.
    """
    if asked is None:
        return there
    if not 1 <= asked <= there:
        raise InputError(
            [Problem(Argument("gpus"), f"{asked} GPUs are requested of a server that has {there}", f"use 1 to {there}")]
        )
    return asked


def _nic(wiring: Wiring, host: int, ports: Sequence[int], rails: Mapping[str, int], rates: Sequence[int]) -> Nic:
    """Return a NIC of a job. ``host`` is the host number of the NIC in the engine, and ``ports`` has the host numbers of all its ports.

    Absent ports (-1) are left out. ``rails`` has the rail of each NIC by SERVER:NIC, and ``rates`` the rate of each host in Mb/s.
    ``wiring`` has the numbered nodes, ports and cables.
    """
    there = [port for port in ports if port != NONE]
    name = wiring.nics[host]
    return Nic(name.partition(":")[2], rails[name], sum(rates[port] for port in there), len(there))


def _without(lost: Mapping[str, Sequence[str]]) -> Problem:
    """Return the error that some servers have fewer NICs than the others because ``status:`` marks NICs as absent.

    ``lost`` has the absent NICs of each server.
    """
    shown = ", ".join(f"{name}:{nic}" for name, nics in lost.items() for nic in nics)
    description = f"these NICs are absent by `status:` in the fabric file, but all servers of a job must have the same NICs: {shown:.300}"
    return Problem(
        Option("--hosts"),
        description,
        f"run the job without {', '.join(lost):.200}, or make the links of these NICs active",
    )


def stripes(network: Network, names: Iterable[str]) -> dict[str, str]:
    """Return the stripe (group of leaves) of each server in ``names``. The stripe is that of the server's first NIC."""
    of = {server.name: server.nics[0].stripe for server in network.servers if server.nics}
    return {name: of[name] for name in names}


def _of_option(problem: Problem) -> Problem:
    return replace(problem, place=Option("--per-host")) if problem.place == Argument("processes") else problem


def _tenant(network: Network, asked: str | None) -> str:
    """Return the tenant that owns the job: ``asked``, or the only tenant. Return "" if the network has no tenants.

    Raises ``InputError`` if the tenant is unknown, or if there are several tenants and none is named.
    """
    known = [tenant.name for fabric in network.fabrics for tenant in fabric.tenants]
    if asked is not None and asked not in known:
        fix = f"tenants are {', '.join(known)}" if known else "leave it out: the network has no tenants"
        raise InputError([Problem(Option("--tenant"), f"there is no tenant {asked!r}", fix)])
    if asked is None and len(known) > 1:
        description = f"the network has {len(known)} tenants, which have no path to each other"
        raise InputError(
            [
                Problem(
                    Option("--tenant"),
                    description,
                    f"choose the tenant that owns the job: {', '.join(known)}; for a job on all servers, use a copy of "
                    "the fabric file without `tenants:`",
                )
            ]
        )
    return asked or (known[0] if known else "")
