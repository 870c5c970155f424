"""The Junos validator: libyang validates every ``junos.conf`` against Juniper's published models.

libyang detects unknown words, values outside an enumeration, range or pattern, and mutually exclusive statements. It does
not check references, values in free text, or ``junos:must`` rules. The rules in ``lint`` check these. The models are those
of the classic QFX, while the QFX5240 runs Junos OS Evolved. Therefore an accepted configuration is probably correct, but
this is no proof.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, tostring

from railweave.errors import RenderError
from railweave.model.findings.registry import Rule
from railweave.model.findings.validators import MOST_VALIDATED, Validator, ValidatorReport, sample, sample_note
from railweave.systems.junos.parse import parse
from railweave.systems.junos.tree import Statement, set_paths, to_curly
from railweave.systems.junos.yang_models import Conversion, Models, ModelsError, Unknown, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Files

NAME = "junos-yang"
FILE = "junos.conf"

UNPUBLISHED = (
    ("protocols", "bgp", "fabric-advertise"),
    ("protocols", "bgp", "fabric-color"),
    ("protocols", "bgp", "group", "*", "fabric-color"),
    ("protocols", "bgp", "group", "*", "neighbor", "*", "fabric-color"),
    ("firewall", "family", "*", "filter", "*", "term", "*", "from", "rdma-opcode"),
    ("firewall", "family", "*", "filter", "*", "term", "*", "from", "ip-version", "*", "rdma-opcode"),
    ("firewall", "family", "*", "filter", "*", "term", "*", "then", "dynamic-load-balance"),
)
"""The statements that no model up to 24.4 has: deterministic path forwarding (25.4R1) and selective DLB (Evolved, 23.4R2)."""

HOW_TO_GET = (
    "give a folder of the public repository Juniper/yang with --yang DIR, such as"
    " 23.4/23.4R2/native/conf-and-rpcs/junos-qfx/conf-with-extensions"
)
_VARYING = re.compile(r'"[^"]*"|\b[0-9a-f]*:[0-9a-f:./]*|\d+')


REFUSED = Rule(
    "validator-junos-yang",
    "error",
    "validator",
    "published Junos models reject a statement",
    "the published models do not allow it, so a commit is expected to fail",
    "correct the statement if it comes from `extra:`; otherwise report a bug of railweave",
)
UNKNOWN = Rule(
    "validator-junos-unknown",
    "info",
    "validator",
    "statements are newer than every published model",
    "no outside validator can check these statements",
    "test one device of the kind with `commit check` before the others",
)


@dataclass(frozen=True)
class _Read:
    """The statements of a file. ``numbered`` is True if their line numbers can be reported."""

    device: str
    statements: list[Statement]
    numbered: bool


def validate(files: Files, yang: Path | None, most: int | None = MOST_VALIDATED) -> ValidatorReport:
    """Validate the ``junos.conf`` of devices. ``yang`` is the folder of the models. ``most`` limits the number of devices; None means all.

    Without models or libyang, the report is ``skipped``, with the reason.
    """
    texts = {device: named[FILE] for device, named in sorted(files.items()) if FILE in named}
    if not texts:
        return ValidatorReport(NAME, ran=False, reason=f"there is no {FILE} to validate")
    if yang is None:
        return ValidatorReport(NAME, ran=False, reason=f"no models: {HOW_TO_GET}")
    if importlib.util.find_spec("libyang") is None:
        return ValidatorReport(NAME, ran=False, reason="libyang is not installed: pip install 'railweave[yang]'")
    findings: list[Finding] = []
    read: list[_Read] = []
    for device, text in texts.items():
        try:
            statements = parse(text)
        except RenderError as error:
            findings.append(_finding(device, f"cannot be read: {error}", error.line))
            continue
        read.append(_Read(device, statements, numbered=to_curly(statements) == text))
    chosen = sample(read, _shape, most)
    try:
        models = load(yang, {word for config in chosen for statement in config.statements for word in statement.words})
    except ModelsError as error:
        return ValidatorReport(NAME, ran=False, reason=f"{error}; {HOW_TO_GET}", findings=findings)
    left_out: dict[str, list[str]] = {}
    for config in chosen:
        refused, words = _validate_one(models, config)
        findings += refused
        if words:
            left_out.setdefault(", ".join(words), []).append(config.device)
    findings += [_unpublished(words, devices) for words, devices in left_out.items()]
    shapes = sample_note(len(chosen), len(read), "devices")
    return ValidatorReport(NAME, ran=True, reason=models.described + shapes, validated=len(chosen), findings=findings)


def _shape(read: _Read) -> frozenset[str]:
    return frozenset(_VARYING.sub("#", " ".join(path)) for top in read.statements for path in set_paths(top))


def _validate_one(models: Models, read: _Read) -> tuple[list[Finding], list[str]]:
    """Return (findings about mistakes in the file ``read``, statements in this file that no published model has)."""
    conversion = Conversion(models.root)
    conversion.add(read.statements)
    findings: list[Finding] = []
    left_out: dict[str, None] = {}
    for unknown in conversion.unknown:
        published = next((words for words in UNPUBLISHED if _begins(unknown, words)), None)
        if published is not None:
            left_out[" ".join(published)] = None
            continue
        line = unknown.line if read.numbered else 0
        findings.append(_finding(read.device, f"{' '.join(unknown.words)}: {unknown.what} ({unknown.word!r})", line))
    if models.refusal(conversion.text()):
        for words, line, why in _refused(models, conversion):
            findings.append(_finding(read.device, f"{' '.join(words)}: {why}", line if read.numbered else 0))
    return findings, list(left_out)


def _begins(unknown: Unknown, words: tuple[str, ...]) -> bool:
    return len(unknown.words) >= len(words) and all(
        wanted in {"*", word} for word, wanted in zip(unknown.words, words, strict=False)
    )


def _refused(models: Models, conversion: Conversion) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield (words, line, reason) for the smallest blocks or statements that libyang rejects. ``conversion`` is the configuration as XML.

    libyang (with ``models``) stops at the first fault and does not report where it is. So each XML element is tested separately, inside its
    parents. If libyang rejects an element but accepts each of its children, the fault is in the element itself.
    """

    def within(above: list[Element], element: Element) -> Iterator[tuple[tuple[str, ...], int, str]]:
        why = models.refusal(_alone(conversion, above, element))
        if not why:
            return
        parts = list(element)[conversion.key_counts.get(element, 0) :]
        inner = [fault for part in parts for fault in within([*above, element], part)]
        words, line = conversion.origins.get(element, ((), 0))
        yield from inner or [(words, line, why)]

    yield from within([], conversion.element)


def _alone(conversion: Conversion, above: list[Element], element: Element) -> str:
    """Return the XML of ``element`` inside its parents (``above``, the outermost first). The parents contain only their list keys.

    ``conversion`` has the number of list keys of each element.
    """
    inner = element
    for ancestor in reversed(above):
        outer = Element(ancestor.tag)
        outer.extend(list(ancestor)[: conversion.key_counts.get(ancestor, 0)])
        outer.append(inner)
        inner = outer
    return tostring(inner, encoding="unicode")


def _finding(device: str, problem: str, line: int) -> Finding:
    return REFUSED.finding(device, problem, file=f"devices/{device}/{FILE}", line=line)


def _unpublished(words: str, devices: list[str]) -> Finding:
    others = f" and {len(devices) - 1} more" if len(devices) > 1 else ""
    return UNKNOWN.finding(devices[0], f"in no published model up to 24.4: {words} (here{others})")


VALIDATOR = Validator(NAME, FILE, "yang", lambda files, yang, most, _: validate(files, yang, most))
