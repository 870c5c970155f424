"""The operator's own statements, read early: a mistake in them is reported where it stands in the fabric file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.errors import Problem, RenderError, SpecError
from railweave.render.frr.tree import parse as parse_frr
from railweave.render.junos.parse import parse as parse_junos

if TYPE_CHECKING:
    from railweave.spec.source import Source

_PARSERS = {"junos": parse_junos, "frr": parse_frr}
_LINE = re.compile(r"line (\d+): (.*)")


def check_extra(source: Source) -> None:
    """Raise ``SpecError`` with file and line of every ``extra:`` that cannot be read."""
    problems: list[Problem] = []
    for name, fabric in source.spec.fabrics.items():
        for role_name, role in (("leaf", fabric.leaf), ("spine", fabric.spine)):
            for nos, parse in _PARSERS.items():
                text: str = getattr(role.extra, nos) if role else ""
                try:
                    parse(text)
                except RenderError as error:
                    match = _LINE.match(str(error))
                    at = source.document.line(("fabrics", name, role_name, "extra", nos))
                    line = at + (int(match[1]) if match and "\n" in text else 0)
                    what = match[2] if match else str(error)
                    problems.append(
                        Problem(
                            str(source.path),
                            line,
                            f"extra {nos} statement: {what}",
                            f"write it as {nos} itself would print it",
                        )
                    )
    if problems:
        raise SpecError(problems)
