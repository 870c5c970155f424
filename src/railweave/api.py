"""The steps of the command line as functions, for notebooks and scripts. They are used as ``railweave.load``, ``.build``, ...

A ``source`` is a fabric file, a ``build`` output folder, or a network that is designed already. A fabric file brings the
inventory and the lock beside it along. Names of devices, NICs and links are those of ``cabling.csv``. Steps that bring much
with them are imported when they are called.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.catalog import in_force
from railweave.device.build import device_config
from railweave.errors import Argument, FileLine, InputError, NetworkPart, Option, Problem
from railweave.intent.lock import read_lock
from railweave.network.model import Network
from railweave.outputs.steps import LOCK, design_file
from railweave.outputs.steps import build as _build
from railweave.routing.control_plane import ControlPlane
from railweave.routing.paths import queue_pair_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from railweave.adopt.adopt import Imported
    from railweave.checks.run import Verified
    from railweave.collect.collect import Collected
    from railweave.device.model import DeviceConfig
    from railweave.drift.drift import Drift
    from railweave.expect.model import Keys
    from railweave.intent.lock import Lock
    from railweave.live.check import Checked
    from railweave.live.fill import Filled
    from railweave.outputs.differences import NetworkDiff
    from railweave.outputs.steps import Built
    from railweave.routing.paths import QueuePairPath
    from railweave.routing.table import Routes
    from railweave.simulation.job_run import JobPrediction
    from railweave.state.device_state import DeviceState
    from railweave.state.question import Question


def load(
    fabric: Path | str,
    lock: Lock | None = None,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> Network:
    """The network of a fabric file, or of a ``build`` output folder (its ``design.json``). Nothing is written.

    - ``lock``: allocations to design with, instead of those in the lock beside the fabric file; a folder has its own.
    - ``device``: other switches than the file's, as ``--device`` takes them: ``leaf=MODEL:NOS``, ``leaf=:eos``, ``:eos``.
    - ``hardware``: a folder of hardware files (docs/hardware.md); a folder that is built needs none.

    Raises ``SpecError`` or ``DesignError``, with file and line of everything that is wrong; ``InputError`` for a folder
    without a design of this version, and for a folder with ``device``.
    """
    path = Path(fabric)
    if path.is_dir():
        _as_designed(path, device)
        return _from_folder(path)
    network, _ = design_file(path, lock, device=device, hardware=_path(hardware))
    return network


def load_pair(
    old: Network | Path | str,
    new: Network | Path | str,
    *,
    device: Sequence[str] = (),
    old_device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> tuple[Network, Network]:
    """Two networks to compare; a new fabric file is designed with the allocations of an old file or folder.

    Where it has no inventory of its own, as a copy made to try something has not, the old file's is used. ``device`` is
    that of ``load``, for the new one: so a file compared with itself shows what other switches would change;
    ``old_device`` is that for the old one. ``hardware`` is that of ``load``, for both. Raises as ``load`` does.
    """
    if isinstance(old, Network) or isinstance(new, Network):
        return _network(old, old_device, hardware), _network(new, device, hardware)
    if Path(old).is_dir():
        lock = read_lock(Path(old) / LOCK)
        return load(old, device=old_device), load(new, lock, device=device, hardware=hardware)
    own = _path(hardware)
    network, lock = design_file(Path(old), device=old_device, hardware=own)
    if Path(new).is_dir():
        return network, load(new, device=device)
    return network, design_file(Path(new), lock, inventory_of=Path(old), device=device, hardware=own)[0]


def _as_designed(source: Network | Path, device: Sequence[str]) -> None:
    """Raise ``InputError`` where what is designed already is to be one of other switches."""
    if device:
        what = f"{source.name} is designed" if isinstance(source, Network) else f"{source} is built"
        fix = "give the fabric file, or build it again with --device"
        raise InputError([Problem(Option("--device", device[0]), f"{what} for the switches it has", fix)])


def _from_folder(folder: Path) -> Network:
    from pydantic import ValidationError

    file = folder / "design.json"
    try:
        network = Network.from_json(file.read_bytes())
    except FileNotFoundError:
        raise InputError(
            [
                Problem(
                    FileLine(str(folder)),
                    "no design.json here",
                    "name a fabric file or the output folder of `railweave build`",
                )
            ]
        ) from None
    except ValidationError as error:
        what = f"not a design of this version: {error.errors()[0]['msg']}"
        raise InputError([Problem(FileLine(str(file)), what, "build it again")]) from None
    dangling = network.dangling()
    if dangling:
        raise InputError([Problem(FileLine(str(file)), f"the design is damaged: {dangling}", "build it again")])
    return network


def _network(source: Network | Path | str, device: Sequence[str] = (), hardware: Path | str | None = None) -> Network:
    if isinstance(source, Network):
        _as_designed(source, device)
        return source
    return load(source, device=device, hardware=hardware)


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _silent(_: str) -> None:
    """Where nobody wants to hear of progress."""


def build(
    fabric: Path | str,
    out: Path | str,
    *,
    secrets: Path | str | None = None,
    compact: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    prices: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Built:
    """Design a fabric file and write everything into a folder: configurations, tables, picture, report; the lock last.

    - ``out``: the folder; it is replaced as a whole or not at all, and refused where it holds anything else.
    - ``secrets``: a YAML file of ``NAME: value`` that replaces ``<secret:NAME>`` in device files.
    - ``compact``: free the slots of names that are gone, for new names to use.
    - ``device``: other switches than the file's, see ``load``.
    - ``hardware``: a folder of hardware files, see ``load``.
    - ``prices``: a file of prices for the report's bill of materials (docs/hardware.md).
    - ``progress``: called with a few words on what is being done.

    An error among the findings of the result does not keep the files from being written. Raises ``InputError`` for wrong
    input, and ``OutputError`` where the folder cannot be written; folder and lock are then as they were.
    """
    return _build(
        Path(fabric),
        Path(out),
        secrets=_path(secrets),
        compact=compact,
        device=device,
        hardware=_path(hardware),
        prices=_path(prices),
        progress=progress or _silent,
    )


def diff(
    old: Network | Path | str,
    new: Network | Path | str,
    *,
    device: Sequence[str] = (),
    old_device: Sequence[str] = (),
    new_device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> NetworkDiff:
    """What must change for one network to become another: switches, servers, files that servers share, cables.

    - ``old``, ``new``: sources. A new fabric file is designed with the allocations of an old file or folder, so that what
      did not change keeps its place; compared with a ``Network`` it is designed with its own.
    - ``device``: other switches for both, see ``load``: the change as it is on those switches.
    - ``old_device``, ``new_device``: other switches for one of them alone, so that ``old`` and ``new`` may be the same file.
    - ``hardware``: a folder of hardware files for both, see ``load``.

    ``equal`` of the result says whether nothing changes, ``lines()`` are the changes as text. Raises as ``load`` does.
    """
    from railweave.outputs.differences import diff as differences  # brings every renderer with it

    before, after = load_pair(
        old, new, device=[*device, *new_device], old_device=[*device, *old_device], hardware=hardware
    )
    with in_force(before.catalog.with_hardware(after.hardware)):
        return differences(before, after)


def verify(
    source: Network | Path | str,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    yang: Path | str | None = None,
    frr_root: Path | str | None = None,
    netplan_root: Path | str | None = None,
    sonic_yang: Path | str | None = None,
    every: bool = False,
    running: Path | str | None = None,
    design_only: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Verified:
    """Check a network against itself, and have every outside validator that is there read its files.

    - ``source``: of a build folder the files are read as they stand there, and each value that is not as designed is a
      finding; else they are read as they would be rendered.
    - ``running``: a folder of configurations saved from switches (docs/capture.md), which are checked in place of the designed ones.
    - ``device``: other switches than the file's, see ``load``.
    - ``hardware``: a folder of hardware files, see ``load``.
    - ``yang``: a folder of published Junos YANG models; ``sonic_yang``: one of SONiC's.
    - ``frr_root``, ``netplan_root``: root folders with FRR and netplan in them, where they are not installed.
    - ``every``: validators read every file; else of more than 64 one of each shape and a sample.
    - ``design_only``: leave the files of a build folder alone: only its design is checked.
    - ``progress``: called with a few words on what is being done.

    A validator that is not there is reported as skipped, with the reason. ``good`` of the result is False where a
    finding is an error; iterating over it gives the findings, errors first (docs/findings.md). Raises as ``load`` does.
    """
    from railweave.checks.run import verify as run  # brings every check and renderer with it

    network = _network(source, device, hardware)
    given = None if design_only or running is not None or isinstance(source, Network) else Path(source)
    with in_force(network.catalog):
        return run(
            network,
            folder=given if given is not None and given.is_dir() else None,
            running=None if running is None else _captured(network, running),
            yang=_path(yang),
            frr_root=_path(frr_root),
            netplan_root=_path(netplan_root),
            sonic_yang=_path(sonic_yang),
            every=every,
            progress=progress or _silent,
        )


def drift(
    source: Network | Path | str,
    capture: Path | str,
    *,
    device: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Drift:
    """What switches have otherwise than designed, and what that does.

    - ``capture``: a folder of saved configurations (docs/capture.md).
    - ``device``: other switches than the file's, see ``load``.
    - ``progress``: called with a few words on what is being done.

    ``equal`` of the result says whether nothing differs, ``lines()`` are the differences as text. Secrets that devices show redacted or hashed
    are not compared. Raises ``InputError`` for a folder that is no capture, and as ``load`` does.
    """
    from railweave.drift.drift import drift as differences  # brings every reader with it

    network = _network(source, device)
    with in_force(network.catalog):
        return differences(network, _captured(network, capture), progress=progress or _silent)


def running(
    source: Network | Path | str, capture: Path | str, *, device: Sequence[str] = ()
) -> dict[str, DeviceConfig]:
    """The configuration of every switch as it was saved; of a switch that nothing was saved of, the designed one.

    - ``capture``: a folder of saved configurations (docs/capture.md).
    - ``device``: other switches than the file's, see ``load``.

    Raises ``InputError`` for a folder that is no capture, with file and line of a configuration that cannot be read, and as
    ``load`` does.
    """
    from railweave.drift.running import running_configs

    network = _network(source, device)
    with in_force(network.catalog):
        return running_configs(network, _captured(network, capture))


def adopt(
    folder: Path | str,
    *,
    name: str = "network",
    device: Sequence[str] = (),
    draft: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Imported:
    """An existing network as a fabric file, from configurations saved from its switches.

    - ``folder``: a folder of saved configurations (docs/capture.md), ``DEVICE/lldp.json`` beside them where there is one.
    - ``name``: the name of the network.
    - ``device``: switch models by role, ``leaf=MODEL``, where names of ports do not tell them.
    - ``draft``: where the fabric file is written if it cannot be designed, so that it can be mended by hand.
    - ``progress``: called with a few words on what is being done.

    ``write`` of the result writes the fabric file with its lock and inventory; ``scores`` says statement by statement what
    the design of the file gives back, and ``notes`` what is not in it. Raises ``InputError`` for a folder that is no
    capture, with file and line of a configuration that cannot be read, and where the fabric file that was found cannot be designed.
    """
    from railweave.adopt.adopt import imported_folder  # brings every reader with it
    from railweave.adopt.equipment import asked_models

    return imported_folder(name, Path(folder), asked_models(device), _path(draft), progress or _silent)


def questions_of(
    network: Network | Path | str,
    *,
    only: Sequence[str] = (),
    servers: bool = False,
    tables: bool = False,
) -> dict[str, tuple[Question, ...]]:
    """What each device of a network is asked about its state, by name; nothing is asked.

    - ``only``: these devices alone.
    - ``servers``: servers too.
    - ``tables``: whole tables of routes, not only examples.

    Raises ``InputError`` for a name that the network has not, and as ``load`` does.
    """
    from railweave.collect.access_file import read_access
    from railweave.collect.plan import plan

    asked = plan(_network(network), read_access(None), only=only, servers=servers, tables=tables)
    return {one.target.name: one.questions for one in asked}


def collect(
    network: Network | Path | str,
    folder: Path | str,
    *,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    servers: bool = False,
    tables: bool = False,
    redact: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Collected:
    """Ask every switch what it has and how it is, and write the answers as a capture. Nothing is changed on any device.

    - ``folder``: the folder of the capture; an earlier one is replaced as a whole.
    - ``access``: how devices are reached: ``access.yaml`` (docs/collect.md); without it by the designed management address.
    - ``only``, ``servers``, ``tables``: see ``questions_of``.
    - ``redact``: take keys, hashes and communities out of what is written.
    - ``progress``: called with a few words on what is being done.

    A device that does not answer is a row of the result. Raises ``InputError`` for wrong input and a folder that is no
    capture, ``OutputError`` where it cannot be written, and as ``load`` does.
    """
    from railweave.collect.access_file import read_access
    from railweave.collect.collect import collect as ask
    from railweave.collect.plan import plan

    found, ways = _network(network), read_access(_path(access))
    asked = plan(found, ways, only=only, servers=servers, tables=tables)
    return ask(found, asked, ways, Path(folder), redact=redact, progress=progress or _silent)


def states(network: Network | Path | str, capture: Path | str) -> dict[str, DeviceState]:
    """What the switches of a network said of themselves in a capture, by name: those of which there are answers.

    What could not be read is in ``notes`` of each. Raises ``InputError`` for a folder that is no capture, and as ``load`` does.
    """
    from railweave.state.capture import read_capture
    from railweave.state.reading import read_states

    return read_states(read_capture(Path(capture)), {one.name: one.nos for one in _network(network).switches})


def check(
    source: Network | Path | str,
    capture: Path | str | None = None,
    *,
    live: bool = False,
    access: Path | str | None = None,
    ask: Sequence[str] = (),
    servers: bool = False,
    output: Path | str | None = None,
    redact: bool = True,
    lab: bool = False,
    since: Path | str | None = None,
    only: Sequence[str] = (),
    all_routes: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Checked:
    """Whether the living network is the designed one: what its devices said, beside what must hold on each (docs/check.md).

    - ``capture``: a folder of what devices said, as ``collect`` writes it.
    - ``live``: ask every switch now instead. ``access``, ``servers`` and ``redact`` are those of ``collect``, ``ask`` its
      ``only``; ``output`` keeps what they said as a capture.
    - ``lab``: ask the routers of the lab of this fabric file instead, which is up (docs/lab.md); needs root.
    - ``since``: an earlier capture, for what counters rose by.
    - ``only``: ids of findings to keep (docs/findings.md).
    - ``all_routes``: compare every route of which the capture has an answer, not only examples.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called with a few words on what is being done.

    What ``status:`` of the fabric file says is planned, drained or failed is expected nowhere; servers are expected where they
    were asked. Findings of a fabric file name
    its lines; a build folder and a network have none. ``good`` of the result is False where a finding is an error. Raises
    ``InputError`` for a folder that is no capture or has nothing of this network, for an unknown id, and as ``load`` does.
    """
    from railweave.live.check import check as run  # brings every reader with it
    from railweave.state.capture import read_capture

    if (capture is not None) + live + lab != 1:
        fix = "give the folder that `railweave collect` wrote, or --live to ask the devices now, or --lab where `railweave lab up` has run"
        raise InputError([Problem(Argument("check"), "there must be one of a capture, --live and --lab", fix)])
    if not live and (access is not None or ask or servers or output is not None or not redact):
        what = "--access, --ask, --servers, --output and --no-redact say how devices are asked"
        raise InputError([Problem(Argument("check"), what, "add --live, or leave them out")])
    if lab:
        from railweave.lab.check import check as of_lab

        if since is not None or isinstance(source, Network) or device:
            fix = "collect twice from the lab's routers, or leave --since and --device out"
            raise InputError([Problem(Argument("--lab"), "a lab is asked once, as it was brought up", fix)])
        return of_lab(Path(source), only=only, all_routes=all_routes, line=_lines(source), progress=progress or _silent)
    network = _network(source, device, hardware)
    before = None if since is None else read_capture(Path(since))
    with TemporaryDirectory() as place, in_force(network.catalog):
        if capture is None:
            capture = Path(place) / "capture" if output is None else Path(output)
            collect(
                network,
                capture,
                access=access,
                only=ask,
                servers=servers,
                tables=all_routes,
                redact=redact,
                progress=progress,
            )
        return run(
            network,
            read_capture(Path(capture)),
            before=before,
            only=only,
            all_routes=all_routes,
            line=_lines(source),
            progress=progress or _silent,
        )


def fill_inventory(
    fabric: Path | str,
    capture: Path | str,
    *,
    write: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> Filled:
    """The inventory beside a fabric file, with serial numbers, MAC addresses and interface names that devices say.

    - ``capture``: a folder of what devices said, as ``collect`` writes it.
    - ``write``: write the file; without it nothing is written.
    - ``device``, ``hardware``: see ``load``.

    ``difference()`` of the result are the changes as text. Raises as ``check`` does, and ``OutputError`` where it cannot be written.
    """
    from railweave.live.fill import fill
    from railweave.state.capture import read_capture
    from railweave.writing import write_file

    network = load(fabric, device=device, hardware=hardware)
    found = fill(Path(fabric), network, read_capture(Path(capture)))
    if write and found.differs:
        write_file(found.file, found.after)
    return found


def _lines(source: Network | Path | str) -> Callable[[Keys], tuple[str, int]]:
    """The file and line of a part of the fabric file; nowhere for what is designed already."""
    if isinstance(source, Network) or Path(source).is_dir():
        return lambda _: ("", 0)
    from railweave.intent.reading.document import read_document

    document = read_document(Path(source))
    return lambda keys: (Path(source).name, document.line(keys))


def _captured(network: Network, capture: Path | str) -> dict[str, dict[str, str]]:
    """The texts of each device's configuration in a capture, by their path."""
    from railweave.state.capture import read_capture
    from railweave.systems import system

    found = read_capture(Path(capture))
    files = {one.name: tuple(system(one.nos).trees(device_config(network, one.name))) for one in network.switches}
    return {
        name: {str(path): text for path, text in found.configurations(name, files.get(name, ())).items()}
        for name in found.devices
    }


def routes(
    source: Network | Path | str, down: Iterable[str] = (), *, configs: Mapping[str, DeviceConfig] | None = None
) -> Routes:
    """The forwarding table of every switch, as the configured control plane settles on it.

    - ``down``: links (``leaf:port--spine:port``, either end first), switches and servers that are gone.

    - ``configs``: configurations of switches in place of the designed ones, as ``running`` gives them.

    Raises ``InputError`` for a name that is none of these, and as ``load`` does.
    """
    network = _network(source)
    given = configs or {}
    configs_now = (given.get(one.name) or device_config(network, one.name) for one in network.switches)
    plane = ControlPlane(configs_now, network.absent)
    return plane.routes(_down(network, down))


def _down(network: Network, names: Iterable[str]) -> list[str]:
    links = {cable.name for cable in network.cables}
    devices = {device.name for device in (*network.switches, *network.servers)}
    found: list[str] = []
    for name in names:
        turned = "--".join(reversed(name.split("--")))
        if name in links or name in devices:
            found.append(name)
        elif turned in links:
            found.append(turned)
        else:
            fix = "links are leaf:port--spine:port, as in cabling.csv"
            raise InputError([Problem(NetworkPart(name), "neither a link nor a switch nor a server", fix)])
    return found


def paths(
    source: Network | Path | str,
    src: str,
    dst: str,
    qps: int = 1,
    down: Iterable[str] = (),
    *,
    configs: Mapping[str, DeviceConfig] | None = None,
) -> list[QueuePairPath]:
    """The path of each queue pair of a connection: its GIDs, and every link it crosses with its share.

    - ``src``, ``dst``: NICs of one fabric as ``SERVER:NIC``; the interface or the RDMA device will do for the NIC.
    - ``qps``: how many queue pairs the connection has. Queue pair i takes path color i mod the number of colors.
    - ``down``, ``configs``: what is gone, and running configurations, see ``routes``.

    One path a queue pair, in order; ``hops`` of one that cannot arrive is empty. Raises ``InputError`` for an unknown name or
    a NIC without an address, and as ``load`` does.
    """
    network = _network(source)
    return queue_pair_paths(network, routes(network, down, configs=configs), src, dst, qps)


def simulate(
    source: Network | Path | str,
    collective: str | None = None,
    size: int | str | None = None,
    *,
    qps: int | None = None,
    nccl: Iterable[str] | Mapping[str, str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    background: str | None = None,
    scenario: Path | str | None = None,
    hosts: str | None = None,
    per_host: int | None = None,
    fib: Path | str | None = None,
    tenant: str | None = None,
    fabric: str | None = None,
    engine: Literal["auto", "packet", "flow"] = "auto",
    exact: bool = False,
    configs: Mapping[str, DeviceConfig] | None = None,
    watch: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> JobPrediction:
    """What a collective, or the job of a scenario file, gets on a network (docs/predict.md).

    - ``collective``: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all or send-recv; all-reduce where
      neither it nor a scenario's traffic is given.
    - ``size``: bytes, as nccl-tests counts them, or a text such as ``8G`` (8 x 2^30); 1G where it is left out.
    - ``qps``: queue pairs per connection; one per path color where it is left out.
    - ``nccl``: parameters of NCCL, by name or as ``KEY=VALUE`` words (docs/collectives.md).
    - ``lb``: how switches share: ecmp, dlb, dlb-per-packet, spray or rlb, with knobs: ``dlb:inactivity=64us``.
    - ``settings``: parameters of the engine, by name (docs/sim.md).
    - ``background``: traffic of others: ``share=30%,ports=*:gpu0_eth,qps=4,packet=9000``.
    - ``scenario``: a scenario file with traffic, background, overrides and faults; other arguments override it, but
      where it has traffic, ``collective``, ``size`` and ``qps`` are refused.
    - ``hosts``: servers in the order of their ranks, ``H100-03,H100-[01-02]``, how many of the first (``"4"``), or
      ``stripes-alternate``; all in the order of the fabric file where it is left out.
    - ``per_host``: processes on each server, which share its GPUs; one for each GPU where it is left out.
    - ``fib``: a file of forwarding tables as exported, instead of those that are computed.
    - ``tenant``, ``fabric``: whose job it is, and on which fabric, where there are several.
    - ``engine``: packets, flows, or ``auto``: flows above 200 million estimated packet hops.
    - ``exact``: run packets to the end; else a long run is stopped when every round is alike.
    - ``configs``: configurations of switches in place of the designed ones, as ``running`` gives them.
    - ``watch``: collect ``series``, ``queues`` and ``rates`` over time, which changes no result.
    - ``progress``: called now and then with which collective runs, how many messages arrived, and how many there are.

    Times end in ``_ps`` (10^-12 s) or ``_us``, sizes in ``_bytes``, rates in ``_gbps`` (10^9 bit/s) or ``_gbytes`` (10^9
    byte/s). ``links``, ``flows``, ``series``, ``queues`` and ``rates`` of the result are columns for
    ``polars.DataFrame`` or ``pandas.DataFrame``. Raises ``InputError`` for an argument or a scenario that cannot be, several
    sizes among them, and as ``load`` does.
    """
    from railweave.simulation.job_fabric import job_network
    from railweave.simulation.question import answer, questions
    from railweave.simulation.settings import by_name

    network = job_network(_network(source), fabric)
    with in_force(network.catalog):
        asked = questions(
            network,
            {
                "collective": collective,
                "size": size,
                "qps": qps,
                "nccl": by_name(nccl, "--nccl"),
                "lb": lb,
                "settings": settings,
                "background": background,
                "scenario": _path(scenario),
                "hosts": hosts,
                "per_host": per_host,
                "fib": _path(fib),
                "tenant": tenant,
                "engine": engine,
                "exact": exact,
                "configs": configs,
            },
        )
        if len(asked) != 1:
            raise InputError([Problem(Argument("size"), f"{size!r} are several sizes", "give one")])
        return answer(network, asked[0], watch=watch, progress=progress)
