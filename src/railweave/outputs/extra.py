"""The operator's own statements, read early: a mistake in them is reported where it stands in the fabric file."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, RenderError, SpecError
from railweave.systems import system, systems

if TYPE_CHECKING:
    from railweave.intent.reading.source import Source


def check_extra(source: Source) -> None:
    """Raise ``SpecError`` with file and line of every ``extra:`` that cannot be read."""
    problems: list[Problem] = []
    for name, fabric in source.spec.fabrics.items():
        for key, role in (
            ("leaf", fabric.leaf),
            ("spine", fabric.spine),
            ("super_spine", fabric.super_spine),
            ("dci", fabric.dci),
        ):
            for nos, text in (role.extra if role else {}).items():
                at = source.document.line(("fabrics", name, key, "extra", nos))
                if nos not in systems():
                    near = difflib.get_close_matches(nos, systems(), 1)
                    fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(systems())}"
                    problems.append(
                        Problem(FileLine(str(source.path), at), f"extra: there is no operating system {nos!r}", fix)
                    )
                    continue
                try:
                    system(nos).check_extra(text)
                except RecursionError:
                    problems.append(Problem(FileLine(str(source.path), at), f"extra {nos}: nested too deeply", ""))
                except RenderError as error:
                    line = at + (error.line if "\n" in text else 0)
                    fix = f"write it as {nos} itself would print it"
                    problems.append(
                        Problem(FileLine(str(source.path), line), f"extra {nos} statement: {error.what}", fix)
                    )
    if problems:
        raise SpecError(problems)
