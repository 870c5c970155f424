"""Devices that run: ask them, read their answers, and compare these with the design."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.api.sources import load, network_of, path_of, silent
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.live.check.check import Checked
    from railweave.live.check.learnt import Filled
    from railweave.live.collect.collect import Collected
    from railweave.model.device.expected import Keys
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.question import Question


def questions_of(
    source: Network | Path | str,
    *,
    only: Sequence[str] = (),
    servers: bool = False,
    tables: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> dict[str, tuple[Question, ...]]:
    """What each device of a network is asked about its state, by name; this alone asks nothing.

    - ``only``: these devices alone.
    - ``servers``: servers too.
    - ``tables``: whole tables of routes, not only examples.
    - ``device``, ``hardware``: see ``load``.

    Raises ``InputError`` for a name that the network has not, and as ``load`` does.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.collect.plan import plan

    asked = plan(network_of(source, device, hardware), read_access(None), only=only, servers=servers, tables=tables)
    return {one.target.name: one.questions for one in asked}


def collect(
    source: Network | Path | str,
    folder: Path | str,
    *,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    servers: bool = False,
    tables: bool = False,
    redact: bool = True,
    lab: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Collected:
    """Ask every switch what it has and how it is, and write the answers as a capture. Nothing is changed on any device.

    - ``folder``: the folder of the capture; an earlier one is replaced as a whole.
    - ``access``: how devices are reached: ``access.yaml`` (docs/collect.md); without it by the designed management address.
    - ``only``, ``servers``, ``tables``: see ``questions_of``.
    - ``redact``: take keys, hashes and communities out of what is written.
    - ``lab``: ask the devices of the lab of this fabric file, which is up (docs/lab.md); needs root.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called with a few words on what is being done.

    A device that does not answer is a row of the result. Raises ``InputError`` for wrong input and a folder that is no
    capture, ``OutputError`` where it cannot be written, and as ``load`` does.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.live.collect.collect import collect as ask
    from railweave.live.collect.plan import plan

    if lab:
        from railweave.live.lab.asking import ask as ask_lab

        if isinstance(source, Network) or access is not None:
            fix = "give the file that `railweave lab up` was given, and no access.yaml"
            raise InputError([Problem(Argument("--lab"), "a lab is known by its fabric file, and reached here", fix)])
        return ask_lab(
            Path(source),
            Path(folder),
            only=only,
            servers=servers,
            tables=tables,
            redact=redact,
            progress=progress or silent,
        )
    found, ways = network_of(source, device, hardware), read_access(path_of(access))
    asked = plan(found, ways, only=only, servers=servers, tables=tables)
    return ask(found, asked, ways, Path(folder), redact=redact, progress=progress or silent)


def states(
    source: Network | Path | str,
    capture: Path | str,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> dict[str, DeviceState]:
    """What the switches of a network said of themselves in a capture, by name: those of which there are answers.

    - ``capture``: a folder of what devices said, as ``collect`` writes it.
    - ``device``, ``hardware``: see ``load``.

    What could not be read is in ``notes`` of each. Raises ``InputError`` for a folder that is no capture, and as ``load`` does.
    """
    from railweave.model.state.capture import read_capture
    from railweave.systems.reading import read_states

    network = network_of(source, device, hardware)
    return read_states(read_capture(Path(capture)), {one.name: one.nos for one in network.switches})


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
    """Whether the running network is the designed one: what its devices said, beside what must hold on each (docs/check.md).

    - ``capture``: a folder of what devices said, as ``collect`` writes it.
    - ``live``: ask every switch now instead. ``access``, ``servers`` and ``redact`` are those of ``collect``, ``ask`` its
      ``only``; ``output`` keeps what they said as a capture.
    - ``lab``: ask the switches and servers of the lab of this fabric file instead, which is up (docs/lab.md); needs root.
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
    from railweave.live.check.check import check as run  # brings every reader with it
    from railweave.model.state.capture import read_capture

    if (capture is not None) + live + lab != 1:
        fix = "give the folder that `railweave collect` wrote, or --live to ask the devices now, or --lab where `railweave lab up` has run"
        raise InputError([Problem(Argument("check"), "give exactly one of: CAPTURE, --live, --lab", fix)])
    if not live and (access is not None or ask or servers or output is not None or not redact):
        what = "--access, --ask, --servers, --output and --no-redact say how devices are asked"
        raise InputError([Problem(Argument("check"), what, "add --live, or leave them out")])
    if lab:
        from railweave.live.lab.check import check as of_lab

        if since is not None or isinstance(source, Network) or device:
            fix = "collect twice from the lab (`railweave collect --lab`), or leave --since and --device out"
            raise InputError([Problem(Argument("--lab"), "a lab is asked once, as it was brought up", fix)])
        return of_lab(
            Path(source), only=only, all_routes=all_routes, line=lines_of(source), progress=progress or silent
        )
    network = network_of(source, device, hardware)
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
        found = read_capture(Path(capture))
        if found.meta.lab is not None:
            from railweave.live.lab.check import (
                check_capture as run,  # its slice and its timers, with what a lab cannot say
            )
        return run(
            network,
            found,
            before=before,
            only=only,
            all_routes=all_routes,
            line=lines_of(source),
            progress=progress or silent,
        )


def fill_inventory(
    fabric: Path | str,
    capture: Path | str,
    *,
    write: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> Filled:
    """The inventory beside a fabric file, with what devices say: serial numbers, MAC addresses, names of interfaces and RDMA devices, modules, lengths of cables.

    - ``capture``: a folder of what devices said, as ``collect`` writes it.
    - ``write``: write the file; without it nothing is written.
    - ``device``, ``hardware``: see ``load``.

    ``difference()`` of the result are the changes as text. Raises as ``check`` does, and ``OutputError`` where it cannot be written.
    """
    from railweave.live.check.learnt import fill
    from railweave.model.state.capture import read_capture
    from railweave.writing import write_file

    network = load(fabric, device=device, hardware=hardware)
    found = fill(Path(fabric), network, read_capture(Path(capture)))
    if write and found.differs:
        write_file(found.file, found.after)
    return found


def lines_of(source: Network | Path | str) -> Callable[[Keys], tuple[str, int]]:
    """The file and line of a part of the fabric file; nowhere for what is designed already."""
    if isinstance(source, Network) or Path(source).is_dir():
        return lambda _: ("", 0)
    from railweave.model.intent.reading.document import read_document

    document = read_document(Path(source))
    return lambda keys: (Path(source).name, document.line(keys))
