"""The files of a build folder as they stand, against what its design renders to.

A file that is as rendered is not read. Of another, every value that is otherwise is named by the rule of its subject, with
its line; one that says the same in other words is noted. What no build writes is named too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.analysis.checks.config_document import config_differences
from railweave.analysis.checks.file_rules import FILE_EDITED, FILE_MISSING, FILE_UNREADABLE
from railweave.analysis.checks.servers.comparison import compared
from railweave.analysis.checks.tables import KEYS, table_differences
from railweave.errors import RenderError
from railweave.manifest import digest, read_manifest
from railweave.model.config.secret import filled
from railweave.outputs.folder.verify.foreign import content_of, foreign, others
from railweave.outputs.rendering.network import CONFIG_FILE
from railweave.outputs.rendering.tables import tables_of
from railweave.reading import CONTROL, MOST_BYTES
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from railweave.analysis.checks.servers.entries import Difference
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

FIXES = {
    "devices": "put the statement under `extra:` of the role, or build again",
    "hosts": "change it in the fabric file, under `hosts:` or `host_routing:`, or build again",
}
MOST_TOLD = 40
"""Of differences in one file."""


class Standing(NamedTuple):
    """The files of a folder: the text of those that can be read, and what is wrong."""

    texts: dict[str, str]
    findings: list[Finding]


def standing(folder: Path, network: Network, rendered: Mapping[str, str], apart: Collection[str] = ()) -> Standing:
    """Read the files of a folder, of which ``rendered`` are those of switches and servers, and compare them with the design, but for those ``apart``."""
    wanted = {**rendered, **{name: write(network) for name, write in tables_of(network).items()}}
    manifest = read_manifest(folder)
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    forged: list[str] = []
    for name, designed in wanted.items():
        found = content_of(folder, name)
        if found is not None and found == designed.encode():
            texts[name] = designed
            if manifest.files and manifest.files.get(name) != digest(found):
                forged.append(name)
            continue
        text = _text(found)
        if isinstance(text, RenderError):
            findings.append(_unreadable(network, name, text, missing=found is None))
            continue
        texts[name] = text
        findings += () if name in apart else _of_file(network, name, designed, text)
    findings += others(folder, network, manifest, forged)
    findings += foreign(folder, network, wanted)
    return Standing({name: text for name, text in texts.items() if name in rendered}, findings)


def _text(content: bytes | None) -> str | RenderError:
    """The text of a file, or why there is none."""
    if content is None:
        return RenderError("it is missing")
    if len(content) > MOST_BYTES:
        return RenderError(f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return RenderError("it is not UTF-8 text", content.count(b"\n", 0, error.start) + 1)
    if not text.strip():
        return RenderError("it is empty", 1)
    control = CONTROL.search(text)
    if control is not None:
        return RenderError("a control character stands here", text.count("\n", 0, control.start()) + 1)
    return text


def _unreadable(network: Network, name: str, error: RenderError, *, missing: bool = False) -> Finding:
    where = _owner(network, name)
    if missing:
        return FILE_MISSING.finding(where, f"{name} is missing", file=name)
    return FILE_UNREADABLE.finding(where, f"{name} cannot be read: {error.what}", file=name, line=error.line)


def _of_file(network: Network, name: str, designed: str, found: str) -> Iterator[Finding]:
    """What one file says otherwise."""
    kind, file = name.partition("/")[0], name.rpartition("/")[2]
    where = _owner(network, name)
    try:
        if name in KEYS:
            made = table_differences(name, designed, found)
        elif kind == "hosts":
            made = compared(name, designed, found)
        elif file == CONFIG_FILE:
            made = config_differences(designed, found)
        else:
            yield from of_device(network, name, designed, found)
            return
    except RenderError as error:
        yield _unreadable(network, name, error)
        return
    if made is None:
        yield _edited(where, name, _first_difference(designed, found), FIXES.get(kind))
    elif not made:
        what = f"{name} differs from the designed file in comments, blanks or order only"
        line = _first_difference(designed, found)
        why = "its values are the designed ones; the next build overwrites the file"
        yield FILE_EDITED.finding(where, what, severity="info", why=why, file=name, line=line)
    else:
        yield from _told(where, name, made)


def _told(where: str, name: str, made: list[Difference]) -> Iterator[Finding]:
    for one in made[:MOST_TOLD]:
        yield one.rule.finding(where, one.what, file=name, line=one.line)
    if len(made) > MOST_TOLD:
        one = made[MOST_TOLD]
        yield one.rule.finding(
            where, f"{len(made) - MOST_TOLD} more differences, from this line on", file=name, line=one.line
        )


def of_device(network: Network, name: str, designed: str, found: str) -> Iterator[Finding]:
    """A finding for a configuration of a switch that is not what the design renders to; secrets put in are no difference."""
    _, device, file = name.split("/")
    line = _first_difference(designed, found)
    if not line:
        return
    runbook = system(network.switch(device).nos).runbook
    loaded = runbook.CONFIGURATION if runbook else file
    also = "" if file == loaded else f"; the file that its runbook loads is {loaded}"
    yield _edited(device, name, line, FIXES["devices"], also)


def _edited(where: str, name: str, line: int, fix: str | None = None, more: str = "") -> Finding:
    what = f"{name} is not what the design renders to, from line {line} on{more}"
    return FILE_EDITED.finding(where, what, fix=fix, file=name, line=line)


def _owner(network: Network, name: str) -> str:
    """The device or server of a file; the file itself where it is of none."""
    parts = name.split("/")
    if len(parts) > 2:
        return parts[1]
    return parts[-1] if parts[0] == "hosts" else network.name


def _first_difference(text: str, found: str) -> int:
    """The first line that differs, 1-based; 0 where only secrets do."""
    wanted, lines = text.splitlines(), found.splitlines()
    for number, (one, other) in enumerate(zip(wanted, lines, strict=False), 1):
        if one != other and not filled(one, other):
            return number
    return min(len(wanted), len(lines)) + 1 if len(wanted) != len(lines) else 0
