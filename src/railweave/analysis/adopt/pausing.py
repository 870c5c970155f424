"""Which ports pause: ``pfc.ports`` of a role, and single ports that have other quality of service than it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.analysis.adopt.wiring import End
from railweave.errors import RailweaveError
from railweave.model.catalog import catalog
from railweave.model.device.classes import TrafficClass
from railweave.model.device.own import own_type
from railweave.model.device.qos import marking_of, on_queues
from railweave.model.intent.qos import Pfc, Qos

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.wiring import Wiring
    from railweave.model.device.model import DeviceConfig, Interface

Kind = Literal["server", "fabric"]


def kinds_of_ports(wiring: Wiring, role: Mapping[str, str]) -> dict[End, Kind]:
    """Ports to servers and ports between switches of different roles; what joins two of one role joins sites, and has its own PFC."""
    kinds: dict[End, Kind] = dict.fromkeys(wiring.servers, "server")
    for near, far in wiring.far().items():
        if role.get(near.device) != role.get(far.device):
            kinds[near] = "fabric"
    return kinds


def ports_that_pause(configs: Iterable[DeviceConfig], kinds: Mapping[End, Kind]) -> dict[Kind, bool]:
    """Whether most ports to servers, and most between switches, pause: of switches of one role that have a lossless class."""
    count: dict[Kind, Counter[bool]] = {"server": Counter(), "fabric": Counter()}
    for config in configs:
        for port in _bound(config) if _is_lossless(config) else ():
            if (kind := kinds.get(End(config.name, port.name))) is not None:
                count[kind][port.pauses] += 1
    return {kind: seen[True] >= seen[False] for kind, seen in count.items() if seen}


def pfc_ports(pauses: Mapping[Kind, bool], usual: str) -> str:
    """The value of ``pfc.ports`` that says so: ``usual``, that of leaves, where it does; where none does, ``all``."""
    for value in (usual, "all", "server", "fabric"):
        if all(Pfc(ports=cast("Any", value)).pauses(kind) == wanted for kind, wanted in pauses.items()):
            return value
    return "all"


def only_lossy(whole: Mapping[str, Any], own: Mapping[str, Any], config: DeviceConfig) -> bool:
    """Whether a switch without lossless classes has what the fabric's ``qos`` makes of it, because none of its ports pauses."""
    found = config.qos
    if found is None or _is_lossless(config) or {**own, "classes": 0, "pfc": 0} != {**whole, "classes": 0, "pfc": 0}:
        return False
    try:
        wanted = Qos.model_validate(dict(whole))
    except (ValueError, RailweaveError):
        return False
    system = catalog().systems[config.nos]
    classes = {
        name: replace(own_type(TrafficClass, one), lossless=False, pfc_priority=None)
        for name, one in wanted.classes.items()
    }
    placed = on_queues(classes, system)
    marked = {name: marking_of(one.ecn, system.marking) for name, one in classes.items() if one.ecn and system.marking}
    here = [(one, found.marking.get(name)) for name, one in found.classes.items()]
    there = [(one, marked.get(name)) for name, one in placed.items()]
    return Counter(map(_form, here)) == Counter(map(_form, there))


def _form(pair: tuple[TrafficClass, object]) -> object:
    """A class without its name; thresholds of marking count once."""
    one, marking = pair
    return repr(
        (replace(one, dscp=tuple(sorted(one.dscp)), ecn=None), marking or (one.ecn and replace(one.ecn, **_BYTES)))
    )


_BYTES: dict[str, None] = dict.fromkeys(("min_bytes", "max_bytes"))


def exceptions(
    draft: Draft,
    role: Mapping[str, Mapping[str, Any]],
    configs: Mapping[str, DeviceConfig],
    kinds: Mapping[End, Kind],
    far: Mapping[End, End],
) -> None:
    """Overrides of ports that have other quality of service than the rest. ``role``: ``qos`` of each switch's role; ``far``: the far end of ports between switches."""
    found: dict[End, dict[str, bool]] = {}
    for name in draft.switches:
        config = configs[name]
        if config.qos is None or name not in role:
            continue
        pfc = Pfc(ports=role[name].get("pfc", {}).get("ports", "all"))
        bound = set(config.qos.ports)
        for port in config.interfaces:
            kind = kinds.get(End(name, port.name))
            if kind is None:
                continue
            if port.name not in bound:
                found[End(name, port.name)] = {"qos": False}
            elif _is_lossless(config) and port.pauses != pfc.pauses(kind):
                found[End(name, port.name)] = {"pfc": port.pauses}
    for end, own in found.items():
        if end in far and far[end] not in found:
            draft.note(
                f"{end.device} {end.port}: it has other quality of service than its far end, {far[end].device} {far[end].port}; "
                "in a design both ends have the same",
                "qos",
            )
            continue
        draft.override(end.device).setdefault("ports", {})[end.port] = own


def _bound(config: DeviceConfig) -> Iterator[Interface]:
    ports = set(config.qos.ports) if config.qos else set[str]()
    return (one for one in config.interfaces if one.name in ports)


def _is_lossless(config: DeviceConfig) -> bool:
    return config.qos is not None and any(one.lossless for one in config.qos.classes.values())
