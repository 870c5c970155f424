"""The rule by which server prefixes follow from stripe, rail, server, path color and tenant."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.design.addresses.server_prefixes import usual_bits
from railweave.model.intent.addressing import FieldBits
from railweave.model.intent.formula import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Prefix

FIELDS = ("tenant", "stripe", "server", "rail", "color")
"""What numbers a prefix, in the order of the bits that each takes."""


MOST_BITS = 32
"""That a number may take in the fabric file."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A server prefix, and the numbers (in the order of ``FIELDS``) of what it is for."""

    numbers: tuple[int, ...]
    prefix: Prefix

    @property
    def value(self) -> int:
        """The first address, as a number."""
        return int(ipaddress.ip_network(self.prefix).network_address)


def rule(cuts: Sequence[Cut], pools: Sequence[str], *, routed: bool, tenants: bool) -> dict[str, object] | None:
    """The part of ``addressing`` that gives all these prefixes: a pool with its bits, else a formula; None: none does.

    ``pools`` are prefixes that leaves let through, which the pool is probably one of.
    """
    lengths = {one.prefix.length for one in cuts}
    if len(lengths) != 1:
        return None
    length, family = lengths.pop(), cuts[0].prefix.family
    around = _common(cuts)
    known = [one for one in map(ipaddress.ip_network, pools) if one.version == around.version and around.subnet_of(one)]  # type: ignore[arg-type]
    wider = [around.supernet(new_prefix=bits) for bits in range(around.prefixlen, 7, -1)]
    for pool in (*known, *wider):
        free = length - pool.prefixlen
        if free > 0 and _by_bits(cuts, pool, length, usual_bits(free, routed=routed, tenants=tenants)):
            return {"server_pool": str(pool), "prefix_length": length}
    factors = _factors(cuts)
    if factors is None:
        return None
    for pool in (*known, around):
        bits = _bits(factors, length, pool)
        if bits and _by_bits(cuts, pool, length, bits):
            return {"server_pool": str(pool), "prefix_length": length, "bits": bits.model_dump(exclude_defaults=True)}
    formula = _formula(cuts, factors, family == "ipv6", length)
    return {"server_pool": str((*known, around)[0]), "server_prefix": formula} if formula else None


def with_own_pools(cuts: Sequence[Cut], tenants: Mapping[int, str], *, routed: bool) -> dict[str, list[str]]:
    """The pools of tenants whose prefixes no rule gives together with those of others, by tenant; ``tenants`` are names by slot.

    Tenants are taken together in the order of their slots, as long as a rule gives the prefixes of all.
    """
    families = sorted({one.prefix.family for one in cuts})
    together: set[int] = set()
    found: dict[str, list[str]] = {}
    for slot in sorted({one.numbers[0] for one in cuts} & tenants.keys()):
        tried = together | {slot}
        parts = [[one for one in cuts if one.numbers[0] in tried and one.prefix.family == each] for each in families]
        own = [[one for one in cuts if one.numbers[0] == slot and one.prefix.family == each] for each in families]
        if all(one and rule(one, (), routed=routed, tenants=True) for one in parts) and all(own):
            together = tried
            continue
        pools = [_own_pool(one, routed=routed) for one in own if one]
        if all(pools) and together:
            found[tenants[slot]] = [str(pool) for pool in pools]
        else:
            together = tried
    return found


def _own_pool(cuts: Sequence[Cut], *, routed: bool) -> str:
    """The pool that a tenant's prefixes are cut from by stripe and rail alone; empty where there is none."""
    lengths = {one.prefix.length for one in cuts}
    around = _common(cuts)
    for bits in range(around.prefixlen, 7, -1) if len(lengths) == 1 else ():
        pool, length = around.supernet(new_prefix=bits), next(iter(lengths))
        if length > bits and _by_bits(cuts, pool, length, usual_bits(length - bits, routed=routed, tenants=False)):
            return str(pool)
    return ""


def _common(cuts: Sequence[Cut]) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """The longest prefix that holds all of them, and is shorter than any."""
    nets = [ipaddress.ip_network(one.prefix) for one in cuts]
    found = nets[0].supernet()
    while not all(one.network_address in found for one in nets):
        found = found.supernet()
    return found


def _by_bits(
    cuts: Sequence[Cut], pool: ipaddress.IPv4Network | ipaddress.IPv6Network, length: int, bits: FieldBits
) -> bool:
    widths = [getattr(bits, name) for name in FIELDS]
    if sum(widths) != length - pool.prefixlen:
        return False
    for one in cuts:
        field = 0
        for width, number in zip(widths, one.numbers, strict=True):
            if width and number >> width:
                return False
            field = field << width | (number if width else 0)
        if int(pool.network_address) | field << (pool.max_prefixlen - length) != one.value:
            return False
    return True


def _factors(cuts: Sequence[Cut]) -> tuple[int, ...] | None:
    """What one more of each number adds to a prefix; 0 for numbers that are all alike. None: no such sum gives them."""
    factors: dict[int, int] = {}
    for _ in FIELDS:
        for place in range(len(FIELDS)):
            if place not in factors:
                pair = next(_pairs(cuts, place, factors), None)
                if pair is not None:
                    factors[place] = pair
    found = tuple(factors.get(place, 0) for place in range(len(FIELDS)))
    start = _start(cuts[0], found)
    return found if all(_start(one, found) == start for one in cuts) else None


def _pairs(cuts: Sequence[Cut], place: int, known: dict[int, int]) -> Iterator[int]:
    """The factor of a number by two prefixes that differ in it, and else in numbers whose factors are known."""
    seen: dict[tuple[int, ...], Cut] = {}
    for one in cuts:
        rest = tuple(n for at, n in enumerate(one.numbers) if at != place and at not in known)
        other = seen.setdefault(rest, one)
        step = one.numbers[place] - other.numbers[place]
        if step:
            added = sum(known[at] * (one.numbers[at] - other.numbers[at]) for at in known)
            difference = one.value - other.value - added
            if difference % step == 0:
                yield difference // step


def _start(one: Cut, factors: tuple[int, ...]) -> int:
    return one.value - sum(factor * number for factor, number in zip(factors, one.numbers, strict=True))


def _bits(
    factors: tuple[int, ...], length: int, pool: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> FieldBits | None:
    """Bits by which each number counts what its factor says; numbers that are all alike have none."""
    unit = pool.max_prefixlen - length
    top = length - pool.prefixlen
    widths = dict.fromkeys(FIELDS, 0)
    for name, factor in zip(FIELDS, factors, strict=True):
        if not factor:
            continue
        shift = factor.bit_length() - 1 - unit
        if factor < 0 or factor & (factor - 1) or shift < 0 or shift >= top:
            return None
        widths[name] = top - shift
        top = shift
    if top and "color" in widths and not widths["color"]:
        widths["color"] = top  # room below the numbers that are known
    return FieldBits(**widths) if max(widths.values()) <= MOST_BITS else None


def _formula(cuts: Sequence[Cut], factors: tuple[int, ...], six: bool, length: int) -> str | None:
    """A formula whose groups (bytes, or 16 bits in hexadecimal) each count some of the numbers; None: there is none."""
    width, groups = (16, 8) if six else (8, 4)
    used: list[list[str]] = [[] for _ in range(groups)]
    counted = [0] * groups
    for name, factor, number in zip(FIELDS, factors, cuts[0].numbers, strict=True):
        if not factor:
            continue
        place = next((at for at in range(groups) if factor % (1 << width * (groups - 1 - at)) == 0), None)
        if place is None or factor < 0:
            return None
        times = factor >> width * (groups - 1 - place)
        used[place].append(name if times == 1 else f"{name}*{times}")
        counted[place] += times * number
    words: list[str] = []
    for at in range(groups):
        rest = (cuts[0].value >> width * (groups - 1 - at) & ((1 << width) - 1)) - counted[at]
        terms = "+".join(used[at]) + (f"{rest:+d}" if rest else "")
        words.append("{" + terms + "}" if used[at] else format(rest, "x" if six else "d"))
    formula = f"{(':' if six else '.').join(words)}/{length}"
    try:
        good = all(fill(formula, dict(zip(FIELDS, one.numbers, strict=True))) == str(one.prefix) for one in cuts)
    except ValueError:
        return None
    return formula if good else None
