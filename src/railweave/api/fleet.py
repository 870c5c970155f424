"""Checks on the GPU servers of a network, many servers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import FleetCheck, FleetMesh
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.outputs.folder.sources import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.live.fleet.checked import FleetCheckResult
    from railweave.live.fleet.meshed import MeshResult
    from railweave.live.fleet.probes import Probe
    from railweave.live.fleet.running import Answer, Reply


@verb(FleetCheck)
def fleet_check(options: FleetCheck) -> FleetCheckResult:
    """Run ``railweave host check`` on servers over SSH, and summarize the results (docs/fleet.md).

    - ``progress``: called with a short description of the current activity.

    A server that does not answer is a row of the result. Servers that are absent by ``status:`` are not queried. Raises ``InputError`` for
    wrong input, and as ``load`` does.
    """
    from railweave.host.checks.server import chosen
    from railweave.host.failure import HostInputError
    from railweave.live.collect.access_file import read_access
    from railweave.live.fleet.checked import Place, checked
    from railweave.live.fleet.running import Task, check
    from railweave.model.device.host import host_config
    from railweave.outputs.rendering.host.host_json import host_json

    network, ways = options.network(), read_access(path_of(options.access))
    try:
        subjects = {host_check.id: host_check.subject for host_check in chosen(options.only)}
    except (HostInputError, ValueError) as error:
        raise InputError([Problem(Option("fleet check"), str(error), "see docs/checks.md")]) from None
    there = {server.name: server for server in network.servers if server.name not in network.absent}
    names = _asked(there, options.hosts)
    with in_force(network.catalog):
        configs = {name: host_config(network, name) for name in names}
    tasks = [Task(ways.target(name, "server", "", name, ("ssh",)), host_json(configs[name])) for name in names]
    ways.check_there(task.target for task in tasks)
    say, number = options.progress, [0]

    def done(answer: Answer) -> None:
        number[0] += 1
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'} ({number[0]} of {len(tasks)})")

    answers = check(tasks, only=options.only, sudo=options.sudo, at_once=options.at_once, done=done)
    places = {(name, nic.netdev): Place(nic.leaf, nic.rail) for name, config in configs.items() for nic in config.nics}
    tables = {
        (name, path.table): Place(nic.leaf, nic.rail, path.color_name)
        for name, config in configs.items()
        for nic in config.nics
        for path in nic.addresses
    }
    return checked(network.name, answers, places, {name: there[name].model for name in names}, subjects, tables)


@verb(FleetMesh)
def fleet_mesh(options: FleetMesh) -> MeshResult:
    """Let servers send packets of the designed size to each other on every path color, and summarize which returned (docs/fleet.md).

    ``hosts`` are the servers that send; the targets may be other servers. Arguments and errors are those of ``fleet_check``.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.fleet import rdma
    from railweave.live.fleet.meshed import meshed, rdma_programs
    from railweave.live.fleet.probes import plan, probe_file
    from railweave.live.fleet.running import Task, probe

    network, ways = options.network(), read_access(path_of(options.access))
    names = _asked([server.name for server in network.servers if server.name not in network.absent], options.hosts)
    with in_force(network.catalog):
        probes = plan(network, names)
    by_server: dict[str, list[Probe]] = {name: [] for name in names}
    for planned_probe in probes:
        by_server[planned_probe.server].append(planned_probe)
    tasks = [
        Task(ways.target(name, "server", "", name, ("ssh",)), probe_file(given))
        for name, given in by_server.items()
        if given
    ]
    say, number = options.progress, [0]

    def done(reply: Reply) -> None:
        number[0] += 1
        say(f"{reply.server}: {'no answer' if reply.error else 'probed'} ({number[0]} of {len(tasks)})")

    replies = probe(tasks, sudo=options.sudo, at_once=options.at_once, done=done)
    able = rdma_programs(replies)
    asked = rdma.pairs(probes, able)
    targets = {name: ways.target(name, "server", "", name, ("ssh",)) for name in able}
    paths: list[tuple[Probe, str]] = []
    untried: list[str] = []
    if len(able) < len(names):
        untried.append(
            f"no RDMA device, or no railweave-rdma-ping, on {len(names) - len(able)} of {len(names)} servers"
        )
    for output in rdma.ping(
        asked,
        targets,
        able,
        at_once=options.at_once,
        done=lambda output: say(f"{output.pair.server} to {output.pair.peer}: RDMA tried"),
    ):
        try:
            paths += rdma.read(network, output)
        except ValueError as error:
            untried.append(f"{output.pair.server} to {output.pair.peer}: {error}")
    summary = f"{len(paths):,} paths tried" if paths else "not tried"
    return meshed(network.name, by_server, replies, paths, "; ".join([summary, *untried[:4]]))


def _asked(there: Iterable[str], hosts: str | None) -> list[str]:
    """Return the selected servers, in the network's order. Raises ``InputError`` for an unknown server or an invalid list."""
    from railweave.model.intent.base import expand

    names = list(there)
    if hosts is None:
        return names
    try:
        wanted = expand(hosts)
    except ValueError as error:
        raise InputError([Problem(Option("--hosts", hosts), str(error), "see docs/fabric-file.md")]) from None
    fix = "names are those of the fabric file; `status:` takes servers away"
    if unknown := [name for name in wanted if name not in names]:
        raise InputError([Problem(Option("--hosts", name), "there is no such server", fix) for name in unknown])
    return [name for name in names if name in set(wanted)]
