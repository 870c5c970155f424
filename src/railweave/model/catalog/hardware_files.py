"""Hardware files: users' own hardware models, with the same fields as the catalog's models.

A hardware file has the sections ``switches``, ``nics``, ``servers`` and ``optics``, each with models by name. The
section ``hardware:`` of a fabric file has the same sections. A model with a known name replaces the known model. A model
with ``extends: MODEL`` takes the fields that it does not set from that model.

This module reads the files, reports every error with file and line, and makes their JSON Schema.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from railweave.errors import FileLine, InputError, Option, Problem, SpecError
from railweave.model.catalog import packaged
from railweave.model.catalog.definitions import vendor_files
from railweave.model.catalog.hardware import Hardware, NicGroup, NicModel, Optic, ServerModel, SwitchModel
from railweave.model.intent.base import Model, check_name
from railweave.model.intent.reading.document import Document, Key, mistakes, read_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.models import Catalog


Contradiction = tuple[tuple[str | int, ...], str, str]
"""A contradiction as (place, error message, fix). The place is the section, the model's name, and the keys inside the model."""


def contradictions(hardware: Hardware, known: Catalog) -> Iterator[Contradiction]:
    """Yield the contradictions between the fields of a user's own models (``hardware``). ``known`` is the catalog that includes these models."""
    for name, switch in hardware.switches.items():
        yield from _of_switch(("switches", name), switch, known)
        yield from _first_releases(("switches", name), switch)
    for name, nic in hardware.nics.items():
        if nic.vendor.lower() not in vendor_files():
            vendors = ", ".join(
                sorted({nic.vendor for nic in known.nics.values() if nic.vendor.lower() in vendor_files()})
            )
            fix = f"known vendors: {vendors}; docs/howto/add-a-network-operating-system.md#add-a-nic-vendor says how to add one"
            yield ("nics", name, "vendor"), f"railweave does not know the vendor {nic.vendor!r}", fix
    for name, server in hardware.servers.items():
        for group, nics in server.nics.items():
            yield from _of_nics(("servers", name, "nics", group), nics, known)
            if nics.further_ports_of:
                yield from _of_further_ports(("servers", name, "nics", group, "further_ports_of"), server, group)


def _first_releases(at: tuple[str, str], model: SwitchModel) -> Iterator[Contradiction]:
    for nos in model.first_releases:
        if nos not in model.systems:
            message = f"first_releases names {nos!r}, but the switch does not run {nos!r}"
            yield (*at, "first_releases", nos), message, f"it runs {', '.join(model.systems)}"


def _of_switch(at: tuple[str, str], model: SwitchModel, known: Catalog) -> Iterator[Contradiction]:
    if not model.systems:
        yield (*at, "systems"), "the switch runs no operating system", f"known: {', '.join(known.systems)}"
    for place, nos in enumerate(model.systems):
        if nos not in known.systems:
            fix = f"known: {', '.join(known.systems)}"
            yield (*at, "systems", place), f"there is no operating system {nos!r}", fix
    if not model.ports:
        yield (*at, "ports"), "the switch has no ports", "give at least one group of ports"
    taken: dict[int, int] = {}
    for place, group in enumerate(model.ports):
        if group.count < 1 or group.lanes < 1 or group.speed_gbps < 1 or group.first < 0:
            yield (*at, "ports", place), "count, lanes and speed of ports must be at least 1, first at least 0", ""
            continue
        for mode_place, mode in enumerate(group.breakouts):
            inside = (*at, "ports", place, "breakouts", mode_place)
            if mode.channels < 1 or group.lanes % mode.channels:
                fix = f"all channels of a port have the same number of lanes, and the port has {group.lanes} lanes"
                yield inside, f"a port cannot be split into {mode.channels}", fix
            elif mode.channels * mode.speed_gbps > group.speed_gbps:
                yield inside, f"{mode} is faster than the port ({group.speed_gbps}G)", "give a lower speed"
        for port in range(group.first, group.last + 1):
            if port in taken:
                yield (
                    (*at, "ports", place),
                    f"port {port} is in two groups",
                    "the numbers of a switch model's ports must be unique",
                )
                break
            taken[port] = place
    if model.sonic is not None and len(model.sonic.first_lanes) != sum(group.count for group in model.ports):
        yield (
            (*at, "sonic", "first_lanes"),
            "the number of first lanes differs from the number of ports",
            "give one first lane for each port, in order",
        )


def _of_nics(at: tuple[str | int, ...], group: NicGroup, known: Catalog) -> Iterator[Contradiction]:
    if group.nic not in known.nics:
        yield (*at, "nic"), f"there is no NIC model {group.nic!r}", f"known: {', '.join(known.nics)}"
    if len(group.names) != len(group.rdma):
        message = f"{len(group.names)} interfaces and {len(group.rdma)} RDMA devices"
        yield (*at, "rdma"), message, "give one interface and one RDMA device for each NIC, in the same order"
    if len(group.names) % group.ports:
        message = f"{len(group.names)} names are not a multiple of {group.ports} ports for each NIC"
        yield (*at, "names"), message, "name port 1 of all NICs, then port 2 of all NICs"
    if len(set(group.names)) != len(group.names):
        yield (*at, "names"), "two NICs have the same name", "name each once"


def _of_further_ports(at: tuple[str | int, ...], server: ServerModel, kind: str) -> Iterator[Contradiction]:
    """Yield the contradictions in the NIC set ``kind`` of a server model, if the set has ``further_ports_of``.

    Such a set consists of the remaining ports on the cards of another set. ``at`` is the key path to report.
    """
    group = server.nics[kind]
    first = server.nics.get(group.further_ports_of)
    others = ", ".join(nic for nic in server.nics if nic != kind)
    if first is None or first is group:
        yield at, f"the server has no set of NICs {group.further_ports_of!r}", f"its other sets: {others or 'none'}"
    elif first.further_ports_of:
        yield (
            at,
            f"{group.further_ports_of} is itself given as further ports of another set",
            f"name {first.further_ports_of}",
        )
    elif (first.nic, first.adapters) != (group.nic, group.adapters):
        message = f"{group.adapters} {group.nic} cannot be on the same cards as {first.adapters} {first.nic}"
        yield at, message, "give both sets the same NIC model and the same number of NICs"
    elif [nic.further_ports_of for nic in server.nics.values()].count(group.further_ports_of) > 1:
        yield (
            at,
            f"two sets are given as further ports of {group.further_ports_of}",
            "name only one of them: a card is in at most two fabrics",
        )


def hardware_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a hardware file.

    A model with ``extends`` has no required fields, because it takes missing fields from the model that it extends.
    """
    schema = Hardware.model_json_schema()
    definitions = cast("dict[str, dict[str, Any]]", schema["$defs"])
    for section in Hardware.model_fields:
        reference = schema["properties"][section]["additionalProperties"]["$ref"]
        model = definitions[reference.rpartition("/")[2]]
        model["properties"] = {
            "extends": {
                "type": "string",
                "description": "name of a known model; the new model takes every field that is not given here from it",
            },
            **model["properties"],
        }
        model["if"] = {"not": {"required": ["extends"]}}
        model["then"] = {"required": model.pop("required")}
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "railweave hardware file"}


MODELS: dict[str, type[Model]] = {
    "switches": SwitchModel,
    "nics": NicModel,
    "servers": ServerModel,
    "optics": Optic,
}
"""The class of a model by section of a hardware file."""


@dataclass(frozen=True)
class OwnHardware:
    """A user's own models. ``places`` has the file and line of each model, by (section, name)."""

    hardware: Hardware = field(default_factory=Hardware)
    places: dict[tuple[str, str], FileLine] = field(default_factory=dict[tuple[str, str], FileLine])


@dataclass(frozen=True)
class Layer:
    """A group of parsed hardware files whose models can extend each other, for example all files of a folder.

    ``at`` has the keys above the sections ``switches``, ``nics`` and so on: ``("hardware",)`` in a fabric file, empty in a hardware file.
    """

    documents: tuple[Document, ...]
    at: tuple[Key, ...] = ()


@dataclass
class _Entry:
    """A model as written in a file (``given``), before the fields of the model named in ``extends`` are added."""

    document: Document
    at: tuple[Key, ...]
    given: dict[str, Any]


def user_folder() -> Path:
    """Return the folder of the user's own hardware files.

    The folder is ``railweave/hardware`` below ``XDG_CONFIG_HOME`` if that is set, and ``~/.config/railweave/hardware`` otherwise.
    """
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "railweave" / "hardware"


def own_hardware(folder: Path | None = None, fabric: Document | None = None) -> OwnHardware:
    """Return a user's own models: first those in the user's folder, then those in ``folder``, then those in the fabric file.

    A later model replaces an earlier model of the same name. Raises ``SpecError`` with file and line of every error, and ``InputError``
    if ``folder`` is not a folder.
    """
    layers = [_folder_layer(user_folder())]
    if folder is not None:
        if not folder.is_dir():
            fix = "name a folder with hardware files (NAME.yaml), which docs/hardware.md describes"
            raise InputError([Problem(Option("--hardware"), f"{folder} is not a folder", fix)])
        layers.append(_folder_layer(folder))
    if fabric is not None and ("hardware",) in fabric.lines:
        layers.append(Layer((fabric,), ("hardware",)))
    known, places = packaged(), dict[tuple[str, str], FileLine]()
    for layer in layers:
        hardware = _read(layer, known, places)
        known = known.with_hardware(hardware)
    return OwnHardware(known.own_hardware, places)


def _folder_layer(folder: Path) -> Layer:
    """Return a folder's hardware files, sorted by name; empty if the folder does not exist.

    Raises ``SpecError`` if the folder cannot be read.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in {".yaml", ".yml"})
    except (FileNotFoundError, NotADirectoryError):
        files = []
    except OSError as error:
        fix = "let this user read it, or set XDG_CONFIG_HOME to a folder that this user can read"
        message = f"hardware files cannot be read: {error.strerror}"
        raise SpecError([Problem(FileLine(str(folder)), message, fix)]) from None
    return Layer(
        tuple(
            read_document(file, start='docs/hardware.md, "Models of your own", shows a hardware file') for file in files
        )
    )


def _read(layer: Layer, known: Catalog, places: dict[tuple[str, str], FileLine]) -> Hardware:
    """Return the models of a layer (files whose models can extend each other), and add their files and lines to ``places``.

    ``known`` are the models that they may also extend. Raises ``SpecError`` with all errors.
    """
    problems: list[Problem] = []
    entries: dict[str, dict[str, _Entry]] = {section: {} for section in MODELS}
    for document in layer.documents:
        _collect(document, layer.at, entries, problems)
    models: dict[str, dict[str, Any]] = {section: {} for section in MODELS}
    for section, named in entries.items():
        for name, entry in named.items():
            whole = _whole(section, name, named, known, problems)
            model = None if whole is None else _model(section, entry, whole, problems)
            if model is not None:
                models[section][name] = model
                places[section, name] = FileLine(entry.document.file, entry.document.line(entry.at))
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    hardware = Hardware(**models)
    for (section, name, *inside), message, fix in contradictions(hardware, known.with_hardware(hardware)):
        entry = entries[str(section)][str(name)]
        problems.append(entry.document.problem((*entry.at, *inside), message, fix))
    if problems:
        raise SpecError(problems)
    return hardware


def _collect(
    document: Document, at: tuple[Key, ...], entries: dict[str, dict[str, _Entry]], problems: list[Problem]
) -> None:
    """Add the models of a file to ``entries``, by section and name. ``at`` is the key path to the sections.

    Each unknown section, and each model that an earlier file also defines, is added to ``problems``.
    """
    value: Any = document.value
    for key in at:
        value = value[key]
    if not isinstance(value, dict):
        problems.append(
            document.problem(at, "section `hardware` must be a map of sections", f"sections are {', '.join(MODELS)}")
        )
        return
    for section, named in cast("dict[Key, Any]", value).items():
        where = (*at, section)
        if section not in MODELS:
            hint = _nearest(str(section), list(MODELS)) or f"sections are {', '.join(MODELS)}"
            problems.append(document.problem(where, f"unknown key {section!r}", hint))
        elif not isinstance(named, dict):
            problems.append(
                document.problem(where, f"{section}: not a map", "write the fields of each model below its name")
            )
        else:
            for name, given in cast("dict[Key, Any]", named).items():
                _take(document, (*where, name), given, entries[str(section)], problems)


def _take(
    document: Document, at: tuple[Key, ...], given: object, named: dict[str, _Entry], problems: list[Problem]
) -> None:
    name = at[-1]
    if not isinstance(name, str) or not isinstance(given, dict):
        problems.append(document.problem(at, f"{name}: not a map", "write the fields of the model below its name"))
    elif name in named:
        first = named[name]
        line = FileLine(first.document.file, first.document.line(first.at))
        problems.append(document.problem(at, f"{name} is described twice", f"it is first described in {line}"))
    else:
        try:
            check_name(name)
        except ValueError as error:
            problems.append(document.problem(at, str(error)))
        named[name] = _Entry(document, at, cast("dict[str, Any]", given))


def _whole(
    section: str,
    name: str,
    named: dict[str, _Entry],
    known: Catalog,
    problems: list[Problem],
    around: tuple[str, ...] = (),
) -> dict[str, Any] | None:
    """Return the fields of a model as written. Missing fields are taken from the model that it extends.

    - ``named``: the written models of the section, by name.
    - ``known``: the catalog, whose models can be extended too.
    - ``problems``: the list to which errors are added.
    - ``around``: the models that are already being resolved, to detect a cycle.

    Return None if the extended model does not exist, or if the models extend each other.
    """
    entry = named[name]
    parent = entry.given.get("extends")
    if parent is None:
        return entry.given
    others: dict[str, Model] = getattr(known, section)
    given = {key: value for key, value in entry.given.items() if key != "extends"}
    at = (*entry.at, "extends")
    if not isinstance(parent, str):
        problems.append(entry.document.problem(at, "extends: not a name", "name the model that it extends"))
        return None
    if parent in named and parent != name:
        if parent in around:
            problems.append(entry.document.problem(at, f"{name} extends itself", "name another model"))
            return None
        below = _whole(section, parent, named, known, problems, (*around, name))
        return None if below is None else {**below, **given}
    if parent not in others:
        fix = _nearest(str(parent), list(others)) or f"known: {', '.join(sorted(others))}"
        problems.append(entry.document.problem(at, f"there is no model {parent!r} in {section}", fix))
        return None
    return {**others[str(parent)].model_dump(exclude_defaults=True), **given}


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else ""


def _model(section: str, entry: _Entry, whole: dict[str, Any], problems: list[Problem]) -> Model | None:
    """Return the validated model of ``entry``, or None if its fields are not valid.

    ``whole`` has all its fields, including those of extended models.

    Each error is added to ``problems`` with its line.
    """
    kind = MODELS[section]
    try:
        return kind.model_validate(whole)
    except ValidationError as error:
        for mistake in mistakes(kind, whole, error.errors()):
            inside = next(
                (place for place in mistake.places if (*entry.at, *place) in entry.document.lines), mistake.at
            )
            problems.append(entry.document.problem((*entry.at, *inside), mistake.what, mistake.fix))
        return None
