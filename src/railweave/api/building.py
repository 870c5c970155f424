"""Files of a network: write, compare and check them; its forwarding tables and paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, queue_pair_paths
from railweave.api.options import verb
from railweave.api.saved import captured, designed_for
from railweave.api.sources import load_pair, network_of, path_of
from railweave.api.verbs import Build, Diff, Paths, Verify
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.nearest import nearest
from railweave.outputs.folder.steps import Built
from railweave.outputs.folder.steps import build as _build

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    configs_now = (given.get(switch.name) or device_config(network, switch.name) for switch in network.switches)
    plane = ControlPlane(configs_now, network.absent)
    return plane.routes(_down(network, down))


def _down(network: Network, names: Iterable[str]) -> list[str]:
    links = {cable.name for cable in network.cables}
    devices = {device.name for device in (*network.switches, *network.servers)}
    down: list[str] = []
    for name in names:
        turned = "--".join(reversed(name.split("--")))
        if name in links or name in devices:
            down.append(name)
        elif turned in links:
            down.append(turned)
        else:
            near = nearest(name, devices)
            fix = f"{f'did you mean {near}? ' if near else ''}links are leaf:port--spine:port, as in cabling.csv"
            raise InputError([Problem(NetworkPart(name), "neither a link nor a switch nor a server", fix)])
    return down


@verb(Paths)
def paths(options: Paths) -> list[QueuePairPath]:
    """Return the path of each queue pair of a connection: its GIDs, and every link it crosses with its share.

    NICs are of one fabric; the interface or the RDMA device will do for the NIC. Queue pair i takes path color i mod the number of
    colors. ``configs``: configurations of switches in place of the designed ones, as ``running`` gives them.

    One path a queue pair, in order; ``hops`` of one that cannot arrive is empty. Raises ``InputError`` for an unknown name or
    a NIC without an address, and as ``load`` does.
    """
    network = options.network()
    tables = routes(network, options.down, configs=options.configs)
    return queue_pair_paths(network, tables, options.src, options.dst, options.qps)


@verb(Build)
def build(options: Build) -> Built:
    """Design a fabric file and write everything into a folder: configurations, tables, picture, report; the lock last.

    The folder is refused where it holds anything else than an earlier build. ``progress`` is called with a few words on what is
    being done. An error among the findings of the result does not keep the files from being written. Raises ``InputError`` for wrong
    input, and ``OutputError`` where the folder cannot be written; folder and lock are then as they were.
    """
    return _build(
        Path(options.fabric),
        Path(options.out),
        secrets=path_of(options.secrets),
        compact=options.compact,
        device=options.device,
        hardware=path_of(options.hardware),
        prices=path_of(options.prices),
        progress=options.progress,
    )


@verb(Diff)
def diff(options: Diff) -> NetworkDiff:
    """Return what must change for one network to become another: switches, servers, files that servers share, cables.

    A new fabric file is designed with the allocations of an old file or folder, so that what did not change keeps its place;
    compared with a ``Network`` it is designed with its own. ``equal`` of the result says whether nothing changes, ``lines()`` are the
    changes as text. Raises as ``load`` does.
    """
    from railweave.outputs.folder.differences import diff as differences  # brings every renderer with it

    before, after = load_pair(
        options.old,
        options.new,
        device=[*options.device, *options.new_device],
        old_device=[*options.device, *options.old_device],
        hardware=options.hardware,
    )
    with in_force(before.catalog.with_hardware(after.hardware)):
        return differences(before, after)


@verb(Verify)
def verify(options: Verify) -> Verified:
    """Check a network against itself, and have every outside validator that is there read its files.

    Of a build folder the files are read as they stand there, and each value that is not as designed is a finding; else they are read
    as they would be rendered. With ``running`` (docs/capture.md) saved configurations are checked in place of the designed ones.
    ``progress`` is called with a few words on what is being done.

    A validator that is not there is reported as skipped, with the reason. ``good`` of the result is False where a
    finding is an error; iterating over it gives the findings, errors first (docs/findings.md). Raises as ``load`` does.
    """
    from railweave.outputs.folder.verify import verify as run  # brings every check and renderer with it

    network, running = options.network(), options.running
    given = None if isinstance(options.source, Network) else Path(options.source)
    as_built = given is not None and given.is_dir() and not options.design_only and running is None
    with in_force(network.catalog):
        network, configs = (network, None) if running is None else designed_for(network, running)
        return run(
            network,
            folder=given if as_built else None,
            running=None if running is None else captured(network, running),
            configs=configs,
            yang=path_of(options.yang),
            frr_root=path_of(options.frr_root),
            netplan_root=path_of(options.netplan_root),
            sonic_yang=path_of(options.sonic_yang),
            every=options.every,
            progress=options.progress,
        )
