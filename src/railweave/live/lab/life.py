"""Start and removal of a lab. A lab is started only if this machine has the resources. Removal removes everything of the lab, and nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import LabError
from railweave.live.lab import hosts, lldp, names, slicing, state
from railweave.live.lab.frr import held_sessions, rootfs, routers
from railweave.live.lab.kernel import links, neighbors, processes, tunnels
from railweave.live.lab.plan import Plan, make_plan
from railweave.live.lab.running import Machine, Running, machine
from railweave.live.lab.state import Place, Record
from railweave.model.network.status import present
from railweave.progress import silent
from railweave.tool_roots import INSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.live.lab.overlay import Overlay
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Cable
    from railweave.model.network.model import Network


ROUTER_KB = 36_000
"""The memory of a router without sessions, in kB: 30 MB for daemons, 4 MB of kernel memory for its namespace, and its lldpd."""

SESSION_KB = 700
"""The memory of a BGP session at each end, in kB: bgpd's buffers, which eventually fill completely."""

PATH_KB = 0.35
"""The memory of a path that a router received for a prefix, in kB: the received path, the path after policy, and its attributes."""

PREFIX_KB = 2.6
"""The memory of a prefix to which a router has a route, in kB, in zebra and in the kernel together."""

SERVER_KB = 3_500
"""The memory of a server's namespace and its lldpd, in kB."""

ROUTER_TASKS, SERVER_TASKS = 16, 2
"""The number of processes and threads of a router (its daemons and its lldpd), and of a server (its lldpd)."""


@dataclass(frozen=True)
class Size:
    """The size of a lab. ``sessions``, ``paths`` and ``prefixes`` are totals over all routers; ``spaces`` are network namespaces."""

    routers: int
    servers: int
    spaces: int
    sessions: int = 0
    paths: int = 0
    prefixes: int = 0

    @property
    def memory_kb(self) -> int:
        """The memory that the lab needs, in kB."""
        routers = ROUTER_KB * self.routers + SESSION_KB * self.sessions
        return round(routers + PATH_KB * self.paths + PREFIX_KB * self.prefixes + SERVER_KB * self.servers)

    @property
    def tasks(self) -> int:
        """The number of processes and threads of the lab."""
        return ROUTER_TASKS * self.routers + SERVER_TASKS * self.servers


def size_of(network: Network) -> Size:
    """Return the size of the lab of a network.

    Only prefixes of servers are counted. The computation assumes that:

    - each switch has a route to every prefix of all switches to which cables connect it, directly or through other
      switches
    - a leaf receives all these prefixes on each of its uplinks
    - a spine receives from each leaf the leaf's prefixes, and a higher switch receives from each spine the prefixes of
      the spine's leaves
    """
    routers, servers = len(network.switches), len(network.servers)
    vrfs = sum(len({segment.tenant for segment in network.segments_of(leaf.name)} - {""}) for leaf in network.switches)
    prefix_counts = {
        switch.name: sum(len(part.subnets) for part in network.segments_of(switch.name)) for switch in network.switches
    }
    between = [cable for cable in network.cables if cable.kind == "fabric"]
    heard = {
        name: sum(prefix_counts[member] for member in part)
        for part in _parts_joined(prefix_counts, between)
        for name in part
    }
    # What a switch announces upwards: a leaf its own prefixes, a spine those of its leaves.
    below = Counter(prefix_counts)
    for leaf, spine in {(cable.a.device, cable.b.device) for cable in between if prefix_counts[cable.a.device]}:
        below[spine] += prefix_counts[leaf]
    paths = sum(heard[cable.a.device] + below[cable.a.device] for cable in between)
    return Size(
        routers,
        servers,
        routers + vrfs + servers,
        sessions=2 * len(between),
        paths=paths,
        prefixes=sum(heard.values()),
    )


def _parts_joined(switches: dict[str, int], cables: list[Cable]) -> Iterator[set[str]]:
    """Yield the groups of switches that cables connect, directly or through other switches. For example, each plane is a group.

    The keys of ``switches`` are the switches; its values are not used.
    """
    neighbors: defaultdict[str, set[str]] = defaultdict(set)
    for cable in cables:
        neighbors[cable.a.device].add(cable.b.device)
        neighbors[cable.b.device].add(cable.a.device)
    left = set(switches)
    while left:
        joined = new = {left.pop()}
        while new:
            new = {other for switch in new for other in neighbors[switch]} - joined
            joined = joined | new
        left -= joined
        yield joined


FILES_BESIDE = 256
"""The number of files that this process keeps open in addition to one socket for each namespace."""


def check_fits(plan: Plan, whole: Network | None = None, has: Machine | None = None) -> None:
    """Raise ``LabError`` if a lab does not fit this machine.

    The error names the missing resource, and a part of the network ``whole`` that does fit. ``has`` are the free
    resources; None means the resources of this machine.
    """
    has = has or machine()
    missing = what_is_missing(size_of(plan.network), has)
    if missing:
        raise LabError(
            f"{missing}{'; or' if '`' in missing else ':'} take a part, such as {_part(whole or plan.network, has)}"
        )


def what_is_missing(size: Size, machine: Machine) -> str:
    """Return a sentence that names the resource a machine lacks for a lab, with the remedy if there is one; empty if the lab fits."""
    takes = f"{counted(size.routers, 'router')} and {counted(size.servers, 'server')} would take about"
    if size.memory_kb > machine.memory_kb:
        return f"{takes} {size.memory_kb / 1e6:.1f} GB, and {machine.memory_kb / 1e6:.1f} GB are free"
    if size.spaces + FILES_BESIDE > machine.files:
        need = size.spaces + FILES_BESIDE
        return (
            f"it asks {counted(size.spaces, 'namespace')} at once, and a process may have {machine.files:,} files open: "
            f"raise the limit (`ulimit -n {need}`)"
        )
    if size.tasks > machine.tasks:
        return f"{takes} {size.tasks:,} processes and threads, and {machine.tasks:,} more may run"
    return ""


def _part(network: Network, has: Machine) -> str:
    """Return the option of ``lab up`` for the largest part of the network that fits the free resources ``has``.

    If none fits, the text names the smallest part and adds that this part does not fit either.
    """
    text = ""
    for text in _parts(network):
        if not what_is_missing(size_of(slicing.sliced(network, slicing.parse(text))), has):
            return f"--slice {text}"
    return f"--slice {text or 'rails=1'}, which does not fit either"


def _parts(network: Network) -> Iterator[str]:
    """Yield values of the option --slice for parts of a network, from large to small: fewer rails, stripes, spines, then servers."""
    leaves = [switch for switch in network.switches if switch.role == "leaf"]
    counts = {
        "rails": (len({rail for leaf in leaves for rail in leaf.rails}), 1),
        "stripes": (len({leaf.stripe for leaf in leaves}), 2),
        "spines": (sum(switch.role == "spine" for switch in network.switches), 2),
        "servers": (len(network.servers), 2),
    }
    taken: dict[str, int] = {}
    for word, (whole, least) in counts.items():
        left = whole
        while left > least:
            left = taken[word] = max(least, -(-left // 2))
            yield ",".join(f"{dimension}={number}" for dimension, number in taken.items())


SETTLE_S = 90
ADDRESSES_S = 60


@dataclass(frozen=True)
class LabStart:
    """The result of starting a lab.

    - ``record``: the content of ``lab.json``, which identifies the lab.
    - ``seconds``: the duration of each step.
    - ``addresses``: True if all servers got their addresses.
    - ``unsettled``: the remaining differences between the routers' forwarding and the computed routes, one sentence each.
    """

    record: Record
    routers: int
    servers: int
    links: int
    seconds: dict[str, float]
    addresses: bool
    unsettled: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """True if routers forward as designed, and servers have their addresses."""
        return self.addresses and not self.unsettled

    def to_text(self) -> str:
        """Return the result as lines of text: the size of the lab, the time to start it, and the remaining differences from the design."""
        record, timers = self.record, self.record.timers()
        took = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in self.seconds.items())
        lines = [
            (
                f"{record.network}: {counted(self.routers, 'router')} (FRR {record.frr_version}), "
                f"{counted(self.servers, 'server')}, {counted(self.links, 'link')} up in {sum(self.seconds.values()):.1f} s ({took})"
            ),
            f"timers: {f'the lab has its own: {timers.sentence()}' if timers else 'as designed'}",
            f"look around: {_entering()}ip netns exec {record.lab}-{record.devices[0]} ip -6 route",
            *(f"not settled: {line}" for line in self.unsettled[:10]),
        ]
        if not self.addresses:
            lines.append("not settled: servers lack designed addresses; `railweave lab test` names them")
        return "\n".join(lines)


def _entering() -> str:
    """Return the beginning of a command that runs in the namespaces of a user's labs; empty if root started the lab."""
    first = os.environ.get(INSIDE)
    return f"nsenter -t {first} --user --preserve-credentials --net --mount --uts --pid " if first else ""


def need_root(verb: str, fabric: Path | None) -> None:
    """Raise ``LabError`` if the user is not root. The error has the command ``lab VERB`` to run as root.

    On the command line a user who is not root gets here only without a lab: ``user_labs`` makes the user root of the labs' namespaces.
    """
    if os.geteuid() != 0:
        words = verb + (f" {fabric}" if fabric else "")
        raise LabError(
            "you have no lab, and a lab of root needs root, for network namespaces: "
            f"run `sudo {names.sudo_program()} {words}`, or first `railweave lab up` without sudo"
        )


def up(
    fabric: Path,
    network: Network,
    *,
    part: str = "",
    overlay: Overlay | None = None,
    frr_root: Path | None = None,
    configs: dict[str, DeviceConfig] | None = None,
    room_for: Network | None = None,
    progress: Callable[[str], None] = silent,
    announce: Callable[[str], None] = silent,
) -> LabStart:
    """Start the lab of a network, or of a part of the network. If a step fails, everything is removed.

    Devices and links that ``status:`` marks absent are left out.

    - ``part``: the part, written like the option --slice; empty for the whole network.
    - ``overlay``: the lab's timers, which replace the designed timers.
    - ``frr_root``: the root folder with FRR; None means the first suitable FRR (``rootfs.find``).
    - ``configs``: configurations of switches, in place of the designed ones.
    - ``room_for``: a larger network. All its devices and cables are created at once; routers that ``network`` lacks
      have only a host name.
    - ``announce``: called with a message before a download, even if progress is not shown.

    Raises ``LabError`` if this machine cannot run the lab, or if the lab exists already.
    """
    need_root("lab up", fabric)
    lab = names.lab_id(fabric)
    whole = present(network)
    network = slicing.sliced(whole, slicing.parse(part)) if part else whole
    if overlay is not None:
        overlay = overlay.fitting(2 * sum(cable.kind == "fabric" for cable in network.cables))
    plan = make_plan(network, overlay, configs)
    machines = plan if room_for is None else make_plan(room_for, overlay)
    if more := [wire.link for wire in plan.wires if wire not in machines.wires]:
        raise LabError(
            f"there is no room for {more[0]} in the larger network: every cable must be there, on the same ports"
        )
    with state.locked(lab, "up"):
        place = Place(lab)
        if place.folder.exists():
            raise LabError(f"the lab of {fabric} is there already: run `railweave lab down {fabric}` first")
        check_fits(machines, whole)
        need = rootfs.need(machines.configs.values())
        frr = rootfs.find(frr_root, need, announce)
        if notice := lldp.missing(frr, need.suite):
            announce(notice)
        links.probe(lab)
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
            neighbors.raise_limits(lab, len(machines.wires))
            return _make(Running(place, plan, frr), Running(place, machines, frr), record, progress)
        except BaseException:
            clean(lab)
            raise


def _make(lab: Running, machines: Running, record: Record, progress: Callable[[str], None]) -> LabStart:
    """Create the namespaces and links of ``machines``, and start ``lab`` on them.

    ``lab`` may use only some of these namespaces. ``record`` identifies the lab; it is written again with the outcome.
    """
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
        routers.load(place, plan.configs.values(), progress)
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
        unsettled = tuple(str(difference) for difference in left)
        return LabStart(record, len(plan.configs), len(plan.hosts), len(plan.wires), seconds, addresses, unsettled)


@dataclass(frozen=True)
class LabRemoval:
    """The result of removing a lab: the numbers of removed processes and namespaces, and True if the lab's folder was removed.

    ``strangers`` has the processes of other programs that keep a namespace of the lab in use.
    """

    processes: int
    namespaces: int
    folder: bool
    strangers: tuple[str, ...]

    def to_text(self) -> str:
        """Return the result as lines of text, with a warning if other programs keep namespaces in use."""
        gone = f"gone: {counted(self.processes, 'process', 'processes')}, {counted(self.namespaces, 'namespace')}"
        rest = "is not the lab's and was left alone; its namespace stays, without a name, until it ends"
        removed = bool(self.namespaces or self.processes or self.folder)
        lines = [gone if removed else "there was nothing"]
        return "\n".join([*lines, *(f"process {stranger} {rest}" for stranger in self.strangers)])


def down(fabric: Path) -> LabRemoval:
    """Remove the lab of a fabric file, whatever its state. Raises ``LabError`` if a part of the lab cannot be removed."""
    need_root("lab down", fabric)
    lab = names.lab_id(fabric)
    with state.locked(lab, "down"):
        return clean(lab)


def clean(lab: str) -> LabRemoval:
    """Remove everything of a lab: the processes with its mark, the namespaces with its name, then its folder. Limits that it raised are put back."""
    ended = processes.of_lab(lab)
    while left := processes.of_lab(lab):  # one may have started another meanwhile
        processes.end(left)
    strangers = processes.inside(lab)
    removed = links.remove(lab)
    folder = names.folder(lab)
    there = folder.exists()
    if there:
        shutil.rmtree(folder)
    neighbors.restore(lab)
    return LabRemoval(len(ended), len(removed), there, tuple(strangers))


def attach(fabric: Path, configs: dict[str, DeviceConfig] | None = None) -> tuple[Record, Running]:
    """Return the stored record of a fabric file's lab, and an object for the running lab.

    ``configs`` are the configurations with which the lab was started; None means the designed configurations. Raises
    ``LabError`` if the lab is not running.
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
