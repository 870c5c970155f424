"""Formulas for prefixes: ``1.1.{server+100}.{rail*10+4}/31``, ``10.200.{stripe*8+rail-9}.0/24``.

Numbers go in decimal into an IPv4 prefix and in hexadecimal into an IPv6 one, as people write both.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, WithJsonSchema

from railweave.intent.base import WrongValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("stripe", "rail", "color", "server", "tenant")

_TERM = r"(?:[a-z]+(?:\*\d{1,5})?|\d{1,5})"
_SUM = re.compile(rf"\{{(-?{_TERM}(?:[+-]{_TERM})*)\}}")
"""A sum or difference in braces of numbers and of fields, each with a factor or without."""


def fields_of(formula: str) -> set[str]:
    """The fields a formula uses."""
    return {word for match in _SUM.finditer(formula) for word in re.findall("[a-z]+", match[1])}


def length_of(formula: str) -> int:
    """The length of the prefixes a formula gives."""
    return int(formula.rpartition("/")[2])


def fill(formula: str, values: Mapping[str, int]) -> str:
    """The prefix of a formula. Raises ``ValueError`` where the numbers give none."""
    form = "x" if ":" in formula else "d"

    def term(text: str) -> int:
        name, _, factor = text.lstrip("-").partition("*")
        value = int(name) if name.isdecimal() else values[name] * int(factor or 1)
        return -value if text.startswith("-") else value

    def number(match: re.Match[str]) -> str:
        value = sum(map(term, match[1].replace("-", "+-").removeprefix("+").split("+")))
        if value < 0:
            raise ValueError(f"{match[0]} is {value}, below 0")
        return format(value, form)

    return str(ipaddress.ip_network(_SUM.sub(number, formula)))


def _check(formula: str) -> str:
    rest = _SUM.sub("", formula)
    if "{" in rest or "}" in rest:
        raise WrongValueError(
            f"{formula!r} holds a field that cannot be read", "write {rail}, {rail*10+4} or {stripe*8+rail-9}"
        )
    unknown = sorted(fields_of(formula) - set(FIELDS))
    if unknown:
        raise WrongValueError(f"{formula!r} has no field {unknown[0]!r} to use", f"fields are {', '.join(FIELDS)}")
    if not formula.rpartition("/")[2].isdecimal() or "/" not in formula:
        raise WrongValueError(f"{formula!r} has no length", "write it as 192.168.{rail}.0/24")
    try:
        fill(formula, dict.fromkeys(FIELDS, 1))
    except ValueError as error:
        raise WrongValueError(f"{formula!r} gives no prefix ({error})", "for example 192.168.{rail}.0/24") from None
    return formula


PrefixFormula = Annotated[
    str, AfterValidator(_check), WithJsonSchema({"type": "string", "examples": ["192.168.{rail}.0/24"]})
]
"""A formula for server prefixes."""
