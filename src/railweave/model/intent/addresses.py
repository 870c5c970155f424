"""Addresses, prefixes and ranges of numbers, as the fabric file writes them."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, cast

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from railweave.model.intent.base import WrongValueError
from railweave.model.intent.names import check_most, expand

_NUMBER = re.compile(r"\s*[0-9]{1,20}\s*")


def _network(value: object) -> object:
    try:
        return str(ipaddress.ip_network(str(value)))
    except ValueError as error:
        raise WrongValueError(f"{value!r} is not a prefix ({error})", "write it as fc00::/16 or 10.0.0.0/8") from None


Prefix = Annotated[str, BeforeValidator(_network), WithJsonSchema({"type": "string", "examples": ["fc00::/16"]})]
"""An IPv4 or IPv6 prefix in canonical text form."""


def _address(example: str) -> AfterValidator:
    """A validator of an IP address, which it gives in canonical text form."""

    def parse(value: str) -> str:
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            raise WrongValueError(f"{value!r} is not an IP address", f"for example {example}") from None

    return AfterValidator(parse)


def _router_id(value: str) -> str:
    if ipaddress.ip_address(value).version != 4:
        raise WrongValueError(f"{value} is not an IPv4 address", "a router id has 32 bits: write it as 10.255.0.1")
    return value


Address = Annotated[str, _address("fc00:1:1:1::10")]
"""An IPv4 or IPv6 address in canonical text form."""

ManagementAddress = Annotated[str, _address("172.20.0.1")]
"""An address of the management network."""

RouterId = Annotated[str, _address("10.255.0.1"), AfterValidator(_router_id)]
"""A BGP identifier, written as an IPv4 address (RFC 6286)."""


MOST_NUMBER = (1 << 32) - 1
"""Of a pool: AS numbers have 32 bits (RFC 6793), everything else fewer."""


def _number_range(value: object) -> object:
    if isinstance(value, tuple):  # a default, or one read back from design.json
        return cast("object", value)
    first, dash, last = str(value).partition("-")
    if not dash or not _NUMBER.fullmatch(first) or not _NUMBER.fullmatch(last) or int(first) > int(last):
        raise WrongValueError(f"{value!r:.60} is not a range", "write it as 2-4094")
    if int(last) > MOST_NUMBER:
        raise WrongValueError(f"{value!r:.60} ends beyond {MOST_NUMBER}", "write it as 2-4094")
    return (int(first), int(last))


NumberRange = Annotated[
    tuple[int, int], BeforeValidator(_number_range), WithJsonSchema({"type": "string", "examples": ["2-4094"]})
]
"""A closed range of numbers, written ``low-high``."""


def _addresses(value: object) -> object:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    found: list[str] = []
    for item in items:
        texts = expand(str(item))
        check_most("the list", len(found) + len(texts))
        for text in texts:
            try:
                found.append(str(ipaddress.ip_address(text)))
            except ValueError:
                raise WrongValueError(f"{text!r} is not an IP address", "write 10.0.0.1, or 10.0.0.[1-4]") from None
    twice = next((one for one in found if found.count(one) > 1), None)
    if twice is not None:
        raise WrongValueError(f"{twice} is listed twice", "give each switch its own")
    return found


AddressList = Annotated[
    tuple[str, ...],
    BeforeValidator(_addresses),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}, "examples": ["10.0.0.[1-4]"]}),
]
"""Addresses one by one, or as host lists."""
