"""The function that runs a network's checks, and the comparison of a device's ``config.json`` with the design."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from railweave.analysis.checks.located import LocatedValue, read_json
from railweave.analysis.checks.servers.entries import Difference, shown
from railweave.errors import RenderError, UnknownPolicyError, UnsettledError
from railweave.model.device.config_file import from_json, to_document
from railweave.model.device.fields import differences
from railweave.model.findings.registry import Rule, rules_of
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from railweave.analysis.checks.subject import Subject
    from railweave.model.findings import Finding


CONFIG_DIFFERS = Rule(
    "config-differs",
    "error",
    "folder",
    "a field of a device's config.json differs from the design",
    "programs that compare, check or deploy configurations treat config.json as the design",
    "build the folder again; make changes in the fabric file instead",
)


def config_differences(designed: str, actual: str) -> list[Difference]:
    """Return the fields in which ``actual``, the text of a ``config.json``, differs from ``designed``.

    Raises ``RenderError``, with the line, if the file is not a valid configuration.
    """
    located = read_json(actual)
    try:
        config = from_json(actual)
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(map(str, first["loc"]))
        raise RenderError(f"{'.'.join(place)}: {first['msg']}", _line(located, place)) from None
    unknown = [
        Difference(CONFIG_DIFFERS, f"{' '.join(place)} is no field of a configuration", line)
        for place, line in _unknown(located, to_document(config), ())
    ]
    changed = [
        Difference(
            CONFIG_DIFFERS,
            f"{' '.join(difference.place)} is {_said(difference.new)}, not {_said(difference.old)}",
            line,
        )
        for difference in differences(from_json(designed), config)
        for line in [_line(located, difference.place)]
    ]
    return sorted([*unknown, *changed], key=lambda difference: difference.line)


def _unknown(located: LocatedValue, document: object, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield (key path, line) for each key in a JSON text that the configuration format does not have.

    ``document`` is the configuration that was read from the text. ``place`` is the key path of ``located``.
    """
    if isinstance(located.data, dict) and isinstance(document, dict):
        named = cast("dict[str, object]", document)
        for name, child in located.data.items():
            if name in named:
                yield from _unknown(child, named[name], (*place, name))
            else:
                yield (*place, name), child.line
    elif isinstance(located.data, list) and isinstance(document, list):
        for at, (child, value) in enumerate(zip(located.data, cast("list[object]", document), strict=False)):
            yield from _unknown(child, value, (*place, str(at)))


def _said(value: object) -> str:
    return "absent" if value is None else shown(str(value)) or "empty"


def _line(located: LocatedValue, place: Sequence[str]) -> int:
    """Return the line of a field in a JSON text, or of its innermost existing parent.

    ``located`` is the text's value with line numbers. ``place`` is the key path of the field. List elements are named as in
    ``model.device.fields``.
    """
    at = located
    for name in place:
        inner = at.named().get(name)
        if inner is None and isinstance(at.data, list):
            inner = next(
                (element for element in at.data if name in (value.text for value in element.named().values())), None
            )
            if inner is None and name.isdigit() and int(name) < len(at.data):
                inner = at.data[int(name)]
        if inner is None:
            break
        at = inner
    return at.line


UNSETTLED = Rule(
    "routes-unsettled",
    "error",
    "network",
    "Routes never settle: policies of some switches contradict each other.",
    "switches change their routes again and again, so checks that need routes were skipped",
    "restore the designed policies",
)


UNKNOWN_POLICY = Rule(
    "routes-not-known",
    "error",
    "network",
    "A route reaches a policy term with a statement that is not understood.",
    "the statement may filter or change routes, so checks that need routes were skipped",
    "remove the statement, or replace it by statements that railweave understands",
)


def checks() -> dict[str, Rule]:
    """Return the rules of all checks in ``railweave.analysis.checks`` by id, in the order in which they run."""
    return {name: rule for name, rule in rules_of("railweave.analysis.checks").items() if rule.check is not None}


def run_checks(subject: Subject, *, slow: bool = True, progress: Callable[[str], None] = silent) -> list[Finding]:
    """Run the checks in order and return their findings. Without ``slow``, slow checks are skipped."""
    findings: list[Finding] = []
    unsettled: dict[tuple[Rule, str], None] = {}
    for name, rule in checks().items():
        if slow or not rule.slow:
            progress(f"checking {name}")
            try:
                findings += rule.run(subject)
            except UnsettledError as error:
                unsettled[UNKNOWN_POLICY if isinstance(error, UnknownPolicyError) else UNSETTLED, str(error)] = None
    return [*findings, *(reason.finding(subject.network.name, text) for reason, text in unsettled)]
