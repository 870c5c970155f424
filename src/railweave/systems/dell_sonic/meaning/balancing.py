"""Conversion between a device's load balancing (adaptive routing and the static hash) and its statements (``statements.qos``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from railweave.model.device.balancing import BalancingConfig, Dlb, EgressQuantization, Hash
from railweave.systems.dell_sonic.statements.qos import (
    BALANCING,
    ArsObject,
    ArsPortProfile,
    ArsProfile,
    Balancing,
    Hashed,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.dell_sonic.statements.qos import Mode

T = TypeVar("T")

NAME = "ROCE"
"""The name of all objects of QoS and load balancing, as in the Thor2 guide."""


def adaptive(config: DeviceConfig) -> bool:
    """Return True if the switch distributes traffic in next-hop groups by load (adaptive routing)."""
    return config.balancing.group_mode in {"dlb-flowlet", "dlb-per-packet"}


def balancing_of(config: DeviceConfig) -> Balancing:
    """Return the settings of adaptive routing and of the static hash, as the values that the configuration lines about them print."""
    intent, knobs = config.balancing, config.balancing.dlb
    static = Balancing(seed=intent.hash.seed, hashed=tuple(_hashed(intent)))
    if not adaptive(config):
        return static
    flowlets = ArsObject("dlb-flowlet", knobs.inactivity_interval, knobs.flowset_table_size)
    interval = max(1, round(1e6 / knobs.sampling_rate)) if knobs.sampling_rate else None
    return replace(
        static,
        profiles={NAME: ArsProfile(interval)},
        port_profiles={NAME: ArsPortProfile(True, knobs.egress_quantization.rate_weightage)},
        objects={NAME: flowlets if intent.group_mode == "dlb-flowlet" else ArsObject("dlb-per-packet")},
        bound=NAME,
    )


def _hashed(intent: BalancingConfig) -> Iterator[Hashed]:
    for family in intent.ether_types:
        protocol = "ip-proto" if family == "ipv4" else "next-hdr"
        words = _LAYER3 if intent.hash.layer3 else ()
        words += (protocol, *_LAYER4) if intent.hash.layer4 else ()
        yield from (Hashed(ipv4=word) if family == "ipv4" else Hashed(ipv6=word) for word in words)


_LAYER3, _LAYER4 = ("src-ip", "dst-ip"), ("l4-src-port", "l4-dst-port")


def balancing_config_of(balancing: Balancing) -> BalancingConfig:
    """Return the load balancing that the values in configuration lines describe: adaptive routing, and the fields of the static hash.

    If several objects have different values, the last value applies. A profile that is bound but not defined has no effect.
    """
    objects, usual = balancing.objects.values(), Dlb()
    profile = balancing.profiles.get(balancing.bound or "")
    mode: Mode | Literal["ecmp"] = "ecmp" if profile is None else _last((ars.mode for ars in objects), "ecmp")
    flowlets = mode == "dlb-flowlet"
    interval = profile.interval if profile else None
    past_weight = _last(
        (port.past_weight for port in balancing.port_profiles.values()), usual.egress_quantization.rate_weightage
    )
    fields: dict[Family, set[str]] = {
        "ipv4": {hashed.ipv4 for hashed in balancing.hashed if hashed.ipv4 is not None},
        "ipv6": {hashed.ipv6 for hashed in balancing.hashed if hashed.ipv6 is not None},
    }
    families: tuple[Family, ...] = tuple(family for family, words in fields.items() if words)
    return BalancingConfig(
        group_mode=mode,
        ether_types=families,
        dlb=Dlb(
            inactivity_interval=_last((ars.idle for ars in objects), 0 if flowlets else usual.inactivity_interval),
            flowset_table_size=_last((ars.flows for ars in objects), 0 if flowlets else usual.flowset_table_size),
            sampling_rate=round(1e6 / interval) if interval else usual.sampling_rate,
            egress_quantization=EgressQuantization(rate_weightage=past_weight),
        ),
        hash=Hash(
            layer3=bool(families) and all(fields[family] >= {*_LAYER3} for family in families),
            layer4=bool(families) and all(_by_ports(fields[family]) for family in families),
            seed=balancing.seed,
        ),
    )


def in_use(balancing: Balancing, objects: Collection[str | None], profiles: Collection[str]) -> Balancing:
    """Return the load balancing with only the ARS (adaptive routing) objects in ``objects`` and the port profiles in ``profiles``.

    The caller passes the names that a route-map or a port uses. If none of the objects is in use, all objects are kept. Likewise, if none
    of the port profiles is in use, all of them are kept.
    """
    named = {name: ars for name, ars in balancing.objects.items() if name in objects}
    at_ports = {name: profile for name, profile in balancing.port_profiles.items() if name in profiles}
    return replace(balancing, objects=named or balancing.objects, port_profiles=at_ports or balancing.port_profiles)


def unrepresented_ars(balancing: Balancing, sections: Iterable[Section]) -> Iterator[Section]:
    """Yield the lines of ARS (adaptive routing) objects and port profiles that ``DeviceConfig`` cannot represent.

    ``DeviceConfig`` has one value for all objects, the last one in the text. The yielded lines set any other value. ``balancing`` has the
    values read, and ``sections`` the configuration text.
    """
    objects, profiles = balancing.objects.values(), balancing.port_profiles.values()
    counted = ArsObject(*(_last((getattr(ars, name) for ars in objects), None) for name in ("mode", "idle", "flows")))
    past_weight = _last((profile.past_weight for profile in profiles), None)
    usual = Balancing(objects={NAME: counted}, port_profiles={NAME: ArsPortProfile(True, past_weight)})
    held = {line.line for section in BALANCING.printed(usual) for line in section.body or ()}
    for section in sections:
        if section.line.startswith(("ars object ", "ars port-profile ")):
            yield from (line for line in section.body or () if line.line not in held)


def _last(values: Iterable[T | None], usual: T) -> T:
    """Return the last value that is not None, or ``usual`` if all are None."""
    given = [value for value in values if value is not None]
    return given[-1] if given else usual


def _by_ports(words: set[str]) -> bool:
    return words >= {*_LAYER4} and not words.isdisjoint({"ip-proto", "next-hdr"})
