"""A sized fabric as a fabric file, and in words: the choice, its alternatives, what growth costs, limits met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.design.growth_cost import grow, limits
from railweave.design.sizing import Refused, Size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.catalog.models import Catalog
    from railweave.design.growth_cost import Step
    from railweave.design.sizing import Shape

TITLES: dict[Shape, str] = {
    "one-leaf": "one leaf",
    "two-tier": "two tiers",
    "rail-planes": "rail planes",
    "super-spine": "super-spines",
}
REASONS: dict[Shape, str] = {
    "one-leaf": "every NIC reaches every other in one hop; its failure stops them all",
    "two-tier": "every NIC reaches every other in three hops, by a path that its color pins",
    "rail-planes": "three hops and pinned paths at this size, but between rails only through the servers (NCCL: PXN)",
    "super-spine": "every NIC reaches every other, but between pods a queue pair is pinned only up to the spine",
}


def pick(catalog: Catalog, word: str) -> str | None:
    """The server model with the NIC that a word means: a server's or NIC's name in the catalog, or a part of one."""
    nics = {name: model.nics["gpu"].nic for name, model in catalog.servers.items() if "gpu" in model.nics}
    exact = [name for name, nic in nics.items() if word in {name, nic}]
    near = [name for name, nic in nics.items() if word.lower() in name or word.lower() in nic]
    return next(iter((*exact, *near)), None)


def pick_switch(catalog: Catalog, word: str) -> str | None:
    """The switch model that a word means: its name in the catalog, or the first that begins with it."""
    return word if word in catalog.switches else next((n for n in catalog.switches if n.startswith(word.lower())), None)


def fabric_text(found: Size) -> str:
    """The fabric file of a size; at most 15 lines."""
    wanted, ports = found.wanted, found.ports
    topology: dict[str, object] = {"stripes": found.stripes}
    if found.shape == "one-leaf":
        topology["leaves_per_stripe"] = 1
    if found.shape == "rail-planes":
        topology["planes"] = "rail"
    if found.stripes > 1 and found.servers_per_stripe != ports.down_built:
        topology["servers_per_stripe"] = found.servers_per_stripe
    if found.spines:
        topology["spines"] = found.spines
    if found.links_per_spine > 1:
        topology["links_per_spine"] = found.links_per_spine
    if found.super_spines:
        topology["stripes_per_pod"] = found.stripes_per_pod
        topology["super_spines"] = found.super_spines
        topology["links_per_super_spine"] = found.links_per_super_spine
    if wanted.oversubscription != 1:
        topology["oversubscription"] = f"{wanted.oversubscription:g}"
    if ports.speed_gbps != 400:  # what links have where a file does not say
        topology["link_speed"] = f"{ports.speed_gbps}G"
    shown = ", ".join(f"{key}: {value}" for key, value in topology.items())
    digits = len(str(found.servers))
    names = f"gpu-[{1:0{digits}d}-{found.servers}]" if found.servers > 1 else "gpu-1"
    lines = [
        f"# {wanted.gpus} GPUs: {TITLES[found.shape]}, {_switches(found)}.",
        f"name: rail-{wanted.gpus}",
        "fabrics:",
        "  backend:",
        f"    topology: {{{shown}}}",
        f"    leaf: {{device: {wanted.switch}}}",
        *([f"    paths_per_nic: {found.colors}"] if found.spines and found.colors != found.uplinks else []),
        *(["    load_balancing: {mode: ecmp}"] if not found.spines else []),
        "servers:",
        f'  - {{names: "{names}", model: {wanted.server}}}',
    ]
    return "\n".join(lines) + "\n"


def _switches(found: Size) -> str:
    parts = [counted(found.leaf_switches, "leaf", "leaves")]
    parts += [counted(found.spine_switches, "spine")] if found.spine_switches else []
    parts += [counted(found.super_spine_switches, "super-spine")] if found.super_spine_switches else []
    return ", ".join(parts)


def _shape_lines(found: Size) -> Iterator[str]:
    yield f"{_switches(found)}; {found.server_cables + found.fabric_cables:,} cables, {found.modules:,} optics"
    layout = f"{counted(found.stripes, 'stripe')} of {found.servers_per_stripe} servers"
    if found.spines:
        layout += (
            f"; a leaf has {found.links_per_spine} x {found.spines} uplinks, {counted(found.colors, 'path color')}"
        )
    if found.super_spines:
        layout += (
            f"; {counted(found.pods, 'pod')}, a spine has {found.links_per_super_spine} x {found.super_spines} links up"
        )
    yield layout
    spare = f"spare: {found.spare_leaf_ports:,} server ports on these leaves"
    top = "super-spine" if found.super_spines else "spine"
    yield spare + (f", {found.spare_top_ports} of {found.ports.total} ports on each {top}" if found.spines else "")


def _growth_line(step: Step, factor: float) -> str:
    head = f"growth {factor:g}x, to {step.gpus:,} GPUs: "
    if isinstance(step.size, Refused):
        return head + f"not in this shape ({step.size.why})"
    moved = "no cable moves" if not step.moved else f"{step.moved:,} cables between switches move"
    return (
        head
        + f"{step.switches:,} switches, {step.cables:,} cables between switches and {step.modules:,} optics more; {moved}"
    )


def _limit_lines(catalog: Catalog, found: Size) -> Iterator[str]:
    for what, count, most in limits(catalog, found):
        state = "" if most is None or count < most else ", met" if count == most else ", over: see `build`"
        yield f"{what}: {count:,}" + (f" of {most:,}{state}" if most is not None else "")


def words(catalog: Catalog, found: dict[Shape, Size | Refused], best: Size) -> Iterator[str]:
    """Lines for a terminal: the choice first, then the alternatives."""
    factor = _factor(best)
    yield f"chosen: {TITLES[best.shape]}"
    yield f"  why: {REASONS[best.shape]}"
    yield from (f"  {line}" for line in _shape_lines(best))
    yield f"  {_growth_line(grow(catalog, best, factor), factor)}"
    yield "  limits:"
    yield from (f"    {line}" for line in _limit_lines(catalog, best))
    for shape, one in found.items():
        if one is best:
            continue
        if isinstance(one, Refused):
            yield f"not {TITLES[shape]}: {one.why}"
            continue
        yield f"alternative: {TITLES[shape]}"
        yield f"  why: {REASONS[shape]}"
        yield from (f"  {line}" for line in _shape_lines(one))
        yield f"  {_growth_line(grow(catalog, one, _factor(one)), _factor(one))}"


def _factor(found: Size) -> float:
    """The growth that is counted: the one asked for, else to twice the GPUs."""
    return found.wanted.growth if found.wanted.growth > 1 else 2.0


def to_json(catalog: Catalog, found: dict[Shape, Size | Refused], best: Size) -> dict[str, Any]:
    """The same for machines."""
    return {
        "chosen": best.shape,
        "shapes": [
            {"shape": shape, "fits": False, "why": one.why} if isinstance(one, Refused) else _json(catalog, one)
            for shape, one in found.items()
        ],
    }


def _json(catalog: Catalog, one: Size) -> dict[str, Any]:
    step = grow(catalog, one, _factor(one))
    after = step.size
    growth: dict[str, Any] = {"factor": _factor(one), "gpus": step.gpus, "fits": isinstance(after, Size)}
    if isinstance(after, Refused):
        growth["why"] = after.why
    else:
        growth |= {"switches": step.switches, "cables": step.cables, "optics": step.modules, "moved": step.moved}
    return {
        "shape": one.shape,
        "fits": True,
        "why": REASONS[one.shape],
        "leaves": one.leaf_switches,
        "spines": one.spine_switches,
        "super_spines": one.super_spine_switches,
        "server_cables": one.server_cables,
        "fabric_cables": one.fabric_cables,
        "optics": one.modules,
        "uplinks": one.uplinks,
        "path_colors": one.colors,
        "spare_server_ports": one.spare_leaf_ports,
        "spare_top_ports": one.spare_top_ports,
        "growth": growth,
        "limits": [{"what": what, "count": count, "most": most} for what, count, most in limits(catalog, one)],
    }
