"""Addresses, prefixes, ranges and number pools in the fabric file."""

from __future__ import annotations

import ipaddress
import re
from itertools import combinations
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from railweave.model.intent.base import Model, WrongValueError, check_most, expand
from railweave.model.intent.formula import pair_formula

_NUMBER = re.compile(r"\s*[0-9]{1,20}\s*")


def _network(value: object) -> object:
    try:
        return str(ipaddress.ip_network(str(value)))
    except ValueError as error:
        raise WrongValueError(f"{value!r} is not a prefix ({error})", "write it as fc00::/16 or 10.0.0.0/8") from None


Prefix = Annotated[str, BeforeValidator(_network), WithJsonSchema({"type": "string", "examples": ["fc00::/16"]})]
"""An IPv4 or IPv6 prefix in canonical text form."""


def _address(example: str) -> AfterValidator:
    """Return a validator that gives an IP address in canonical form; errors show ``example``."""

    def parse(value: str) -> str:
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            raise WrongValueError(f"{value!r} is not an IP address", f"for example {example}") from None

    return AfterValidator(parse)


def _router_id(value: str) -> str:
    if ipaddress.ip_address(value).version != 4:
        raise WrongValueError(
            f"{value} is not an IPv4 address",
            "a router id has 32 bits: write it as an IPv4 address, for example 10.255.0.1",
        )
    return value


Address = Annotated[str, _address("fc00:1:1:1::10")]
"""An IPv4 or IPv6 address in canonical text form."""

ManagementAddress = Annotated[str, _address("172.20.0.1")]
"""An address of the management network."""

RouterId = Annotated[str, _address("10.255.0.1"), AfterValidator(_router_id)]
"""A BGP identifier, written as an IPv4 address (RFC 6286)."""


MOST_NUMBER = (1 << 32) - 1
"""The largest number in a pool. AS numbers have 32 bits (RFC 6793), and all other numbers have fewer."""


def _number_range(value: object) -> object:
    if isinstance(value, tuple):  # a default, or one read back from design.json
        return cast("object", value)
    first, dash, last = str(value).partition("-")
    if not dash or not _NUMBER.fullmatch(first) or not _NUMBER.fullmatch(last) or int(first) > int(last):
        ends = [str(part) for part in cast("list[object]", value)] if isinstance(value, list) else []
        ordered = len(ends) == 2 and all(map(_NUMBER.fullmatch, ends)) and int(ends[0]) <= int(ends[1])
        raise WrongValueError(f"{value!r:.60} is not a range", f"write it as {'-'.join(ends) if ordered else '2-4094'}")
    if int(last) > MOST_NUMBER:
        raise WrongValueError(f"{value!r:.60} ends beyond {MOST_NUMBER}", "write it as 2-4094")
    return (int(first), int(last))


NumberRange = Annotated[
    tuple[int, int], BeforeValidator(_number_range), WithJsonSchema({"type": "string", "examples": ["2-4094"]})
]
"""A closed range of numbers, written ``low-high``."""


def _addresses(value: object) -> object:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    addresses: list[str] = []
    for item in items:
        texts = expand(str(item))
        check_most("the list", len(addresses) + len(texts))
        for text in texts:
            try:
                addresses.append(str(ipaddress.ip_address(text)))
            except ValueError:
                raise WrongValueError(f"{text!r} is not an IP address", "write 10.0.0.1, or 10.0.0.[1-4]") from None
    twice = next((address for address in addresses if addresses.count(address) > 1), None)
    if twice is not None:
        raise WrongValueError(f"{twice} is listed twice", "give each switch a different list entry")
    return addresses


AddressList = Annotated[
    tuple[str, ...],
    BeforeValidator(_addresses),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}, "examples": ["10.0.0.[1-4]"]}),
]
"""A list of addresses, given one by one or as host lists such as 10.0.0.[1-4]."""


class AddressLists(Model):
    """The addresses of leaves and spines, in the order of the switches' numbers. Host lists such as 10.0.0.[1-4] are allowed."""

    leaf: AddressList = Field(default=(), description="of leaves")
    spine: AddressList = Field(default=(), description="of spines")

    def of(self, role: str) -> tuple[str, ...]:
        """Return the addresses of a role, or an empty tuple if the role has none."""
        return getattr(self, role.replace("-", "_"), ())


class RouterIdLists(AddressLists):
    """The router IDs of switches by role, in the order of the switches' numbers. Host lists such as 10.0.0.[1-4] are allowed."""

    super_spine: AddressList = Field(default=(), description="of super-spines")
    dci: AddressList = Field(default=(), description="of routers of the interconnect")


class Pools(Model):
    """The pools of numbers and addresses. The lock records each allocation, which then never changes."""

    leaf_asn: NumberRange = Field(
        default=(4200001001, 4200099999), description="AS numbers of leaves (RFC 6996 private range)"
    )
    spine_asn: NumberRange = Field(default=(4200000001, 4200000999), description="AS numbers of spines")
    super_spine_asn: NumberRange = Field(
        default=(4200100001, 4200100999), description="AS numbers of super-spines, if the fabric has them"
    )
    dci_asn: NumberRange = Field(
        default=(4200200001, 4200200999),
        description="AS numbers of routers of the interconnect, if the fabric has them",
    )
    vlan: NumberRange = Field(
        default=(2, 4094), description="VLAN ids of server-facing segments; the unit of an IRB interface is its VLAN id"
    )
    router_id: Prefix = Field(
        default="10.255.0.0/16", description="router ids; each is also the switch's loopback address"
    )
    router_ids: RouterIdLists = Field(
        default=RouterIdLists(),
        exclude_if=lambda value: value == RouterIdLists(),
        description="router ids as lists, each inside router_id: the first switch of a role has the first entry of the "
        "role's list",
    )
    fabric_links: Prefix = Field(default="fd00:ffff::/48", description="addresses of links, for numbered peering")
    fabric_links_by: Literal["port", "cable"] = Field(
        default="port",
        exclude_if=lambda value: value == "port",
        description="port: the addresses of a link follow from the leaf's number and port, so the pool must have room for "
        "every port; cable: links get addresses one after another, and the lock keeps them, so the pool can "
        "be exactly as large as needed",
    )
    fabric_link: Annotated[str, pair_formula("10.1.{leaf}.{spine*4+link*2-6}/31", "leaf", "spine", "link")] | None = (
        Field(
            default=None,
            exclude_if=lambda value: value is None,
            description="a formula for the prefix of each link inside fabric_links, for example "
            "10.1.{leaf}.{spine*4+link*2-6}/31; fields: {leaf} and {spine} (numbers in the fabric), {link} "
            "(number among parallel links, from 1). The leaf has the first address",
        )
    )

    @field_validator("vlan")
    @classmethod
    def _vlan_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] < 1 or value[1] > 4094:
            raise WrongValueError(f"VLAN ids {value[0]}-{value[1]} are outside the range 1-4094", "for example 2-4094")
        return value

    @field_validator("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn")
    @classmethod
    def _asn_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] < 1 or value[1] > 4_294_967_294:
            raise WrongValueError(
                f"AS numbers {value[0]}-{value[1]} are outside the range 1-4294967294",
                "for example 4200000001-4200000999",
            )
        return value

    @field_validator("router_id")
    @classmethod
    def _router_ids(cls, value: str) -> str:
        if ":" in value:
            raise WrongValueError(
                f"router ids have 32 bits, but {value} is an IPv6 pool", "use an IPv4 pool such as 10.255.0.0/16"
            )
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Pools:
        if self.fabric_link is not None and "fabric_links_by" in self.model_fields_set:
            message = "fabric_link and fabric_links_by both define the addresses of links"
            raise WrongValueError(message, "keep one", ["fabric_links_by"], ["fabric_link"])
        return self

    @model_validator(mode="after")
    def _apart(self) -> Pools:
        keys = ("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn")
        rare = {"super_spine_asn", "dci_asn"} - self.model_fields_set  # most fabrics have none: in nobody's way
        pools = {key: getattr(self, key) for key in keys if key not in rare}
        for (pool, (first, last)), (other, (low, high)) in combinations(pools.items(), 2):
            if first <= high and low <= last:
                raise WrongValueError(
                    f"{pool} {first}-{last} and {other} {low}-{high} overlap",
                    "choose ranges that do not overlap",
                    [other],
                    [pool],
                )
        return self
