"""The SONiC validator: libyang validates every ``config_db.json`` against SONiC's published models.

libyang detects unknown tables and fields, values outside a range or pattern, references to missing rows, and violations of
the models' own conditions between tables. It does not detect lanes that are used twice, or queues that a chip does not
have. The rules in ``systems.sonic.lint`` detect these.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.counting import counted
from railweave.errors import RailweaveError, RenderError
from railweave.model.catalog import catalog
from railweave.model.config.secret_words import REFERENCE
from railweave.model.findings.registry import Rule
from railweave.model.findings.validators import MOST_VALIDATED, Validator, ValidatorReport, sample, sample_note
from railweave.reading import file_text
from railweave.systems.sonic.branches import MASTER, NUMBERED, branch
from railweave.systems.sonic.tables import Row, Tables, Value, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Files


_CONDITION = re.compile(
    r'\{% if yang_model_type == "cvl" %\}[ \t]*\n?(.*?)\{% else %\}[ \t]*\n?(.*?)\{% endif %\}[ \t]*\n?', re.DOTALL
)
INTEGERS = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})
"""The YANG types whose values are numbers in JSON (RFC 7951, section 6.1). Values of 64-bit types are texts in JSON."""


class ModelsError(RailweaveError):
    """The error that is raised if a folder contains no usable models. The message gives the reason."""


@dataclass(frozen=True, eq=False)
class SonicModels:
    """A loaded set of YANG models. ``tables`` has (module, container) for every table of ``config_db.json``.

    - ``context``: libyang's context.
    - ``failure``: the class of libyang's errors.
    - ``described``: the models and libyang's version, for display.
    """

    context: Any
    tables: dict[str, tuple[str, Any]]
    failure: type[Exception]
    described: str

    def refusal(self, text: str) -> str:
        """Return libyang's error message about a configuration, given as JSON of the models; empty if libyang accepts it."""
        try:
            data = self.context.parse_data_mem(text, "json", strict=True, no_state=True, validate_present=True)
        except self.failure as error:
            return str(error).removeprefix("failed to parse data tree: ")
        if data is not None:
            data.free()
        return ""


def sources(folder: Path) -> dict[str, str]:
    """Return the text of every model, by module name. Models that are build templates (``.yang.j2``) are filled in.

    If a template has one text for ``cvl`` and one for all other types of models, the second text is used. ``folder`` is
    ``src/sonic-yang-models`` of the repository, or a folder with models in which templates are already filled in.
    """
    texts = {path.stem: file_text(path) for path in sorted(folder.rglob("sonic-*.yang"))}
    for path in sorted(folder.rglob("sonic-*.yang.j2")):
        name = path.name.removesuffix(".yang.j2")
        texts.setdefault(name, _CONDITION.sub(lambda match: match.group(2), file_text(path)))
    return texts


def by_branch(folder: Path) -> dict[str, Path]:
    """Return the folder of the models for each SONiC branch, such as ``202505``. The result is empty if ``folder`` itself has the models."""
    return {name: folder / name for name in (*NUMBERED, MASTER) if (folder / name).is_dir()}


def load(folder: Path) -> SonicModels:
    """Load all models of a folder.

    Raises ``ModelsError`` if the models cannot be used, and ``ImportError`` if libyang is not installed.
    """
    libyang = importlib.import_module("libyang")
    texts = sources(folder)
    if "sonic-port" not in texts or "sonic-types" not in texts:
        raise ModelsError(f"{folder} holds no SONiC models (sonic-port.yang, and sonic-types.yang or its template)")
    failure = cast("type[Exception]", libyang.LibyangError)
    with tempfile.TemporaryDirectory(prefix="railweave-yang-") as prepared:
        for name, text in texts.items():
            (Path(prepared) / f"{name}.yang").write_text(text, encoding="utf-8")
        try:
            context = libyang.Context(prepared, explicit_compile=True)
            for name in texts:
                context.load_module(name)
            context.compile_schema()
        except failure as error:
            raise ModelsError(f"libyang cannot load the models in {folder}: {error}") from None
    tables = {table: (name, node) for name in texts for table, node in _tables(context.get_module(name), name)}
    return SonicModels(context, tables, failure, f"{len(texts)} SONiC models")


def _tables(module: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - libyang has no types
    for top in module.children():
        if top.keyword() == "container" and top.name() == name:
            for table in top.children():
                yield str(table.name()), table


NAME = "sonic-yang"
FILE = "config_db.json"

HOW_TO_GET = (
    "give src/sonic-yang-models of the public repository sonic-net/sonic-buildimage with --sonic-yang DIR, or a folder that holds one for each branch, called as the "
    "branch is (202505, 202511, master)"
)
_VARYING = re.compile(r"\d+")
_KEY = re.compile(rf'("primary_cak": "){REFERENCE.pattern}')
KEY_DIGITS = 130
"""The number of digits that the models require for a 256-bit MACsec key."""

STAND_IN = "stand-in-"
"""The prefix of the value that replaces a secret during validation.

The models have rules for passwords, and a placeholder such as ``<secret:NAME>`` would violate them.
"""


REFUSED = Rule(
    "validator-sonic-yang",
    "error",
    "validator",
    "published SONiC models reject a table, field or value",
    "`config reload` may reject it, or a daemon may not understand it",
    "correct it if it comes from `extra:`; otherwise report a bug of railweave",
)


def validate(
    files: Files, yang: Path | None, most: int | None = MOST_VALIDATED, releases: Mapping[str, str] | None = None
) -> ValidatorReport:
    """Validate the ``config_db.json`` of devices. ``most`` limits the number of devices; None means all.

    Without models or libyang, the report is ``skipped``, with the reason. The folder ``yang`` may have models for each branch
    (``202505``, ``202511``, …, ``master``). Each device is then validated with the models of its release in ``releases``. A
    device without models for its branch is not validated, and the report gives this reason.
    """
    texts = {device: named[FILE] for device, named in sorted(files.items()) if FILE in named}
    if not texts:
        return ValidatorReport(NAME, ran=False, reason=f"there is no {FILE} to validate")
    if yang is None:
        return ValidatorReport(NAME, ran=False, reason=f"no models: {HOW_TO_GET}")
    if importlib.util.find_spec("libyang") is None:
        return ValidatorReport(NAME, ran=False, reason="libyang is not installed: pip install 'railweave[yang]'")
    names = list(texts)
    chosen = sample(names, lambda device: _VARYING.sub("#", texts[device]), most)
    folders = by_branch(yang)
    of_branch: dict[str, list[str]] = {}
    for device in chosen:
        claimed = branch((releases or {}).get(device) or catalog().systems["sonic"].release)
        of_branch.setdefault(claimed if folders else "", []).append(device)
    findings: list[Finding] = []
    with_which, without = list[str](), list[str]()
    validated = 0
    for which, devices in of_branch.items():
        if folders and which not in folders:
            without.append(
                f"none of {which} for {counted(len(devices), 'device')}, not validated: {', '.join(devices[:4])}"
            )
            continue
        try:
            models = load(folders.get(which, yang))
        except ModelsError as error:
            without.append(f"{error}; {HOW_TO_GET}")
            continue
        findings += [finding for device in devices for finding in _validate_one(models, device, texts[device])]
        validated += len(devices)
        with_which.append(
            f"{models.described} of {which}" if folders else f"{models.described}, of which branch is not known"
        )
    if not validated:
        why = "; ".join(without)
        return ValidatorReport(
            NAME, ran=False, reason=f"{yang} holds no models of the devices' branches: {why}" if folders else why
        )
    version = f"libyang {importlib.metadata.version('libyang')}"
    reason = "; ".join([*with_which, *without, version]) + sample_note(len(chosen), len(names), "devices")
    return ValidatorReport(NAME, ran=True, reason=reason, validated=validated, findings=findings)


def _validate_one(models: SonicModels, device: str, text: str) -> list[Finding]:
    numbers: dict[str, str] = {}
    text_of_keys = _KEY.sub(lambda match: f"{match[1]}{'0' * KEY_DIGITS}", text)
    hidden = REFERENCE.sub(lambda match: numbers.setdefault(match.group(), f"{STAND_IN}{len(numbers)}"), text_of_keys)
    try:
        tables = parse(hidden)
    except RenderError as error:
        return [_finding(device, f"cannot be read: {error}", error.line)]
    conversion = Conversion(models)
    conversion.add(tables)
    findings = [_finding(device, problem, _line(text, *words)) for words, problem in conversion.unknown]
    refused = models.refusal(json.dumps(conversion.found))
    if refused:  # libyang stops at the first fault, and names the value but not its place
        value = re.search(r'"([^"]*)"', refused)
        findings.append(_finding(device, refused, _line(text, value.group(1)) if value else 0))
    return findings


def _line(text: str, *words: str) -> int:
    """Return the number of the line where a value is: the first line that contains the last of ``words``; 0 if there is none.

    The line must come after lines that contain the other words, in order. A word is a value, a key or a part of a key.
    """
    wanted = [re.compile(rf'["|]{re.escape(word)}["|]') for word in words]
    for number, line in enumerate(text.splitlines(), 1):
        if wanted[0].search(line):
            del wanted[0]
        if not wanted:
            return number
    return 0


def _finding(device: str, problem: str, line: int) -> Finding:
    return REFUSED.finding(device, problem, file=f"devices/{device}/{FILE}", line=line)


class Conversion:
    """The conversion of ``config_db.json`` to the JSON that libyang reads with the models.

    - ``found``: the converted JSON.
    - ``unknown``: the names that the models do not have, each with a reason.
    """

    def __init__(self, models: SonicModels) -> None:
        self.models = models
        self.found: dict[str, Any] = {}
        self.unknown: list[tuple[tuple[str, ...], str]] = []

    def add(self, tables: Tables) -> None:
        """Convert tables, in order, and add them to ``found`` and ``unknown``."""
        for name, rows in tables.items():
            if name not in self.models.tables:
                self.unknown.append(((name,), f"no model has a table {name}"))
                continue
            module, node = self.models.tables[name]
            inside = self.found.setdefault(f"{module}:{module}", {}).setdefault(f"{module}:{name}", {})
            for key, row in rows.items():
                self._row(inside, node, name, key, row)

    def _row(self, inside: dict[str, Any], table: Any, name: str, key: str, row: Row) -> None:  # noqa: ANN401 - libyang
        children: list[Any] = list(table.children())
        single = next((child for child in children if child.keyword() == "container" and child.name() == key), None)
        if single is not None:
            inside[key] = self._fields(single, name, key, row)
            return
        parts = key.split("|")
        of_length = [child for child in children if child.keyword() == "list" and len(list(child.keys())) == len(parts)]
        if not of_length:
            self.unknown.append(((name, key), f"{name}: no row has a key like {key!r}"))
            return
        keys = list(of_length[0].keys())
        entry = {leaf.name(): _value(leaf, part) for leaf, part in zip(keys, parts, strict=True)}
        entry |= self._fields(of_length[0], name, key, row)
        inside.setdefault(of_length[0].name(), []).append(entry)

    def _fields(self, node: Any, table: str, key: str, row: Mapping[str, Value]) -> dict[str, Any]:  # noqa: ANN401
        children = {str(child.name()): child for child in node.children()}
        inner = next((child for child in children.values() if child.keyword() == "list"), None)
        fields: dict[str, Any] = {}
        for field, value in row.items():
            child = children.get(field)
            if child is None and inner is not None and isinstance(value, str):  # a map: its fields are rows
                left, right = list(inner.children())[:2]
                entry = {left.name(): _value(left, field), right.name(): _value(right, value)}
                fields.setdefault(str(inner.name()), []).append(entry)
            elif child is None or child.keyword() not in {"leaf", "leaf-list"}:
                self.unknown.append(((table, key, field), f"{table}|{key}: no such field {field!r}"))
            elif child.keyword() == "leaf-list":
                fields[field] = [
                    _value(child, item) for item in (value if isinstance(value, list) else value.split(","))
                ]
            elif isinstance(value, list):
                self.unknown.append(((table, key, field), f"{table}|{key} {field}: takes one value, not a list"))
            else:
                fields[field] = _value(child, value)
        return fields


def _value(leaf: Any, text: str) -> object:  # noqa: ANN401 - libyang has no types
    """Return a value as JSON for its YANG type: a number, True or False, or a text. ``leaf`` is libyang's object of the field."""
    kind = leaf.type()
    union = kind.basename() == "union"
    kinds = {str(kind_type.basename()) for kind_type in (kind.union_types() if union else [kind])}
    if kinds & INTEGERS and re.fullmatch(r"-?\d+", text):
        return int(text)
    if "boolean" in kinds and text in {"true", "false"}:
        return text == "true"
    return text


VALIDATOR = Validator(NAME, FILE, "sonic_yang", validate, always=False)
