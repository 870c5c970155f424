"""Functions that return the access to a network whose devices are queried or changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.outputs.folder.sources import load, path_of
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.live.site.site import RunningDevices, Site
    from railweave.model.network.model import Network
    from railweave.operations.deploy.planning import RunningFabric


def site_of(fabric: Path, network: Network, *, lab: bool, access: Path | str | None) -> Site:
    """Return the access to a network's devices, through which railweave queries and changes them. The devices are real, or a lab's.

    Raises ``LabError`` if ``lab`` is True and the lab is not up. Also raises the errors of ``read_access``.
    """
    from railweave.live.collect.access_file import read_access

    if lab:
        from railweave.live.site import lab as in_lab

        return in_lab.site(fabric, network, None if access is None else read_access(path_of(access)))
    from railweave.live.site import site as by_access

    return by_access.site(network, read_access(path_of(access)))


def running_fabric(
    fabric: Path | str,
    *,
    lab: bool,
    access: Path | str | None,
    hardware: Path | str | None,
    progress: Callable[[str], None] = silent,
) -> RunningFabric:
    """Return the network of a fabric file together with the access to its devices, real or in a lab.

    Raises ``LabError`` if ``lab`` is True and the lab is not up, and the errors of ``load``.
    """
    from railweave.operations.deploy.planning import RunningFabric

    path = Path(fabric)
    return RunningFabric(path, lambda network: site_of(path, network, lab=lab, access=access), hardware, progress)


def asking_of(
    fabric: Path,
    *,
    lab: bool,
    access: Path | str | None,
    only: Sequence[str],
    servers: bool | None,
    device: Sequence[str],
    hardware: Path | str | None,
    progress: Callable[[str], None],
) -> RunningDevices:
    """Return a network's devices together with the access to them, for queries. With ``lab``, the devices are the running lab's.

    Raises ``LabError`` if ``lab`` is True and the lab is not up, and the errors of ``load`` and ``collect``.
    """
    from railweave.live.collect.access_file import read_access

    if lab:
        from railweave.live.lab import life
        from railweave.live.site import lab as in_lab

        life.need_root("watch --lab", fabric)
        if access is not None:
            raise InputError([Problem(Option("--access"), "a lab's devices are reached here", "leave it out")])
        return in_lab.lab_devices(fabric, only=only, servers=servers)
    from railweave.live.site import site as by_access

    network = load(fabric, device=device, hardware=hardware)
    return by_access.network_devices(
        network, read_access(path_of(access)), only=only, servers=servers, progress=progress
    )
