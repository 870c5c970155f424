"""The plan of a campaign: the faults as configuration changes, and for each turn the changes, the lost paths and the prediction.

The campaign runs exactly as the plan shows it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.counting import counted
from railweave.design.fault_targets import fault_targets
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.intent.scenario import read_scenario
from railweave.model.intent.status import with_drained
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.remaining import lost_parts
from railweave.operations.deploy.waves import PlanLimits
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.analysis.routing.table import Routes
    from railweave.design.fault_targets import FaultTarget
    from railweave.live.site.site import Site
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.deploy.campaign.carrying import Result
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.pages.table import Table


BY_CONFIGURATION = frozenset({"link-down", "nic-down", "device-down", "bgp-session-down", "bgp-down"})
"""The kinds of faults that are configuration changes. The other kinds are commands (``device-reboot``, ``daemon-kill``)."""


def broken(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, DeviceConfig]:
    """Return the changed configurations, by switch, that put the simultaneous faults ``targets`` into effect.

    Faults that are commands change no configuration.
    """
    changed: dict[str, DeviceConfig] = {}
    for name, links in shut(network, configs, targets).items():
        if not by_command(configs[name]):
            changed[name] = without_ports(configs[name], links)

    def now(name: str) -> DeviceConfig:
        return changed.get(name, configs[name])

    for target in targets:
        fault = target.fault
        if fault.kind in {"bgp-session-down", "bgp-down"}:
            device = fault.device or ""
            changed[device] = without_sessions(now(device), target.links, overlay=fault.kind == "bgp-down")
    return changed


def shut(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """Return, by switch, the links that the faults ``targets`` break by shutting ports of this switch."""
    by_switch: dict[str, tuple[str, ...]] = {}
    for target in targets:
        kind, device = target.fault.kind, target.fault.device or ""
        links = links_of(network, target)
        if kind == "device-down" and device in configs:
            switch_links = {device: links}
        elif kind in {"link-down", "nic-down", "device-down"}:
            switch_links = _ends(network, configs, links)
        else:
            switch_links = {}
        for name, some in switch_links.items():
            by_switch[name] = tuple(dict.fromkeys((*by_switch.get(name, ()), *some)))
    return by_switch


def ports_by_command(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """Return, by switch, the ports that the faults ``targets`` shut by a command instead of a configuration change.

    On these switches, a rollback of the configuration would not restore the ports to their earlier state.
    """
    return {
        name: tuple(interface.name for interface in configs[name].interfaces if interface.link in links)
        for name, links in shut(network, configs, targets).items()
        if by_command(configs[name])
    }


def by_command(config: DeviceConfig) -> bool:
    """Return True if the ports of a switch are shut by a command, and not by a change of its configuration."""
    outage = system(config.nos).outage
    return outage is not None and outage.PORTS


def links_of(network: Network, target: FaultTarget) -> tuple[str, ...]:
    """Return the links that carry no traffic during the fault ``target``."""
    device = target.fault.device
    if target.links or device is None:
        return target.links
    return tuple(cable.name for cable in network.cables_of(device))


def _ends(network: Network, configs: Mapping[str, DeviceConfig], links: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return links, grouped by the switch on which a port is shut to break the link.

    This is the switch at the upper end of the link. For a link to a server, it is the leaf.
    """
    by_switch: dict[str, list[str]] = {}
    for cable in network.cables:
        if cable.name in links:
            end = next(device for device in (cable.b.device, cable.a.device) if device in configs)
            by_switch.setdefault(end, []).append(cable.name)
    return {name: tuple(cable_names) for name, cable_names in by_switch.items()}


def without_ports(config: DeviceConfig, links: Collection[str]) -> DeviceConfig:
    """Return the configuration with the ports of some links shut."""
    ports = tuple(
        replace(interface, enabled=False) if interface.link in links else interface for interface in config.interfaces
    )
    return replace(config, interfaces=ports)


def without_sessions(config: DeviceConfig, links: Collection[str], *, overlay: bool) -> DeviceConfig:
    """Return the configuration without the BGP sessions on some links. If ``overlay`` is True, remove all sessions of the overlay too."""
    if config.bgp is not None:
        groups = tuple(
            replace(group, sessions=tuple(session for session in group.sessions if session.link not in links))
            for group in config.bgp.groups
        )
        config = replace(config, bgp=replace(config.bgp, groups=groups))
    if overlay and config.overlay is not None:
        config = replace(config, overlay=replace(config.overlay, neighbors=()))
    return config


PS_PER_S = 10**12


@dataclass(frozen=True)
class Turn:
    """Faults that happen together, and their duration in seconds.

    The duration comes from the scenario, but is never shorter than a switch and its sessions need to react.
    """

    targets: tuple[FaultTarget, ...]
    seconds: float

    @property
    def name(self) -> str:
        """The kinds and targets of the turn's faults as text, such as ``device-down spine1 + link-down LINK``."""
        return " + ".join(f"{target.fault.kind} {aimed(target)}" for target in self.targets)

    @property
    def commands(self) -> tuple[FaultTarget, ...]:
        """The faults that are commands, not configuration changes."""
        return tuple(target for target in self.targets if target.fault.kind not in BY_CONFIGURATION)


def aimed(target: FaultTarget) -> str:
    """Return the target of a fault as text: the names of its link, NIC, device and daemon, if given, and of its neighbor."""
    fault = target.fault
    words = [word for word in (fault.link, fault.nic, fault.device, fault.daemon) if word]
    return " ".join(words) + (f" to {fault.neighbor}" if fault.neighbor else "")


def turns(targets: Sequence[FaultTarget], least_s: float) -> list[Turn]:
    """Return the faults grouped into turns. A fault that starts before all earlier faults have ended joins their turn.

    ``least_s`` is the shortest duration of a turn in seconds. A fault without an end in the file ends before the next turn begins.
    """
    groups: list[list[FaultTarget]] = []
    until = -1
    for target in sorted(targets, key=lambda target: target.fault.at):
        if groups and target.fault.at < until:
            groups[-1].append(target)
        else:
            groups.append([target])
            until = -1
        until = max(until, target.fault.end_ps or -1)
    return [Turn(tuple(group), max(least_s, _seconds(group))) for group in groups]


def _seconds(group: Sequence[FaultTarget]) -> float:
    return max(((target.fault.end_ps or target.fault.at) - target.fault.at) / PS_PER_S for target in group)


@dataclass(frozen=True)
class Radius:
    """The blast radius: the largest number of switches that a turn may affect (``most``), or the names of the permitted switches (``names``)."""

    most: int | None = None
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, network: Network) -> Radius:
        """Read a radius: a number, or names of switches separated by commas. Raises ``InputError`` for a name that does not belong to a switch."""
        if text.isdecimal() and int(text):
            return cls(most=int(text))
        names = {word.strip() for word in text.split(",")}
        there = {switch.name for switch in network.switches}
        if unknown := sorted(names - there):
            fix = "give a number of switches, or names of cabling.csv with commas between"
            description = f"{unknown[0]!r} is neither a number nor a switch"
            raise InputError([Problem(Option("--blast-radius"), description, fix)])
        return cls(names=frozenset(names))

    def beyond(self, touched: Sequence[str]) -> str:
        """Return the reason why the affected switches ``touched`` exceed the radius; empty if they do not."""
        if self.most is not None and len(touched) > self.most:
            return f"it touches {counted(len(touched), 'switch', 'switches')} ({', '.join(touched[:3])}), and the blast radius is {self.most}"
        if self.names and (others := [switch for switch in touched if switch not in self.names]):
            return f"it touches {', '.join(others[:3])}, outside the blast radius"
        return ""


def touched(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> tuple[str, ...]:
    """Return the switches that a turn (faults injected together) affects directly.

    On these switches, the configuration changes, a process is ended, or the whole switch restarts.
    """
    by_command = [command.fault.device or "" for command in turn.commands]
    ports = ports_by_command(network, configs, turn.targets)
    return tuple(dict.fromkeys([*broken(network, configs, turn.targets), *ports, *by_command]))


def down(configs: Mapping[str, DeviceConfig], network: Network, target: FaultTarget) -> tuple[str, ...] | None:
    """Return the links and devices that carry no traffic during the fault ``target``, after routing has converged; None if unknown.

    If BGP restarts gracefully (RFC 4724), all links stay in use when its process ends.
    """
    fault = target.fault
    device = fault.device or ""
    if fault.kind == "daemon-kill":
        bgp = configs[device].bgp
        if fault.daemon != "bgpd":
            return None
        return () if bgp and bgp.graceful_restart else (device,)
    if fault.kind == "device-reboot" or (fault.kind == "device-down" and device in configs):
        return (device,)
    return links_of(network, target)


def patterns(configs: Mapping[str, DeviceConfig], network: Network, turn: Turn) -> list[str]:
    """Return the lines of ``status:`` (fabric file) that would take the same devices and links out of service as a turn.

    If it is unknown which links a fault takes out of service, its line names the faulty device.
    """
    lines: list[str] = []
    for target in turn.targets:
        gone = down(configs, network, target)
        lines += [target.fault.device or ""] if gone is None else gone
    return list(dict.fromkeys(lines))


def unforced(lost: Sequence[str], force: Sequence[str]) -> list[str]:
    """Return the lines of ``lost`` (losses that a plan causes) that contain none of the names in ``force``."""
    words = [re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in force]
    return [line for line in lost if not any(word.search(line) for word in words)]


MOST_PAIRS = 512
"""The largest number of NIC pairs to examine per rail."""
_AT_ONCE = PlanLimits(one_wave="one turn of a campaign")


@dataclass(frozen=True)
class TurnPrediction:
    """The predicted effect of a turn (faults injected together), as numbers of queue pairs.

    - ``queue_pairs``: all examined queue pairs; ``crossing``: those of them that use the failed links or devices.
    - ``keep``: those of all examined ones that have a path during the fault; None if unknown.
    """

    queue_pairs: int
    crossing: int
    keep: int | None

    def line(self) -> str:
        """Return the prediction as a table cell, such as ``96 of 128 keep a path; 32 move``."""
        keep = (
            "not known how many keep a path"
            if self.keep is None
            else f"{self.keep:,} of {self.queue_pairs:,} keep a path"
        )
        return f"{keep}; {self.crossing:,} move"


def predicted(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> TurnPrediction:
    """Return the predicted effect of a turn (faults injected together) on queue pairs, after routing has converged."""
    gone = [down(configs, network, target) for target in turn.targets]
    plane = ControlPlane(configs.values(), network.absent)
    before = _ways(network, plane.routes(network.absent))
    names = {name for down_names in gone for name in down_names or ()}
    cables = {cable.name for cable in network.cables if {cable.name, cable.a.device, cable.b.device} & names}
    crossing = sum(bool(cables & links) for links in before.values())
    if None in gone:
        return TurnPrediction(len(before), crossing, None)
    after = _ways(network, plane.routes(frozenset(network.absent) | names))
    return TurnPrediction(len(before), crossing, len(after))


def _ways(network: Network, routes: Routes) -> dict[tuple[str, str, str], set[str]]:
    """Return the set of links of each queue pair, by (source, destination, source address). Queue pairs without a path are left out."""
    links: dict[tuple[str, str, str], set[str]] = {}
    nics = [
        (f"{server.name}:{nic.name}", nic)
        for server in network.servers
        if server.name not in network.absent
        for nic in server.nics
        if nic.addresses
    ]
    pairs = [
        (src, dst, near)
        for (src, near), (dst, far) in permutations(nics, 2)
        if src.partition(":")[0] != dst.partition(":")[0]
        and (near.fabric, near.rail, near.tenant) == (far.fabric, far.rail, far.tenant)
        and network.plane_of(near) == network.plane_of(far)
        and not {address.family for address in near.addresses}.isdisjoint(address.family for address in far.addresses)
    ]
    step = max(len(pairs) // MOST_PAIRS, 1)
    for src, dst, near in pairs[::step]:
        for path in queue_pair_paths(network, routes, src, dst, len(near.addresses_of(near.addresses[0].family))):
            if path.hops:
                links[src, dst, path.src_gid] = {share.link for hop in path.hops for share in hop}
    return links


@dataclass(frozen=True)
class PlannedTurn:
    """A planned turn: faults that are injected together.

    - ``touched``: the switches that the turn changes or restarts, or on which it ends a process.
    - ``lost``: lines about the paths, planes, tenants and NICs that are lost during the turn.
    - ``predicted``: the effect on queue pairs.
    - ``plan``: the plan of the turn's configuration changes.
    - ``commands``: descriptions of the faults that are not configuration changes.
    - ``refused``: the reasons why the turn cannot run.
    """

    turn: Turn
    touched: tuple[str, ...]
    lost: tuple[str, ...]
    predicted: TurnPrediction
    plan: Plan
    commands: tuple[str, ...]
    refused: tuple[str, ...]
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """The ports that a command shuts, by switch."""

    def body(self) -> dict[str, Any]:
        """Return the fields of the turn that the campaign's digest is computed from."""
        return {
            "name": self.turn.name,
            "seconds": self.turn.seconds,
            "touched": list(self.touched),
            "changes": {name: change.to_json() for name, change in self.plan.changed.items()},
            "effects": [wave.effect.to_json() for wave in self.plan.waves],
            "commands": list(self.commands),
            "lost": list(self.lost),
            "refused": list(self.refused),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of text that describe the turn."""
        yield f"{self.turn.name}: {self.turn.seconds:g} s, touches {', '.join(self.touched)}"
        for name, change in self.plan.changed.items():
            yield from (f"  {name}: {line}" for line in change.shown)
        yield from (f"  {line}" for wave in self.plan.waves for line in wave.risks)
        yield from (f"  {line}" for line in self.commands)
        yield from (f"  gone meanwhile: {line}" for line in self.lost)
        yield f"  predicted: {self.predicted.line()}"
        yield from (f"  refused: {line}" for line in self.refused)


@dataclass(frozen=True)
class Campaign:
    """A campaign: its turns (faults injected together) in order.

    ``job`` is the prediction for the scenario's own traffic, as text; empty if the scenario has no traffic.
    """

    fabric: str
    scenario: str
    turns: tuple[PlannedTurn, ...]
    job: str = ""

    @property
    def digest(self) -> str:
        """The digest that the operator enters to confirm this exact campaign."""
        body = [self.fabric, *(turn.body() for turn in self.turns)]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def refused(self) -> list[str]:
        """The reasons why the campaign cannot run; empty if it can."""
        return [f"{turn.turn.name}: {why}" for turn in self.turns for why in turn.refused]

    def lines(self) -> Iterator[str]:
        """Yield the lines that describe the campaign: each turn with its changes, losses and prediction."""
        for turn in self.turns:
            yield from turn.lines()
        if self.job:
            yield f"predicted of the scenario's job: {self.job}"

    def table(self, results: Sequence[Result], lab: Sequence[Mapping[str, Any]]) -> Table:
        """Return a table with a row for each turn (faults injected together) that was carried out.

        ``lab`` has the results of ``lab fault``, which the table shows beside the measurements.
        """
        from railweave.operations.deploy.campaign.carrying import turn_table

        return turn_table(results, lab)

    def to_json(self) -> Mapping[str, Any]:
        """Return the campaign as a JSON object."""
        return {
            "digest": self.digest,
            "job": self.job,
            "refused": self.refused,
            "turns": [turn.body() | {"predicted": vars(turn.predicted)} for turn in self.turns],
        }


def plan_campaign(
    fabric: RunningFabric,
    scenario: Path,
    *,
    blast_radius: str,
    force: Sequence[str],
    hold: float,
    job: Callable[[], str],
) -> Campaign:
    """Plan a campaign: the faults of each turn, and the effects that the model predicts.

    Raises ``InputError`` if the scenario or an argument is invalid.

    - ``blast_radius``: the largest number of switches, or the names of switches, in the form that ``Radius.of`` reads.
    - ``force``: names whose losses are accepted.
    - ``hold``: the shortest duration of a turn in seconds.
    - ``job``: a function that returns the prediction for the scenario's own traffic, as text.
    """
    network = fabric.network()
    read = read_scenario(scenario, "campaign")
    if not read.scenario.faults:
        raise InputError([Problem(FileLine(str(scenario)), "it has no faults", "a campaign breaks what they say")])
    with in_force(network.catalog):
        site = fabric.site_of(network)
        fabric.say(f"asking {counted(len(site.asked), 'switch', 'switches')} for the configuration")
        running, silent_devices = fabric.running(site, list(site.asked))
        planned: list[PlannedTurn] = []
        for turn in turns(fault_targets(network, read), hold):
            fabric.say(f"working out {turn.name}")
            planned.append(_planned(fabric, network, site, turn, running, silent_devices, blast_radius, force))
    prediction = job() if read.scenario.traffic else ""
    return Campaign(str(fabric.path.resolve()), str(scenario), tuple(planned), prediction)


def _planned(
    fabric: RunningFabric,
    network: Network,
    site: Site,
    turn: Turn,
    running: Mapping[str, Mapping[str, str]],
    silent_devices: Mapping[str, str],
    blast_radius: str,
    force: Sequence[str],
) -> PlannedTurn:
    changed = broken(site.network, site.configs, turn.targets)
    reached = touched(site.network, site.configs, turn)
    after = fabric.designed_as(with_drained(fabric.text(), patterns(site.configs, site.network, turn)))
    lost = list(lost_parts(network, after, site.configs))
    beyond = Radius.of(blast_radius, network).beyond(reached)
    refused = [beyond] if beyond else []
    refused += [f"{loss} (--force NAME accepts it)" for loss in unforced(lost, [*force])]
    refused += [f"{name} did not answer: {silent_devices[name]}" for name in reached if name in silent_devices]
    here = {name: running[name] for name in changed if name in running}
    standing = make_plan(fabric.path, site.network, Answers(here), configs=site.configs, limits=_AT_ONCE)
    refused += [f"{name} does not run its design: `deploy plan` first" for name in standing.changed]
    plan = make_plan(fabric.path, site.network, Answers(here), configs=site.configs | changed, limits=_AT_ONCE)
    refused += [f"{device.device}: {why}" for device in plan.devices for why in device.refused]
    refused += [f"{name} would not change" for name in changed if name in here and name not in plan.changed]
    commands, without = _commands(site, turn)
    ports = ports_by_command(site.network, site.configs, turn.targets)
    commands += [f"{name}: shut {', '.join(port_names)}, with a timer there" for name, port_names in ports.items()]
    return PlannedTurn(
        turn,
        reached,
        tuple(lost),
        predicted(site.network, site.configs, turn),
        plan,
        tuple(commands),
        (*refused, *without),
        ports,
    )


def _commands(site: Site, turn: Turn) -> tuple[list[str], list[str]]:
    """Return (a line for each fault of a turn that is a command, the reasons why some of these faults cannot be carried out)."""
    lines, refused = list[str](), list[str]()
    for command in turn.commands:
        device, daemon = command.fault.device or "", command.fault.daemon or ""
        outage = system(site.configs[device].nos).outage
        if outage is None:
            refused.append(f"nothing here changes {device}: {system(site.configs[device].nos).without['outage']}")
        elif daemon and daemon not in outage.DAEMONS:
            refused.append(f"{device} has no {daemon!r} that can be ended: {', '.join(outage.DAEMONS)}")
        else:
            lines.append(
                f"{device}: {f'end its {outage.DAEMONS[daemon]}' if daemon else 'restart it'}; it comes back by itself"
            )
    return lines, refused
