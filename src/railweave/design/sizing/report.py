"""The results of sizing, for a terminal and for machines: models, the choice, its alternatives, growth, limits met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.design.sizing.fabric_file import headroom_need, headroom_percent, shared_bytes, system_of
from railweave.design.sizing.shapes import Step, default_growth, growth_steps
from railweave.design.sizing.size import Refused, Shape, Size
from railweave.design.sizing.words import TITLES, growth_lines, reason, switches
from railweave.model.catalog.optics import Need, fitting, joins, of_one_kind
from railweave.model.intent.topology import Cabling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.models import Catalog


def limits(catalog: Catalog, found: Size, mtu: int = 9000) -> list[tuple[str, int, int | None]]:
    """Return what is counted, as rows of a name, the count, and the largest possible count (None: not known)."""
    server, model = catalog.servers[found.wanted.server], catalog.switches[found.wanted.switch]
    nic, kernel, colors = catalog.nics[server.nics["gpu"].nic], catalog.kernel, found.colors
    rails = {"rail-planes": 1, "port-planes": found.ports.nics}.get(found.shape, found.ports.rails)
    used = {"leaf": found.leaf_used}
    if found.spines:
        used["spine"] = found.spine_used
    if found.super_spines:
        used["super-spine"] = found.top_used
    speed, total = found.ports.speed_gbps, found.ports.total
    rows: list[tuple[str, int, int | None]] = [
        (f"ports of {speed}G in use on the fullest {role}", count, total) for role, count in used.items()
    ]
    if model.limits.ports != total:
        rows.append(("ports in use, of those that the chip handles", max(used.values()), model.limits.ports))
    if found.spines:
        widest = max(found.uplinks, found.spine_uplinks, found.links_per_spine)
        rows.append(("links in a next-hop group", widest, model.limits.ecmp_members))
    partition = shared_bytes(catalog, found) * headroom_percent(catalog, found) / 100
    need = headroom_need(catalog, found)
    rows.append(("kB of PFC headroom on the fullest switch", math.ceil(need / 1000), int(partition / 1000)))
    return [
        *rows,
        ("addresses of a NIC, link-local counted", colors + 1, kernel.max_addresses),
        ("GIDs of a NIC", 2 * (colors + 1), nic.gids),
        ("bytes of a router advertisement", 48 + kernel.ra_header_bytes + kernel.ra_prefix_option_bytes * colors, mtu),
        ("routing tables of a server", found.ports.rails * colors, None),
        ("server prefixes on a switch", found.stripes * rails * colors, model.limits.ipv6_routes),
    ]


@dataclass(frozen=True, slots=True)
class Sized:
    """The result of sizing: every shape asked for, the shape taken, and other models that match the request.

    The other models are those that ``nic`` and ``switch``, as they were asked for, also mean.
    """

    shapes: dict[Shape, Size | Refused]
    best: Size
    other_servers: list[str]
    other_switches: list[str]
    nic: str
    switch: str


def words(catalog: Catalog, sized: Sized) -> Iterator[str]:
    """Lines for a terminal: the models, the choice, then the alternatives."""
    best = sized.best
    yield from _models(catalog, sized)
    yield f"chosen: {TITLES[best.shape]}, " + ("the first that fits" if len(sized.shapes) > 1 else "as asked for")
    yield from (f"  {line}" for line in _shape_lines(catalog, best))
    yield "  limits:"
    yield from (f"    {line}" for line in _limit_lines(catalog, best))
    for shape, one in sized.shapes.items():
        if one is best:
            continue
        if isinstance(one, Refused):
            yield f"not {TITLES[shape]}: {one.why}"
            continue
        yield f"alternative: {TITLES[shape]}"
        yield from (f"  {line}" for line in _shape_lines(catalog, one))


def _models(catalog: Catalog, sized: Sized) -> Iterator[str]:
    best, wanted, ports = sized.best, sized.best.wanted, sized.best.ports
    nic, model = catalog.nics[catalog.servers[wanted.server].nics["gpu"].nic], catalog.switches[wanted.switch]
    nics = counted(ports.nics, "NIC") + (f" of {ports.nic_ports} ports" if ports.nic_ports > 1 else "")
    each = f"{counted(ports.gpus_per_server, 'GPU')} and {nics} each ({nic.description})"
    yield f"servers: {best.servers:,} x {wanted.server}, {each}"
    if best.gpus != wanted.gpus:
        yield f"  {counted(wanted.gpus, 'GPU')} asked for, rounded up to whole servers: {best.gpus:,}"
    if sized.other_servers:
        yield f'  other models that match "{sized.nic}": {", ".join(sized.other_servers)}; choose with --nic NAME'
    system = system_of(catalog, wanted.switch)
    split = f"as {ports.total} ports of {ports.speed_gbps}G, running {system}"
    yield f"switches: {wanted.switch} ({model.description}), {split}"
    if sized.other_switches:
        others = [f"{name} ({catalog.switches[name].description})" for name in sized.other_switches]
        yield f'  other models that match "{sized.switch}": {", ".join(others)}; choose with --switch NAME'
    yield "optics: " + "; ".join(f"{what}: {name}" for what, name in optics_of(catalog, best).items())


def optics_of(catalog: Catalog, found: Size) -> dict[str, str]:
    """The optics that the file's design takes by default, by the end that they are for."""
    wanted, ports, lengths = found.wanted, found.ports, Cabling()
    nic = catalog.nics[catalog.servers[wanted.server].nics["gpu"].nic]
    cage = catalog.switches[wanted.switch].ports[0].cage
    down, between = lengths.server.length, lengths.fabric.length
    ends = {
        f"NICs ({down:g} m)": (nic.cage, 1, down, True),
        f"leaves to servers ({down:g} m)": (cage, ports.per_module, down, True),
        f"between switches ({between:g} m)": (cage, ports.per_module, between, False),
    }
    names: dict[str, str] = {}
    for end, (own, channels, length, copper) in ends.items():
        fits = fitting(catalog, own, channels, ports.speed_gbps, length, copper=copper)
        if found.spines or end != f"between switches ({between:g} m)":
            names[end] = min(fits)[1] if fits else "none in the catalog"
    pair = list(names)[:2]
    if not joins(*(catalog.optics.get(names[end]) for end in pair)):
        asked = {(end, ""): Need(*ends[end][:2], ports.speed_gbps, down, None) for end in pair}
        names |= {end: name for (end, _), name in of_one_kind(catalog, asked.items()).items()}
    return names


def _shape_lines(catalog: Catalog, found: Size) -> Iterator[str]:
    yield f"why: {reason(found)}"
    there = switches(found.leaf_switches, found.spine_switches, found.super_spine_switches)
    cables = f"{counted(found.server_cables, 'server cable')}, {counted(found.fabric_cables, 'cable')} between switches"
    yield f"{there}; {cables}, {counted(found.modules, 'optic')}"
    yield _layout(found)
    yield _spare(found)
    factor = default_growth(found)
    lines = growth_lines(growth_steps(catalog, found, factor), factor)
    yield lines[0]
    yield from (f"  {line}" for line in lines[1:])


def _layout(found: Size) -> str:
    text = f"{counted(found.stripes, 'stripe')} of {counted(found.servers_per_stripe, 'server')}"
    last = found.servers - (found.stripes - 1) * found.servers_per_stripe
    if last != found.servers_per_stripe:
        text += f", {last} in the last"
    if found.spines:
        text += f"; {counted(found.uplinks, 'uplink')} a leaf, {_each(found.links_per_spine)} {counted(found.spines, 'spine')}"
        text += f" ({found.servers_per_stripe / found.uplinks:.3g}:1)"
        text += f"; {counted(found.colors, 'path color')}"
    if found.super_spines:
        ups = f"{_each(found.links_per_super_spine)} {counted(found.super_spines, 'super-spine')}"
        text += f"; {counted(found.pods, 'pod')}; {counted(found.spine_uplinks, 'link')} up a spine, {ups}"
    return text


def _each(links: int) -> str:
    return f"{'one' if links == 1 else links} to each of"


def _spare(found: Size) -> str:
    text = f"spare: {counted(found.free_server_ports, 'server port')} on these leaves"
    if not found.spines:
        return text
    if found.spare_leaf_ports != found.free_server_ports:
        text += f", {found.spare_leaf_ports:,} of them within {found.wanted.oversubscription:g}:1"
    top = "super-spine" if found.super_spines else "spine"
    return f"{text}; {found.spare_top_ports} of {found.ports.total} ports on each {top}"


def _limit_lines(catalog: Catalog, found: Size) -> Iterator[str]:
    for what, count, most in limits(catalog, found):
        state = "" if most is None or count < most else ", met" if count == most else ", over: see `build`"
        yield f"{what}: {count:,}" + (f" of {most:,}{state}" if most is not None else "")


def to_json(catalog: Catalog, sized: Sized) -> dict[str, Any]:
    """The same for machines."""
    best = sized.best
    return {
        "chosen": best.shape,
        "gpus": best.gpus,
        "servers": best.servers,
        "server": best.wanted.server,
        "other_servers": sized.other_servers,
        "switch": best.wanted.switch,
        "other_switches": sized.other_switches,
        "optics": optics_of(catalog, best),
        "shapes": [
            {"shape": shape, "fits": False, "why": one.why} if isinstance(one, Refused) else _json(catalog, one)
            for shape, one in sized.shapes.items()
        ],
    }


def _json(catalog: Catalog, one: Size) -> dict[str, Any]:
    factor = default_growth(one)
    first, *others = growth_steps(catalog, one, factor)
    return {
        "shape": one.shape,
        "fits": True,
        "why": reason(one),
        "leaves": one.leaf_switches,
        "spines": one.spine_switches,
        "super_spines": one.super_spine_switches,
        "stripes": one.stripes,
        "servers_per_stripe": one.servers_per_stripe,
        "server_cables": one.server_cables,
        "fabric_cables": one.fabric_cables,
        "optics": one.modules,
        "uplinks": one.uplinks,
        "path_colors": one.colors,
        "free_server_ports": one.free_server_ports,
        "spare_server_ports": one.spare_leaf_ports,
        "spare_top_ports": one.spare_top_ports,
        "growth": {"factor": factor, **_step(first), "other_shapes": [_step(step) for step in others]},
        "limits": [{"what": what, "count": count, "most": most} for what, count, most in limits(catalog, one)],
    }


def _step(step: Step) -> dict[str, Any]:
    after = step.size
    head: dict[str, Any] = {"shape": after.shape, "gpus": step.gpus, "fits": isinstance(after, Size)}
    if isinstance(after, Refused):
        return {**head, "why": after.why}
    return {
        **head,
        "switches": step.switches,
        "server_cables": step.server_cables,
        "fabric_cables": step.cables,
        "optics": step.modules,
        "moved": step.moved,
        "moved_to_other_switches": step.laid.elsewhere,
        "moved_to_other_ports": step.laid.ports,
        "moved_server_cables": step.servers_laid,
    }
