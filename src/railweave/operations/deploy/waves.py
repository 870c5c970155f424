"""The order in which devices are changed, and the share of the network that each wave puts at risk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from railweave.analysis.routing.table import UNREACHABLE
from railweave.counting import counted, several
from railweave.errors import UnsettledError
from railweave.json_values import to_json
from railweave.operations.deploy.attached import TIERS, attached
from railweave.operations.deploy.changes import DeviceChange, loses_only
from railweave.operations.deploy.moments import WaveEffect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.model.network.devices import Switch
    from railweave.model.network.model import Network
    from railweave.operations.deploy.attached import Attached

UNUSED = "what it disrupts carries nothing, neither now nor by the design"
"""The risk line of a wave that disrupts only unused ports: no running configuration uses them, and no designed cable is on them."""
UNDISTURBED = "no effect on traffic, computed for {}"
"""The line about risk of a wave whose effect was computed and is empty. The placeholder is the number of computed states of the network."""
NOT_COMPUTED = "effect on traffic not computed: {}"
"""The line about the risk of a wave whose effect was not computed. The placeholder is the reason."""
SERVERS_ONLY = "only servers change, whose traffic no route of a switch shows"


@dataclass(frozen=True)
class Wave:
    """A wave of a plan: the devices that are changed together.

    - ``why``: the reason why the devices are in the same wave.
    - ``risks``: lines on the capacity and reachability that are lost while the devices reset.
    - ``refused``: the reasons why the wave puts too much of the network at risk.
    - ``servers``: the servers that are in the wave, lose NICs during the wave, or move to a different tenant. No job should run on them.
    - ``effect``: the computed effect on traffic, which ``risks`` states as sentences.
    """

    devices: tuple[str, ...]
    why: str
    risks: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    effect: WaveEffect = field(default_factory=WaveEffect)

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Wave:
        """Return the wave from ``fields``, its JSON object in a plan file."""
        return cls(
            tuple(fields["devices"]),
            fields["why"],
            tuple(fields["risks"]),
            tuple(fields["refused"]),
            tuple(fields["servers"]),
            WaveEffect.of_json(fields["effect"]) if "effect" in fields else WaveEffect(),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the wave as a JSON object. If its effect was not computed, the key ``effect`` is absent, as in older plan files."""
        fields: dict[str, Any] = to_json(self.__dict__)
        if not self.effect.states:
            del fields["effect"]
        return fields

    def with_effect(self, effect: WaveEffect) -> Wave:
        """Return the wave with its computed effect. The sentences about the effect are added to ``risks``.

        Call this only once for a wave, because each call adds its sentences.
        """
        lines = effect.lines()
        if not lines and not self.risks and effect.states:
            lines = [UNDISTURBED.format(counted(effect.states, "state") + " of the network")]
        return replace(self, risks=(*self.risks, *lines), effect=effect)


@dataclass(frozen=True)
class PlanLimits:
    """The limits of a plan.

    - ``most``: the largest share of the network (0 to 1) that a wave may put at risk. ``canary``: True to begin with a
      single device.
    - ``allow_cut``: the tenants, VNIs (``VNI 100``) and fabrics that may lose connections between waves; None means
      all.
    - ``step``: the number of the intermediate step to plan (``moments.stages``), counted from 1; 0 means the design
      itself.
    - ``acknowledged``: the acknowledged devices. A newly booted device that is not among them is refused. None means
      that no device is refused for this reason.
    - ``one_wave``: the reason to change all devices in a single wave, whatever the risk; empty means several waves.
    """

    most: float = 0.5
    canary: bool = True
    allow_cut: frozenset[str] | None = None
    step: int = 0
    one_wave: str = ""
    acknowledged: frozenset[str] | None = None


@dataclass(frozen=True)
class Risk:
    """The loss of capacity and reachability while some devices are out of service.

    - ``uplinks``: the smallest share of its uplink capacity that a leaf keeps, 0 to 1; ``worst``: this leaf.
    - ``cut``: the number of NICs that are cut off from their leaf; ``nics``: their share (0 to 1) of the NICs that have a
      port now.
    - ``outside``: the devices outside the fabric whose ports are out.
    - ``lost``: the number of lost routes, counted by switch and prefix.
    """

    uplinks: float
    worst: str
    nics: float
    cut: int
    lost: int
    outside: tuple[str, ...] = ()

    @property
    def unavailable(self) -> float:
        """The share of the network at risk: the worst leaf's lost uplink capacity or the share of NICs cut off, whichever is larger."""
        return max(1 - self.uplinks, self.nics)

    def lines(self) -> list[str]:
        """Return the loss as lines for the operator."""
        lines: list[str] = []
        if self.uplinks < 1:
            lines.append(f"{self.worst} keeps {self.uplinks:.0%} of its uplink capacity")
        if self.cut:
            lines.append(f"{counted(self.cut, 'NIC')} ({self.nics:.0%} of all) cannot be reached")
        if self.outside:
            lines.append(f"devices outside the fabric cannot be reached: {', '.join(self.outside)}")
        if self.lost:
            lines.append(f"{counted(self.lost, 'route')} of other leaves are gone meanwhile")
        return lines


def waves(
    network: Network,
    control: ControlPlane,
    changes: Mapping[str, DeviceChange],
    *,
    most: float,
    canary: bool = True,
    together: Sequence[frozenset[str]] = (),
    at_once: int | None = None,
    carrying: Attached | None = None,
) -> tuple[Wave, ...]:
    """Order changed devices into waves: a single device first, then devices of one plane, path color or rail.

    No wave puts more than ``most`` (0 to 1) of the network at risk. A device counts as out if its change disrupts
    anything; if the change disrupts only some ports, only those ports count. A device that exceeds ``most`` by itself
    gets a separate wave, which is refused.

    Servers that only lose routes and rules come before the switches, which may then remove those paths. All other
    servers come after the switches, when their new paths exist.

    - ``control``: the model of the routing protocols before the plan.
    - ``canary``: True to begin with a wave of a single device.
    - ``together``: sets of devices that must share a wave.
    - ``at_once``: the largest number of devices in a wave; None means no limit.
    - ``carrying``: the far ends of the ports that carry traffic before the plan; None: those of the design.
    """
    service = _in_service(network, attached(network, control.configs) if carrying is None else carrying)
    bound = _joined(together)
    disrupted = {name: _out(device_change) for name, device_change in changes.items() if device_change.disrupts}
    all_waves: list[Wave] = []
    taken: set[str] = set()
    for why, names in _groups(network, changes):
        left: list[tuple[str, ...]] = []
        for name in names:
            if name not in taken:
                left.append(tuple(change for change in changes if change in bound.get(name, {name})))
                taken.update(left[-1])
        if canary and not all_waves and len(changes) > 1 and left:
            first = left.pop(0)
            alone = "one device alone first" if len(first) == 1 else "one server alone first, on all its leaves"
            all_waves.append(_wave(control, service, first, alone, disrupted, most))
        wave: list[str] = []
        for some in left:
            full = at_once is not None and len(wave) + len(some) > at_once
            if wave and (full or _risk(control, service, _of(disrupted, (*wave, *some))).unavailable > most):
                all_waves.append(_wave(control, service, tuple(wave), why, disrupted, most))
                wave = []
            wave += some
        if wave:
            all_waves.append(_wave(control, service, tuple(wave), why, disrupted, most))
    return tuple(all_waves)


def _out(change: DeviceChange) -> frozenset[str]:
    """Return the ports of a device that are out of service during its change; empty if the whole device is out of service."""
    every = all(disruption.ports for disruption in change.disrupts)
    return frozenset(port for disruption in change.disrupts for port in disruption.ports) if every else frozenset()


def _of(disrupted: Mapping[str, frozenset[str]], names: Collection[str]) -> dict[str, frozenset[str]]:
    return {name: ports for name, ports in disrupted.items() if name in names}


def _is_out(device: str, port: str, out: Mapping[str, frozenset[str]]) -> bool:
    return device in out and (not out[device] or port in out[device])


def _joined(sets: Sequence[frozenset[str]]) -> dict[str, set[str]]:
    """Return, for each device, all devices that share its wave. Sets of ``sets`` that have a device in common are merged."""
    companions: dict[str, set[str]] = {}
    for devices in sets:
        whole = set(devices).union(*(companions.get(name, ()) for name in devices))
        companions |= dict.fromkeys(whole, whole)
    return companions


def _groups(network: Network, changes: Mapping[str, DeviceChange]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[tuple[int, str], list[str]] = {}
    for switch in network.switches:
        if switch.name in changes:
            groups.setdefault((TIERS.index(switch.role), _common(network, switch)), []).append(switch.name)
    for server in network.servers:
        if server.name in changes:
            where = (
                (-1, "servers, before their paths go")
                if loses_only(changes[server.name])
                else (len(TIERS), "servers, now that their paths are there")
            )
            groups.setdefault(where, []).append(server.name)
    for (_, why), names in sorted(groups.items(), key=lambda group: group[0][0]):
        yield why, names


def _common(network: Network, switch: Switch) -> str:
    """Return the group of switches that may be changed together to which a switch belongs, as text, such as ``backend, leaves of rail 1``.

    A group is a rail, stripe, plane, path color or pod.
    """
    where = f"{switch.fabric}, {several(switch.role)}"
    if switch.role == "leaf":
        if len(switch.rails) == 1:
            return f"{where} of rail {switch.rails[0]}"
        return f"{where}{f' of {switch.stripe}' if switch.stripe else ''}"
    if switch.plane:
        return f"{where} of plane {switch.plane}"
    colors = {cable.color for cable in network.cables_of(switch.name) if cable.kind == "fabric"} - {None}
    if len(colors) == 1:
        return f"{where} of path color {network.fabric(switch.fabric).color_name(colors.pop())}"
    return f"{where}{f' of {switch.pod}' if switch.pod else ''}"


def _wave(
    control: ControlPlane,
    service: _Service,
    names: tuple[str, ...],
    why: str,
    disrupted: Mapping[str, frozenset[str]],
    most: float,
) -> Wave:
    out = _of(disrupted, names)
    risk = _risk(control, service, out, routes=True)
    refused = (
        (f"{risk.unavailable:.0%} of it would be out at once, and --max-unavailable is {most:.0%}",)
        if risk.unavailable > most
        else ()
    )
    drained = {
        server
        for (server, _), places in service.nics.items()
        if server and (server in names or any(_is_out(*place, out) for place in places))
    }
    risks = (*risk.lines(),) or (UNUSED,) if out else ()
    return Wave(names, why, risks, refused, tuple(server for server in service.servers if server in drained))


class _Uplink(NamedTuple):
    """A link of a switch to a higher tier, with its ends (device, port). The far end is empty if it is unknown."""

    device: str
    speed_gbps: int
    ends: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Service:
    """The links and ports that are in service before a plan.

    - ``uplinks``: the links between switches.
    - ``nics``: by (server, NIC), the switch ports to which the NIC is now connected; no ports for a NIC of the design that is not
      connected yet. The server is empty if neither the configuration nor the design names it.
    - ``outside``: the ports to devices outside the fabric, with these devices.
    - ``servers``: the names of all servers in order.
    """

    uplinks: tuple[_Uplink, ...]
    nics: Mapping[tuple[str, str], tuple[tuple[str, str], ...]]
    outside: Mapping[tuple[str, str], str]
    servers: tuple[str, ...]


def _in_service(network: Network, now: Attached) -> _Service:
    """Return the links and ports in service. ``now`` has the far ends of the ports that carry traffic before the plan."""
    uplinks: list[_Uplink] = []
    nics: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    absent: set[tuple[str, str]] = set()
    lower: dict[tuple[str, str], int] = {}
    for cable in network.cables:
        ends = tuple((end.device, end.port) for end in (cable.a, cable.b))
        if cable.name in network.absent:
            absent.update(ends)
        elif cable.kind == "server":
            nics.setdefault(ends[0], {})
        else:
            lower[ends[0]] = cable.speed_gbps
    tiers = {switch.name: TIERS.index(switch.role) for switch in network.switches}
    for place, far in now.items():
        end = far.device, far.port
        if place in absent:
            continue
        if far.kind == "server":
            nics.setdefault(end if far.device else ("", " ".join(place)), {})[place] = None
        elif far.kind == "fabric" and (tiers[place[0]] > tiers.get(far.device, -1) or place in lower):
            uplinks.append(_Uplink(place[0], far.speed_gbps or lower.get(place, 0), (place, end)))
    outside = {
        place: f"{far.device or 'an unnamed device'} on {' '.join(place)}"
        for place, far in now.items()
        if far.kind == "external" and place not in absent
    }
    servers = dict.fromkeys([*(server.name for server in network.servers), *(name for name, _ in nics if name)])
    return _Service(tuple(uplinks), {nic: tuple(places) for nic, places in nics.items()}, outside, tuple(servers))


def _risk(control: ControlPlane, service: _Service, out: Mapping[str, frozenset[str]], *, routes: bool = False) -> Risk:
    """Return the loss of capacity and reachability while devices, or some of their ports, are out of service.

    ``control`` is the model of the routing protocols, and ``service`` has the links and ports that are in service. ``out`` has, for
    each device, the ports that are out of service; empty for the whole device. With ``routes``, lost routes are counted too, which
    is slower.
    """
    every: dict[str, float] = {}
    alive: dict[str, float] = {}
    for device, speed, ends in service.uplinks:
        if out.get(device) != frozenset():
            every[device] = every.get(device, 0) + speed
            alive[device] = alive.get(device, 0) + (not any(_is_out(*end, out) for end in ends)) * speed
    nics = sum(map(bool, service.nics.values()))
    cut = sum(
        bool(places) and (_is_out(*nic, out) or any(_is_out(*place, out) for place in places))
        for nic, places in service.nics.items()
    )
    outside = tuple(name for place, name in service.outside.items() if _is_out(*place, out))
    worst = min(every, key=lambda name: alive[name] / every[name], default="")
    gone = [name for name, ports in out.items() if not ports and name in control.configs]
    lost = _lost_routes(control, gone) if routes and gone else 0
    return Risk(alive[worst] / every[worst] if worst else 1.0, worst, cut / nics if nics else 0.0, cut, lost, outside)


def _lost_routes(control: ControlPlane, gone: Sequence[str]) -> int:
    """Return the number of routes that the remaining switches lose if the switches ``gone`` are out of service.

    ``control`` is the model of the routing protocols. Return 0 if the routes do not settle. The effect of the wave then has the reason.
    """
    try:
        before, after = control.routes(), control.routes(gone)
    except UnsettledError:
        return 0
    return sum(
        int(((fib.group == UNREACHABLE) & (before.fibs[device].group != UNREACHABLE)).sum())
        for device, fib in after.fibs.items()
    )
