"""The operator's own statements, read early: a mistake in them is reported where it stands in the fabric file."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, RenderError, SpecError
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.intent.reading.source import Source


def check_extra(source: Source) -> None:
    """Raise ``SpecError`` with file and line of every ``extra:`` that cannot be read."""
    problems = [
        problem
        for where, texts in _given(source)
        for nos, text in texts.items()
        for problem in _wrong(source, where, nos, text)
    ]
    if problems:
        raise SpecError(problems)


def _given(source: Source) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Every ``extra:`` of the file, with the keys that lead to it."""
    for name, fabric in source.spec.fabrics.items():
        roles = {"leaf": fabric.leaf, "spine": fabric.spine, "super_spine": fabric.super_spine, "dci": fabric.dci}
        for key, role in roles.items():
            if role is not None:
                yield ("fabrics", name, key, "extra"), role.extra
    for name, device in source.spec.overrides.devices.items():
        yield ("overrides", "devices", name, "extra"), device.extra


def _wrong(source: Source, where: tuple[str, ...], nos: str, text: str) -> Iterator[Problem]:
    at = source.document.line((*where, nos))
    place = FileLine(str(source.path), at)
    if nos not in systems():
        near = difflib.get_close_matches(nos, systems(), 1)
        fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(systems())}"
        yield Problem(place, f"extra: there is no operating system {nos!r}", fix)
        return
    try:
        system(nos).check_extra(text)
    except RecursionError:
        yield Problem(place, f"extra {nos}: nested too deeply", "")
    except RenderError as error:
        line = at + (error.line if "\n" in text else 0)
        fix = f"write it as {nos} itself would print it"
        yield Problem(FileLine(str(source.path), line), f"extra {nos} statement: {error.what}", fix)
