"""Where traffic goes: forwarding tables, and the paths of queue pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.api.sources import network_of
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.device.build import device_config
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from railweave.analysis.routing.paths import QueuePairPath
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


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
