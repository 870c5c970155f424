"""Bringing a lab up and taking it down: whatever happens in between, what is a lab's own goes and nothing else does."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab import fits, hosts, lldp, names, slicing, state
from railweave.live.lab.frr import held_sessions, protection, rootfs, routers
from railweave.live.lab.kernel import links, neighbor_table, probe, processes, tunnels
from railweave.live.lab.plan import make_plan
from railweave.live.lab.running import Running
from railweave.live.lab.state import Place, Record
from railweave.model.network.status import present

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.live.lab.overlay import Overlay
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

SETTLE_S = 90
ADDRESSES_S = 60


@dataclass(frozen=True)
class Up:
    """What bringing a lab up came to. ``unsettled``: what the routers still forward otherwise than ``routes`` has it."""

    record: Record
    routers: int
    servers: int
    links: int
    seconds: dict[str, float]
    addresses: bool
    unsettled: tuple[str, ...]


def need_root(verb: str, fabric: Path | None) -> None:
    """Raises ``LabError`` with the command to run where this is not root."""
    if os.geteuid() != 0:
        program = shutil.which(sys.argv[0]) or "railweave"
        words = f"lab {verb}" + (f" {fabric}" if fabric else "")
        raise LabError(f"a lab needs root, for network namespaces: run `sudo {program} {words}`")


def up(
    fabric: Path,
    network: Network,
    *,
    part: str = "",
    overlay: Overlay | None = None,
    frr_root: Path | None = None,
    configs: dict[str, DeviceConfig] | None = None,
    room_for: Network | None = None,
    progress: Callable[[str], None] = lambda _: None,
    announce: Callable[[str], None] = lambda _: None,
) -> Up:
    """Bring up the lab of a network, or of a slice of it; wholly, or not at all. What is absent by ``status:`` is left out.

    ``configs`` replaces the configurations of the network's switches; ``room_for`` is a larger network, of which all machines and cables are
    there from the beginning, its further switches with a name and no more; ``announce`` is told what is fetched from elsewhere,
    and should say so to the user, whatever is done about progress. Raises ``LabError`` where this machine cannot, or where the
    lab is there already.
    """
    need_root("up", fabric)
    lab = names.lab_id(fabric)
    whole = present(network)
    network = slicing.sliced(whole, slicing.parse(part)) if part else whole
    if overlay is not None:
        overlay = overlay.fitting(2 * sum(cable.kind == "fabric" for cable in network.cables))
    plan = make_plan(network, overlay, configs)
    machines = plan if room_for is None else make_plan(room_for, overlay)
    if more := [one.link for one in plan.wires if one not in machines.wires]:
        raise LabError(
            f"there is no room for {more[0]} in the larger network: every cable must be there, on the same ports"
        )
    with state.locked(lab, "up"):
        place = Place(lab)
        if place.folder.exists():
            raise LabError(f"the lab of {fabric} is there already: run `railweave lab down {fabric}` first")
        fits.check_fits(machines, whole)
        neighbor_table.make_room(len(machines.wires))
        need = rootfs.need(machines.configs.values())
        frr = rootfs.find(frr_root, need, announce)
        if said := lldp.missing(frr, need.suite):
            announce(said)
        probe.probe(lab)
        frr = replace(frr, protocols=machines.protocols())
        record = Record(
            lab,
            str(fabric.resolve()),
            network.name,
            part,
            None if overlay is None else overlay.to_json(),
            str(frr.root),
            frr.version,
            "begun",
            tuple(machines.spaces()),
        )
        state.write(place, record, network)
        try:
            return _make(Running(place, plan, frr), Running(place, machines, frr), record, progress)
        except BaseException:
            clean(lab)
            raise


def _make(lab: Running, machines: Running, record: Record, progress: Callable[[str], None]) -> Up:
    """Make ``machines``, and on them a lab that may have fewer."""
    clock, seconds = time.monotonic(), dict[str, float]()

    def done(step: str) -> None:
        nonlocal clock
        now = time.monotonic()
        seconds[step], clock = now - clock, now

    with lab, machines:
        plan, place = lab.plan, lab.place
        progress(f"{len(machines.plan.spaces())} namespaces, {len(machines.plan.wires)} links")
        links.make(place.lab, machines.plan)
        hosts.prepare(machines)
        hosts.write_files(lab)
        done("links")
        started = machines.plan.configs | plan.configs
        routers.write_files(place, lab.frr, list(started.values()), bare=started.keys() - plan.configs.keys())
        protection.load(place, plan.configs.values(), progress)
        routers.start(place, lab.frr, list(started.values()), progress)
        tunnels.make(machines)
        routers.solicit(place, plan.configs.values())
        lldp.start(place, machines.plan, lab.frr)
        done("daemons")
        progress("servers' addresses")
        addresses = hosts.wait_for_addresses(lab, ADDRESSES_S)
        if addresses:
            hosts.apply_tables(lab)
        done("servers")
        progress("routes")
        took, left = held_sessions.wait_and_release(lab, lab.control_plane.routes(), SETTLE_S, poll_s=0.25)
        done("routes")
        state.write(place, replace(record, stage="up" if addresses and took is not None else "unsettled"))
        unsettled = tuple(str(one) for one in left)
        return Up(record, len(plan.configs), len(plan.hosts), len(plan.wires), seconds, addresses, unsettled)


@dataclass(frozen=True)
class Down:
    """What was taken away. ``strangers``: processes of others that keep a namespace's inside alive."""

    processes: int
    namespaces: int
    folder: bool
    strangers: tuple[str, ...]


def down(fabric: Path) -> Down:
    """Take down the lab of a fabric file, whatever state it is in. Raises ``LabError`` where something of it stays."""
    need_root("down", fabric)
    lab = names.lab_id(fabric)
    with state.locked(lab, "down"):
        return clean(lab)


def clean(lab: str) -> Down:
    """Take away all that is a lab's: processes by its mark, namespaces by its name, its folder last."""
    ended = processes.of_lab(lab)
    while left := processes.of_lab(lab):  # one may have started another meanwhile
        processes.end(left)
    strangers = processes.inside(lab)
    removed = links.remove(lab)
    folder = names.folder(lab)
    there = folder.exists()
    if there:
        shutil.rmtree(folder)
    return Down(len(ended), len(removed), there, tuple(strangers))


def attach(fabric: Path, configs: dict[str, DeviceConfig] | None = None) -> tuple[Record, Running]:
    """The lab of a fabric file, to be used; ``configs`` are those that it was brought up with, where they were given.

    Raises ``LabError`` where it is not up.
    """
    lab = names.lab_id(fabric)
    place = Place(lab)
    record = state.read(place)
    if record is None or record.stage == "begun":
        half = " (a former `lab up` did not end; `railweave lab down` cleans up)" if record else ""
        raise LabError(f"there is no lab of {fabric}{half}: run `sudo railweave lab up {fabric}`")
    network = state.read_network(place)
    plan = make_plan(network, record.timers(), configs)
    frr = replace(rootfs.known(Path(record.frr_root), record.frr_version), protocols=plan.protocols())
    return record, Running(place, plan, frr)
