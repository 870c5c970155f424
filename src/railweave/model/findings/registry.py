"""Rules of findings. A rule has the common properties of all findings with one id, and usually the check that reports these findings.

A module defines each of its rules as a constant, with ``Rule(...)`` or by decorating the check function with
``@check(...)``. Rules need no registration: ``rules_of`` walks the modules of a package and collects their rules.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from railweave.model.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Look = Callable[[Any], Iterable["str | FindingPlace | Finding"]]
    """A check function.

    It returns or yields descriptions of faults (if the place is known), ``FindingPlace`` values, or findings of other
    rules.
    """


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """A fault that a check found: its place, its description, and values that replace those of the rule.

    ``file`` and ``line`` are the place in the user's input. If ``severity``, ``why`` or ``fix`` is None, the rule's value
    applies.
    """

    where: str
    what: str
    file: str = ""
    line: int = 0
    severity: Severity | None = None
    why: str | None = None
    fix: str | None = None


@dataclass(frozen=True, eq=False)
class Rule:
    """The common properties of all findings with one id.

    - ``applies``: what the rule checks: ``design``, ``rendering``, ``build``, ``network``, ``folder``, ``validator``,
      ``report``, or an operating system whose configurations are read.
    - ``fault``: the fault, in general terms. A rule has either ``fault`` or ``holds``.
    - ``holds``: the requirement that a finding violates.
    - ``sometimes``: a second severity, used in the cases that the rule's text or code names.
    - ``check``: the function that reports the faults; None if other code reports them.
    - ``slow``: True for a check that ``build`` skips.
    - ``asked``: for rules about a running network, the fields of the fabric file that may set the requirement, most
      specific first (``railweave.live.check.living.asked_by``).
    """

    id: str
    severity: Severity
    applies: str
    fault: str = ""
    why: str = ""
    fix: str = ""
    holds: str = ""
    sometimes: Severity | None = None
    check: Look | None = None
    slow: bool = False
    asked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.fault) == bool(self.holds):
            raise ValueError(f"rule {self.id} must have exactly one of `fault` and `holds`")

    def finding(
        self,
        where: str,
        message: str | None = None,
        *,
        file: str = "",
        line: int = 0,
        field: str = "",
        severity: Severity | None = None,
        why: str | None = None,
        fix: str | None = None,
    ) -> Finding:
        """Return a finding of this rule. ``message`` says what is wrong.

        ``field`` names the field of the fabric file that sets the requirement. If ``severity``, ``why`` or ``fix`` is None, the rule's
        value is used. ``message`` is required if the rule has only ``holds``, because a requirement does not describe a fault.
        Without a message, ``ValueError`` is raised.
        """
        if not (message or self.fault):
            raise ValueError(f"a finding of {self.id} must say what was found")
        return Finding(
            self.id,
            self.severity if severity is None else severity,
            where,
            self.fault if message is None else message,
            self.why if why is None else why,
            self.fix if fix is None else fix,
            file,
            line,
            field,
        )

    def run(self, read: object, where: str = "", file: str = "") -> Iterator[Finding]:
        """Yield the findings of the rule's check on ``read``, the object that the check examines, for example a configuration.

        If the check reports a fault without its place, the finding gets ``where`` and ``file``.
        """
        for fault in self.check(read) if self.check else ():
            if isinstance(fault, Finding):
                yield fault
            elif isinstance(fault, str):
                yield self.finding(where, fault, file=file)
            else:
                yield self.finding(
                    fault.where,
                    fault.what,
                    file=fault.file,
                    line=fault.line,
                    severity=fault.severity,
                    why=fault.why,
                    fix=fault.fix,
                )


def check(
    id_: str,
    severity: Severity = "error",
    *,
    applies: str = "",
    why: str,
    fix: str = "",
    sometimes: Severity | None = None,
    slow: bool = False,
) -> Callable[[Look], Rule]:
    """Return a decorator that turns a check function into a rule with the id ``id_``.

    ``severity``, ``why`` (the reason), ``fix``, ``sometimes`` and ``slow`` are the fields of ``Rule`` with these names. The first
    paragraph of the function's docstring becomes ``holds``, the requirement. ``applies`` defaults to the operating system whose
    folder contains the function.
    """

    def made(function: Look) -> Rule:
        holds = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
        return Rule(
            id=id_,
            severity=severity,
            applies=applies or function.__module__.split(".")[2],
            why=why,
            fix=fix,
            holds=holds,
            sometimes=sometimes,
            check=function,
            slow=slow,
        )

    return made


@lru_cache(maxsize=32)
def rules_of(package: str) -> dict[str, Rule]:
    """Return the rules of a package by id. Modules are in alphabetical order, and the rules of a module from top to bottom.

    All modules of the package are imported. Raises ``ValueError`` if two rules have the same id.
    """
    rules: dict[str, Rule] = {}
    root = importlib.import_module(package)
    inside = pkgutil.walk_packages(root.__path__, f"{package}.")
    names = sorted(module_info.name for module_info in inside if not module_info.name.endswith("__main__"))
    for module in (root, *map(importlib.import_module, names)):
        for value in vars(module).values():
            for rule in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                if isinstance(rule, Rule) and rules.setdefault(rule.id, rule) is not rule:
                    raise ValueError(f"two rules have the id {rule.id}")
    return rules


def lint(package: str, read: object, device: str, file: str) -> list[Finding]:
    """Return the findings that the checks of a package report on a device's configuration, without duplicates.

    ``read`` is the configuration, as the package's reader returns it. Findings without a place get ``device`` and ``file``.
    """
    file = f"devices/{device}/{file}"
    return list(
        dict.fromkeys(finding for rule in rules_of(package).values() for finding in rule.run(read, device, file))
    )
