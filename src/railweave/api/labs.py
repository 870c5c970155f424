"""Labs: run a network on this machine with FRR routers, test it, and inject faults (docs/lab.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.site_verbs import LabAccess, LabDown, LabExport, LabFault, LabFib, LabStatus, LabTest, LabUp
from railweave.model.catalog import in_force
from railweave.outputs.folder.sources import load, path_of
from railweave.writing import write_asked, write_below

if TYPE_CHECKING:
    from railweave.live.lab.containerlab import ExportedLab
    from railweave.live.lab.faults.page import InjectedFaults
    from railweave.live.lab.fib import WrittenTables
    from railweave.live.lab.life import LabRemoval, LabStart
    from railweave.live.lab.proof import Proof
    from railweave.live.lab.state import Status


@verb(LabUp)
def lab_up(options: LabUp) -> LabStart:
    """Start a lab of a network. Every switch is an FRR router and every server a host, each in a network namespace. Requires root.

    - ``progress``: a function that is called with a short description of the current activity.
    - ``announce``: a function that is called with sentences: about parts out of service, statements of ``running`` that a
      lab cannot apply, and a download before it begins.

    ``settled`` of the result is False if routes do not converge. Raises ``LabError`` if this machine cannot run the lab
    or the lab already exists, and the errors of ``load``.
    """
    from railweave.api.saved import running
    from railweave.live.lab import life
    from railweave.live.lab.emulated import emulated
    from railweave.live.lab.overlay import Overlay

    fabric = Path(options.fabric)
    life.need_root("lab up", fabric)
    options.progress(f"reading and designing {fabric}")
    network = load(fabric, device=options.device, hardware=options.hardware)
    configs, as_designed = None, []
    if options.running is not None:
        configs, as_designed = emulated(network, running(network, options.running))
    for sentence in filter(None, [network.absent_sentence(), *as_designed]):
        options.announce(sentence)
    room = options.room_for
    with in_force(network.catalog):
        return life.up(
            fabric,
            network,
            configs=configs,
            room_for=None if room is None else load(room, device=options.device, hardware=options.hardware),
            part=options.part,
            overlay=None if options.design_timers else Overlay(),
            frr_root=path_of(options.frr_root),
            progress=options.progress,
            announce=options.announce,
        )


@verb(LabStatus)
def lab_status(options: LabStatus) -> list[Status]:
    """Return the state of the lab of a fabric file, or of all labs on this machine. The list is empty if there is none."""
    from railweave.live.lab.state import labs

    return labs(path_of(options.fabric))


@verb(LabDown)
def lab_down(options: LabDown) -> LabRemoval:
    """Remove a lab: its processes, namespaces and links, and nothing else.

    If no such lab exists, nothing is removed. Raises ``LabError`` if a part of the lab cannot be removed, or if the caller
    is not root.
    """
    from railweave.live.lab import life

    return life.down(Path(options.fabric))


@verb(LabTest)
def lab_test(options: LabTest) -> Proof:
    """Test assertions about a running lab, and return the result and evidence of each. Requires root.

    ``good`` of the result is False if an assertion fails. Raises ``InputError`` for an unknown assertion, and ``LabError``
    if the lab is not up or the caller is not root.
    """
    from railweave.live.lab.proof import prove

    result = prove(
        Path(options.fabric),
        only=options.only,
        each_link=options.sweep,
        retry_s=options.retry_for,
        progress=options.progress,
    )
    write_asked(options.junit, result.to_junit)
    return result


@verb(LabFault)
def lab_fault(options: LabFault) -> InjectedFaults:
    """Inject faults into a running lab, and measure their effect. Requires root.

    ``announce`` is a function that is called with a sentence if a part of the scenario is ignored. ``good`` of the result
    is False if the network did not react to a fault as designed. Raises ``InputError`` for an invalid fault, and
    ``LabError`` if the lab is not up or the caller is not root.
    """
    from railweave.live.lab.faults.scenario import injected

    result = injected(
        Path(options.fabric),
        path_of(options.scenario),
        options.faults,
        every=options.all_single,
        announce=options.announce,
        progress=options.progress,
    )
    write_asked(options.html, result.to_html)
    write_asked(options.csv, result.table.as_csv)
    return result


@verb(LabFib)
def lab_fib(options: LabFib) -> WrittenTables:
    """Write into a file the forwarding tables that the kernels of a running lab use, for the argument ``fib`` of ``simulate``. Requires root.

    ``differences`` of the result are the routes that differ from the computed tables. Raises ``LabError`` if the lab is not up or the
    caller is not root.
    """
    from railweave.live.lab import fib, life

    life.need_root("lab fib", Path(options.fabric))
    with life.attach(Path(options.fabric))[1] as lab:
        return fib.write(lab, Path(options.out))


@verb(LabExport)
def lab_export(options: LabExport) -> ExportedLab:
    """Write a network as a topology file, with which containerlab starts images of the vendors' operating systems.

    Raises ``LabError`` for an operating system without an image, and the errors of ``load``.
    """
    from railweave.live.lab.containerlab import exported

    result = exported(
        load(options.fabric, device=options.device, hardware=options.hardware), options.part, options.image
    )
    write_below(Path(options.out), result.files)
    return result


@verb(LabAccess)
def lab_access(options: LabAccess) -> Path:
    """Start an SSH server for every device of a running lab, on the loopback address. Return the path of their ``access.yaml``.

    Raises ``LabError`` if the lab is not up, if no SSH server is installed, or if the caller is not root.
    """
    from railweave.live.lab import life, logins

    life.need_root("lab access", Path(options.fabric))
    with life.attach(Path(options.fabric))[1] as lab:
        return logins.listen(lab)
