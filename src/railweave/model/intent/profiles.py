"""The named profiles of settings from test reports, for load balancing and for buffers with ECN.

A profile holds the values in the report's table, and the report's default for every other setting. Fields next to
``profile:`` in the fabric file override the profile. "Egress-quantization min 10 … min 90" in a report means min 10,
max 90, and "flowlet-table-size" is the flowset table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from railweave.model.intent.base import WrongValueError
from railweave.model.intent.buffers import SYSTEM_EGRESS


@dataclass(frozen=True, slots=True)
class Profile:
    """Load-balancing or QoS settings, keyed as in fabric files, and their source document."""

    source: str
    values: dict[str, Any]


_EVPN = "EVPN test report"
_APSTRA = "Apstra test report"


def _flowlet(source: str, **dlb: object) -> Profile:
    return Profile(source, {"mode": "dlb-flowlet", "dlb": dlb})


_DEFAULT = {
    "inactivity_interval": 256,
    "flowset_table_size": 256,
    "sampling_rate": 62_500,
    "egress_quantization": {"min": 20, "max": 50, "rate_weightage": 50},
    "reassignment": None,
}
_TUNED = {**_DEFAULT, "flowset_table_size": 2048, "sampling_rate": 1_000_000}
_US128 = {"inactivity_interval": 128}
_WIDE = {"egress_quantization": {"min": 10, "max": 90, "rate_weightage": 50}}
_WIDE_80 = {"egress_quantization": {"min": 10, "max": 90, "rate_weightage": 80}}
_MOVED = {"reassignment": {"prob_threshold": 3, "quality_delta": 6}}

LOAD_BALANCING: dict[str, Profile] = {
    "evpn-default": _flowlet(f"{_EVPN}, DLB values (default); Table 2.2", **_DEFAULT),
    "evpn-ecmp": Profile(f"{_EVPN}, Tables 1.1, 1.3, 2.2, 3.1: DLB disabled", {"mode": "ecmp"}),
    "evpn-flowlet-256us": _flowlet(f"{_EVPN}, Table 1.1", **_TUNED),
    "evpn-flowlet-256us-10-90": _flowlet(f"{_EVPN}, Tables 2.1, 2.2", **{**_TUNED, **_WIDE}),
    "evpn-flowlet-256us-10-90-rate80": _flowlet(f"{_EVPN}, Tables 1.1, 1.4, 1.5, 2.1", **{**_TUNED, **_WIDE_80}),
    "evpn-flowlet-256us-10-90-reassign": _flowlet(f"{_EVPN}, Tables 1.3, 2.1", **{**_TUNED, **_WIDE, **_MOVED}),
    "evpn-flowlet-128us": _flowlet(f"{_EVPN}, Tables 1.1, 1.2, 1.3, 3.1", **{**_TUNED, **_US128}),
    "evpn-flowlet-128us-10-90": _flowlet(f"{_EVPN}, Tables 1.2, 1.3, 2.2", **{**_TUNED, **_US128, **_WIDE}),
    "evpn-flowlet-128us-10-90-rate80": _flowlet(
        f"{_EVPN}, Tables 1.1, 1.3, 1.4, 1.5, 2.1, 2.2", **{**_TUNED, **_US128, **_WIDE_80}
    ),
    "evpn-flowlet-128us-reassign": _flowlet(f"{_EVPN}, Table 1.3", **{**_TUNED, **_US128, **_MOVED}),
    "apstra-default": _flowlet(f"{_APSTRA}, DLB values for QFX (default)", **_DEFAULT),
    "apstra-tuned": _flowlet(f"{_APSTRA}, Tables 2 to 6", **{**_DEFAULT, "flowset_table_size": 2048}),
    "thor2-qfx5240": _flowlet("Thor2 guide, section 2.5.3", **{**_TUNED, **_MOVED}),
}


def _shares(lossless: int, headroom: int, lossy: int, threshold: int = 7, multicast: int = 10) -> dict[str, Any]:
    return {
        "lossless": lossless,
        "headroom": headroom,
        "lossy": lossy,
        "egress_lossless": lossless,
        "egress_lossy": lossy,
        "egress_multicast": multicast,
        "ingress_dynamic_threshold": threshold,
    }


def _qos(source: str, fill: int, buffers: dict[str, Any] | None = None) -> Profile:
    marking = {"ecn": {"min_fill": fill, "max_fill": 90, "max_probability": 100}}
    return Profile(source, {"buffers": buffers or _shares(80, 10, 10), "classes": {"no-loss": marking}})


QOS: dict[str, Profile] = {
    "evpn-default": _qos(f"{_EVPN}, Buffer management values (default)", 55),
    "apstra-default": _qos(f"{_APSTRA}, Buffer management values for QFX (default)", 55),
    "apstra-ptx-default": _qos(f"{_APSTRA}, Buffer management values for PTX (default): ECN alone", 49),
    "thor2-qfx5240": _qos("Thor2 guide, section 2.5.3", 55, _shares(80, 10, 10, multicast=0)),
}


def with_profile(known: dict[str, Profile], given: object) -> object:
    """Return the values of the profile that ``given`` (a section) names, overridden by the values in ``given``.

    Return ``given`` unchanged if it names no known profile.
    """
    if not isinstance(given, dict):
        return given
    whole = cast("dict[str, Any]", given)
    profile = known.get(str(whole.get("profile")))
    return whole if profile is None else _over(_without_egress(profile.values, whole), whole)


def _without_egress(values: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a profile's ``values``, without the egress partition if ``given`` (the file's section) sets ``egress: system``.

    Fields next to ``profile:`` override the profile.
    """
    buffers = given.get("buffers")
    if not isinstance(buffers, dict) or cast("dict[str, Any]", buffers).get("egress") != "system":
        return values
    profile_buffers = cast("dict[str, Any]", values["buffers"])
    return {**values, "buffers": {key: value for key, value in profile_buffers.items() if key not in SYSTEM_EGRESS}}


def known_profile(known: dict[str, Profile], name: str | None) -> str | None:
    """Return the name unchanged, even None. Raise ``WrongValueError`` if ``known`` lacks this profile."""
    if name is not None and name not in known:
        raise WrongValueError(f"{name!r} is not a profile", f"known ones: {', '.join(known)}")
    return name


def _over(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` and ``given`` merged recursively. Values of ``given`` override those of ``base``."""
    result = dict(base)
    for key, value in given.items():
        below = result.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        result[key] = _over(cast("dict[str, Any]", below), cast("dict[str, Any]", value)) if both else value
    return result


def profile_tables() -> str:
    """Return the tables of all profiles as Markdown."""
    lines = ["## Load balancing", "", "`load_balancing: {profile: NAME}`", ""]
    lines += ["| profile | source | mode | inactivity | flowsets | samples/s | bands, rate weight | reassignment |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for name, profile in LOAD_BALANCING.items():
        dlb = profile.values.get("dlb")
        lines.append(
            f"| `{name}` | {profile.source} | {profile.values['mode']} | {_dlb_row(dlb) if dlb else '– | – | – | – | –'} |"
        )
    lines += ["", "## Buffers and ECN", "", "`qos: {profile: NAME}`, for a fabric or a role", ""]
    lines += [
        "| profile | source | ingress lossless / headroom / lossy | egress lossless / lossy / multicast | threshold | ECN |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for name, profile in QOS.items():
        buffers, ecn = profile.values["buffers"], profile.values["classes"]["no-loss"]["ecn"]
        ingress = f"{buffers['lossless']} / {buffers['headroom']} / {buffers['lossy']} %"
        egress = f"{buffers['egress_lossless']} / {buffers['egress_lossy']} / {buffers['egress_multicast']} %"
        marking = f"{ecn['min_fill']} to {ecn['max_fill']} %, up to {ecn['max_probability']} %"
        lines.append(
            f"| `{name}` | {profile.source} | {ingress} | {egress} | {buffers['ingress_dynamic_threshold']} | {marking} |"
        )
    return "\n".join([*lines, ""])


def _dlb_row(dlb: dict[str, Any]) -> str:
    bands, moved = dlb["egress_quantization"], dlb["reassignment"]
    again = f"{moved['prob_threshold']}, delta {moved['quality_delta']}" if moved else "off"
    return (
        f"{dlb['inactivity_interval']} µs | {dlb['flowset_table_size']} | {dlb['sampling_rate']:,} | "
        f"{bands['min']} to {bands['max']} %, {bands['rate_weightage']} % | {again}"
    )
