"""How next-hop groups share traffic: as the fabric file has it, or as a run wants it instead.

``MODE[:knob=value,…]``. ``ecmp``, ``dlb`` (flowlets), ``dlb-per-packet`` and ``spray`` share over all uplinks alike, also
where the fabric pins path colors to uplinks: the next hops of all colors of a destination become one group. ``rlb`` keeps
the colors, and ``within`` shares inside one. The other knobs are those of DLB, by the engine's names.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave._sim import DLB, DLB_PER_PACKET, ECMP, SPRAY
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.model.device.balancing import BalancingConfig

MODES = {
    "ecmp": ECMP,
    "dlb": DLB,
    "dlb-flowlet": DLB,
    "dlb-per-packet": DLB_PER_PACKET,
    "spray": SPRAY,
}
REORDERING = {SPRAY, DLB_PER_PACKET}
"""Modes in which packets of a queue pair overtake each other."""

KNOBS = ("inactivity", "flowsets", "period", "min", "max", "rate-weight", "reassign-chance", "quality-delta")


@dataclass(frozen=True, slots=True)
class Override:
    """What a run wants instead of the fabric file. ``code``: as the engine has it; None: each switch's own.

    ``joined``: path colors do not bind traffic to uplinks. ``knobs`` are parameters of the engine.
    """

    code: int | None = None
    joined: bool = False
    knobs: tuple[tuple[str, str], ...] = ()


def override(text: str | None, colored: bool) -> Override:
    """Read ``MODE[:knob=value,…]``; None: nothing is overridden. ``colored``: whether the fabric has path colors.

    Raises ``InputError``. Values of knobs are the engine's to check.
    """
    if text is None:
        return Override()
    mode, _, rest = text.partition(":")
    if mode != "rlb" and mode not in MODES:
        raise _wrong(f"{mode!r} is no mode", f"give {', '.join((*MODES, 'rlb'))}")
    given: dict[str, str] = {}
    for item in rest.split(",") if rest else ():
        name, equals, value = item.partition("=")
        if not equals or not value:
            raise _wrong(f"{item!r} is no knob with a value", "write dlb:inactivity=128us,flowsets=2048")
        if name in given:
            raise _wrong(f"{name} is given twice", "give it once")
        given[name] = value
    code = MODES.get(mode)
    if mode == "rlb":
        if not colored:
            raise _wrong("the fabric has no path colors", "set `load_balancing: {mode: rlb}` in the fabric file")
        within = given.pop("within", None)
        if within is not None and within not in MODES:
            raise _wrong(f"within={within}: that is no mode", f"give {', '.join(MODES)}")
        code = None if within is None else MODES[within]
    _check_knobs(mode, code, given)
    return Override(code, mode != "rlb" and colored, tuple((f"dlb.{name}", value) for name, value in given.items()))


def _check_knobs(mode: str, code: int | None, given: dict[str, str]) -> None:
    known = KNOBS if code in {DLB, DLB_PER_PACKET, None} else ()
    for name in given:
        if name not in known:
            all_known = ("within", *known) if mode == "rlb" else known
            near = difflib.get_close_matches(name, all_known, 1)
            fix = f"did you mean {near[0]}?" if near else f"it has {', '.join(all_known) or 'none'}"
            raise _wrong(f"{mode} has no knob {name!r}", fix)


def _wrong(what: str, fix: str) -> InputError:
    return InputError([Problem(Option("--lb"), what, fix)])


def dlb_parameters(config: BalancingConfig) -> dict[str, str]:
    """A switch's knobs of DLB by the engine's names."""
    dlb = config.dlb
    load = dlb.egress_quantization
    again = dlb.reassignment
    return {
        "dlb.inactivity": f"{dlb.inactivity_interval}us",
        "dlb.flowsets": str(dlb.flowset_table_size),
        "dlb.period": f"{round(10**12 / max(1, dlb.sampling_rate))}ps",
        "dlb.min": f"{load.min}%",
        "dlb.max": f"{load.max}%",
        "dlb.rate-weight": f"{load.rate_weightage}%",
        "dlb.reassign-chance": str(again.prob_threshold if again else 0),
        **({"dlb.quality-delta": str(max(1, again.quality_delta))} if again else {}),
    }


def balancing_notes(config: BalancingConfig) -> list[str]:
    """What the configuration says of sharing and the engine does not model."""
    found: list[str] = []
    hashed = config.hash
    if not (hashed.layer3 and hashed.layer4):
        found.append("hash: the engine hashes addresses and UDP ports, whatever hash.layer3 and hash.layer4 say")
    if hashed.seed is not None:
        found.append("hash: hash.seed is not taken; every switch has a seed of its own, from the run's")
    if config.spray_opcodes:
        found.append("spraying: every data packet is sprayed, whatever its opcode; acknowledgements too")
    if config.dlb.reassignment and config.dlb.reassignment.quality_delta == 0:
        found.append("DLB: quality_delta 0 is taken for 1")
    if config.selective:
        found.append(
            f"selective DLB: opcodes are not told apart; all packets are balanced by {config.group_mode}, also those that "
            "the switch hashes (acknowledgements, congestion notification)"
        )
    if config.global_role:
        found.append("global load balancing: DLB is modelled with the load of a switch's own links only")
    return found
