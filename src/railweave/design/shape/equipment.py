"""The model, software and ports of each switch. They are set by its role, or by ``overrides.devices``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.catalog.optics import link_breakout
from railweave.model.catalog.words import unknown_switch
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.cabling.ports import PortKind
    from railweave.design.context import Context
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.fabric import Fabric
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import PortRange, Role
    from railweave.model.network.devices import RoleName


OVERRIDE_LEFT_OUT = Rule(
    id="override-left-out",
    severity="info",
    applies="design",
    fault="an override of a switch is ignored, because `--device` changes the model or system of its role",
    why="the models, ports and buffers of single switches apply only to the models that the fabric file names",
)


@dataclass(frozen=True, eq=False)
class Equipment:
    """A kind of switch within a role: model, software and settings. One or more switches share it.

    ``own_keys`` are the keys that an override sets. ``at`` and ``role_at`` are the key paths of this override and of the role.
    Switches with equal equipment share one object, so each kind of switch is processed once, and its problems are reported once.
    """

    role_name: RoleName
    role: Role
    model: SwitchModel
    role_at: Location
    at: Location = ()
    own_keys: frozenset[str] = frozenset()

    def place(self, key: str) -> Location:
        """Return the key path of a setting in the fabric file: in the override if the override sets the key, or else in the role.

        A key that ends in ``_ports`` also counts as set by the override if the override sets ``device``.
        """
        ports_of_another = key.endswith("_ports") and "device" in self.own_keys
        return (*(self.at if key in self.own_keys or ports_of_another else self.role_at), key)

    def link_speeds(self, kind: PortKind, wanted_gbps: int) -> set[int]:
        """Return the speeds, in Gb/s, that ports of a kind support for links between switches, up to ``wanted_gbps``."""
        ports: PortRange = getattr(self.role, kind)
        mode = link_breakout(self.model, ports, wanted_gbps)
        group = self.model.group_of(ports.first or self.model.ports[0].first)
        if mode is None or group is None:
            return set()
        if ports.breakout is not None:
            return {mode.speed_gbps}
        return {breakout.speed_gbps for breakout in group.modes() if breakout.speed_gbps <= mode.speed_gbps}


def role_equipment(context: Context, name: str, fabric: Fabric) -> dict[RoleName, Equipment]:
    """Return the equipment of switches without overrides, by role.

    Raises ``DesignError`` if a model or system is not valid.
    """
    given: tuple[tuple[RoleName, str, Role | None], ...] = (
        ("leaf", "leaf", fabric.leaf),
        ("spine", "spine", fabric.spine),
        ("super-spine", "super_spine", fabric.super_spine),
        ("dci", "dci", fabric.dci),
    )
    derived = {"leaf": fabric.leaf, "spine": fabric.spine_role(), "super-spine": fabric.super_spine_role()}
    derived["dci"] = fabric.dci_role()
    equipment: dict[RoleName, Equipment] = {}
    below: SwitchModel | None = None
    for role_name, key, written in given:
        at = ("fabrics", name, key)
        if role_name == "dci":  # like the spines, not like super-spines
            below = equipment["spine"].model if "spine" in equipment else None
        model = _switch_model(context, derived[role_name], (*at, "device"), (*at, "nos")) if written else below
        if model is not None:
            equipment[role_name] = Equipment(role_name, derived[role_name], model, at)
        below = model
    context.check()
    return equipment


def equipment_of(
    context: Context,
    name: str,
    fabric: Fabric,
    roles: dict[RoleName, Equipment],
    switches: Iterable[tuple[RoleName, str]],
) -> dict[str, Equipment]:
    """Return the equipment of each switch by name, with overrides applied, and record problems.

    If ``--device`` replaces the switches of a role, their overrides are ignored. Only a release in an override is kept, if the system
    stays the same.
    """
    overrides = context.source.spec.overrides
    written = context.source.as_written
    changed: dict[tuple[RoleName, str], Equipment] = {}
    result: dict[str, Equipment] = {}
    left_out: set[str] = set()
    for role_name, switch in switches:
        result[switch] = usual = roles[role_name]
        key, override = overrides.of_device(switch)
        if override and (before := written.get((name, role_name))):
            given = override.own_equipment()
            override = override.only_release() if before.nos == usual.role.nos else None
            left = sorted(given - {"nos", "release"})
            if left and "device" not in given and key not in left_out:  # what goes with another model goes with it
                left_out.add(key)
                message = (
                    f"{', '.join(f'`{field}`' for field in left)} of {key} has no effect: --device gives its "
                    "role other switches"
                )
                context.finding(OVERRIDE_LEFT_OUT, name, ("overrides", "devices", key), message)
        own_fields = override.own_equipment() if override else frozenset[str]()
        if override is None or not own_fields:
            continue
        if (role_name, key) not in changed:
            role, at = override.applied(usual.role, fabric.qos), ("overrides", "devices", key)
            place = {part: (*(at if part in own_fields else usual.role_at), part) for part in ("device", "nos")}
            if "device" in own_fields and "nos" not in own_fields:
                place["nos"] = (*at, "device")
            model = _switch_model(context, role, place["device"], place["nos"])
            changed[role_name, key] = Equipment(role_name, role, model or usual.model, usual.role_at, at, own_fields)
        result[switch] = changed[role_name, key]
    return result


def _switch_model(context: Context, role: Role, device_at: Location, nos_at: Location) -> SwitchModel | None:
    model = context.catalog.switches.get(role.device)
    if model is None:
        context.problem(
            device_at,
            *unknown_switch(context.catalog, role.device),
        )
    elif role.nos not in context.catalog.systems or role.nos not in model.systems:
        context.problem(nos_at, f"{role.device} does not run {role.nos!r}", f"it runs {', '.join(model.systems)}")
    return model
