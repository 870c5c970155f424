"""Load balancing: adaptive routing (ARS), and the fields of the static hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from railweave.model.device.balancing import BalancingConfig, Dlb, EgressQuantization, Hash
from railweave.systems.dell_sonic.read.ports import headers
from railweave.systems.dell_sonic.read.words import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.addresses import Family
    from railweave.model.config.taking import Taking

_FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")


def balancing(taking: Taking) -> BalancingConfig:
    """Adaptive routing (ARS), and the fields of the static hash."""
    values: dict[str, int] = {}
    mode: Literal["ecmp", "dlb-flowlet", "dlb-per-packet"] = "ecmp"
    bound = False
    for begins in ("ars profile ", "ars port-profile ", "ars object "):
        for header, _ in headers(taking, begins):
            taking.take(header)
            for one in header.body or ():
                match one.line.split():
                    case ["enable"]:
                        pass
                    case ["mode", "flowlet-quality" | "packet-quality" as given]:
                        mode = "dlb-flowlet" if given == "flowlet-quality" else "dlb-per-packet"
                    case [word, value] if word in _ARS and (n := number(value)) is not None:
                        values[word] = n
                    case _:
                        continue
                taking.take(one)
    fields: dict[str, set[str]] = {}
    seed: int | None = None
    for one in taking.sections:
        match one.line.split():
            case ["ars", "bind", "profile", _]:
                bound = True
            case ["ip", "load-share", "hash", "seed", value] if (n := number(value)) is not None:
                seed = n
            case ["ip", "load-share", "hash", "ipv4" | "ipv6" as family, word] if word in _HASHED[family]:
                fields.setdefault(family, set()).add(word.partition("-")[2])
            case _:
                continue
        taking.take(one)
    usual = Dlb()
    interval = values.get("sampling-interval")
    flowlets = bound and mode == "dlb-flowlet"
    return BalancingConfig(
        group_mode=mode if bound else "ecmp",
        ether_types=tuple(one for one in _FAMILIES if one in fields),
        dlb=Dlb(
            inactivity_interval=values.get("idle-time", 0 if flowlets else usual.inactivity_interval),
            flowset_table_size=values.get("max-flows", 0 if flowlets else usual.flowset_table_size),
            sampling_rate=round(1e6 / interval) if interval else usual.sampling_rate,
            egress_quantization=EgressQuantization(
                rate_weightage=values.get("load-past-weight", usual.egress_quantization.rate_weightage)
            ),
        ),
        hash=Hash(layer3=_all_have(fields, _LAYER3), layer4=_all_have(fields, _LAYER4), seed=seed),
    )


_ARS = ("sampling-interval", "load-past-weight", "idle-time", "max-flows")
_LAYER3, _LAYER4 = ("src-ip", "dst-ip"), ("l4-src-port", "l4-dst-port")
_HASHED = {
    "ipv4": {f"ipv4-{one}" for one in (*_LAYER3, *_LAYER4, "ip-proto")},
    "ipv6": {f"ipv6-{one}" for one in (*_LAYER3, *_LAYER4, "next-hdr")},
}


def _all_have(fields: Mapping[str, set[str]], wanted: Sequence[str]) -> bool:
    """Whether every family is hashed by all of these."""
    every = [*wanted, "next-hdr"] if wanted is _LAYER4 else list(wanted)
    return bool(fields) and all(
        set(every) - {"next-hdr"} <= some and ("next-hdr" not in every or bool(some & {"next-hdr", "ip-proto"}))
        for some in fields.values()
    )
