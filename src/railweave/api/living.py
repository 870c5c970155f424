"""Running devices: queries, their answers, and the comparison of answers with the design; checks on many servers at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.verbs import Check, Collect, FillInventory, FleetCheck, FleetMesh
from railweave.errors import Argument, InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import fields_of, load, network_of, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.check.check import CheckResult
    from railweave.live.check.learnt import FilledInventory
    from railweave.live.collect.collect import CollectResult
    from railweave.live.fleet.checked import FleetCheckResult
    from railweave.live.fleet.meshed import MeshResult
    from railweave.live.fleet.running import Fleet
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.question import Question


def questions_of(
    source: Network | Path | str,
    *,
    only: Sequence[str] = (),
    servers: bool | None = False,
    tables: bool | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> dict[str, tuple[Question, ...]]:
    """Return the queries that ask each device of a network for its state, by device name. Contacts no device.

    - ``only``: the names of the devices to query. Default: all.
    - ``servers``: True to query servers too.
    - ``tables``: True to query complete routing tables, False to query only example routes and the number of routes. None
      means complete tables only in fabrics with at most 512 prefixes.
    - ``device``, ``hardware``: see ``load``.

    Raises ``InputError`` for an unknown name, and the errors of ``load``.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.collect.plan import plan

    asked = plan(network_of(source, device, hardware), read_access(None), only=only, servers=servers, tables=tables)
    return {target.target.name: target.questions for target in asked}


@verb(Collect)
def collect(options: Collect) -> CollectResult:
    """Query the configuration and state of every switch, and write the answers as a capture (a folder). Changes no device.

    - ``progress``: a function that is called with a short description of the current activity.

    A device that does not answer is listed in the result. Raises ``InputError`` for wrong input or if the folder
    contains anything but a capture, ``OutputError`` if the folder cannot be written, and the errors of ``load``.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.collect.collect import collect as ask
    from railweave.live.collect.plan import plan

    if options.folder is None:
        fix = "name the folder for the answers: -o CAPTURE"
        raise InputError([Problem(Option("--output"), "it is missing", fix)])
    if options.lab:
        from railweave.live.lab.capture import collect_lab as ask_lab

        if isinstance(options.source, Network) or options.access is not None:
            fix = "give the fabric file that the lab was started from (`railweave lab up`), and no access.yaml"
            raise InputError(
                [Problem(Argument("--lab"), "a lab is found by its fabric file, and runs on this machine", fix)]
            )
        return ask_lab(
            Path(options.source),
            Path(options.folder),
            only=options.only,
            servers=options.servers,
            tables=options.tables or None,
            redact=options.redact,
            progress=options.progress,
        )
    network, ways = options.network(), read_access(path_of(options.access))
    asked = plan(network, ways, only=options.only, servers=options.servers, tables=options.tables or None)
    return ask(network, asked, ways, Path(options.folder), redact=options.redact, progress=options.progress)


def states(
    source: Network | Path | str,
    capture: Path | str,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> dict[str, DeviceState]:
    """Return the states that switches of a network reported in a capture, by name. Switches without answers are left out.

    - ``capture``: a folder of device answers, as ``collect`` writes it.
    - ``device``, ``hardware``: see ``load``.

    ``notes`` of each state lists the answers that could not be read. Raises ``InputError`` if the folder is not a capture,
    and the errors of ``load``.
    """
    from railweave.model.state.capture import read_capture
    from railweave.systems.reading import read_states

    network = network_of(source, device, hardware)
    return read_states(read_capture(Path(capture)), {switch.name: switch.nos for switch in network.switches})


@verb(Check)
def check(options: Check) -> CheckResult:
    """Compare the running network with the design: the answers of its devices with their required state (docs/check.md).

    - ``progress``: a function that is called with a short description of the current activity.

    Parts that are planned, drained or failed under ``status:`` of the fabric file are not expected. Servers are
    expected if they were queried. If ``source`` is a fabric file, each finding names its line in the file. ``good`` of
    the result is False if a finding is an error. Raises ``InputError`` if the folder is not a capture, if it has no device
    of this network, or if a check's id is unknown. Also raises the errors of ``load``.
    """
    capture = options.capture
    from railweave.live.check.check import Criteria
    from railweave.live.check.check import check as run  # imports every reader
    from railweave.model.state.capture import read_capture

    if (capture is not None) + options.live + options.lab != 1:
        fix = "give the folder that `railweave collect` wrote, or --live to ask the devices now, or --lab where `railweave lab up` has run"
        raise InputError([Problem(Argument("check"), "give exactly one of: CAPTURE, --live, --lab", fix)])
    if not options.live and (
        options.access is not None
        or options.ask
        or (options.servers is not None and not options.lab)
        or options.output is not None
        or not options.redact
    ):
        message = "--access, --ask, --servers, --output and --no-redact say how devices are asked"
        raise InputError([Problem(Argument("check"), message, "add --live, or leave them out")])
    criteria = Criteria(
        only=options.only,
        all_routes=options.all_routes,
        allow_unseen=options.allow_unseen,
        line=fields_of(options.source),
    )
    if options.lab:
        from railweave.live.lab.check import check as of_lab

        if options.since is not None or isinstance(options.source, Network) or options.device:
            fix = "collect twice from the lab (`railweave collect --lab`), or leave --since and --device out"
            raise InputError([Problem(Argument("--lab"), "a lab is read once, as it was started", fix)])
        return of_lab(Path(options.source), criteria, servers=options.servers, progress=options.progress)
    network = options.network()
    if options.since is not None:
        criteria = replace(criteria, before=read_capture(Path(options.since)))
    with TemporaryDirectory() as place, in_force(network.catalog):
        if capture is None:
            capture = Path(place) / "capture" if options.output is None else Path(options.output)
            collect(
                network,
                capture,
                access=options.access,
                only=options.ask,
                servers=options.servers,
                tables=options.all_routes,
                redact=options.redact,
                progress=options.progress,
            )
        captured = read_capture(Path(capture))
        if captured.meta.lab is not None:
            from railweave.live.lab.check import (
                check_capture as run,  # its slice and its timers, and what a lab cannot answer
            )
        return run(network, captured, criteria, progress=options.progress)


@verb(FillInventory)
def fill_inventory(options: FillInventory) -> FilledInventory:
    """Return the inventory of a fabric file, filled in with values that devices report.

    The values are serial numbers, MAC addresses, names of interfaces and RDMA devices, modules and cable lengths.
    Without a capture, the inventory gets an empty row for each switch, server and NIC that it lacks. ``difference()`` of
    the result returns the changes as text. Raises ``OutputError`` if the file cannot be written, and the errors of ``check``.
    """
    from railweave.live.check.learnt import add_rows, fill
    from railweave.model.state.capture import read_capture
    from railweave.writing import write_file

    network = load(options.fabric, device=options.device, hardware=options.hardware)
    fabric = Path(options.fabric)
    if options.capture is None:
        filled = add_rows(fabric, network)
    else:
        filled = fill(fabric, network, read_capture(Path(options.capture)))
    if options.write and filled.differs:
        write_file(filled.file, filled.after)
    return filled


@verb(FleetCheck)
def fleet_check(options: FleetCheck) -> FleetCheckResult:
    """Run ``railweave host check`` on servers over SSH, and summarize the results (docs/checks.md).

    - ``generic``: True if there is no design. ``source`` then names the servers, which are compared with each other.
    - ``progress``: a function that is called with a short description of the current activity.

    A server that does not answer is listed in the result. Servers that ``status:`` of the fabric file marks as absent
    are not queried. Raises ``InputError`` for wrong input, and the errors of ``load``.
    """
    from railweave.live.fleet.checked import check_servers, compare_servers

    if options.generic:
        from railweave.live.collect.access_file import read_access
        from railweave.live.fleet.running import named_servers

        if isinstance(options.source, Network) or options.hosts is not None or options.lab:
            fix = "give the servers in place of FABRIC, without --hosts and --lab"
            raise InputError([Problem(Option("--generic"), "there is no design to select servers from", fix)])
        return compare_servers(
            named_servers(str(options.source), read_access(path_of(options.access))),
            only=options.only,
            allow_unseen=options.allow_unseen,
            sudo=options.sudo,
            at_once=options.at_once,
            say=options.progress,
        )
    return check_servers(
        _fleet_of(options),
        only=options.only,
        allow_unseen=options.allow_unseen,
        sudo=options.sudo,
        at_once=options.at_once,
        say=options.progress,
    )


@verb(FleetMesh)
def fleet_mesh(options: FleetMesh) -> MeshResult:
    """Let servers send packets of the designed MTU to each other on every path color, and report the answered packets (docs/checks.md).

    ``hosts`` are the servers that send; the targets may be other servers. Other arguments and errors are those of
    ``fleet_check``.
    """
    from railweave.live.fleet.meshed import mesh_servers

    return mesh_servers(_fleet_of(options), sudo=options.sudo, at_once=options.at_once, say=options.progress)


def _fleet_of(options: FleetCheck | FleetMesh) -> Fleet:
    if not options.lab:
        from railweave.live.collect.access_file import read_access
        from railweave.live.fleet.running import fleet_of

        return fleet_of(options.network(), read_access(path_of(options.access)), options.hosts)
    from railweave.live.lab import life
    from railweave.live.site.lab import fleet

    if isinstance(options.source, Network) or options.access is not None or options.device:
        fix = "give the file that `railweave lab up` was given, without --access and --device"
        raise InputError(
            [Problem(Argument("--lab"), "a lab is found by its fabric file, and runs on this machine", fix)]
        )
    fabric = Path(options.source)
    life.need_root(f"fleet {'check' if isinstance(options, FleetCheck) else 'mesh'} --lab", fabric)
    return fleet(fabric, options.hosts)
