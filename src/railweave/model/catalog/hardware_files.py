"""Hardware files: models of users' own, in the catalog's form, with file and line of everything that is wrong.

A hardware file has the sections ``switches``, ``nics``, ``servers`` and ``optics``, each with models by name; the section
``hardware:`` of a fabric file has the same. A model of a name that is known already takes its place. ``extends: MODEL``
takes what is not given from another model.
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
from railweave.model.catalog.consistent import contradictions
from railweave.model.catalog.hardware import Hardware, NicModel, Optic, ServerModel, SwitchModel
from railweave.model.intent.names import check_name
from railweave.model.intent.reading.document import Document, read_document
from railweave.model.intent.reading.wording import mistakes

if TYPE_CHECKING:
    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.base import Model
    from railweave.model.intent.reading.document import Key

MODELS: dict[str, type[Model]] = {
    "switches": SwitchModel,
    "nics": NicModel,
    "servers": ServerModel,
    "optics": Optic,
}
"""The sections of a hardware file, and what each of their entries is."""


@dataclass(frozen=True)
class OwnHardware:
    """Models of a user's own, and where each stands, by section and name."""

    hardware: Hardware = field(default_factory=Hardware)
    places: dict[tuple[str, str], FileLine] = field(default_factory=dict[tuple[str, str], FileLine])


@dataclass(frozen=True)
class Layer:
    """Files whose models know each other; ``at`` is where the sections stand in the files."""

    documents: tuple[Document, ...]
    at: tuple[Key, ...] = ()


@dataclass
class _Entry:
    """A model as it is written."""

    document: Document
    at: tuple[Key, ...]
    given: dict[str, Any]


def user_folder() -> Path:
    """Where a user's own hardware files are looked for: ``~/.config/railweave/hardware``, or below ``XDG_CONFIG_HOME``."""
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "railweave" / "hardware"


def own_hardware(folder: Path | None = None, fabric: Document | None = None) -> OwnHardware:
    """The models of a user's own: of the user's folder, over them those of ``folder``, over them those of a fabric file.

    Raises ``SpecError`` with file and line of everything that is wrong; ``InputError`` where ``folder`` is none.
    """
    layers = [_folder_layer(user_folder())]
    if folder is not None:
        if not folder.is_dir():
            fix = "name a folder with hardware files (NAME.yaml); docs/hardware.md says what stands in them"
            raise InputError([Problem(Option("--hardware"), f"{folder} is not a folder", fix)])
        layers.append(_folder_layer(folder))
    if fabric is not None and ("hardware",) in fabric.lines:
        layers.append(Layer((fabric,), ("hardware",)))
    known, places = packaged(), dict[tuple[str, str], FileLine]()
    for layer in layers:
        hardware = _read(layer, known, places)
        known = known.with_hardware(hardware)
    return OwnHardware(known.own, places)


def _folder_layer(folder: Path) -> Layer:
    """The hardware files of a folder, in the order of their names. Raises ``SpecError`` if the folder cannot be read."""
    try:
        files = sorted(one for one in folder.iterdir() if one.suffix in {".yaml", ".yml"})
    except (FileNotFoundError, NotADirectoryError):
        files = []
    except OSError as error:
        fix = "let this user read it, or set XDG_CONFIG_HOME to a folder that this user can read"
        what = f"hardware files cannot be read: {error.strerror}"
        raise SpecError([Problem(FileLine(str(folder)), what, fix)]) from None
    return Layer(tuple(read_document(file) for file in files))


def _read(layer: Layer, known: Catalog, places: dict[tuple[str, str], FileLine]) -> Hardware:
    """The models of one layer; their places are added to ``places``."""
    problems: list[Problem] = []
    entries: dict[str, dict[str, _Entry]] = {section: {} for section in MODELS}
    for document in layer.documents:
        _collect(document, layer.at, entries, problems)
    found: dict[str, dict[str, Any]] = {section: {} for section in MODELS}
    for section, named in entries.items():
        for name, entry in named.items():
            whole = _whole(section, name, named, known, problems)
            model = None if whole is None else _model(section, entry, whole, problems)
            if model is not None:
                found[section][name] = model
                places[section, name] = FileLine(entry.document.file, entry.document.line(entry.at))
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    hardware = Hardware(**found)
    for (section, name, *inside), what, fix in contradictions(hardware, known.with_hardware(hardware)):
        entry = entries[str(section)][str(name)]
        problems.append(entry.document.problem((*entry.at, *inside), what, fix))
    if problems:
        raise SpecError(problems)
    return hardware


def _collect(
    document: Document, at: tuple[Key, ...], entries: dict[str, dict[str, _Entry]], problems: list[Problem]
) -> None:
    """Take the entries of a file. Notes sections that there are not, and models that another file of the layer has."""
    value: Any = document.value
    for key in at:
        value = value[key]
    if not isinstance(value, dict):
        problems.append(document.problem(at, "hardware is a map of sections", f"sections are {', '.join(MODELS)}"))
        return
    for section, named in cast("dict[Key, Any]", value).items():
        where = (*at, section)
        if section not in MODELS:
            hint = _nearest(str(section), list(MODELS)) or f"sections are {', '.join(MODELS)}"
            problems.append(document.problem(where, f"unknown key {section!r}", hint))
        elif not isinstance(named, dict):
            problems.append(document.problem(where, f"{section}: not a map", "write each model below its name"))
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
    """An entry with what it takes from the model that it extends; None where that is not there."""
    entry = named[name]
    parent = entry.given.get("extends")
    if parent is None:
        return entry.given
    others: dict[str, Model] = getattr(known, section)
    own = {key: value for key, value in entry.given.items() if key != "extends"}
    at = (*entry.at, "extends")
    if parent in named and parent != name:
        if parent in around:
            problems.append(entry.document.problem(at, f"{name} extends itself", "name another model"))
            return None
        below = _whole(section, parent, named, known, problems, (*around, name))
        return None if below is None else {**below, **own}
    if parent not in others:
        fix = _nearest(str(parent), list(others)) or f"known: {', '.join(sorted(others))}"
        problems.append(entry.document.problem(at, f"there is no model {parent!r} in {section}", fix))
        return None
    return {**others[str(parent)].model_dump(exclude_defaults=True), **own}


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else ""


def _model(section: str, entry: _Entry, whole: dict[str, Any], problems: list[Problem]) -> Model | None:
    """The model of an entry. Notes what is wrong with it, at its line."""
    kind = MODELS[section]
    try:
        return kind.model_validate(whole)
    except ValidationError as error:
        for one in mistakes(kind, whole, error.errors()):
            inside = next((place for place in one.places if (*entry.at, *place) in entry.document.lines), one.at)
            problems.append(entry.document.problem((*entry.at, *inside), one.what, one.fix))
        return None
