"""Files of a network: write, compare and check them; its forwarding tables and paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, queue_pair_paths
from railweave.api.saved import captured, designed_for
from railweave.api.sources import load_pair, network_of, path_of, silent
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.nearest import nearest
from railweave.outputs.folder.steps import Built
from railweave.outputs.folder.steps import build as _build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.outputs.folder.differences import NetworkDiff
    from railweave.outputs.folder.verify import Verified


def routes(
    source: Network | Path | str,
    down: Iterable[str] = (),
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
) -> Routes:
    """The forwarding table of every switch, as the configured control plane settles on it.

    - ``down``: links (``leaf:port--spine:port``, either end first), switches and servers that are gone.
    - ``device``, ``hardware``: see ``load``.
    - ``configs``: configurations of switches in place of the designed ones, as ``running`` gives them.

    Raises ``InputError`` for a name that is none of these, and as ``load`` does.
    """
    network = network_of(source, device, hardware)
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
            near = nearest(name, devices)
            fix = f"{f'did you mean {near}? ' if near else ''}links are leaf:port--spine:port, as in cabling.csv"
            raise InputError([Problem(NetworkPart(name), "neither a link nor a switch nor a server", fix)])
    return found


def paths(
    source: Network | Path | str,
    src: str,
    dst: str,
    qps: int = 1,
    down: Iterable[str] = (),
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
) -> list[QueuePairPath]:
    """The path of each queue pair of a connection: its GIDs, and every link it crosses with its share.

    - ``src``, ``dst``: NICs of one fabric as ``SERVER:NIC``; the interface or the RDMA device will do for the NIC.
    - ``qps``: how many queue pairs the connection has. Queue pair i takes path color i mod the number of colors.
    - ``device``, ``hardware``: see ``load``.
    - ``down``, ``configs``: what is gone, and running configurations, see ``routes``.

    One path a queue pair, in order; ``hops`` of one that cannot arrive is empty. Raises ``InputError`` for an unknown name or
    a NIC without an address, and as ``load`` does.
    """
    network = network_of(source, device, hardware)
    return queue_pair_paths(network, routes(network, down, configs=configs), src, dst, qps)


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
        secrets=path_of(secrets),
        compact=compact,
        device=device,
        hardware=path_of(hardware),
        prices=path_of(prices),
        progress=progress or silent,
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
    from railweave.outputs.folder.differences import diff as differences  # brings every renderer with it

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
    - ``yang``: a folder of published Junos YANG models; ``sonic_yang``: one of SONiC's, with a folder for each branch.
    - ``frr_root``, ``netplan_root``: root folders with FRR and netplan in them, where they are not installed.
    - ``every``: validators read every file; else of more than 64 one of each shape and a sample.
    - ``design_only``: leave the files of a build folder alone: only its design is checked.
    - ``progress``: called with a few words on what is being done.

    A validator that is not there is reported as skipped, with the reason. ``good`` of the result is False where a
    finding is an error; iterating over it gives the findings, errors first (docs/findings.md). Raises as ``load`` does.
    """
    from railweave.outputs.folder.verify import verify as run  # brings every check and renderer with it

    network = network_of(source, device, hardware)
    given = None if design_only or running is not None or isinstance(source, Network) else Path(source)
    with in_force(network.catalog):
        network, configs = (network, None) if running is None else designed_for(network, running)
        return run(
            network,
            folder=given if given is not None and given.is_dir() else None,
            running=None if running is None else captured(network, running),
            configs=configs,
            yang=path_of(yang),
            frr_root=path_of(frr_root),
            netplan_root=path_of(netplan_root),
            sonic_yang=path_of(sonic_yang),
            every=every,
            progress=progress or silent,
        )
