"""Configurations of switches as texts have them, in place of the designed ones, and what is wrong with the texts.

The texts are the files of a build folder as they stand, or what devices have. One that is what the design renders to is
not read: reading it gives the designed configuration, by the law that tests hold readers to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.checks import differs
from railweave.checks.causes import causes
from railweave.device.fields import completed
from railweave.errors import RenderError
from railweave.findings.registry import Rule
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.checks.causes import Cause
    from railweave.device.fields import FieldDifference
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding

UNREADABLE = Rule(
    "file-unreadable",
    "error",
    "folder",
    "a file cannot be read as configuration, or is empty",
    "a device that loads it has no configuration, or half of one",
    "build it again, or save it from the device again",
)


@dataclass(frozen=True)
class Stands:
    """A device's configuration as its texts have it; None where they cannot be read. ``causes`` are its differences."""

    config: DeviceConfig | None
    causes: tuple[Cause, ...]
    not_compared: tuple[str, ...]
    findings: tuple[Finding, ...]


def stands(config: DeviceConfig, designed: Mapping[str, str], found: Mapping[str, str], where: str = "") -> Stands:
    """The configuration of a device whose ``designed`` texts are otherwise ``found``. Both are of the same files.

    ``where`` is put before names of files in findings: the folder of the device.
    """
    reader = system(config.nos).reader
    if reader is None:
        return Stands(config, (), (), ())
    unsaid = tuple(catalog().systems[config.nos].reads.unsaid)
    made: list[Cause] = []
    not_compared: list[str] = []
    findings: list[Finding] = []
    for file, text in found.items():
        if text == designed.get(file):
            continue
        try:
            if not text.strip():
                raise RenderError("it is empty", 1)
            some, secret = causes(reader, file, designed, text, unsaid)
        except RenderError as error:
            what = f"{where}{file} cannot be read: {error}"
            findings.append(UNREADABLE.finding(config.name, what, file=f"{where}{file}", line=error.line or 0))
            continue
        made += some
        not_compared += secret
    if findings:
        return Stands(None, tuple(made), tuple(not_compared), tuple(findings))
    findings += [_finding(config.name, one, where) for one in made]
    read = completed(reader.read({**designed, **found}).config, config, unsaid) if made else config
    return Stands(read, tuple(made), tuple(not_compared), tuple(findings))


def _finding(device: str, cause: Cause, where: str) -> Finding:
    fields = sorted(cause.fields, key=lambda one: differs.RANK[differs.of_field(one)])
    statement = cause.designed or cause.found
    rule = differs.of_field(fields[0]) if fields else differs.of_statement(statement)
    if not fields and cause.kind == "add":
        rule = differs.EXTRA
    what = f"{_said(cause)}{_changes(fields)}"
    return rule.finding(device, what, file=f"{where}{cause.file}", line=cause.line)


def _said(cause: Cause) -> str:
    if cause.kind == "remove":
        return f"`{_short(cause.designed)}` is missing"
    if cause.kind == "add":
        return f"`{_short(cause.found)}` is not designed"
    if cause.kind == "move":
        return f"`{_short(cause.found)}` stands in another place"
    return f"`{_short(cause.found)}` is designed as `{_short(cause.designed.rpartition(' / ')[2])}`"


def _changes(fields: list[FieldDifference]) -> str:
    if not fields:
        return ""
    one = fields[0]
    more = f" and {len(fields) - 1} more" if len(fields) > 1 else ""
    return f" ({' '.join(one.place).replace('_', ' ')}: {_value(one.old)} becomes {_value(one.new)}{more})"


def _value(value: object) -> str:
    if value is None or value in ("", [], {}):
        return "nothing"
    if isinstance(value, dict):
        return "an entry"
    return _short(", ".join(map(str, value)) if isinstance(value, list) else str(value))  # type: ignore[arg-type]


def _short(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
