"""Short names of hardware models in the fabric file: ``device: qfx5240-64`` means the same model as ``init --switch qfx5240-64``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.definitions import vendor_files
from railweave.model.catalog.hardware import Hardware, NicModel
from railweave.model.catalog.words import servers_named, switches_named
from railweave.model.findings.registry import Rule
from railweave.nics.protocol import ONLY_WITH_FIRMWARE, PARTS, missing_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.design.context import Context
    from railweave.errors import FileLine
    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.fabric import FabricFile
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import Role
    from railweave.model.network.devices import Cable, Server, Switch


OUTSIDE = Rule(
    "hardware-outside",
    "info",
    "design",
    fault="hardware models are described in files outside the fabric file: in the folder of `--hardware`, or in the "
    "user's own folder",
    why="without these files, the design fails or differs",
    fix="keep the files next to the fabric file, or move their contents under its `hardware:`",
)


def used_hardware(
    context: Context, switches: Iterable[Switch], servers: Iterable[Server], cables: Iterable[Cable]
) -> Hardware:
    """Return the hardware models that the network uses and that come from files instead of the packaged catalog."""
    own_hardware = context.catalog.own_hardware
    if own_hardware.empty:
        return own_hardware
    models = {switch.model for switch in switches}
    hosts = {server.model for server in servers}
    nics = {group.nic for name in hosts for group in context.catalog.servers[name].nics.values()}
    optics = {end.optic for cable in cables for end in (cable.a, cable.b)}
    return Hardware(
        switches={name: model for name, model in own_hardware.switches.items() if name in models},
        servers={name: model for name, model in own_hardware.servers.items() if name in hosts},
        nics={name: model for name, model in own_hardware.nics.items() if name in nics},
        optics={name: model for name, model in own_hardware.optics.items() if name in optics},
    )


def note_outside(context: Context, used: Hardware, places: Mapping[tuple[str, str], FileLine]) -> None:
    """Record a finding about models that come from files other than the fabric file.

    ``used`` are the models in use. ``places`` holds the file and line of each model by (section, name).
    """
    outside = [
        f"{name} ({place.file.rpartition('/')[2]}:{place.line})"
        for section in ("switches", "servers", "nics", "optics")
        for name in getattr(used, section)
        if (place := places.get((section, name))) and place.file != context.source.document.file
    ]
    if outside:
        context.finding(OUTSIDE, context.source.spec.name, (), f"from hardware files: {', '.join(outside)}")


HOW = "docs/howto/add-a-network-operating-system.md#add-a-nic-vendor says how to add the vendor; or choose another server model"


def check_nic_vendors(context: Context) -> None:
    """Raise ``DesignError`` if a connected NIC's vendor has no folder under ``railweave.nics``, or if that folder is incomplete."""
    spec, models = context.source.spec, context.catalog.servers
    for index, group in enumerate(spec.servers):
        for name, fabric in spec.fabrics.items():
            if group.model not in models or (group.fabrics is not None and name not in group.fabrics):
                continue
            nics = models[group.model].nics.get(fabric.nics)
            if nics is not None and (missing := _missing(context.catalog.nics.get(nics.nic))):
                context.problem(("servers", index, "model"), f"NICs {nics.nic} of {group.model}: {missing}", HOW)
    context.check()


def _missing(model: NicModel | None) -> str:
    if model is None:
        return "they are not in the catalog"
    folder = f"nics/{model.vendor.lower()}"
    if model.vendor.lower() not in vendor_files():
        return f"railweave does not know their vendor, {model.vendor}: {folder} does not exist"
    parts = [part for part in missing_parts(model.vendor) if model.firmware or part != ONLY_WITH_FIRMWARE]
    if not parts:
        return ""
    words = ", ".join(f"`{part}` ({PARTS[part]})" for part in parts)
    return f"the files of their vendor, {model.vendor}, lack {words} in {folder}"


MODEL_BY_WORD = Rule(
    id="model-by-word",
    severity="warning",
    applies="design",
    fault="a name fits several models of the catalog; the first is used",
    why="a later catalog may list a different model first, which would change the design",
    fix="write the full name of the model",
)

_ROLES = ("leaf", "spine", "super_spine", "dci")


def with_catalog_names(spec: FabricFile, catalog: Catalog) -> FabricFile:
    """Return the fabric file with short model names replaced by full names. A short name that matches no model stays unchanged.

    A role without ``nos`` in the file gets the default system or, if its model does not run that system, the first
    system of its model. ``init --switch`` and ``--device`` choose in the same way.
    """
    chosen = {at: means[0] for at, _, means in _words(spec, catalog)}
    fabrics = {
        name: fabric.model_copy(
            update={
                role: _with_system(
                    given.model_copy(update={"device": chosen.get(("fabrics", name, role, "device"), given.device)}),
                    catalog,
                )
                for role in _ROLES
                if (given := getattr(fabric, role)) is not None
            }
        )
        for name, fabric in spec.fabrics.items()
    }
    devices = {
        key: override.model_copy(
            update={"device": chosen.get(("overrides", "devices", key, "device"), override.device)}
        )
        for key, override in spec.overrides.devices.items()
    }
    servers = tuple(
        group.model_copy(update={"model": chosen.get(("servers", place, "model"), group.model)})
        for place, group in enumerate(spec.servers)
    )
    overrides = spec.overrides.model_copy(update={"devices": devices})
    return spec.model_copy(update={"fabrics": fabrics, "overrides": overrides, "servers": servers})


def _with_system(role: Role, catalog: Catalog) -> Role:
    model = catalog.switches.get(role.device)
    if model is None or role.nos in model.systems or "nos" in role.model_fields_set:
        return role
    return role.model_copy(update={"nos": model.systems[0]})


def note_words(context: Context, spec: FabricFile) -> None:
    """Record a finding for each short name in a file that matches several models."""
    for at, word, means in _words(spec, context.catalog):
        if len(means) > 1:
            message = f"{word!r} means {', '.join(means)}: {means[0]} is used"
            context.finding(MODEL_BY_WORD, ".".join(map(str, at)), at, message)


def _words(spec: FabricFile, catalog: Catalog) -> Iterator[tuple[Location, str, list[str]]]:
    """Yield (key path, short name, matching models) for each short name in the file. The first match is used."""
    places: list[tuple[Location, str]] = [
        (("fabrics", name, role, "device"), given.device)
        for name, fabric in spec.fabrics.items()
        for role in _ROLES
        if (given := getattr(fabric, role)) is not None
    ]
    places += [
        (("overrides", "devices", key, "device"), override.device)
        for key, override in spec.overrides.devices.items()
        if override.device is not None
    ]
    for at, word in places:
        if word not in catalog.switches and (means := switches_named(catalog, word)):
            yield at, word, means
    for place, group in enumerate(spec.servers):
        if group.model not in catalog.servers and (means := servers_named(catalog, group.model)):
            yield ("servers", place, "model"), group.model, means
