"""Spines and super-spines, the leaves that share them, and the names of devices.

A fabric has one of four topologies:

- One set of spines connects all leaves.
- Each rail has its own spines (``planes: rail``). The network then has no path between rails; only servers connect
  them.
- Each port number of the NICs has its own spines (``planes: 2``), and every set of spines connects all rails.
- Each pod of stripes has its own spines. Super-spines connect the spines that have the same number in all pods. The
  super-spines above the spines with one number form a plane. With planes of NIC ports, each of these planes has its
  own pods and super-spines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.config.naming import named
from railweave.model.intent.base import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.fabric import Fabric
    from railweave.model.intent.topology import Naming, Topology


_FIELDS = {"leaf": "{stripe} and {leaf}", "spine": "{spine}", "super_spine": "{super_spine}", "dci": "{site} and {dci}"}
"""The fields of a naming pattern that make the names of a role's devices distinct, by role."""


def switch_name(context: Context, naming: Naming, fabric: str, role: str, **fields: str | int) -> str:
    """Return the name of a switch: the name that the file gives this switch, or else the name from the pattern of its role.

    ``naming`` holds these names and patterns. ``fields`` are the values for the pattern's placeholders. Raises ``DesignError`` if the
    pattern gives no valid name.
    """
    try:
        return naming.name_of(named(getattr(naming, role), fabric=fabric, **fields))
    except ValueError as error:
        shown = ", ".join(f"{name} {value}" for name, value in fields.items())
        context.problem(
            ("fabrics", fabric, "naming", role), f"the pattern gives no name for {shown} ({error})", "use other factors"
        )
        context.check()
        raise


def check_names(context: Context, layouts: Sequence[Layout]) -> None:
    """Record a problem for each naming pattern that gives two devices the same name; only the first such name is reported."""
    groups = enumerate(context.source.spec.servers)
    servers = {name.casefold(): index for index, group in groups for name in group.names}
    owners: dict[str, str] = {}
    for layout in layouts:
        for role, names in (
            ("leaf", [leaf.name for leaf in layout.leaves]),
            ("spine", [spine.name for spine in layout.spines]),
            ("super_spine", [super_spine.name for super_spine in layout.super_spines]),
            ("dci", [border.name for border in layout.dci]),
        ):
            _check_servers(context, servers, names)
            _check_length(context, layout.name, role, names)
            counts = Counter(name.casefold() for name in names)
            repeated = next((name for name in names if name.casefold() in owners or counts[name.casefold()] > 1), None)
            if repeated is not None:
                _note(context, layout.name, role, repeated, owners.get(repeated.casefold(), layout.name))
            owners.update(dict.fromkeys(counts, layout.name))
        _check_renamed(context, layout)
    context.check()


def _check_renamed(context: Context, layout: Layout) -> None:
    """Record a problem for each name under ``naming.switches`` that no pattern produces, so that there is no switch to rename."""
    there = set(layout.equipment)
    for patterned, name in layout.spec.naming.switches.items():
        if name not in there:
            at = ("fabrics", layout.name, "naming", "switches", patterned)
            context.problem(
                at, f"no switch has the name {patterned!r}", "give a name that the pattern of its role produces"
            )


def _check_servers(context: Context, servers: dict[str, int], names: Sequence[str]) -> None:
    for name in names:
        if name.casefold() in servers:
            context.problem(
                ("servers", servers[name.casefold()], "names"),
                f"duplicate name: a server and a switch would both have the name {name!r}",
                "rename the server, or rename the switch with `naming:`",
            )


def _check_length(context: Context, fabric: str, role: str, names: Sequence[str]) -> None:
    """Record a problem if a host name in ``names`` is too long.

    The naming pattern was checked earlier only with an example, which may be shorter.
    """
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST:
        context.problem(
            ("fabrics", fabric, "naming", role),
            f"a switch would have the name {longest[:LONGEST]!r}…, with {len(longest)} characters",
            f"host names have at most {LONGEST} characters: shorten the pattern, or the names of stripes and spines",
        )


def _note(context: Context, fabric: str, role: str, name: str, other: str) -> None:
    at = ("fabrics", fabric, "naming", role)
    if other == fabric:
        context.problem(
            at, f"duplicate name: two devices would both have the name {name!r}", f"use {_FIELDS[role]} in the pattern"
        )
    else:
        context.problem(
            at,
            f"duplicate name: fabrics {other!r} and {fabric!r} both have a switch {name!r}",
            "use names that differ, for example `naming: "
            '{leaf: "{fabric}-{stripe}-leaf{leaf}", spine: "{fabric}-{spine}"}`',
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf before addresses are allocated.

    - ``stripe_slot``: the number of its stripe.
    - ``position``: its number in the stripe.
    - ``number``: its number among the leaves of all stripes, in the order of stripe numbers in the lock. So it never changes.
    - ``place``: its number among the leaves that share the same spines.
    """

    name: str
    stripe: str
    stripe_slot: int
    position: int
    number: int
    rails: tuple[int, ...]
    pod: str = ""
    plane: str = ""
    place: int = 0

    @property
    def block(self) -> str:
        """The plane and pod of the leaves that share this leaf's spines, such as ``plane1-pod2``.

        Empty if all leaves share the same spines.
        """
        return "-".join(filter(None, (self.plane, self.pod)))


@dataclass(frozen=True, slots=True)
class Spine:
    """A spine before addresses are allocated.

    - ``key``: the spine's name in the ``spines`` list of the fabric file.
    - ``position``: its number among the spines to which a leaf connects. ``number``: its number in the fabric.
    - ``block``: the plane and pod of the leaves that the spine connects; empty if it connects all leaves.
    - ``group``: identifies the spines of all pods that the same super-spines connect; empty without super-spines.
    """

    name: str
    key: str
    position: int
    number: int
    pod: str = ""
    plane: str = ""
    block: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class SuperSpine:
    """A super-spine before addresses are allocated. It connects the spines of ``group``, one in each pod.

    ``position`` is its number among the super-spines of the group, and ``number`` its number in the fabric.
    """

    name: str
    plane: str
    group: str
    position: int
    number: int


def block_of(
    topology: Topology, stripe: str, slot: int, position: int, rails_per_leaf: int, leaves_of_plane: int
) -> tuple[str, str]:
    """Return (pod, plane) of a leaf. A value that does not apply is empty.

    The leaf has ``position`` (from 1) in the stripe with number ``slot``. If each rail has its own spines, the plane of the second leaf is
    named rail2, or plane2 if ``rails_per_leaf`` is more than 1. In a fabric that spans sites, each site is a pod. Each plane of NIC ports
    has ``leaves_of_plane`` leaves in every stripe; leaves of the first plane come first.
    """
    if topology.interconnect:
        return topology.interconnect.site_of(stripe), ""
    pod = f"pod{(slot - 1) // topology.stripes_per_pod + 1}" if topology.stripes_per_pod else ""
    if topology.port_planes > 1:
        return pod, f"plane{(position - 1) // leaves_of_plane + 1}"
    return pod, (f"rail{position}" if rails_per_leaf == 1 else f"plane{position}") if topology.planes else ""


def place_of(topology: Topology, slot: int, position: int, leaves_of_plane: int) -> int:
    """Return the number of a leaf among the leaves that share its spines, from 1. The number determines the leaf's ports on the spines.

    The leaf has ``position`` (from 1) in the stripe with number ``slot``. ``leaves_of_plane`` is the number of leaves in a stripe
    or, if NIC ports are divided into planes, the number per plane in a stripe.
    """
    if topology.planes == "rail":
        return slot
    plane_place = (position - 1) % leaves_of_plane + 1
    return ((slot - 1) % (topology.stripes_per_pod or slot)) * leaves_of_plane + plane_place


def spines_of(context: Context, name: str, fabric: Fabric, leaves: Sequence[Leaf]) -> tuple[Spine, ...]:
    """Return the spines of all pods and planes, in the order of their numbers."""
    topology = fabric.topology
    positions = context.lock.allot(f"{name}/spines", topology.spine_names())
    blocks = {leaf.block: (leaf.pod, leaf.plane) for leaf in leaves}
    placed: list[tuple[str, str, int, str]] = []
    for block in blocks:
        for key, position in sorted(positions.items(), key=lambda item: item[1]):
            placed.append((f"{block}-{key}" if block else key, key, position, block))
    if list(blocks) == [""]:
        numbers = positions
    else:  # one number a spine over all blocks, for AS numbers; with one block the position is that number
        numbers = context.lock.allot(f"{name}/spines of blocks", [full for full, *_ in placed])
    made: list[Spine] = []
    for full, key, position, block in placed:
        pod, plane = blocks[block]
        group = f"plane{position}" if topology.super_spines else ""
        if plane and group:
            group = f"{plane}-{position}"
        made.append(
            Spine(
                switch_name(context, fabric.naming, name, "spine", spine=full, number=numbers[full]),
                *(key, position, numbers[full], pod, plane or group, block, group),
            )
        )
    return tuple(sorted(made, key=lambda spine: spine.number))


def super_spines_of(context: Context, name: str, fabric: Fabric, spines: Sequence[Spine]) -> tuple[SuperSpine, ...]:
    """Return the super-spines that connect each group of spines (one in each pod), in the order of their numbers."""
    count = fabric.topology.super_spines
    if not count:
        return ()
    in_order = sorted(
        spines, key=lambda spine: (spine.plane if fabric.topology.port_planes > 1 else "", spine.position)
    )
    planes = {spine.group: spine.plane for spine in in_order}
    keys = {
        f"{group}-super{position}": (plane, group, position)
        for group, plane in planes.items()
        for position in range(1, count + 1)
    }
    numbers = context.lock.allot(f"{name}/super-spines", keys)
    return tuple(
        SuperSpine(switch_name(context, fabric.naming, name, "super_spine", super_spine=key), *of_key, numbers[key])
        for key, of_key in sorted(keys.items(), key=lambda item: numbers[item[0]])
    )


def pod_number(pod: str) -> int:
    """Return the number in a pod's name, which determines the pod's ports on super-spines."""
    return int(pod.removeprefix("pod"))
