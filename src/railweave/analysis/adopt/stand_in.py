"""Stand-ins: if the catalog lacks a switch's model, a catalog model and its ports replace the real switch and its ports.

Public labs run virtual switches (``Ethernet1``, ``eth1``) and models of other vendors. With a stand-in, such a network
can be designed. A note of the import gives the port names of the design. Statements that differ only in port names
count as equivalent.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.adopt.equipment import USUAL_GBPS, has_ports, models, whole_ports
from railweave.analysis.adopt.wiring import End, Wiring
from railweave.counting import counted
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog import catalog
from railweave.model.config.number_ranges import natural
from railweave.model.device.model import DeviceConfig, Interface

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.network.devices import RoleName

_NOT_A_PORT = re.compile(
    r"(ae|bond|port-?channel|vxlan|vtep|lo|loopback|vlan|irb|br|dummy)\d*.*|.*\.\d+", re.IGNORECASE
)
"""A pattern for names of interfaces that are not front-panel ports: aggregates, loopbacks, bridges, subinterfaces."""


@dataclass(frozen=True)
class StandInHardware:
    """The model of each switch, with configurations and wiring that use the model's port names.

    ``names`` maps, for each switch, port names in the saved configuration to port names of the model, if they differ.
    """

    models: dict[str, str]
    configs: dict[str, DeviceConfig]
    wiring: Wiring
    names: dict[str, dict[str, str]]
    notes: tuple[str, ...]


def in_use(configs: Mapping[str, DeviceConfig], wiring: Wiring) -> tuple[dict[str, DeviceConfig], tuple[str, ...]]:
    """Return (the configurations without unconnected ports, notes on removed ports that had any settings)."""
    joined = {end for pair in wiring.links for end in pair} | set(wiring.servers)
    trimmed: dict[str, DeviceConfig] = {}
    notes: list[str] = []
    for name, config in configs.items():
        kept = [
            interface
            for interface in config.interfaces
            if interface.kind == "external"
            or (End(name, interface.name) in joined and not _NOT_A_PORT.fullmatch(interface.name))
        ]
        left = [
            interface
            for interface in config.interfaces
            if interface not in kept and (interface.description or interface.addresses or interface.vlan)
        ]
        if left:
            shown = ", ".join(interface.name for interface in left[:4])
            notes.append(
                f"{name}: {counted(len(left), 'port')} left out, without a known neighbor or in an aggregate ({shown}{', …' if len(left) > 4 else ''})"
            )
        trimmed[name] = replace(config, interfaces=tuple(kept))
    return trimmed, tuple(notes)


def hardware(
    configs: Mapping[str, DeviceConfig],
    wiring: Wiring,
    role: Mapping[str, RoleName],
    fabrics: Sequence[Sequence[str]],
    given: Mapping[str, str],
) -> StandInHardware:
    """Return a catalog model for each switch: the ``given`` model of its role, a model with its ports, or a stand-in.

    A stand-in is a model that has enough ports, but with other names than the switch's ports. ``role`` holds the role of each switch,
    and ``fabrics`` the switches of each fabric. Raises ``InputError`` if a switch has more ports than any catalog model that runs its
    system.
    """
    used, notes = in_use(configs, wiring)
    seen_ports = _as_far_ends_say(used, wiring)
    model: dict[str, str] = {}
    names: dict[str, dict[str, str]] = {}
    messages = list(notes)
    for members in fabrics:
        known: dict[str, str] = {}
        for role_name in dict.fromkeys(role[name] for name in members):
            of_role = {name: seen_ports[name] for name in members if role[name] == role_name}
            known |= dict.fromkeys(of_role, given[role_name]) if role_name in given else _likeliest(of_role)
        lacking = [name for name in members if name not in known or not has_ports(known[name], seen_ports[name])]
        if not lacking:
            model |= known
            continue
        speeds = Counter(catalog().switches[model_name].ports[0].speed_gbps for model_name in known.values())
        speed = speeds.most_common(1)[0][0] if speeds else USUAL_GBPS
        for role_name in dict.fromkeys(role[name] for name in members):
            of_role = [name for name in members if role[name] == role_name]
            most = max(len(used[name].interfaces) for name in of_role)
            for name in of_role:
                model[name] = known.get(name) or _stand_in(used[name], most, speed)
                names[name] = _named(used[name], model[name])
            for kind in dict.fromkeys(model[name] for name in of_role):
                messages.extend(_said([name for name in of_role if model[name] == kind], kind, names))
    renamed = {name: _renamed(used[name], port_names) for name, port_names in names.items()}
    return StandInHardware(model, used | renamed, _rewired(wiring, names), names, tuple(messages))


def _as_far_ends_say(configs: Mapping[str, DeviceConfig], wiring: Wiring) -> dict[str, DeviceConfig]:
    """Return the configurations with missing port speeds filled in from the far end of each link."""
    speeds = {
        End(name, interface.name): interface.speed_gbps
        for name, config in configs.items()
        for interface in config.interfaces
    }
    far = wiring.far()

    def speed(end: End) -> int:
        return speeds[end] or (speeds.get(far[end], 0) if end in far else 0)

    return {
        name: replace(
            config,
            interfaces=tuple(
                replace(interface, speed_gbps=speed(End(name, interface.name))) for interface in config.interfaces
            ),
        )
        for name, config in configs.items()
    }


def _likeliest(configs: Mapping[str, DeviceConfig]) -> dict[str, str]:
    """Return the most likely model of each switch of one role, by switch name, as ``equipment.models`` chooses it.

    If the switches' operating system never prints port speeds, models whose links and NICs have ``USUAL_GBPS`` are preferred.
    """
    chosen = models(configs)
    if any("interfaces.speed_gbps" not in catalog().systems[config.nos].reads.unsaid for config in configs.values()):
        return chosen
    for of_links in (0, USUAL_GBPS):
        guessed = {
            name: replace(
                config,
                interfaces=(
                    *(replace(port, speed_gbps=of_links) for port in config.interfaces),
                    *(_nic_port(gateway.port) for gateway in config.gateways if gateway.port),
                ),
            )
            for name, config in configs.items()
        }
        chosen |= models(guessed)
    return chosen


def _nic_port(name: str) -> Interface:
    return Interface(
        name=name,
        link="",
        kind="server",
        description="",
        peer="",
        peer_port="",
        speed_gbps=USUAL_GBPS,
        lanes=0,
        mtu=0,
        length_m=0,
    )


def _stand_in(config: DeviceConfig, ports: int, speed: int) -> str:
    """Return the smallest model that runs the switch's system and has at least ``ports`` ports, preferably of ``speed`` Gb/s.

    Raises ``InputError`` if the catalog has no such model.
    """
    enough = [
        (group.speed_gbps != speed, group.count, name)
        for name, switch_model in catalog().switches.items()
        if config.nos in switch_model.systems or name in catalog().systems[config.nos].runs_on
        for group in switch_model.ports[:1]
        if group.count >= ports
    ]
    if not enough:
        message = f"no switch model of the catalog that runs {config.nos} has {ports} ports"
        raise InputError(
            [
                Problem(
                    NetworkPart(config.name),
                    message,
                    "describe a model with enough ports in a hardware file (docs/hardware.md)",
                )
            ]
        )
    return min(enough)[2]


def _named(config: DeviceConfig, model: str) -> dict[str, str]:
    """Assign a port of the model to each port in use, and return a map of configured port names to model port names.

    A port gets the model's port with the same name, or else with the same number, or else the first free port. Raises ``InputError``
    if the model has too few ports.
    """
    there = whole_ports(config.nos, model)
    free = dict(sorted(there.items(), key=lambda item: item[1]))
    numbers = {number: name for name, number in there.items()}
    wanted = sorted((interface.name for interface in config.interfaces), key=natural)
    renamed = {name: name for name in wanted if free.pop(name, None) is not None}
    for name in wanted:
        if name in renamed:
            continue
        digits = re.findall(r"\d+", name)
        near = numbers.get(int(digits[-1]), "") if digits else ""
        taken = near if near in free else next(iter(free), "")
        if not taken:
            message = f"{model} has {len(there)} ports, and the switch uses {len(wanted)}"
            raise InputError(
                [Problem(NetworkPart(config.name), message, "choose a larger model with --device ROLE=MODEL")]
            )
        del free[taken]
        renamed[name] = taken
    return renamed


def _said(switches: Sequence[str], model: str, names: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    other = [(old, new) for name in switches for old, new in names[name].items() if old != new]
    shown = ", ".join(f"{old} is {new}" for old, new in dict.fromkeys(other[:2]))
    renaming = f"; its ports have different names ({shown}, …)" if other else ""
    speed = catalog().switches[model].ports[0].speed_gbps
    yield (
        f"{', '.join(switches[:4])}{' and others' if len(switches) > 4 else ''}: no model of the catalog has these ports at their speed; {model} is used instead, "
        f"with unsplit ports of {speed}G{renaming}"
    )


def _rewired(wiring: Wiring, names: Mapping[str, Mapping[str, str]]) -> Wiring:
    def end(old: End) -> End:
        return End(old.device, names.get(old.device, {}).get(old.port, old.port))

    links = tuple(
        (end(near), end(other))
        for near, other in wiring.links
        if not any(_NOT_A_PORT.fullmatch(each.port) for each in (near, other))
    )
    servers = {
        end(port_end): nic for port_end, nic in wiring.servers.items() if not _NOT_A_PORT.fullmatch(port_end.port)
    }
    return Wiring(links, servers, wiring.notes)


def _renamed(config: DeviceConfig, names: Mapping[str, str]) -> DeviceConfig:
    """Return a configuration with ports renamed by ``names``. All ports become unsplit and get the speed of the model."""
    made = cast("DeviceConfig", _other(config, names))
    return replace(
        made, splits=(), interfaces=tuple(replace(interface, speed_gbps=0, lanes=0) for interface in made.interfaces)
    )


def _other(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - the fields of a configuration
    if isinstance(value, str):
        head, dot, unit = value.rpartition(".")
        if value in names:
            return type(value)(names[value])
        return type(value)(f"{names[head]}.{unit}") if dot and head in names else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return replace(value, **{key: _other(child, names) for key, child in fields.items()})
    if isinstance(value, tuple):
        return tuple(_other(element, names) for element in cast("tuple[Any, ...]", value))
    if isinstance(value, dict):
        return {key: _other(child, names) for key, child in cast("dict[Any, Any]", value).items()}
    return value
