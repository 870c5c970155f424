"""Creation of plans that change devices from their running configurations to the design. The isolation of tenants is checked in each wave."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from railweave.analysis.checks.causes import causes
from railweave.analysis.checks.devices import DeviceCheck, saved
from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.field_kinds import NOTHING, ROUTES, UNKNOWN, kind_of
from railweave.analysis.drift.running import running_configs, running_states
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem, unknown_switches
from railweave.live.fleet.host_tree import without_amiss
from railweave.model.catalog import catalog
from railweave.model.config.naming import target_value
from railweave.model.config.tree import UNKNOWN_DISRUPTION
from railweave.model.network.status import reachable
from railweave.operations.deploy.attached import attached, designed_ends, lines, lost_attachments, with_running_cables
from railweave.operations.deploy.changes import SERVER, DeviceChange, change, partial_change, server_change
from railweave.operations.deploy.moments import STAGES, Moments, stages
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.waves import NOT_COMPUTED, SERVERS_ONLY, PlanLimits, Wave, waves
from railweave.progress import silent
from railweave.systems import system
from railweave.workers import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import ReadStatement
    from railweave.model.network.model import Network
    from railweave.operations.deploy.moments import WaveEffect


_OF_THE_HOST = "the Linux host's"
"""The reason in system.yaml for a field that a router's configuration lacks, because the Linux host below the router has it."""
_LIMITS = PlanLimits()
AVOIDABLE = ("mtu-mismatch ", "qos-mismatch ")
"""The first words of risks that a plan may avoid by taking the intermediate steps of ``stages``."""
Configs = dict[str, "DeviceConfig"]
Unread = tuple["Mapping[str, ReadStatement]", "Mapping[str, ReadStatement]"]
Tenants = dict[str, dict[str, str]]
"""The VRF of each NIC that is in a VRF: by server, then by NIC."""


class PlanConfigs:
    """The configurations of switches before a plan (``before``) and after the whole plan (``after``)."""

    def __init__(
        self,
        network: Network,
        running: Mapping[str, Mapping[str, str]],
        changes: Mapping[str, DeviceChange],
        designed: Configs,
        states: tuple[Mapping[str, DeviceCheck], Mapping[str, DeviceCheck]] = ({}, {}),
    ) -> None:
        """Compute the configurations from the running texts and the planned changes.

        ``running`` has the texts by switch and file, and ``designed`` the configurations of the design. ``states`` has the
        parsed states of switches before and after their change, as far as they are known.
        """
        self.network = network = reachable(network)  # a drained switch routes too, by its drained configuration
        here = {name: dict(texts) for name, texts in running.items() if name in designed}
        self.unknown = {name for name, config in designed.items() if config.vrfs and name not in here}
        """The leaves with tenants whose running configuration is unknown."""
        there = {name: {**texts, **changes[name].target} for name, texts in here.items() if name in changes}
        self._running, self._target, self._changes = here, there, changes
        self._states = running_states(designed, here, states[0])
        self._cabled, self.before = with_running_cables(network, designed | _configs(self._states))
        reached = {name for name in there if changes[name].as_designed}
        self._later = running_states(designed, {name: there[name] for name in there.keys() - reached}, states[1])
        self.after = designed | _configs(self._later)
        self.after |= {name: self.before[name] for name in here.keys() - there.keys()}
        self.attached = attached(network, self.before)
        """The far end of each port that carries traffic before the plan."""

    @cached_property
    def running(self) -> Subject:
        """The network before the plan, with the configurations that switches run."""
        return Subject(self._cabled, self.before)

    @cached_property
    def _designed_ends(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Both directions of each cable of the design: by (device, port) of one end, the (device, port) of the other end."""
        return designed_ends(self.network)

    @cached_property
    def _tenants(self) -> tuple[Tenants, Tenants]:
        """(VRFs of NICs before the plan, VRFs of NICs after the plan)."""
        return tenants(self.network, self.before), tenants(self.network, self.after)

    def _stated(self) -> list[str]:
        """Return a line for each route import between tenants that the fabric file requests, in the format of ``leaks``."""
        return [
            _line(tenant.name, leaf.name, other.name, other.route_target)
            for fabric in self.network.fabrics
            for tenant in fabric.tenants
            for other in fabric.tenants
            for leaf in self.network.switches
            if other.name in tenant.leaks and leaf.fabric == fabric.name
        ]

    @property
    def together(self) -> list[frozenset[str]]:
        """The groups of leaves that must change in the same wave. A group has all leaves of one server that changes its VRF."""
        old, new = self._tenants
        groups = [frozenset(self._leaves(server)) for server in sorted(old.keys() & new.keys())]
        return [group for group in groups if len(group) > 1]

    def unknown_devices(self, wave: Wave, acknowledged: Collection[str]) -> Wave:
        """Return the wave. If one of its switches is new and not in ``acknowledged``, the returned wave is refused.

        A new switch runs no routing yet.
        """
        refused = [
            f"{name} runs no routing yet, as after its first boot, and was not acknowledged: `railweave deploy "
            f"acknowledge FABRIC {name}` compares its model, serial number and cables with the design"
            for name in wave.devices
            if name in self.before and name not in acknowledged and _routes(self.after[name])
            if not _routes(self.before[name])
        ]
        return replace(wave, refused=(*wave.refused, *refused))

    def computed(self, waves: Sequence[Wave], allow_cut: Collection[str] | None) -> tuple[Wave, ...]:
        """Return the waves with their effect on traffic.

        A wave is refused if it cuts off a tenant, VNI or fabric that is not in ``allow_cut``. None allows all cuts.
        """
        devices = [wave.devices for wave in waves]
        effects = Moments(self._cabled, self.before, self.after, devices).effects()
        cuts = [
            {name: cut.until for cut in effect.cuts if cut.until for name in cut.names(self.network)}
            for effect in effects
        ]
        unallowed = {name for cut in cuts for name in cut if allow_cut is not None and name not in allow_cut}
        at_risk = [at for at, effect in enumerate(effects) if _avoidable(effect)]
        steps, other_way = self._other_way(devices) if unallowed or (at_risk and allow_cut is not None) else (False, "")
        if at_risk and steps:
            waves = list(waves)
            waves[at_risk[0]] = replace(waves[at_risk[0]], risks=(*waves[at_risk[0]].risks, other_way))
        computed: list[Wave] = []
        for wave, effect, cut in zip(waves, effects, cuts, strict=True):
            if not any(name in self.before for name in wave.devices):
                computed.append(replace(wave, risks=(*wave.risks, NOT_COMPUTED.format(SERVERS_ONLY))))
                continue
            refused = [
                f"it cuts {name} until wave {cut[name]}. {other_way}; `--allow-cut '{name}'` accepts the cut"
                for name in sorted(unallowed & cut.keys())
            ]
            unknown = [(name, text) for name in wave.devices for text in self._unknown(name, effect)]
            effects = replace(effect.effects, tenants={**effect.effects.tenants, **self._moving(wave.devices)})
            ports = tuple(
                port
                for name in wave.devices
                if name in self._target
                for port in lost_attachments(
                    self.network, name, self.before[name], self.after[name], self.attached, self._designed_ends
                )
            )
            interrupted = self._interrupted(wave.devices, {(port.device, port.port) for port in ports})
            servers = (nic.partition(":")[0] for port in ports if port.kind == "server" for nic in port.attached)
            known = replace(wave, servers=tuple(dict.fromkeys((*wave.servers, *servers)))).with_effect(
                replace(effect, effects=effects, unknown=tuple(unknown), interrupted=interrupted, ports=ports)
            )
            computed.append(replace(known, refused=(*wave.refused, *refused)))
        return tuple(computed)

    def _interrupted(self, devices: Sequence[str], gone: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
        """Return the interruptions that the changes of these devices cause, such as sessions that reset, each with the devices that cause it.

        An interruption is left out if all its ports are unused, or are in ``gone``: (device, port) of ports whose traffic is lost anyway.
        """
        cabled = (self._designed_ends.keys() | self.attached.keys()) - set(gone)
        interrupted: dict[str, dict[str, None]] = {}
        for name in devices:
            for each in self._changes[name].disrupts if name in self._changes else ():
                seen = not each.ports or any((name, port) in cabled for port in each.ports)
                if seen and each.what != UNKNOWN_DISRUPTION:
                    interrupted.setdefault(f"{each.what} ({each.why})", {})[name] = None
        return {disruption: tuple(names) for disruption, names in interrupted.items()}

    def _moving(self, devices: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return, by tenant, the leaves on whose ports a NIC leaves or joins the tenant. Only leaves in ``devices`` are included."""
        old, new = self._tenants
        leaves: dict[str, dict[str, None]] = {}
        for leaf, server, nic in self._places:
            if leaf in devices:
                pair = [of.get(server, {}).get(nic, "") for of in (old, new)]
                for tenant in filter(None, pair if pair[0] != pair[1] else ()):
                    leaves.setdefault(tenant, {})[leaf] = None
        return {tenant: tuple(names) for tenant, names in leaves.items()}

    def _unknown(self, device: str, effect: WaveEffect) -> Iterator[str]:
        """Yield the changed statements of a device whose disruption is unknown.

        Such a statement is unknown to railweave, or changes a field without a known effect (``effect.unknown``). Statements that the
        operating system's table of disruptions has are left out.
        """
        if device not in self._target:
            return
        disruptions = self._changes[device].disrupts
        for row in disruptions:
            if row.what == UNKNOWN_DISRUPTION:
                yield f"`{row.statement}`: {row.why}"
        rows = [_plain(row.statement) for row in disruptions]
        nothing: Unread = ({}, {})
        was, will = (states[device].unread if device in states else nothing for states in (self._states, self._later))
        statements = {
            f"{sign} {path}": f"`{sign} {path}` ({each.file}:{each.line})"
            for sign, here, there in (
                ("-", was[1], will[1]),
                ("-", will[0], was[0]),
                ("+", will[1], was[1]),
                ("+", was[0], will[0]),
            )
            for path, each in here.items()
            if path not in there
        }
        statements |= self._stated_by(device, [place for name, place in effect.unknown if name == device])
        for text, words in statements.items():
            if not any(_plain(text[2:]).startswith(row) for row in rows):
                yield words

    def _stated_by(self, device: str, places: Sequence[str]) -> dict[str, str]:
        """Return a text for each changed field, by the first statement that changes the field. ``places`` has the names of the fields.

        The text has the statement, its file and line, the number of other statements that change the field, and the field. A
        removed statement has its line in the running text, any other statement its line in the text after the change. If no
        statement changes the field, the text has only the field's name.
        """
        if not places:
            return {}
        running, target, nos = self._running[device], self._target[device], self.before[device].nos
        reader, by_itself = system(nos).reader, catalog().systems[nos].reads.by_itself
        assert reader is not None  # noqa: S101 - no plan changes a device whose system has none
        lines: dict[str, str] = {}
        changing: dict[str, dict[str, None]] = {place: {} for place in places}
        for sign, back, old, new in (("+", "-", running, target), ("-", "+", target, running)):
            for file in target:
                for cause in causes(reader, file, old, new[file], (), by_itself)[0]:
                    if cause.found:
                        lines[f"{sign} {cause.found}"] = f"{file}:{cause.line}"
                    ends = ((sign, cause.found), (back, cause.designed))
                    stating = {f"{mark} {text}": None for mark, text in ends if text}
                    for place, statements in changing.items():
                        if any(_near(" ".join(difference.place), place) for difference in cause.fields):
                            statements.update(stating)
        stated: dict[str, str] = {}
        for place, statements in changing.items():
            first, *others = [text for text in statements if text in lines] or [""]
            more = f" and {counted(len(others), 'other statement')}" if others else ""
            stated |= {first: f"`{first}` ({lines[first]}){more}: {place}"} if first else {f"~ {place}": place}
        return stated

    def _other_way(self, devices: Sequence[Sequence[str]]) -> tuple[bool, str]:
        """Return (True if applying the design in intermediate steps avoids the cuts and risks of these waves, a sentence about the steps).

        ``devices`` has the names of the devices of each wave.
        """
        networks = [self.before, *stages(self.before, self.after), self.after]
        pairs = [(number, old, new) for number, (old, new) in enumerate(pairwise(networks), 1)]
        for _, old, new in pairs:
            for effect in Moments(self._cabled, old, new, devices).effects(meanwhile=False) if old != new else ():
                if _avoidable(effect) or any(cut.until for cut in effect.cuts):
                    numbered = any(
                        _renumbered(self.before[name], self.after[name])
                        for names in devices
                        for name in names
                        if name in self.before
                    )
                    why = ", because a configured neighbor is accepted with one AS number only" if numbered else ""
                    return False, f"No steps are known that cut nothing{why}"
        numbers = [f"`--step {number}`" for number, old, new in pairs[:-1] if old != new]
        return True, f"Plan and apply with {', then '.join(numbers)}, then without it: these steps cut nothing"

    def _leaves(self, server: str) -> set[str]:
        """Return the leaves of a server on which its NICs move from one VRF to a different one."""
        return {leaf for nic in _moved(server, *self._tenants) for leaf in self._leaves_of.get((server, nic), ())}

    @cached_property
    def _places(self) -> tuple[tuple[str, str, str], ...]:
        """(leaf, server, NIC) of each NIC, on its present leaf and on the leaf that it has in the design."""
        now = (
            (leaf, far.device, far.port)
            for (leaf, _), far in self.attached.items()
            if far.kind == "server" and far.device
        )
        designed = (
            (cable.b.device, cable.a.device, cable.a.port) for cable in self.network.cables if cable.kind == "server"
        )
        return (*now, *designed)

    @cached_property
    def _leaves_of(self) -> dict[tuple[str, str], set[str]]:
        """The leaves of each NIC, now and in the design, by server and NIC."""
        leaves: dict[tuple[str, str], set[str]] = {}
        for leaf, server, nic in self._places:
            leaves.setdefault((server, nic), set()).add(leaf)
        return leaves

    def with_tenant_moves(self, waves: Sequence[Wave]) -> tuple[Wave, ...]:
        """Return the waves, with a line for each server that moves between tenants and with reasons to refuse a wave.

        A wave is refused in these cases:

        - It leaves a server in the VRFs of two tenants.
        - It lets tenants reach each other.
        - A server moves, and the configuration of one of its leaves is unknown.
        """
        old, new = self._tenants
        moving = {server: leaves for server in sorted(old.keys() & new.keys()) if (leaves := self._leaves(server))}
        known = [*leaks(self.before.values()), *self._stated()]
        done: set[str] = set()
        annotated: list[Wave] = []
        for wave in waves:
            done |= set(wave.devices)
            configs = {name: (self.after if name in done else self.before)[name] for name in self.before}
            now = tenants(self.network, configs)
            here = [server for server, leaves in moving.items() if leaves & set(wave.devices)]
            lines = [
                _moving(server, old, new)
                + (
                    "; until the last of its leaves has committed it is in both: drain it first"
                    if len(moving[server]) > 1
                    else ""
                )
                for server in here
            ]
            wrong = [
                f"{server} would be in {_named(now, server)}: between {_named(old, server)} and {_named(new, server)}"
                for server in here
                if _between(now.get(server, {}), old[server], new[server])
            ]
            wrong += [
                f"{server} moves, and it is not known what {leaf} runs, to which it is cabled too: take that into the plan"
                for server in here
                for leaf in sorted(
                    self.unknown.intersection(cable.b.device for cable in self.network.cables_of(server))
                )
            ]
            wrong += [leak for leak in leaks(configs.values()) if leak not in known]
            if here and not wrong:
                lines.append("by the texts before and after this wave no tenant takes routes of another")
            servers = tuple(dict.fromkeys((*wave.servers, *here)))
            annotated.append(
                replace(wave, risks=(*wave.risks, *lines), refused=(*wave.refused, *wrong), servers=servers)
            )
        return tuple(annotated)


def _routes(config: DeviceConfig) -> bool:
    """Return True if a switch runs BGP, IS-IS or OSPF."""
    return bool((config.bgp and config.bgp.groups) or config.isis or config.ospf)


def _avoidable(effect: WaveEffect) -> bool:
    return any(text.startswith(AVOIDABLE) for text, _ in effect.risks)


def _renumbered(before: DeviceConfig, after: DeviceConfig) -> bool:
    """Return True if a BGP session with a configured neighbor expects a different AS number after the plan.

    ``before`` and ``after`` are the configurations of a switch before and after the plan.
    """
    numbers = [
        {
            session.link: session.peer_as
            for group in config.bgp.groups
            if group.peer_as_list is None
            for session in group.sessions
        }
        for config in (before, after)
        if config.bgp is not None
    ]
    return len(numbers) > 1 and any(numbers[1].get(link, asn) != asn for link, asn in numbers[0].items())


def _configs(states: Mapping[str, DeviceCheck]) -> Configs:
    return {name: state.config for name, state in states.items() if state.config}


def _near(place: str, other: str) -> bool:
    """Return True if the names ``place`` and ``other`` of two fields are equal, or one field lies below the other."""
    return f"{place} ".startswith(f"{other} ") or f"{other} ".startswith(f"{place} ")


def _plain(statement: str) -> str:
    return " ".join(statement.replace(" / ", " ").split())


def _line(vrf: str, leaf: str, other: str, target: str) -> str:
    return f"VRF {vrf} of {leaf} would take routes of {other}, by route target {target_value(target)}"


def tenants(network: Network, configs: Mapping[str, DeviceConfig]) -> Tenants:
    """Return the VRF of each NIC that is in a VRF according to the configuration of its leaf: by server, then by NIC."""
    by_server: Tenants = {}
    ports = {name: _vrfs_of_ports(config) for name, config in configs.items() if config.vrfs}
    for (leaf, port), far in attached(network, {name: configs[name] for name in ports}).items():
        vrf = ports[leaf].get(port)
        if vrf and far.kind == "server" and far.device:
            by_server.setdefault(far.device, {})[far.port] = vrf
    return by_server


def _vrfs_of_ports(config: DeviceConfig) -> dict[str, str]:
    """Return, by port name, the VRF of each enabled leaf port that has one."""
    by_vlan = {gateway.vlan_name: gateway.vrf for gateway in config.gateways if gateway.vlan is not None}
    by_port = {gateway.port: gateway.vrf for gateway in config.gateways if gateway.port}
    return {
        interface.name: vrf
        for interface in config.interfaces
        if interface.enabled
        and (vrf := by_port.get(interface.name) or by_vlan.get(interface.vlan or "") or interface.vrf)
    }


def leaks(configs: Iterable[DeviceConfig]) -> list[str]:
    """Return a line for each VRF on a leaf that imports routes exported by a VRF with a different name."""
    every = [(config.name, vrf) for config in configs for vrf in config.vrfs]
    givers: dict[str, set[str]] = {}
    for _, vrf in every:
        for target in vrf.export_targets:
            givers.setdefault(target, set()).add(vrf.name)
    return sorted(
        {
            _line(vrf.name, leaf, other, target)
            for leaf, vrf in every
            for target in vrf.import_targets
            for other in givers.get(target, set()) - {vrf.name}
        }
    )


def _between(now: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Return True if a server is between two tenants: in a VRF that it leaves and also in a VRF that it joins.

    ``now``, ``old`` and ``new`` have the VRF of each NIC of the server: now, before the plan and after the plan.
    """
    vrfs = set(now.values())
    return bool(vrfs - set(new.values())) and bool(vrfs - set(old.values()))


def _moved(server: str, old: Tenants, new: Tenants) -> list[str]:
    """Return the NICs of a server that move from one VRF in ``old`` (before the plan) to a different one in ``new`` (after the plan)."""
    was, will = old.get(server, {}), new.get(server, {})
    return [nic for nic in was if nic in will and was[nic] != will[nic]]


def _moving(server: str, old: Tenants, new: Tenants) -> str:
    """Return a clause about a server's move between tenants. The clause names the NICs that move, unless all of them move.

    ``old`` and ``new`` have the VRFs of NICs before and after the plan.
    """
    nics = _moved(server, old, new)
    if set(nics) == set(old[server]):
        return f"{server} moves from {_named(old, server)} to {_named(new, server)}"
    was, will = ({server: {nic: of[server][nic] for nic in nics}} for of in (old, new))
    names = ", ".join(f"{server}:{nic}" for nic in nics)
    return f"{names} {'moves' if len(nics) == 1 else 'move'} from {_named(was, server)} to {_named(will, server)}"


def _named(of: Tenants, server: str) -> str:
    return " and ".join(sorted(set(of.get(server, {}).values()))) or "no tenant"


class _Planned(NamedTuple):
    """The planned change of a device, with its checked state before (``now``) and after the change.

    ``later`` is None if the device runs its design after the change.
    """

    change: DeviceChange
    now: DeviceCheck
    later: DeviceCheck | None


@dataclass(frozen=True)
class Answers:
    """The texts that the devices of a network run.

    - ``switches``: the texts of each switch, by file name.
    - ``servers``: the present and the wanted texts of each server that takes part.
    - ``silent``: the devices that did not answer, with the reason.
    - ``live``: True if the texts come from the devices themselves, with their secrets.
    """

    switches: Mapping[str, Mapping[str, str]]
    servers: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = field(
        default_factory=dict[str, "tuple[Mapping[str, str], Mapping[str, str]]"]
    )
    silent: Mapping[str, str] = field(default_factory=dict[str, str])
    live: bool = True


def make_plan(
    fabric: Path,
    network: Network,
    answers: Answers,
    *,
    only: Collection[str] = (),
    limits: PlanLimits = _LIMITS,
    configs: dict[str, DeviceConfig] | None = None,
    former: Mapping[str, DeviceConfig] | None = None,
    progress: Callable[[str], None] = silent,
) -> Plan:
    """Plan the changes that bring switches to their design. Raises ``InputError`` for unknown names in ``only``, and for an unknown step.

    - ``answers``: the texts that the devices run.
    - ``only``: the switches to change; empty means all.
    - ``configs``: the wanted configurations of switches, if they differ from the network's own, for example in a lab.
    - ``former``: configurations of some switches. Such a switch gets only the difference from its former to its wanted
      configuration; its other differences from the design are pending.
    - ``limits``: the limits of waves, and the step of the design if the plan is for a single step.
    """
    running, servers = answers.switches, answers.servers
    names = [switch.name for switch in network.switches]
    if unknown := [name for name in only if name not in names and name not in (servers or answers.silent)]:
        raise unknown_switches(unknown, "names are those of cabling.csv; servers take part with --servers")
    designed = Subject.of(network) if configs is None else Subject(network, configs)
    chosen = {name: texts for name, texts in running.items() if name in names and (not only or name in only)}
    if limits.step:
        designed = _stage(designed, running, limits.step)
    progress(f"comparing {counted(len(chosen), 'switch', 'switches')} with the design")

    def plan_change(name: str) -> _Planned:
        config, texts = designed.configs[name], dict(chosen[name])
        if system(config.nos).transaction is None:
            made = change(name, config.nos, texts, {}, None)
            now = saved({name: config}, {name: texts})[name] if texts else DeviceCheck(None)
            if now.config is not None and not now.findings and not any(now.unread):
                return _Planned(DeviceChange(name, config.nos, as_designed=True), now, None)
            taken = tuple(_taken_by_hand(network, config, now.config))
            return _Planned(replace(made, refused=(*made.refused, *taken)), now, None)
        rendered = _rendered(config)

        def compared(these: Mapping[str, str], *, why: bool = True) -> DeviceCheck:
            if not these:
                return DeviceCheck(None)
            return saved({name: config}, {name: dict(these)}, why=why, rendered={name: rendered})[name]

        if former and name in former:
            designs = _asked(config.nos, _rendered(former[name])), _asked(config.nos, rendered)
            made = partial_change(name, config.nos, texts, designs, compared)
        else:
            made = change(name, config.nos, texts, _asked(config.nos, rendered), lambda: compared(texts))
        later = bool(made.target) and not made.as_designed
        return _Planned(
            made, compared(texts, why=False), compared({**texts, **made.target}, why=False) if later else None
        )

    planned = dict(zip(chosen, spread(plan_change, list(chosen)), strict=True))
    changes = {name: each.change for name, each in planned.items()}
    states = (
        {name: each.now for name, each in planned.items()},
        {name: each.later for name, each in planned.items() if each.later is not None},
    )
    for name, (texts, wanted) in servers.items():
        changes[name] = server_change(name, texts, wanted)
    changed = {name: device_change for name, device_change in changes.items() if device_change}
    progress(f"ordering {counted(len(changed), 'device')}")
    ordered = _ordered(designed, running, changed, limits, states)
    left_out = {name: why for name, why in answers.silent.items() if not only or name in only}
    return _plan(fabric, network, changes, ordered, left_out, live=answers.live)


def _stage(designed: Subject, running: Mapping[str, Mapping[str, str]], step: int) -> Subject:
    """Return the network after the intermediate step ``step`` (see ``stages``) from the running network to the network ``designed``.

    ``running`` has the running texts by switch and file. Raises ``InputError`` if there is no such step.
    """
    if step > len(STAGES):
        fix = "; ".join(f"--step {number}: {words}" for number, words in enumerate(STAGES, 1))
        raise InputError(
            [Problem(Option("--step", str(step)), f"there are {len(STAGES)} steps before the design", fix)]
        )
    here = {name: dict(texts) for name, texts in running.items() if name in designed.configs}
    before = running_configs(designed.network, here, designed.configs)
    return Subject(designed.network, stages(before, designed.configs)[step - 1])


def plan_back(
    fabric: Path,
    network: Network,
    running: Mapping[str, Mapping[str, str]],
    before: Mapping[str, Mapping[str, str]],
    *,
    silent: Mapping[str, str],
    revision: int,
    most: float,
    configs: dict[str, DeviceConfig],
) -> Plan:
    """Plan the changes that restore configurations to their texts before a revision.

    - ``running``, ``before``: the texts now, and the texts before the revision, by device and file name.
    - ``silent``: the devices that did not answer, with the reason.
    - ``revision``: the number of the revision.
    - ``most``: the largest share of the network (0 to 1) that a wave may take out of service.

    Statements outside the design are restored too. ``configs`` has the designed configurations.
    """
    designed = Subject(network, configs)

    def plan_change(name: str) -> DeviceChange:
        if name not in configs:
            return server_change(name, running[name], without_amiss(before[name]))
        return change(name, configs[name].nos, running[name], before[name], None)

    changes = dict(zip(running, spread(plan_change, list(running)), strict=True))
    changed = {name: device_change for name, device_change in changes.items() if device_change}
    ordered = _ordered(designed, running, changed, PlanLimits(most))
    return _plan(fabric, network, changes, ordered, silent, live=True, back_to=revision)


def _ordered(
    designed: Subject,
    running: Mapping[str, Mapping[str, str]],
    changed: Mapping[str, DeviceChange],
    limits: PlanLimits,
    states: tuple[Mapping[str, DeviceCheck], Mapping[str, DeviceCheck]] = ({}, {}),
) -> tuple[Wave, ...]:
    """Return the waves of the changes ``changed``, each with its computed effect. In an overlay, the isolation of tenants is checked too.

    - ``designed``: the network and its designed configurations. ``running``: the running texts, by switch and file.
    - ``states``: the parsed states of switches before and after their change, as far as they are known.
    - ``limits``: the limits of waves.
    """
    network = designed.network
    if not changed:
        return ()
    overlay = any(fabric.overlay for fabric in network.fabrics)
    try:
        moments = PlanConfigs(network, running, changed, designed.configs, states)
    except InputError as error:
        if overlay:
            raise
        risk = NOT_COMPUTED.format("; ".join(f"{problem.place}: {problem.what}" for problem in error.problems))
        ordered = waves(network, designed.control_plane, changed, most=limits.most, canary=limits.canary)
        return tuple(replace(wave, risks=(*wave.risks, risk)) for wave in ordered)
    if limits.one_wave:
        return moments.computed((Wave(tuple(changed), limits.one_wave),), limits.allow_cut)
    together = moments.together if overlay else ()
    ordered = waves(
        network,
        moments.running.control_plane,
        changed,
        most=limits.most,
        canary=limits.canary,
        together=together,
        carrying=moments.attached,
    )
    if limits.acknowledged is not None:
        ordered = tuple(moments.unknown_devices(wave, limits.acknowledged) for wave in ordered)
    return moments.computed(moments.with_tenant_moves(ordered) if overlay else ordered, limits.allow_cut)


def _plan(
    fabric: Path,
    network: Network,
    changes: Mapping[str, DeviceChange],
    ordered: tuple[Wave, ...],
    silent: Mapping[str, str],
    *,
    live: bool,
    back_to: int | None = None,
) -> Plan:
    """Return a plan of the changes, dated now. ``ordered`` has the waves in their order.

    ``silent`` has the devices that did not answer. ``live`` and ``back_to`` become the fields of ``Plan`` with these names.
    """
    design = hashlib.sha256(network.to_json()).hexdigest()
    made = datetime.now(UTC).isoformat(timespec="seconds")
    outside = {
        nos: subjects for nos in sorted({each.system for each in changes.values()}) if (subjects := _outside(nos))
    }
    every = tuple(changes.values())
    return Plan(str(fabric.resolve()), design, made, live, every, ordered, dict(silent), back_to, outside=outside)


def _outside(nos: str) -> tuple[str, ...]:
    """Return the settings that affect traffic but that a system's configuration lacks, because its Linux host has them, such as QoS."""
    if nos == SERVER:
        return ()
    fields = [name for name, reason in catalog().systems[nos].reads.unsaid.items() if reason == _OF_THE_HOST]
    kinds = {name: kind_of(name) for name in fields}
    return tuple(
        dict.fromkeys(
            name if kind == ROUTES else kind for name, kind in kinds.items() if kind not in {NOTHING, UNKNOWN}
        )
    )


def _taken_by_hand(network: Network, config: DeviceConfig, running: DeviceConfig | None) -> Iterator[str]:
    """Yield lines about ports of a switch whose devices are cut off once the operator applies the design by hand.

    railweave does not change such a switch. ``running`` is its present configuration, or None if its texts cannot be read.
    """
    if running is not None:
        ends = attached(network, {config.name: running})
        for line in lines(list(lost_attachments(network, config.name, running, config, ends))):
            yield f"its differences from the design take ports from devices. {line}"


def _rendered(config: DeviceConfig) -> dict[str, str]:
    """Return the designed texts of a device by file; empty if railweave cannot change devices with this operating system."""
    nos = system(config.nos)
    return nos.files(config) | nos.beneath(config) if nos.transaction else {}


def _asked(nos: str, rendered: Mapping[str, str]) -> dict[str, str]:
    """Return those of the ``rendered`` texts whose files a plan compares on this operating system."""
    transaction = system(nos).transaction
    asked = transaction.FILES.values() if transaction else ()
    return {file: text for file, text in rendered.items() if file in asked}
