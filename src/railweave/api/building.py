"""Functions that write, compare and check the files of a network, and compute its forwarding tables and paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane, down_parts
from railweave.api.options import verb
from railweave.api.saved import configs_of, designed_for
from railweave.api.verbs import Build, Connection, Diff, Paths, Verify
from railweave.model.catalog import in_force
from railweave.model.config.addresses import family_of
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import load_pair, network_of, path_of
from railweave.outputs.folder.steps import Built
from railweave.outputs.folder.steps import build as _build

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.routing.headers import Connection as ConnectionPaths
    from railweave.analysis.routing.paths import QueuePairPath
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
    """Return the forwarding table of every switch after the configured control plane has converged.

    - ``down``: names of links, switches and servers that are down. A link is ``leaf:port--spine:port``, with either end
      first.
    - ``device``, ``hardware``: see ``load``.
    - ``configs``: switch configurations that replace the designed ones, as ``running`` returns them.

    Raises ``InputError`` for an unknown name, and the errors of ``load``.
    """
    network = network_of(source, device, hardware)
    given = configs or {}
    configs_now = (given.get(switch.name) or device_config(network, switch.name) for switch in network.switches)
    plane = ControlPlane(configs_now, network.absent)
    return plane.routes(down_parts(network, down))


@verb(Paths)
def paths(options: Paths) -> list[QueuePairPath]:
    """Return the path of each queue pair of a connection: its GIDs, and every link that it crosses, with the link's share of the traffic.

    Both NICs must be on the same fabric. A NIC can also be named by its interface or RDMA device. Queue pair number i uses
    path color i modulo the number of colors. ``configs`` are switch configurations that replace the designed ones, as
    ``running`` returns them.

    The result has one path per queue pair, in order. ``hops`` of a path is empty if the destination is unreachable.
    Raises ``InputError`` for an unknown name or a NIC without an address, and the errors of ``load``.
    """
    return connection.of(Connection(**vars(options))).paths


@verb(Connection)
def connection(options: Connection) -> ConnectionPaths:
    """Return the paths of a connection's queue pairs, as ``paths`` does, with the packets' headers (docs/cli.md).

    ``notes`` of the result are sentences about devices and links that are out of service, and about ports without a
    path. Arguments and errors are those of ``paths``.
    """
    from railweave.analysis.routing.headers import connection as between

    family, network = family_of(options.family), options.network()
    configs = configs_of(network, options.running, options.configs)
    tables = routes(network, options.down, configs=configs)
    ends = (options.src, options.dst)
    return between(network, tables, ends, options.qps, family, configs, headers=options.headers)


@verb(Build)
def build(options: Build) -> Built:
    """Design a fabric file and write all output into a folder: configurations, tables, picture and report. The lock is written last.

    A folder that contains anything but an earlier build is refused. ``progress`` is a function that is called with a short
    description of the current activity. Files are written even if a finding of the result is an error. Raises
    ``InputError`` for wrong input, and ``OutputError`` if the folder cannot be written; folder and lock are then unchanged.
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
    """Return the changes that turn one network into another: switches, servers, files that servers share, cables.

    A new fabric file is designed with the allocations of the old file or folder, so that unchanged parts keep their
    ports and addresses. If the old network is a ``Network``, the new file uses its own allocations. ``equal`` of the
    result is True if nothing changes; ``lines()`` returns the changes as text. Raises the errors of ``load``.
    """
    from railweave.outputs.folder.differences import diff as differences  # imports every renderer

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
    """Check a network for consistency, and validate its files with every external validator that is installed.

    In a build folder, the existing files are checked, and each value that differs from the design is a finding. Otherwise,
    the files are checked as they would be rendered. With ``running`` (docs/collect.md), saved configurations are checked in
    place of the designed ones. ``progress`` is a function that is called with a short description of the current activity.

    A validator that is not installed is reported as skipped, with the reason. ``good`` of the result is False if a
    finding is an error. The result can be iterated: it yields the findings, errors first (docs/findings.md). Raises the
    errors of ``load``.
    """
    from railweave.analysis.drift.running import captured_texts
    from railweave.outputs.folder.verify import verify as run  # imports every check and renderer

    network, running = options.network(), options.running
    given = None if isinstance(options.source, Network) else Path(options.source)
    as_built = given is not None and given.is_dir() and not options.design_only and running is None
    with in_force(network.catalog):
        network, configs = (network, None) if running is None else designed_for(network, running)
        return run(
            network,
            folder=given if as_built else None,
            running=None if running is None else captured_texts(network, running),
            configs=configs,
            yang=path_of(options.yang),
            frr_root=path_of(options.frr_root),
            netplan_root=path_of(options.netplan_root),
            sonic_yang=path_of(options.sonic_yang),
            every=options.every,
            progress=options.progress,
        )
