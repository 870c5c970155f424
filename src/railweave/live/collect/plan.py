"""The plan of a collection: the devices of a network, with the queries and the login of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.analysis.expect.prefixes import example_segments, whole_tables
from railweave.errors import InputError, Option, Problem
from railweave.live.collect.access_file import AccessFile, usual_protocols
from railweave.model.device.build import device_config
from railweave.model.state.host_state import HOST
from railweave.model.state.question import DEFAULT_VRF, Question
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from railweave.live.reach.target import Target
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class CollectTarget:
    """A device to query: its login, its operating system (empty for a server), and its queries."""

    target: Target
    system: str
    questions: tuple[Question, ...]

    def of_state(self) -> CollectTarget:
        """Return the device with only the queries about its state, without those about its configuration."""
        return replace(self, questions=tuple(question for question in self.questions if not question.of_configuration))

    def of_configuration(self, also: Collection[str] = ()) -> CollectTarget:
        """Return the device with only the queries about its running configuration, and the queries whose names are in ``also``."""
        asked = (question for question in self.questions if question.of_configuration or question.name in also)
        return replace(self, questions=tuple(asked))


def plan(
    network: Network,
    access: AccessFile,
    *,
    only: Collection[str] = (),
    servers: bool | None = False,
    tables: bool | None = None,
    nos: str | None = None,
) -> list[CollectTarget]:
    """Return every switch of a network with its queries and, if ``servers`` allows it, every server.

    - ``only``: names of the devices to keep; empty keeps all.
    - ``servers``: True to query the servers, False not to; None to query them if access.yaml has a login for them.
    - ``tables``: True to query whole routing tables, False not to; None to decide by ``asks_tables``.
    - ``nos``: the operating system of all switches, if it differs from the designed ones, as in a lab.

    Raises ``SpecError`` if access.yaml has names unknown to the network, or if keys or passwords are missing. Raises
    ``InputError`` if ``only`` has unknown names.
    """
    switches = {switch.name: switch for switch in network.switches}
    hosts = {server.name: server for server in network.servers}
    access.check([*switches, *hosts], {switch.nos for switch in network.switches})
    unknown = [name for name in only if name not in switches and name not in hosts]
    if unknown:
        fix = "names are those of cabling.csv"
        raise InputError([Problem(Option("--only", name), "the network has no such device", fix) for name in unknown])
    devices: list[CollectTarget] = []
    for name, switch in switches.items():
        if only and name not in only:
            continue
        asked = questions(network, device_config(network, name, nos), tables=tables)
        usual = usual_protocols(question.asked for question in asked)
        address = switch.management_address.partition("/")[0]
        runs = nos or switch.nos
        devices.append(CollectTarget(access.target(name, switch.role, runs, address, usual), runs, tuple(asked)))
    servers = access.has_login(hosts) if servers is None else servers
    wanted = [name for name in hosts if (servers and not only) or name in only]
    devices += [CollectTarget(access.target(name, "server", "", name, ("ssh",)), "", (HOST,)) for name in wanted]
    access.check_there(device.target for device in devices)
    return devices


def questions(network: Network, config: DeviceConfig, *, tables: bool | None = None) -> Sequence[Question]:
    """Return the queries for a switch. The result is empty if there is no reader for its operating system.

    ``tables`` is True to query whole routing tables, False not to; None decides by ``asks_tables``.
    """
    reader = system(config.nos).state
    tables = asks_tables(network, config) if tables is None else tables
    return reader.questions(config, example_prefixes(network, config), tables=tables) if reader else ()


def asks_tables(network: Network, config: DeviceConfig) -> bool:
    """Return True if whole routing tables are queried from a switch by default: if they are small, or if the switch cannot count its routes."""
    reader = system(config.nos).state
    return (reader is not None and "route_counts" in reader.NOT_READ) or whole_tables(network, config)


def example_prefixes(network: Network, config: DeviceConfig) -> list[tuple[str, str]]:
    """Return (VRF, prefix) pairs to query as examples: the prefixes of one distant leaf, one for each path color.

    The leaf is not connected to this switch, but reached through another switch. A runbook uses the same prefixes
    (``analysis.expect.prefixes.example_segments``).
    """
    for segment in example_segments(network, config):
        if segment.subnets:
            return [(segment.tenant or DEFAULT_VRF, subnet.routed_by) for subnet in segment.subnets]
    return []
