"""Models by the words of the fabric file: ``device: qfx5240-64`` means what ``init --switch qfx5240-64`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.words import servers_named, switches_named
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.fabric import FabricFile
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import Role

MODEL_BY_WORD = Rule(
    id="model-by-word",
    severity="warning",
    applies="design",
    says="a word in the place of a model means several models of the catalog; the first is taken",
    why="another model may come before it in a later catalog, and the design would change",
    fix="write the whole name of the model that is meant",
)

_ROLES = ("leaf", "spine", "super_spine", "dci")


def with_catalog_names(spec: FabricFile, catalog: Catalog) -> FabricFile:
    """The fabric file with each model's name in place of a word that means it; a word that means none stays.

    A role whose ``nos`` the file does not give runs the usual system, or the first of its model's where that does not run it:
    as ``init --switch`` and ``--device`` choose.
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
        key: one.model_copy(update={"device": chosen.get(("overrides", "devices", key, "device"), one.device)})
        for key, one in spec.overrides.devices.items()
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
    """Note the words of a file that mean several models."""
    for at, word, means in _words(spec, context.catalog):
        if len(means) > 1:
            what = f"{word!r} means {', '.join(means)}: {means[0]} is taken"
            context.finding(MODEL_BY_WORD, ".".join(map(str, at)), at, what)


def _words(spec: FabricFile, catalog: Catalog) -> Iterator[tuple[Location, str, list[str]]]:
    """Every word in a model's place that is no model's name and means some: where, the word, the models."""
    places: list[tuple[Location, str]] = [
        (("fabrics", name, role, "device"), given.device)
        for name, fabric in spec.fabrics.items()
        for role in _ROLES
        if (given := getattr(fabric, role)) is not None
    ]
    places += [
        (("overrides", "devices", key, "device"), one.device)
        for key, one in spec.overrides.devices.items()
        if one.device is not None
    ]
    for at, word in places:
        if word not in catalog.switches and (means := switches_named(catalog, word)):
            yield at, word, means
    for place, group in enumerate(spec.servers):
        if group.model not in catalog.servers and (means := servers_named(catalog, group.model)):
            yield ("servers", place, "model"), group.model, means
