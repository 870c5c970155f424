"""Formulas for prefixes, such as ``1.1.{server+100}.{rail*10+4}/31`` and ``10.200.{stripe*8+rail-9}.0/24``.

Numbers are written in decimal in an IPv4 prefix and in hexadecimal in an IPv6 prefix.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, WithJsonSchema

from railweave.model.intent.base import WrongValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FIELDS = ("stripe", "rail", "color", "server", "tenant")

_TERM = r"(?:[a-z_]+(?:\*\d{1,10})?|\d{1,10})"  # the number of a route target has 32 bits
_SUM = re.compile(rf"\{{(-?{_TERM}(?:[+-]{_TERM})*)\}}")
"""The pattern of an expression in braces: a sum of numbers and fields, each with a sign. A field may have a factor."""


def fields_of(formula: str) -> set[str]:
    """Return the names of the fields that a formula uses."""
    return {word for match in _SUM.finditer(formula) for word in re.findall("[a-z_]+", match[1])}


def length_of(formula: str) -> int:
    """Return the prefix length at the end of a formula, in bits."""
    return int(formula.rpartition("/")[2])


def fill(formula: str, values: Mapping[str, int]) -> str:
    """Return the prefix that a formula gives for ``values``. Raise ``ValueError`` if the result is not a prefix."""
    return str(ipaddress.ip_network(filled(formula, values, "x" if ":" in formula else "d")))


def filled(formula: str, values: Mapping[str, int | str], form: str = "d") -> str:
    """Return the formula's text with each expression replaced by its value. ``form`` is the format: ``d`` decimal, ``x`` hexadecimal.

    A field with a text value must be the only term in its braces. Raises ``ValueError`` if a sum is below 0.
    """

    def term(text: str) -> int:
        name, _, factor = text.lstrip("-").partition("*")
        value = int(name) if name.isdecimal() else int(values[name]) * int(factor or 1)
        return -value if text.startswith("-") else value

    def number(match: re.Match[str]) -> str:
        alone = values.get(match[1])
        if isinstance(alone, str):
            return alone
        value = sum(map(term, match[1].replace("-", "+-").removeprefix("+").split("+")))
        if value < 0:
            raise ValueError(f"{match[0]} is {value}, below 0")
        return format(value, form)

    return _SUM.sub(number, formula)


def check_formula(
    formula: str, values: Mapping[str, int | str], like: str, check: Callable[[str], object], form: str = "d"
) -> None:
    """Raise ``WrongValueError`` if a formula is malformed, uses an unknown field, or gives a result that ``check`` rejects.

    - ``values``: an example value for each permitted field.
    - ``like``: a correct formula, which the error message shows.
    - ``check``: a function of the formula's result that raises ``ValueError`` to reject it.
    - ``form``: the number format: ``d`` decimal, ``x`` hexadecimal.
    """
    rest = _SUM.sub("", formula)
    if "{" in rest or "}" in rest:
        raise WrongValueError(f"{formula!r} has a field that is not closed or not valid", f"for example {like}")
    unknown = sorted(fields_of(formula) - set(values))
    if unknown:
        raise WrongValueError(
            f"{formula!r} uses the field {unknown[0]!r}, which does not exist here", f"fields are {', '.join(values)}"
        )
    try:
        check(filled(formula, values, form))
    except ValueError as error:
        if isinstance(error, WrongValueError):
            raise
        raise WrongValueError(f"{formula!r} is not a valid formula ({error})", f"for example {like}") from None


def host_formula(example: str, *fields: str) -> AfterValidator:
    """Return a validator that accepts a formula if its results are prefixes of a single address (/32 or /128).

    ``example`` is a correct formula, which error messages show. ``fields`` are the fields that the formula may use.
    """

    def check(formula: str) -> str:
        def single(text: str) -> None:
            network = ipaddress.ip_network(text)
            if network.num_addresses != 1:
                raise ValueError(f"{network} is more than one address")

        check_formula(formula, dict.fromkeys(fields, 1), example, single, "x" if ":" in formula else "d")
        return formula

    return AfterValidator(check)


def _distinguisher(text: str) -> str:
    """Return the text if it is a route distinguisher A:B (RFC 4364, section 4.2). Raise ``ValueError`` otherwise.

    A is an AS number or an IPv4 address, B a number. Both have 48 bits together.
    """
    first, colon, second = text.rpartition(":")
    if colon and second.isdecimal():
        most = 1 << 32
        if not first.isdecimal() or int(first) > 65535:
            most = 1 << 16
            ipaddress.IPv4Address(int(first) if first.isdecimal() else first)
        if int(second) < most:
            return text
    raise ValueError(f"{text} is not a route distinguisher")


_DISTINGUISHER_FIELDS = {"router_id": "10.255.0.1", "asn": 65001, "tenant": 1, "vni": 20001, "leaf": 1}


def _distinguisher_formula(formula: str) -> str:
    check_formula(formula, _DISTINGUISHER_FIELDS, "{router_id}:{tenant}", _distinguisher)
    return formula


DistinguisherFormula = Annotated[
    str,
    AfterValidator(_distinguisher_formula),
    WithJsonSchema({"type": "string", "examples": ["{router_id}:{tenant}", "65000:{leaf*100+tenant}"]}),
]
"""A formula for route distinguishers."""


def distinguisher_of(formula: str, values: Mapping[str, int | str]) -> str:
    """Return the route distinguisher that a formula gives. Raise ``ValueError`` if the result is not a route distinguisher."""
    return _distinguisher(filled(formula, values))


def _target_formula(formula: str) -> str:
    check_formula(formula, {"tenant": 1, "vni": 20001}, "64512:{vni}", target_of)
    return formula


def target_of(text: str) -> str:
    """Return the canonical text of a route target with a 16-bit AS number (RFC 4360, section 3.1).

    Raise ``ValueError`` for other text.
    """
    first, colon, second = text.partition(":")
    if colon and first.isdecimal() and second.isdecimal() and 1 <= int(first) <= MOST_SHORT and int(second) < 1 << 32:
        return f"{int(first)}:{int(second)}"
    raise WrongValueError(
        f"{text!r} is not a route target", "write it as 64512:100: an AS number of 16 bits, and a number of 32 bits"
    )


MOST_SHORT = 65535
"""The largest AS number of 16 bits."""

TargetFormula = Annotated[
    str,
    AfterValidator(_target_formula),
    WithJsonSchema({"type": "string", "examples": ["64512:100", "64512:{tenant*100}"]}),
]
"""A formula for route targets."""


LoopbackFormula = Annotated[
    str,
    host_formula("10.200.{tenant}.{leaf}/32", "leaf", "tenant"),
    WithJsonSchema({"type": "string", "examples": ["10.200.{tenant}.{leaf}/32", "fd00:200:{tenant}::{leaf}/128"]}),
]
"""A formula for the loopbacks of VRFs."""


def pair_formula(example: str, *fields: str) -> AfterValidator:
    """Return a validator that accepts a formula if its results are prefixes for a link: /31, /127 or an IPv4 /30.

    ``example`` is a correct formula, which error messages show. ``fields`` are the fields that the formula may use.
    """

    def check(formula: str) -> str:
        def pair(text: str) -> None:
            length, _, most = text.rpartition("/")[2], None, 128 if ":" in text else 32
            if length not in {str(most - 1), *(["30"] if most == 32 else [])}:
                raise ValueError(f"{text} is not a prefix for a link: /31 or /30, or /127 for IPv6")
            ipaddress.ip_network(text)

        check_formula(formula, dict.fromkeys(fields, 2), example, pair, "x" if ":" in formula else "d")
        return formula

    return AfterValidator(check)


def _check(formula: str) -> str:
    rest = _SUM.sub("", formula)
    if "{" in rest or "}" in rest:
        raise WrongValueError(
            f"{formula!r} has a field that is not closed or not valid", "write {rail}, {rail*10+4} or {stripe*8+rail-9}"
        )
    unknown = sorted(fields_of(formula) - set(FIELDS))
    if unknown:
        raise WrongValueError(
            f"{formula!r} uses the field {unknown[0]!r}, which does not exist here", f"fields are {', '.join(FIELDS)}"
        )
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
