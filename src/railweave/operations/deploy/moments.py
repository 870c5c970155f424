"""The effect of a plan's waves on traffic, computed from the configurations after each wave and during the wave.

For each of these states, routes are computed and the checks of ``railweave verify`` are run. A change that affects
neither routes nor checks, such as a change of a timer, is looked up in the system's table of disruptions. If the table
lacks the change, its effect is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.drift import Effects, effects
from railweave.analysis.drift.field_kinds import NOTHING, ROUTES, UNKNOWN, UNROUTED, kind_of
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import UNREACHABLE
from railweave.counting import counted
from railweave.errors import UnsettledError
from railweave.json_values import JsonObject
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.fields import differences
from railweave.operations.deploy import attached

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.port_model import Gateway
    from railweave.model.device.qos_model import QosConfig
    from railweave.model.network.model import Network

ALL_HALVES = 64
"""The largest number of switches of a network in which all pairs of a wave's devices are examined.

For each pair, a state is computed in which one of the two devices has changed and the other has not.
"""
_CUTS = {"unreachable"}
"""The ids of findings that are left out because a ``Cut`` already reports the fault."""
_NAMES = 3
_Each = TypeVar("_Each")


@dataclass(frozen=True)
class Cut(JsonObject):
    """Destinations that are lost for a time, although they are reached before and after the plan.

    - ``prefixes``: by prefix, the switches or VRFs that do not reach it.
    - ``until``: the number of the wave after which the destinations are reached again; 0 if they are lost only during
      this wave.
    """

    prefixes: Mapping[str, tuple[str, ...]]
    until: int

    def names(self, network: Network) -> set[str]:
        """Return the names of the tenants and VNIs (``VNI 100``) that are cut off.

        Destinations outside tenants count for their fabric, whose name is returned.
        """
        names: set[str] = set()
        for place in {place for places in self.prefixes.values() for place in places}:
            device, _, table = place.partition(" ")
            names.add(table.removeprefix("VRF ") or network.switch(device).fabric)
        return names


@dataclass(frozen=True)
class WaveEffect(JsonObject):
    """The computed effect of one wave on traffic.

    - ``states``: the number of states of the network for which routes were computed; 0 if the effect was not computed.
    - ``cuts``: destinations that are lost for a time.
    - ``effects``: the differences that this wave makes: prefixes that are permanently lost, move or are gained, and
      changes of colors, classes and tenants.
    - ``risks``: findings that exist only between waves, neither before nor after the plan. Each has the number of the
      wave after which it is gone.
    - ``interrupted``: by interruption, such as sessions that reset, the devices on which this wave causes it.
    - ``subjects``: by changed setting that does not appear in routes, such as MTU, the devices.
    - ``ports``: ports and sessions that permanently lose their use, each with its far end.
    - ``unknown``: changes whose disruption is unknown, as (device, statement). In results of ``Moments``, the name of
      the changed field takes the place of the statement.
    """

    states: int = 0
    cuts: tuple[Cut, ...] = ()
    effects: Effects = field(default_factory=Effects)
    risks: tuple[tuple[str, int], ...] = ()
    subjects: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    unknown: tuple[tuple[str, str], ...] = ()
    interrupted: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    ports: tuple[attached.LostPort, ...] = ()

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> WaveEffect:
        """Return the effect from the JSON object of a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""

        def named(there: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
            return {name: tuple(names) for name, names in there.items()}

        given = document["effects"]
        many = {key: named(given[key]) for key in ("lost", "moved", "gained", "classes", "tenants")}
        return cls(
            document["states"],
            tuple(Cut(named(cut["prefixes"]), cut["until"]) for cut in document["cuts"]),
            Effects(**many, colors=tuple(given["colors"]), unsettled=given["unsettled"]),
            tuple((text, until) for text, until in document["risks"]),
            named(document["subjects"]),
            tuple((device, statement) for device, statement in document["unknown"]),
            named(document.get("interrupted", {})),  # plans of earlier releases lack it
            tuple(attached.LostPort.of_json(port) for port in document.get("ports", ())),
        )

    def lines(self) -> list[str]:
        """Return the effect as sentences, with the most severe first; empty if there is no effect."""
        after = self.effects
        return [
            *_cut(self.cuts),
            *attached.lines(self.ports),
            *_at_risk(self.risks),
            *([after.unsettled] if after.unsettled else []),
            *(
                f"interrupted while the wave commits: {disruption} on {_some(there)}"
                for disruption, there in self.interrupted.items()
            ),
            *_prefixes(("is no longer reached", "are no longer reached"), after.lost),
            *_prefixes(("takes other links", "take other links"), after.moved),
            *_prefixes(("is reached where it was not", "are reached where they were not"), after.gained),
            *([f"path colors touched: {', '.join(after.colors)}"] if after.colors else []),
            *_named("treated differently", ("traffic class", "traffic classes"), after.classes),
            *_named(
                "its VRF changes" if len(after.tenants) == 1 else "their VRFs change",
                ("tenant", "tenants"),
                after.tenants,
            ),
            *(
                f"changes that routes do not show: {subject} on {_some(there)}"
                for subject, there in self.subjects.items()
            ),
            *(f"disruption unknown: {device}: {statement}" for device, statement in self.unknown),
        ]


def _cut(cuts: Sequence[Cut]) -> Iterator[str]:
    for meanwhile in (False, True):
        some = [cut for cut in cuts if (cut.until == 0) is meanwhile]
        prefixes = dict.fromkeys(prefix for cut in some for prefix in cut.prefixes)
        places = sorted(
            {place.partition(" ")[::2] for cut in some for there in cut.prefixes.values() for place in there}
        )
        tables = dict.fromkeys(table for _, table in places if table)
        if some:
            when = (
                "for as long as the devices of this wave take to commit"
                if meanwhile
                else _until(cut.until for cut in some)
            )
            yield (
                f"CUT {when}: {counted(len(prefixes), 'prefix', 'prefixes')} ({_some(prefixes)}), not reached from "
                f"{_some(dict.fromkeys(device for device, _ in places))}{f', in {_some(tables)}' if tables else ''}"
            )


def _at_risk(risks: Iterable[tuple[str, int]]) -> Iterator[str]:
    by_rule: dict[str, list[tuple[str, int]]] = {}
    for text, until in risks:
        by_rule.setdefault(text.partition(" ")[0], []).append((text.partition(" ")[2], until))
    for rule, places in by_rule.items():
        more = f", and {len(places) - 1} more of the kind" if len(places) > 1 else ""
        yield f"AT RISK {_until(until for _, until in places)}: {places[0][0]}{more} ({rule})"


def _until(waves: Iterable[int]) -> str:
    ends = sorted(set(waves))
    return f"until wave {ends[-1]}" + (f", a part until wave {ends[0]}" if len(ends) > 1 else "")


def _prefixes(verbs: tuple[str, str], by_prefix: Mapping[str, tuple[str, ...]]) -> list[str]:
    where = dict.fromkeys(place for places in by_prefix.values() for place in places)
    count = counted(len(by_prefix), "prefix", "prefixes")
    return [f"{count} {verbs[len(by_prefix) > 1]} ({_some(by_prefix)}), seen from {_some(where)}"] if by_prefix else []


def _named(verb: str, kinds: tuple[str, str], there: Mapping[str, tuple[str, ...]]) -> list[str]:
    devices = dict.fromkeys(device for names in there.values() for device in names)
    return [f"{kinds[len(there) > 1]} {_some(there)}: {verb} on {_some(devices)}"] if there else []


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_NAMES]) + (f" and {len(every) - _NAMES} more" if len(every) > _NAMES else "")


@dataclass(frozen=True)
class _Destination:
    """A destination of traffic: a prefix of a gateway before the plan (``before``), and the prefix that takes its place (``after``).

    Both are equal if the gateway keeps the prefix, or if no gateway has it.
    """

    before: str
    after: str

    @property
    def name(self) -> str:
        return self.before if self.before == self.after else f"{self.before}, later {self.after}"


def _destinations(before: DeviceConfig, after: DeviceConfig) -> Iterator[tuple[str, _Destination]]:
    """Yield (prefix before the plan, destination that has this prefix) for each prefix of a device's gateways.

    If a gateway loses prefixes and gets new ones in the configuration ``after``, each lost prefix is paired with a new prefix, in order.
    Servers are then reached by either of the two. Any other prefix is paired with itself.
    """
    later = {(gateway.name, gateway.vrf): gateway.prefixes for gateway in after.gateways}
    for gateway in before.gateways:
        prefixes = later.get((gateway.name, gateway.vrf), ())
        come = iter([prefix for prefix in prefixes if prefix not in gateway.prefixes])
        for prefix in gateway.prefixes:
            yield prefix, _Destination(prefix, prefix if prefix in prefixes else next(come, prefix))


class _Reached:
    """The destinations that each switch reaches in one state of the network.

    ``prefixes`` has the prefix of each destination in this state, in the order of destinations.
    """

    def __init__(self, routes: Routes, prefixes: Sequence[str]) -> None:
        places = np.array([routes.index.get(prefix, -1) for prefix in prefixes], dtype=np.int64)
        self.masks: dict[tuple[str, str], NDArray[np.bool_]] = {
            key: np.append(mask, False)[places] for key, mask in routes.holds.items()
        }
        held: dict[str, NDArray[np.bool_]] = {}
        for (device, _), mask in self.masks.items():
            held[device] = held.get(device, np.zeros(len(places), np.bool_)) | mask
        for device, fib in routes.fibs.items():
            mask = np.append(fib.group != UNREACHABLE, False)[places]
            self.masks[device, ""] = (
                mask & ~held[device] if device in held else mask
            )  # a prefix that a VRF holds is reported with the VRF only
        # A VRF that has the prefix itself, or reaches it through any leaf, does not lose it with one of several leaves.
        # Servers on a bridged network are lost with their leaf.
        self.shared = {
            (device, f"VRF {vrf}", prefix) for (device, vrf), exits in routes.shared.exits.items() for prefix in exits
        } | {
            (device, f"VNI {vni}", f"servers of {leaf}")
            for (device, vni), leaves in routes.shared.bridged.items()
            for leaf in leaves
        }


@dataclass(frozen=True)
class _State:
    """The network after a wave.

    - ``done``: the devices that have changed.
    - ``reached``: the destinations that switches reach, or the reason why the routes are unknown.
    - ``wrong``: the findings, as texts. ``effects``: the differences that the wave makes.
    """

    done: frozenset[str]
    reached: _Reached | str
    wrong: frozenset[str]
    effects: Effects


STAGES = (
    "every device accepts old and new route targets, prefixes, AS numbers, DSCPs and packet sizes, and gateways have old and new addresses",
    "every device offers the new ones, and still accepts the old",
)
"""The descriptions of the intermediate steps of ``stages``. After these steps, the design itself removes the old route targets and prefixes."""


def stages(
    before: Mapping[str, DeviceConfig], after: Mapping[str, DeviceConfig]
) -> tuple[dict[str, DeviceConfig], ...]:
    """Return two intermediate steps from the configurations ``before`` to the configurations ``after``, each as configurations by switch.

    In both steps, devices accept the route targets, prefixes and other values of both configurations. In the first step they offer the
    values of ``before``, and in the second step those of ``after`` (see ``STAGES``).
    """
    accepting = {name: _accepting(config, config, after[name]) for name, config in before.items()}
    offering = {name: _accepting(config, before[name], config) for name, config in after.items()}
    return accepting, offering


def _accepting(config: DeviceConfig, old: DeviceConfig, new: DeviceConfig) -> DeviceConfig:
    """Return ``config``, changed so that it accepts everything that ``old`` or ``new`` accepts:

    - routes: route targets of VRFs, and lists of prefixes;
    - neighbors: lists of AS numbers;
    - packets of a traffic class: DSCPs;
    - large packets: the MTU of ports;
    - servers of the old and of the new prefix of a gateway.
    """
    imports = {
        vrf.name: (*vrf.import_targets, *other.import_targets)
        for vrf in old.vrfs
        for other in new.vrfs
        if other.name == vrf.name
    }
    later = {port.name: port.mtu for port in new.interfaces}
    sizes = {port.name: max(port.mtu, later[port.name]) for port in old.interfaces if port.name in later}
    config = replace(
        config,
        vrfs=tuple(
            replace(vrf, import_targets=_both(imports.get(vrf.name, ()), vrf.import_targets)) for vrf in config.vrfs
        ),
        interfaces=tuple(replace(port, mtu=sizes.get(port.name, port.mtu)) for port in config.interfaces),
        gateways=tuple(_serving(gateway, old, new) for gateway in config.gateways),
        qos=config.qos and old.qos and new.qos and _classifying(config.qos, old.qos, new.qos),
    )
    if config.bgp is None or old.bgp is None or new.bgp is None:
        return config
    lists = {
        name: _both(_both(old.bgp.prefix_lists.get(name, ()), new.bgp.prefix_lists.get(name, ())), prefixes)
        for name, prefixes in config.bgp.prefix_lists.items()
    }
    numbers = {
        name: _both(_both(old.bgp.as_lists.get(name, ()), new.bgp.as_lists.get(name, ())), ranges)
        for name, ranges in config.bgp.as_lists.items()
    }
    return replace(config, bgp=replace(config.bgp, prefix_lists=lists, as_lists=numbers))


def _both(first: Iterable[_Each], second: Iterable[_Each]) -> tuple[_Each, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _serving(gateway: Gateway, old: DeviceConfig, new: DeviceConfig) -> Gateway:
    """Return the gateway with its addresses in both ``old`` and ``new``; unchanged if one of these configurations lacks the gateway."""
    same = [
        each for side in (old, new) for each in side.gateways if (each.name, each.vrf) == (gateway.name, gateway.vrf)
    ]
    if len(same) < 2:
        return gateway
    pairs = _both(*(zip(each.addresses, each.prefixes, strict=True) for each in same))
    return replace(
        gateway, addresses=tuple(address for address, _ in pairs), prefixes=tuple(prefix for _, prefix in pairs)
    )


def _classifying(qos: QosConfig, old: QosConfig, new: QosConfig) -> QosConfig:
    """Return ``qos`` with DSCPs added: each class also gets the DSCPs of the class with the same name in ``old`` and in ``new``.

    A DSCP that already belongs to a different class in ``qos`` is not added.
    """
    owner = {dscp: name for name, traffic in qos.classes.items() for dscp in traffic.dscp}
    more = {
        name: {
            dscp
            for side in (old, new)
            if name in side.classes
            for dscp in side.classes[name].dscp
            if owner.get(dscp, name) == name
        }
        for name in qos.classes
    }
    classes = {
        name: traffic
        if more[name] <= set(traffic.dscp)
        else replace(traffic, dscp=tuple(sorted({*traffic.dscp, *more[name]})))
        for name, traffic in qos.classes.items()
    }
    return replace(qos, classes=classes)


class Moments:
    """The states of the network before a plan, after each of its waves, and during the waves.

    - ``before``, ``after``: the configurations of all switches before the plan and after the whole plan.
    - ``waves``: the names of the devices of each wave, in order.
    """

    def __init__(
        self,
        network: Network,
        before: Mapping[str, DeviceConfig],
        after: Mapping[str, DeviceConfig],
        waves: Sequence[Sequence[str]],
    ) -> None:
        self._network, self._before, self._after = network, before, after
        changed = {name for name in before if before[name] != after[name]}
        self._fields = {name: differences(before[name], after[name]) for name in sorted(changed)}
        moving = {
            name for name, fields in self._fields.items() if any(kind_of(each.field) != NOTHING for each in fields)
        }
        self._rerouting = {
            name for name, fields in self._fields.items() if any(kind_of(each.field) not in UNROUTED for each in fields)
        }
        self._last: tuple[frozenset[str], Subject] | None = None
        self._waves = [tuple(sorted(moving.intersection(devices))) for devices in waves]
        self._owners: list[str] = []
        self._destinations: list[_Destination] = []
        covered: set[str] = set()
        for name, config in before.items():
            for prefix, destination in _destinations(config, after[name]):
                self._owners.append(name)
                self._destinations.append(destination)
                covered |= {prefix, destination.after}
        for prefix in ControlPlane(before.values()).prefixes:
            if prefix not in covered:
                self._owners.append("")
                self._destinations.append(_Destination(prefix, prefix))
        self._sources = {name for name, config in before.items() if config.gateways or config.vrfs} or set(before)

    def effects(self, *, meanwhile: bool = True) -> list[WaveEffect]:
        """Return the effect of each wave. If ``meanwhile`` is True, states in which only some devices of a wave have changed are computed too."""
        states: list[_State] = []
        done: frozenset[str] = frozenset()
        subject = self._subject(done)
        states.append(_State(done, self._reached(subject), self._findings(subject), Effects()))
        for devices in self._waves:
            if not devices:
                states.append(replace(states[-1], effects=Effects()))
                continue
            done, earlier = done | set(devices), subject
            subject = self._subject(done)
            reached = self._reached(subject)
            unknown = reached if isinstance(reached, str) else states[-1].reached
            fields = {name: self._fields[name] for name in devices}
            moved = (
                Effects(unsettled=unknown)
                if isinstance(unknown, str)
                else effects(self._network, earlier.routes, subject.routes, fields, self._before)
            )
            states.append(_State(done, reached, self._findings(subject), moved))
        cut = self._cuts(states)
        return [self._effect(wave, states, cut, meanwhile=meanwhile) for wave in range(1, len(states))]

    def _effect(
        self, wave: int, states: Sequence[_State], cut_after: Sequence[Sequence[Cut]], *, meanwhile: bool
    ) -> WaveEffect:
        devices = self._waves[wave - 1]
        subjects: dict[str, dict[str, None]] = {}
        unknown: dict[tuple[str, str], None] = {}
        for name in devices:
            for change in self._fields[name]:
                kind = kind_of(change.field)
                if kind == UNKNOWN:
                    unknown[name, " ".join(change.place)] = None
                elif kind not in {NOTHING, ROUTES}:
                    subjects.setdefault(kind, {})[name] = None
        cuts = list(cut_after[wave])
        brief, count, moved = self._meanwhile(wave, states) if meanwhile else ({}, 0, states[wave].effects)
        cuts += [Cut(brief, 0)] if brief else []
        cut = {prefix for each in cuts for prefix in each.prefixes}
        back = {prefix for each in cut_after[wave - 1] for prefix in each.prefixes}
        moved = replace(
            moved,
            lost={prefix: there for prefix, there in moved.lost.items() if prefix not in cut},
            gained={prefix: there for prefix, there in moved.gained.items() if prefix not in back},
        )
        risks = tuple(_risks(wave, states))
        named = {kind: tuple(there) for kind, there in subjects.items()}
        return WaveEffect(1 + count, tuple(cuts), moved, risks, named, tuple(unknown))

    def _meanwhile(self, wave: int, states: Sequence[_State]) -> tuple[dict[str, tuple[str, ...]], int, Effects]:
        """Compute the states of the network in which only some devices of wave ``wave`` have changed.

        Return (by lost destination, the places that do not reach it; number of states; effects of the wave). Lost destinations are
        reached before and after the wave (``states`` has the state after each wave), but not in one of the computed states. A place is
        a switch with servers, or one of its VRFs or VNIs. If the routes of a state cannot be computed, ``Effects.unsettled`` has the
        reason.
        """
        was, now, moved = states[wave - 1], states[wave], states[wave].effects
        cut: dict[str, dict[str, None]] = {}
        halves = list(_halves(self._waves[wave - 1], everyone=len(self._before) <= ALL_HALVES))
        for half in halves:
            reached = self._reached(self._subject(was.done | half))
            if isinstance(reached, str):
                moved = replace(moved, unsettled=f"while this wave is carried out, {reached}")
            elif not isinstance(was.reached, str) and not isinstance(now.reached, str):
                for prefix, place in self._lacking(reached, was.reached, now.reached):
                    cut.setdefault(prefix, {})[place] = None
        return {prefix: tuple(places) for prefix, places in cut.items()}, len(halves), moved

    def _cuts(self, states: Sequence[_State]) -> list[list[Cut]]:
        """Return, for each state, its cuts: the losses of that state, grouped by the later wave after which they end.

        ``states`` are the states before the plan and after each wave. A state with unknown routes ends no cut.
        """
        first, last = states[0].reached, states[-1].reached
        if isinstance(first, str) or isinstance(last, str):
            return [[] for _ in states]
        lacking = [
            None if isinstance(state.reached, str) else dict.fromkeys(self._lacking(state.reached, first, last))
            for state in states
        ]
        cuts: list[list[Cut]] = []
        for number, here in enumerate(lacking):
            by_end: dict[int, dict[str, dict[str, None]]] = {}
            open_ends = dict(here or {})
            for later in range(number + 1, len(states)):
                still = lacking[later]
                for prefix, place in [end for end in open_ends if still is not None and end not in still]:
                    by_end.setdefault(later, {}).setdefault(prefix, {})[place] = None
                    del open_ends[prefix, place]
            cuts.append(
                [Cut({prefix: tuple(places) for prefix, places in there.items()}, end) for end, there in by_end.items()]
            )
        return cuts

    def _lacking(self, now: _Reached, first: _Reached, last: _Reached) -> Iterator[tuple[str, str]]:
        """Yield (destination, place) for destinations that servers do not reach now, but reach both in ``first`` and in ``last``.

        A place is a switch with servers, or one of its VRFs or VNIs.
        """
        for (device, vrf), mask in first.masks.items():
            there, here = last.masks.get((device, vrf)), now.masks.get((device, vrf))
            if there is None or device not in self._sources:
                continue
            lost = mask & there if here is None else mask & there & ~here
            for at in np.flatnonzero(lost).tolist():
                if self._owners[at] != device:
                    yield self._destinations[at].name, f"{device} VRF {vrf}" if vrf else device
        for device, table, name in sorted((first.shared & last.shared) - now.shared):
            yield name, f"{device} {table}"

    def _subject(self, done: Iterable[str]) -> Subject:
        """Return the network in which only the devices of ``done`` have changed.

        If it differs from the network of the previous call only in fields that routing does not use, the two share their routes.
        """
        subject = Subject(self._network, {**self._before, **{name: self._after[name] for name in done}})
        rerouting = frozenset(self._rerouting.intersection(done))
        if self._last is not None and self._last[0] == rerouting:
            subject.share_routes(self._last[1])
        self._last = rerouting, subject
        return subject

    def _reached(self, subject: Subject) -> _Reached | str:
        """Return the destinations that the switches of the network ``subject`` reach, or the reason why its routes are unknown."""
        prefixes = [
            destination.after if owner and subject.configs[owner] is self._after[owner] else destination.before
            for owner, destination in zip(self._owners, self._destinations, strict=True)
        ]
        try:
            return _Reached(subject.routes, prefixes)
        except UnsettledError as error:
            return str(error)

    def _findings(self, subject: Subject) -> frozenset[str]:
        """Return the findings about the network ``subject`` as texts, except findings that cannot affect traffic.

        ``mtu-mismatch`` is left out if all packets of servers fit, and ``qos-mismatch`` if their packets stay protected.
        """
        findings = [
            finding
            for finding in run_checks(subject, slow=False)
            if finding.severity != "info" and finding.id not in _CUTS
        ]
        holds = {"mtu-mismatch": self._fits, "qos-mismatch": self._protected}
        harmless = {rule for rule in {each.id for each in findings} & holds.keys() if holds[rule](subject.configs)}
        return frozenset(
            f"{finding.id} {finding.where}: {finding.what}" for finding in findings if finding.id not in harmless
        )

    def _fits(self, configs: Mapping[str, DeviceConfig]) -> bool:
        """Return True if the largest packets of servers fit through each fabric link in these configurations.

        With IS-IS, the result is False, because IS-IS compares the MTUs of both ends.
        """
        largest: dict[str, int] = {}
        for name, config in configs.items():
            fabric = self._network.switch(name).fabric
            largest[fabric] = max([largest.get(fabric, 0), *(gateway.mtu for gateway in config.gateways)])
        return not any(
            config.isis is not None
            or any(
                port.mtu < largest[self._network.switch(name).fabric] + ETHERNET_HEADER
                for port in config.fabric_interfaces()
            )
            for name, config in configs.items()
        )

    def _protected(self, configs: Mapping[str, DeviceConfig]) -> bool:
        """Return True if PFC in ``configs`` protects at least all packets that it protects before the plan, or all that it protects after it.

        A packet is known by its DSCP and priority. It counts as protected only if all switches of a fabric protect it.
        """
        now = _lossless(self._network, configs)
        return any(
            all(packets <= now.get(fabric, frozenset()) for fabric, packets in _lossless(self._network, side).items())
            for side in (self._before, self._after)
        )


def _lossless(network: Network, configs: Mapping[str, DeviceConfig]) -> dict[str, frozenset[tuple[int, int | None]]]:
    """Return, by fabric, the (DSCP, priority) pairs that all its switches treat as lossless. Switches without lossless classes do not count."""
    everywhere: dict[str, frozenset[tuple[int, int | None]]] = {}
    for name, config in configs.items():
        classes = config.qos.classes.values() if config.qos else ()
        here = frozenset((dscp, each.pfc_priority) for each in classes if each.lossless for dscp in each.dscp)
        if here:
            fabric = network.switch(name).fabric
            everywhere[fabric] = everywhere.get(fabric, here) & here
    return everywhere


def _halves(devices: Sequence[str], *, everyone: bool) -> Iterator[frozenset[str]]:
    """Yield subsets of ``devices``. Each stands for a state in which only the devices of the subset have changed.

    With ``everyone``, every two devices A and B are separated: one subset contains A and not B, and one contains B and not A.
    Otherwise there are only two subsets, each with about half of the devices.
    """
    digits = (len(devices) - 1).bit_length() if devices else 0
    for digit in range(digits if everyone else min(digits, 1)):
        for side in (0, 1):
            yield frozenset(name for number, name in enumerate(devices) if number >> digit & 1 == side)


def _risks(wave: int, states: Sequence[_State]) -> Iterator[tuple[str, int]]:
    """Yield (finding, number) for findings after wave ``wave`` that exist neither before nor after the whole plan.

    ``number`` is the number of the wave after which the finding is gone.
    """
    for text in sorted(states[wave].wrong - states[0].wrong - states[-1].wrong):
        yield text, next(later for later in range(wave + 1, len(states)) if text not in states[later].wrong)
