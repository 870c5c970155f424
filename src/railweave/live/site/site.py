"""A running network, with the connections that query and change its devices, on real devices or in a lab."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check.living import EVERYTHING, Visibility
from railweave.live.collect.plan import CollectTarget, plan
from railweave.live.collect.queries import ask_all
from railweave.live.reach.change_session import opened as opened_to_change
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened as opened_to_ask
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.status import reachable
from railweave.outputs.rendering.host.host_json import host_json
from railweave.progress import silent
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.collect.queries import Open, Outcome
    from railweave.live.reach.target import Target
    from railweave.live.site.protocol import Emulation, Machine
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.model.state.question import Question
    from railweave.systems.transaction import Session, Spoken


@dataclass(frozen=True, kw_only=True)
class RunningDevices:
    """The devices of a running network, and the function that opens connections to query them.

    - ``configs``: the configurations that the switches should run.
    - ``asked``: the queries to each device and its login, by name.
    - ``ask_by``: a function that opens a connection for queries only.
    - ``visible``: the states that the devices can show; a lab, for example, has no port speeds.
    """

    network: Network
    configs: dict[str, DeviceConfig]
    asked: Mapping[str, CollectTarget]
    ask_by: Open
    visible: Visibility = EVERYTHING
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    """The address of each device, by name. Railweave identifies the sender of a received message, such as syslog, by this address.

    Empty if addresses do not identify senders.
    """
    rarely_s: float = 60.0
    """The seconds between two queries of a watched device for state that changes rarely.

    Other queries are sent at every interval of the watch.
    """


@dataclass(frozen=True, kw_only=True)
class Site(RunningDevices):
    """A running network whose switches and servers can also be changed.

    - ``change_by``: a function that opens a connection which may change a device.
    - ``at_once``: the largest number of devices to query at the same time.
    - ``attempts``: the largest number of attempts for each device.
    - ``servers``: the login of each server.
    - ``host_file``: a function that returns the ``host.json`` that a server should have.
    - ``former``: a function that returns the login of a device that was removed from the design; None if the login is unknown.
    """

    change_by: Callable[[Target, Spoken], Awaitable[Session]]
    at_once: int
    attempts: int
    servers: Mapping[str, Target]
    host_file: Callable[[str], str]
    former: Callable[[str, Spoken], Target | None]
    remember: Callable[[], None] | None = None
    """A function that records this design as the design of the lab. It is called when every switch of the lab runs the design."""
    machine: Callable[[str], Machine] | None = None
    """A function that returns an object which upgrades a device, if the device's own commands cannot upgrade it.

    None if the site has no such devices.
    """
    lacking: Mapping[str, str] = field(default_factory=dict[str, str])
    """The servers of the fabric file that a lab does not have, each with the reason and the remedy. ``network`` excludes them."""
    emulation: Emulation | None = None
    """The emulation, if the site is a lab; None otherwise."""

    async def open_to_change(self, device: str, protocol: Spoken) -> Session:
        """Return a session by ``protocol`` that may change a device. Raises ``ReachError`` if the device cannot be reached or refuses the login."""
        if device in self.servers:
            return await self.change_by(self.servers[device], protocol)
        target = self.asked[device].target if device in self.asked else self.former(device, protocol)
        if target is None:
            fix = "say under `devices:` in access.yaml how it is reached"
            raise ReachError("not asked", f"the design has no {device} any more: {fix}")
        return await self.change_by(target, protocol)

    def running(
        self, names: Collection[str], done: Callable[[Outcome], None]
    ) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """Return two dicts by device: the running configuration as texts by file name, and the reason why a device did not answer.

        Nothing is changed on the devices. ``done`` is called with the outcome of each device in ``names``.
        """
        texts: dict[str, dict[str, str]] = {}

        def files(device: str) -> Mapping[str, str]:
            changed_by = system(self.asked[device].system).transaction
            return changed_by.FILES if changed_by else {}

        def keep(device: str, question: Question, answer: str) -> None:
            texts.setdefault(device, {})[files(device).get(question.name) or question.file] = answer

        chosen = [self.asked[name].of_configuration(files(name)) for name in names]
        outcomes = asyncio.run(
            ask_all(chosen, keep, at_once=self.at_once, attempts=self.attempts, done=done, open_by=self.ask_by)
        )
        silent = {
            outcome.device: outcome.error or "; ".join(outcome.failed.values())
            for outcome in outcomes
            if outcome.status != "answered"
        }
        return {name: files for name, files in texts.items() if name not in silent}, silent


def network_devices(
    network: Network,
    access: AccessFile,
    *,
    only: Collection[str] = (),
    servers: bool | None = None,
    progress: Callable[[str], None] = silent,
) -> RunningDevices:
    """Return the devices of a network with the logins of access.yaml.

    ``only`` names the devices to keep; empty keeps all. ``servers`` is True to include the servers, False not to; None
    includes them if access.yaml has a login for them. Raises the errors of ``live.collect.plan.plan``.
    """
    asked = {device.target.name: device for device in plan(network, access, only=only, servers=servers)}
    if asked:
        progress(f"working out what must hold on {counted(len(asked), 'device')}")
    return RunningDevices(
        network=network,
        configs={switch.name: device_config(network, switch.name) for switch in network.switches},
        asked=asked,
        ask_by=opened_to_ask,
        addresses={name: device.target.way.address for name, device in asked.items()},
    )


def site(network: Network, access: AccessFile) -> Site:
    """Return the site of a network: its switches, including drained ones, and its servers, with the logins of access.yaml."""
    network = reachable(network)
    asked = {device.target.name: device for device in plan(network, access)}
    here = [server.name for server in network.servers if server.name not in network.absent]
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
    """Return a function that returns the login of a device with an address in access.yaml, and None for any other device."""

    def former(name: str, protocol: Spoken) -> Target | None:
        known = access.access.devices.get(name)
        return access.target(name, "", "", known.address, (protocol,)) if known and known.address else None

    return former
