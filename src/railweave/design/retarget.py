"""Design of a fabric file with switches other than those in the file: ``--device leaf=MODEL:NOS``.

The file's port ranges, overrides and inventory refer to the switches in the file. Ports are matched by position: the third
port stays the third port, whatever its name on the new switch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from railweave.counting import several
from railweave.design.cabling.ports import ports_of
from railweave.design.named_models import with_catalog_names
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import catalog
from railweave.model.catalog.words import switches_named, system_named, unknown_switch
from railweave.model.intent.base import expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.fabric import Fabric, FabricFile
    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.tenants import ExternalRouter
    from railweave.model.intent.topology import Role
    from railweave.model.network.devices import RoleName

ROLES: dict[str, RoleName] = {"leaf": "leaf", "spine": "spine", "super-spine": "super-spine", "dci": "dci"}
_FORM = re.compile(
    r"(?:(?:(?P<fabric>[^/=:]+)/)?(?P<role>[^/=:]+)=)?(?P<model>[^/=:]*)(?::(?P<nos>[^/=:]*))?(?::(?P<release>[^/=:]+))?"
)
HOW = "write [[NAME/]ROLE=][MODEL][:NOS][:RELEASE], for example leaf=qfx5240-64od:junos, or spine=:frr"


@dataclass(frozen=True, slots=True)
class Target:
    """A replacement that ``--device`` requests: the new model and operating system for the switches of a role.

    An empty ``fabric`` or ``role`` means every fabric or every role. An empty ``model`` keeps the present model if it runs the
    new system; otherwise a similar model replaces it. An empty ``nos`` keeps the present system if the new model runs it;
    otherwise the model's first system replaces it.
    """

    text: str
    fabric: str
    role: str
    model: str
    nos: str
    release: str


def parse_target(text: str) -> Target:
    """Return the replacement that ``[[NAME/]ROLE=][MODEL][:NOS][:RELEASE]`` describes. Raises ``InputError`` if the text is not valid."""
    match = _FORM.fullmatch(text)
    parts = {key: value or "" for key, value in match.groupdict().items()} if match else {}
    if not parts.get("model") and not parts.get("nos"):
        raise _wrong(text, "names neither a model nor an operating system", HOW)
    if not parts["nos"] and (system := system_named(catalog(), parts["model"])):
        parts |= {"model": "", "nos": system}  # the name of a system in place of a model
    target = Target(text, **parts)
    if target.role and target.role not in ROLES:
        raise _wrong(text, f"there is no role {target.role!r}", f"roles are {', '.join(ROLES)}")
    if target.model:
        means = switches_named(catalog(), target.model)
        if not means:
            raise _wrong(text, *unknown_switch(catalog(), target.model))
        target = replace(target, model=means[0])
    if target.nos and target.nos not in catalog().systems:
        raise _wrong(text, f"there is no operating system {target.nos!r}", f"known: {', '.join(catalog().systems)}")
    if target.model and target.nos and target.nos not in catalog().switches[target.model].systems:
        runs = ", ".join(catalog().switches[target.model].systems)
        raise _wrong(text, f"{target.model} does not run {target.nos!r}", f"it runs {runs}")
    if target.release and not target.release[0].isdecimal():
        raise _wrong(
            text, f"{target.release!r} is not a release", "write the number of the release first, for example 25.4R1"
        )
    return target


def _wrong(text: str, message: str, fix: str) -> InputError:
    return InputError([Problem(Option("--device", text), message, fix)])


def retargeted(source: Source, words: Iterable[str]) -> Source:
    """Return the source (fabric file, inventory and lock) with all replacements of ``--device`` applied to its roles.

    Later replacements override earlier ones. Raises ``InputError`` if a replacement is not valid.
    """
    targets = [parse_target(word) for word in words]
    if not targets:
        return source
    spec, as_written = with_catalog_names(source.spec, catalog()), dict(source.as_written)
    for target in targets:
        spec = _apply(spec, target, as_written)
    return replace(source, spec=spec, as_written=as_written)


def _apply(spec: FabricFile, target: Target, as_written: dict[tuple[str, str], Role]) -> FabricFile:
    if target.fabric and target.fabric not in spec.fabrics:
        fix = f"fabrics are {', '.join(spec.fabrics)}"
        raise _wrong(target.text, f"there is no fabric {target.fabric!r}", fix)
    changed: dict[str, Fabric] = {}
    for name, fabric in spec.fabrics.items():
        roles = _roles(fabric) if target.fabric in {"", name} else {}
        made = {key: _other(role, target) for key, role in roles.items() if target.role in {"", key}}
        if made:
            for key, role in roles.items():
                if key in made:
                    as_written.setdefault((name, key), role)
            # A tier that the file leaves out is like the one below it: it stays what that was.
            all_roles = {key.replace("-", "_"): role for key, role in {**roles, **made}.items()}
            changed[name] = fabric.model_copy(update=all_roles)
    if not changed:
        where = f"fabric {target.fabric!r} has" if target.fabric else "no fabric has"
        message = f"{where} no {several(target.role)}" if target.fabric else f"{where} {several(target.role)}"
        raise _wrong(target.text, message, "remove the role, or use a role of the fabric")
    return spec.model_copy(update={"fabrics": {**spec.fabrics, **changed}})


def _roles(fabric: Fabric) -> dict[RoleName, Role]:
    """Return the roles of a fabric that have switches."""
    roles: dict[RoleName, Role] = {"leaf": fabric.leaf}
    if fabric.topology.spine_names():
        roles["spine"] = fabric.spine_role()
    if fabric.topology.super_spines:
        roles["super-spine"] = fabric.super_spine_role()
    across = fabric.topology.interconnect
    if across and across.routers:
        roles["dci"] = fabric.dci_role()
    return roles


def _other(role: Role, target: Target) -> Role:
    """Return a role with the model and system that ``target`` requests.

    The release is the one that the target gives. Without one, the role keeps its release if its system stays the same; otherwise it gets
    the catalog's default.
    """
    known = catalog()
    old = known.switches.get(role.device)
    if old is None:  # the design says so, with its line
        return role
    model = target.model or _like(role.device, old, target)
    systems = known.switches[model].systems
    nos = target.nos or (role.nos if role.nos in systems else systems[0])
    release = target.release or (role.release if nos == role.nos else None)
    offset = known.switches[model].ports[0].first - old.ports[0].first
    ranges = {
        key: ports.model_copy(
            update={end: value + offset for end in ("first", "last") if (value := getattr(ports, end)) is not None}
        )
        for key in ("uplink_ports", "server_ports", "leaf_ports")
        for ports in [getattr(role, key)]
    }
    return role.model_copy(update={"device": model, "nos": nos, "release": release, **ranges})


def _like(name: str, old: SwitchModel, target: Target) -> str:
    """Return the model ``name`` if it runs the target's system, or else the most similar model that runs the system.

    ``old`` has the properties of the model ``name``. A similar model has ports of the same speed, and preferably at least as many. If
    all such models have fewer ports, the design reports the shortage later. Raises ``InputError`` if no model that runs the
    system has ports of this speed.
    """
    if target.nos in old.systems:
        return name
    count, speed = _shape(old)
    models = {key: model for key, model in catalog().switches.items() if target.nos in model.systems}
    fast = {key: model for key, model in models.items() if _shape(model)[1] == speed}
    if not fast:
        known = f"models that run it: {', '.join(models)}" if models else "no model of the catalog runs it"
        raise _wrong(target.text, f"no model that runs {target.nos!r} has {speed}G ports like {name}", known)

    def distance(key: str) -> tuple[bool, int, bool, bool]:
        ports, model = _shape(fast[key])[0], fast[key]
        return ports < count, abs(ports - count), model.ports[0].cage != old.ports[0].cage, model.asic != old.asic

    return min(fast, key=distance)


def _shape(model: SwitchModel) -> tuple[int, int]:
    """Return a model's (number of ports, port speed in Gb/s)."""
    return model.ports[0].count, model.ports[0].speed_gbps


def rename_ports(context: Context, layouts: Sequence[Layout]) -> list[Layout]:
    """Translate the port names in overrides, external links and the inventory for switches that ``--device`` replaced.

    Returns the layouts (the fabrics before cabling) with the new names. The source in ``context`` is changed too.
    """
    source = context.source
    overrides = source.spec.overrides
    names: dict[str, dict[str, str]] = {}
    for layout in layouts:
        of_role = {
            "leaf": layout.leaves,
            "spine": layout.spines,
            "super-spine": layout.super_spines,
            "dci": layout.dci,
        }
        for key, devices in of_role.items():
            before = source.as_written.get((layout.name, key))
            if before is not None:
                now = layout.roles[cast("RoleName", key)].role
                usual = _names(before, now)
                for device in devices:
                    _, override = overrides.of_device(device.name)
                    names[device.name] = _names(override.applied(before, layout.spec.qos), now) if override else usual
    if not names:
        return list(layouts)
    cables = tuple(
        cable.model_copy(update={"ports": {d: names.get(d, {}).get(port, port) for d, port in cable.ports.items()}})
        for cable in overrides.cables
    )
    devices = {
        key: device_override.model_copy(
            update={
                "ports": {
                    names.get(expand(key)[0], {}).get(port, port): port_intent
                    for port, port_intent in device_override.ports.items()
                }
            }
        )
        if device_override.ports
        else device_override
        for key, device_override in overrides.devices.items()
    }
    changed = overrides.model_copy(update={"cables": cables, "devices": devices})
    items = {(d, names.get(d, {}).get(port, port)): item for (d, port), item in source.inventory.items.items()}
    context.source = replace(
        source,
        spec=source.spec.model_copy(update={"overrides": changed}),
        inventory=replace(source.inventory, items=items),
    )
    return [replace(layout, spec=_outside(layout.spec, names)) for layout in layouts]


def _outside(spec: Fabric, names: dict[str, dict[str, str]]) -> Fabric:
    """Return a fabric with new port names in its external links and edge ports. ``names`` maps old to new names for each switch."""

    def renamed(router: ExternalRouter) -> ExternalRouter:
        links = tuple(
            link.model_copy(update={"port": names.get(link.leaf, {}).get(link.port, link.port)})
            for link in router.links
        )
        return router.model_copy(update={"links": links})

    tenants = {
        name: tenant.model_copy(update={"external": {key: renamed(router) for key, router in tenant.external.items()}})
        for name, tenant in spec.tenants.items()
    }
    edges = {
        name: edge_port.model_copy(update={"port": names.get(edge_port.leaf, {}).get(edge_port.port, edge_port.port)})
        for name, edge_port in spec.edge_ports.items()
    }
    return spec.model_copy(update={"tenants": tenants, "edge_ports": edges})


def _names(before: Role, now: Role) -> dict[str, str]:
    """Return a map of old to new port names, for the ports of every breakout mode. Ports without a counterpart are left out.

    ``before`` is the role with its old model and system, ``now`` the role with the new ones.
    """
    known = catalog()
    old, new = known.switches[before.device], known.switches[now.device]
    offset = new.ports[0].first - old.ports[0].first
    there = {(port.physical, port.channel, speed): name for name, port, speed in ports_of(new, known.systems[now.nos])}
    return {
        name: there[key]
        for name, port, speed in ports_of(old, known.systems[before.nos])
        if (key := (port.physical + offset, port.channel, speed)) in there
    }
