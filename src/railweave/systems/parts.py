"""Parts of an operating system's folder: each is there, or ``system.yaml`` says why it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.nearest import nearest
from railweave.plugged import check_known, modules_of
from railweave.reading import packaged_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PARTS = {
    "render": "files",
    "changes": "trees",
    "read": "reader",
    "state": "state",
    "telemetry": "telemetry",
    "transaction": "transaction",
    "upgrade": "upgrade",
    "outage": "outage",
    "first_boot": "first_boot",
    "lint": "lint",
    "validator": "validators",
    "runbook": "runbook",
}
"""Modules and packages of a system's folder, and the attribute of ``System`` that offers each."""

FORMS = "forms.yaml"
"""Statement forms, their sources and how each was checked (``systems.forms``): beside ``system.yaml``, if the system has them."""

USED_BY_METHOD = ("changes", "lint")
"""Parts that a system's own method must use: what a part takes differs from system to system."""


def missing_parts(kind: type, plain: type, definition: Path) -> dict[str, str]:
    """The parts that a system lacks on purpose, with the reasons that its ``system.yaml`` (``definition``) gives.

    ``kind`` is the system's class, ``plain`` the class ``System``. Raises ``ImportError`` for:

    - a module that is no part and that ``modules:`` does not name, such as a misnamed part;
    - a part that is missing without a reason under ``without:``, or that has a reason and exists;
    - a part that no method of the class uses.
    """
    data: dict[str, Any] = packaged_yaml(definition.read_text(encoding="utf-8"))
    without: dict[str, str] = data.get("without") or {}
    folder, modules = definition.parent, data.get("modules") or ()
    check_known(
        folder,
        {*PARTS, *modules, definition.name, FORMS},
        f"if it is no part of a system, name it in {definition.name} under `modules`",
    )
    there = modules_of(folder)
    for name in modules:
        if name not in there:
            raise ImportError(f"{definition}: modules: there is no {name}{_hint(name, there)}")
    for name in without:
        if name not in PARTS:
            raise ImportError(f"{definition}: without: a system has no part {name}{_hint(name, PARTS)}")
    for name, attribute in PARTS.items():
        given = getattr(kind, attribute) is not getattr(plain, attribute)
        if name in USED_BY_METHOD and name in there and not given:
            raise ImportError(f"{folder / name}: {kind.__name__} has no method {attribute} that uses it")
        if name in without and (name in there or given):
            raise ImportError(f"{definition}: without: {name} is not missing")
        if name not in without and not (name in there or given):
            raise ImportError(
                f"{folder} has no {name}: add it, or give the reason in {definition.name} under `without`"
            )
    if bool(data.get("lint")) is ("lint" in without):
        raise ImportError(
            f"{definition}: `lint` (its id, what it says) must be there exactly if the folder has lint rules"
        )
    return without


def _hint(name: str, known: Iterable[str]) -> str:
    meant = nearest(name, known)
    return f": did you mean {meant}?" if meant else ""
