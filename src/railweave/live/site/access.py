"""A real network, reached as access.yaml says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.collect.plan import plan
from railweave.live.reach.opening import opened as opened_to_ask
from railweave.live.reach.telling import opened as opened_to_change
from railweave.live.site.site import Asking, Site
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.status import reachable
from railweave.outputs.rendering.host.host_json import host_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.reach.target import Target
    from railweave.model.network.model import Network
    from railweave.systems.transaction import Spoken


def asking(
    network: Network,
    access: AccessFile,
    *,
    only: Collection[str] = (),
    servers: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Asking:
    """The devices of a network as access.yaml says they are reached; ``only`` some of them, ``servers`` too. Raises as ``live.collect.plan`` does."""
    asked = {one.target.name: one for one in plan(network, access, only=only, servers=servers)}
    if asked:
        progress(f"working out what must hold on {counted(len(asked), 'device')}")
    return Asking(
        network=network,
        configs={one.name: device_config(network, one.name) for one in network.switches},
        asked=asked,
        ask_by=opened_to_ask,
        addresses={name: one.target.way.address for name, one in asked.items()},
    )


def site(network: Network, access: AccessFile) -> Site:
    """The switches of a network as access.yaml says they are reached, drained switches too."""
    network = reachable(network)
    asked = {one.target.name: one for one in plan(network, access)}
    here = [one.name for one in network.servers if one.name not in network.absent]
    return Site(
        network=network,
        configs={name: device_config(network, name) for name in asked},
        asked=asked,
        ask_by=opened_to_ask,
        change_by=opened_to_change,
        at_once=access.access.at_once,
        attempts=access.access.attempts,
        servers={name: access.target(name, "server", "", name, ("ssh",)) for name in here},
        host_file=lambda name: host_json(host_config(network, name)),
        former=listed(access),
    )


def listed(access: AccessFile) -> Callable[[str, Spoken], Target | None]:
    """How a device is reached whose address only access.yaml has; None for other devices."""

    def former(name: str, protocol: Spoken) -> Target | None:
        known = access.access.devices.get(name)
        return access.target(name, "", "", known.address, (protocol,)) if known and known.address else None

    return former
