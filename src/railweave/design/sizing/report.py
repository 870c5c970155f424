"""The results of sizing, for a terminal and as JSON: models, the chosen shape, alternatives, growth and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.design.sizing.fabric_file import headroom_need, headroom_percent, shared_bytes, system_of
from railweave.design.sizing.shapes import Step, default_growth, growth_steps
from railweave.design.sizing.size import RefusedShape, Shape, Size, colors_of
from railweave.design.sizing.words import TITLES, growth_lines, reason, switches
from railweave.model.catalog.optics import OpticRequirement, fitting, joins, of_one_kind
from railweave.model.intent.topology import Cabling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.models import Catalog


def limits(catalog: Catalog, size: Size, mtu: int = 9000) -> list[tuple[str, int, int | None]]:
    """Return the quantities of a sized fabric that have a limit, as (name, count, maximum). The maximum is None if it is unknown.

    ``mtu`` is the largest packet in bytes, which limits router advertisements.
    """
    server, model = catalog.servers[size.wanted.server], catalog.switches[size.wanted.switch]
    nic, kernel, colors = catalog.nics[server.nics["gpu"].nic], catalog.kernel, size.colors
    rails = {"rail-planes": 1, "port-planes": size.ports.nics}.get(size.shape, size.ports.rails)
    used = {"leaf": size.leaf_used}
    if size.spines:
        used["spine"] = size.spine_used
    if size.super_spines:
        used["super-spine"] = size.top_used
    speed, total = size.ports.speed_gbps, size.ports.total
    rows: list[tuple[str, int, int | None]] = [
        (f"ports of {speed}G in use on the fullest {role}", count, total) for role, count in used.items()
    ]
    if model.limits.ports != total:
        rows.append(("ports in use, of the ports that the chip supports", max(used.values()), model.limits.ports))
    if size.spines:
        widest = max(size.uplinks, size.spine_uplinks, size.links_per_spine)
        rows.append(("links in a next-hop group", widest, model.limits.ecmp_members))
    percent = headroom_percent(catalog, size)
    partition = shared_bytes(catalog, size) * percent / 100
    need = headroom_need(catalog, size)
    base = (
        "half of the buffer, as no figure of dedicated buffers is public"
        if model.dedicated is None
        else "the buffer less dedicated buffers"
    )
    rows.append(
        (
            f"kB of PFC headroom needed on the fullest switch, of {percent} % of {base}",
            math.ceil(need / 1000),
            int(partition / 1000),
        )
    )
    return [
        *rows,
        ("addresses per NIC, including the link-local address", colors + 1, kernel.max_addresses),
        ("GIDs of a NIC", 2 * (colors + 1), nic.gids),
        ("bytes of a router advertisement", 48 + kernel.ra_header_bytes + kernel.ra_prefix_option_bytes * colors, mtu),
        ("routing tables of a server", size.ports.rails * colors, None),
        ("server prefixes on a switch", size.stripes * rails * colors, model.limits.ipv6_routes),
    ]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The result of sizing: the size of each requested shape (kind of topology), and the chosen size.

    ``other_servers`` and ``other_switches`` are further models that match the texts ``nic`` and ``switch`` of the
    request.
    """

    shapes: dict[Shape, Size | RefusedShape]
    best: Size
    other_servers: list[str]
    other_switches: list[str]
    nic: str
    switch: str


def words(catalog: Catalog, sized: Sizing) -> Iterator[str]:
    """Yield the printed lines about a sizing (``sized``): the models, the chosen shape (kind of topology), then the alternatives."""
    best = sized.best
    yield from _models(catalog, sized)
    yield f"chosen: {TITLES[best.shape]}, " + ("first shape that fits" if len(sized.shapes) > 1 else "as asked for")
    yield from (f"  {line}" for line in _shape_lines(catalog, best))
    yield "  limits:"
    yield from (f"    {line}" for line in _limit_lines(catalog, best))
    for shape, candidate in sized.shapes.items():
        if candidate is best:
            continue
        if isinstance(candidate, RefusedShape):
            yield f"not {TITLES[shape]}: {candidate.why}"
            continue
        yield f"alternative: {TITLES[shape]}"
        yield from (f"  {line}" for line in _shape_lines(catalog, candidate))


def _models(catalog: Catalog, sized: Sizing) -> Iterator[str]:
    best, wanted, ports = sized.best, sized.best.wanted, sized.best.ports
    nic, model = catalog.nics[catalog.servers[wanted.server].nics["gpu"].nic], catalog.switches[wanted.switch]
    nics = counted(ports.nics, "NIC") + (f" of {ports.nic_ports} ports" if ports.nic_ports > 1 else "")
    each = f"{counted(ports.gpus_per_server, 'GPU')} and {nics} each ({nic.description})"
    yield f"servers: {best.servers:,} x {wanted.server}, {each}"
    if best.gpus != wanted.gpus:
        yield f"  requested: {counted(wanted.gpus, 'GPU')}, rounded up to whole servers: {best.gpus:,}"
    if sized.other_servers:
        yield f'  other models that match "{sized.nic}": {", ".join(sized.other_servers)}; choose with --nic NAME'
    system = system_of(catalog, wanted.switch, wanted.nos)
    split = f"as {ports.total} ports of {ports.speed_gbps}G, running {system}"
    yield f"switches: {wanted.switch} ({model.description}), {split}"
    if sized.other_switches:
        others = [f"{name} ({catalog.switches[name].description})" for name in sized.other_switches]
        yield f'  other models that match "{sized.switch}": {", ".join(others)}; choose with --switch NAME'
    if best.spines:
        yield f"load balancing: {_balancing(best)}"
    yield "optics: " + "; ".join(f"{end}: {name}" for end, name in optics_of(catalog, best).items())


def _balancing(size: Size) -> str:
    """Return a sentence about the load balancing of a sized fabric and its cost, and about the alternative."""
    colors = colors_of(size.uplinks)
    price = f"{counted(colors, 'address', 'addresses')} per NIC, {counted(size.ports.rails * colors, 'routing table')} per server"
    if size.wanted.balancing == "rlb":
        colored = f"each queue pair has its own path, by {counted(colors, 'path color')}"
        return f"rlb: {colored}. It costs {price}, and the NCCL plugin, which has not run on real NICs yet"
    text = {
        "dlb-flowlet": "dlb-flowlet: switches move flowlets to less loaded uplinks",
        "ecmp": "ecmp: a static hash spreads queue pairs over uplinks, and some links get more than others",
    }[size.wanted.balancing]
    return f"{text}. It needs one address per NIC and no plugin. `--lb rlb` gives each queue pair its own path, for {price} and the NCCL plugin"


def optics_of(catalog: Catalog, size: Size) -> dict[str, str]:
    """Return the optics that the design chooses by default, by kind of cable end, such as ``NICs (3 m)``.

    A kind of which the fabric has no cables is left out.
    """
    wanted, ports, lengths = size.wanted, size.ports, Cabling()
    nic = catalog.nics[catalog.servers[wanted.server].nics["gpu"].nic]
    cage = catalog.switches[wanted.switch].ports[0].cage
    down, between = lengths.server.length, lengths.fabric.length
    ends = {
        f"NICs ({down:g} m)": (nic.cage, 1, down, True),
        f"leaves to servers ({down:g} m)": (cage, ports.per_module, down, True),
        f"between switches ({between:g} m)": (cage, ports.per_module, between, False),
    }
    names: dict[str, str] = {}
    for end, (end_cage, channels, length, copper) in ends.items():
        fits = fitting(catalog, end_cage, channels, ports.speed_gbps, length, copper=copper)
        if size.spines or end != f"between switches ({between:g} m)":
            names[end] = min(fits)[1] if fits else "none in the catalog"
    pair = list(names)[:2]
    if not joins(*(catalog.optics.get(names[end]) for end in pair)):
        asked = {(end, ""): OpticRequirement(*ends[end][:2], ports.speed_gbps, down, None) for end in pair}
        names |= {end: name for (end, _), name in of_one_kind(catalog, asked.items()).items()}
    return names


def _shape_lines(catalog: Catalog, size: Size) -> Iterator[str]:
    yield f"why: {reason(size)}"
    there = switches(size.leaf_switches, size.spine_switches, size.super_spine_switches)
    cables = f"{counted(size.server_cables, 'server cable')}, {counted(size.fabric_cables, 'cable')} between switches"
    yield f"{there}; {cables}, {counted(size.modules, 'optic')}"
    yield _layout(size)
    yield _spare(size)
    factor = default_growth(size)
    lines = growth_lines(growth_steps(catalog, size, factor), factor)
    yield lines[0]
    yield from (f"  {line}" for line in lines[1:])


def _layout(size: Size) -> str:
    text = f"{counted(size.stripes, 'stripe')} of {counted(size.servers_per_stripe, 'server')}"
    last = size.servers - (size.stripes - 1) * size.servers_per_stripe
    if last != size.servers_per_stripe:
        text += f", {last} in the last"
    if size.spines:
        text += f"; {counted(size.uplinks, 'uplink')} per leaf, {_each(size.links_per_spine)} {counted(size.spines, 'spine')}"
        text += f" ({size.servers_per_stripe / size.uplinks:.3g}:1)"
        if size.colors > 1:
            text += f"; {counted(size.colors, 'path color')}"
    if size.super_spines:
        ups = f"{_each(size.links_per_super_spine)} {counted(size.super_spines, 'super-spine')}"
        text += f"; {counted(size.pods, 'pod')}; {counted(size.spine_uplinks, 'link')} up per spine, {ups}"
    return text


def _each(links: int) -> str:
    return f"{'one' if links == 1 else links} to each of"


def _spare(size: Size) -> str:
    text = f"spare: {counted(size.free_server_ports, 'server port')} on these leaves"
    if not size.spines:
        return text
    if size.spare_leaf_ports != size.free_server_ports:
        text += f", {size.spare_leaf_ports:,} of them within {size.wanted.oversubscription:g}:1"
    top = "super-spine" if size.super_spines else "spine"
    return f"{text}; {size.spare_top_ports} of {size.ports.total} ports on each {top}"


def _limit_lines(catalog: Catalog, size: Size) -> Iterator[str]:
    for name, count, most in limits(catalog, size):
        state = "" if most is None or count < most else ", met" if count == most else ", over: see `build`"
        yield f"{name}: {count:,}" + (f" of {most:,}{state}" if most is not None else "")


def to_json(catalog: Catalog, sized: Sizing) -> dict[str, Any]:
    """Return the results of sizing (``sized``) as a JSON object."""
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
            {"shape": shape, "fits": False, "why": candidate.why}
            if isinstance(candidate, RefusedShape)
            else _json(catalog, candidate)
            for shape, candidate in sized.shapes.items()
        ],
    }


def _json(catalog: Catalog, size: Size) -> dict[str, Any]:
    factor = default_growth(size)
    first, *others = growth_steps(catalog, size, factor)
    return {
        "shape": size.shape,
        "fits": True,
        "why": reason(size),
        "leaves": size.leaf_switches,
        "spines": size.spine_switches,
        "super_spines": size.super_spine_switches,
        "stripes": size.stripes,
        "servers_per_stripe": size.servers_per_stripe,
        "server_cables": size.server_cables,
        "fabric_cables": size.fabric_cables,
        "optics": size.modules,
        "uplinks": size.uplinks,
        "path_colors": size.colors,
        "free_server_ports": size.free_server_ports,
        "spare_server_ports": size.spare_leaf_ports,
        "spare_top_ports": size.spare_top_ports,
        "growth": {"factor": factor, **_step(first), "other_shapes": [_step(step) for step in others]},
        "limits": [{"what": name, "count": count, "most": most} for name, count, most in limits(catalog, size)],
    }


def _step(step: Step) -> dict[str, Any]:
    after = step.size
    head: dict[str, Any] = {"shape": after.shape, "gpus": step.gpus, "fits": isinstance(after, Size)}
    if isinstance(after, RefusedShape):
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
