"""Addressing intent: server prefixes, number pools, path colors."""

from __future__ import annotations

import ipaddress
import re
from itertools import combinations
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from railweave.intent.base import Model, WrongValueError
from railweave.intent.formula import PrefixFormula, length_of, pair_formula
from railweave.intent.names import Name, check_most, expand, expand_all

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


def _servers(value: object) -> object:
    return expand_all(value, "server {} is listed twice", "name each server once")


ServerList = Annotated[
    tuple[str, ...],
    BeforeValidator(_servers),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}, "examples": ["storage-[01-04]"]}),
]
"""Servers by name, or as host lists."""


class FieldBits(Model):
    """How many bits of a server prefix each number takes, after the pool's own bits."""

    stripe: int = Field(ge=0, le=32, description="bits of the stripe number")
    rail: int = Field(ge=0, le=32, description="bits of the rail number")
    color: int = Field(ge=0, le=32, description="bits of the path-color number")
    server: int = Field(default=0, ge=0, le=32, description="bits of the server number in its stripe, on routed links")
    tenant: int = Field(default=0, ge=0, le=32, description="bits of the tenant number, first after the pool")


def _check_one_way(pool: Addressing | SecondFamily) -> None:
    """Raise where a formula for prefixes stands beside bits, or beside another length."""
    if pool.server_prefix is None:
        return
    if pool.bits is not None:
        raise WrongValueError("server_prefix and bits both deal out the pool", "keep one", ["bits"], ["server_prefix"])
    length = length_of(pool.server_prefix)
    if "prefix_length" in pool.model_fields_set and pool.prefix_length != length:
        raise WrongValueError(
            f"prefix_length {pool.prefix_length} contradicts server_prefix {pool.server_prefix}",
            "leave it out",
            ["prefix_length"],
        )


class SecondFamily(Model):
    """The other address family of every NIC, beside that of ``server_pool`` (dual stack)."""

    server_pool: Prefix = Field(description="its pool: IPv4 where the other is IPv6, or the other way round")
    prefix_length: int | None = Field(
        default=None, ge=8, le=128, description="length of a server prefix; empty: 64, of IPv4 24, on routed links 31"
    )
    bits: FieldBits | None = Field(default=None, description="bits of each number, as beside it")
    server_prefix: PrefixFormula | None = Field(default=None, description="a formula, as beside it")
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")

    @model_validator(mode="after")
    def _one_way_to_cut(self) -> SecondFamily:
        _check_one_way(self)
        return self


class OtherLink(Model):
    """How some servers are on their leaves, where that is another way than the rest's, with pools of their own."""

    servers: ServerList = Field(description="servers, or host lists such as storage-[01-04]")
    server_link: Literal["access", "trunk", "routed"] = Field(
        default="routed", description="as beside it. Of all links of a fabric one at most is access or trunk"
    )
    server_pool: Prefix = Field(description="their pool")
    prefix_length: int | None = Field(
        default=None,
        ge=8,
        le=128,
        description="length of a server prefix; empty: 64, of IPv4 31 on routed links, else 24",
    )
    server_prefix: PrefixFormula | None = Field(default=None, description="a formula, as beside it")
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")
    dual_stack: SecondFamily | None = Field(
        default=None, description="their pool of the other address family; empty: they have one family"
    )

    @model_validator(mode="after")
    def _two_families(self) -> OtherLink:
        second = self.dual_stack
        if second is not None and (":" in second.server_pool) == (":" in self.server_pool):
            what = f"server_pool {self.server_pool} and that of dual_stack, {second.server_pool}, are of one address family"
            raise WrongValueError(what, "give one IPv4 and one IPv6 pool", ["dual_stack", "server_pool"])
        return self

    def beside(self, usual: Addressing) -> Addressing:
        """The addressing of these servers, in a fabric whose others have ``usual``."""
        length = self.prefix_length
        if length is None:
            length = 64 if ":" in self.server_pool else 31 if self.server_link == "routed" else 24
        own = {
            "server_pool": self.server_pool,
            "prefix_length": length,
            "server_prefix": self.server_prefix,
            "bits": None,
            "server_link": self.server_link,
            "gateway_host": self.gateway_host,
            "dual_stack": self.dual_stack,
            "other_links": dict[str, OtherLink](),
        }
        return usual.model_copy(update=own)


class Addressing(Model):
    """Addresses of the servers.

    A server prefix is the pool followed by stripe, rail and color number: ``fc00::/16`` with 16 bits each gives
    ``fc00:<stripe>:<rail>:<color>::/64`` (RLB document, Table 2).
    """

    server_pool: Prefix = Field(
        default="fd01::/16",
        description="pool that server prefixes are cut from. Addresses that nobody assigns are in fd00::/8 (RFC 4193, "
        "section 3.1), which fc00::/16 of the RLB document is not; links and loopbacks are in fd00::/16",
    )
    prefix_length: int = Field(default=64, ge=8, le=128, description="length of a server prefix")
    bits: FieldBits | None = Field(
        default=None,
        description="bits of each number; empty: dealt by what the pool holds, 16 each where they fit (routed links: stripe, server, rail and color)",
    )
    server_mode: Literal["slaac", "static"] = Field(
        default="slaac",
        description="slaac: NICs form EUI-64 addresses from router advertisements; static: numbered by server. IPv4 addresses of "
        "dual stack are numbered either way",
    )
    server_link: Literal["access", "trunk", "routed", "proxy-arp"] = Field(
        default="access",
        description="access: the NICs of a rail and stripe share a VLAN and its prefixes; trunk: the same, the VLAN being "
        "the native one of a trunk port; routed: every NIC has a link and prefixes of its own on a routed port; proxy-arp: the "
        "same, and NICs take the whole IPv4 pool for one subnet, whose other addresses the leaf answers for",
    )
    server_prefix: PrefixFormula | None = Field(
        default=None,
        description="a formula for server prefixes in place of the pool's bits, for example 192.168.{rail}.0/24, 10.200.{stripe*8+rail-9}.0/24 or "
        "10.1.{server+100}.{rail*10+4}/31; fields: {stripe}, {rail}, {color}, {tenant}, and {server} on routed links",
    )
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")
    tagged_vlans: tuple[Annotated[int, Field(ge=1, le=4094)], ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="VLANs that trunk ports carry with a tag, beside the native one of the prefixes: layer 2 on each leaf, without a "
        "gateway, for what servers run there themselves",
    )
    other_links: dict[Name, OtherLink] = Field(
        default_factory=dict[str, OtherLink],
        exclude_if=lambda value: not value,
        description="servers that are on their leaves in another way, for example on routed ports where the rest is on trunks",
    )
    local_prefixes: tuple[Prefix, ...] = Field(
        default=(), description="prefixes a leaf may originate, in its `local` list; empty: the server pools"
    )
    dual_stack: SecondFamily | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a second pool, of the other address family, from which every NIC has addresses too: one for each of the first",
    )

    @model_validator(mode="after")
    def _two_families(self) -> Addressing:
        second = self.dual_stack
        if second is None:
            return self
        if (":" in second.server_pool) == (":" in self.server_pool):
            raise WrongValueError(
                f"server_pool {self.server_pool} and that of dual_stack, {second.server_pool}, are of one address family",
                "give one IPv4 and one IPv6 pool",
                ["dual_stack", "server_pool"],
                ["server_pool"],
            )
        if self.server_link == "proxy-arp":
            raise WrongValueError(
                "server_link proxy-arp is for IPv4 alone", "use routed for dual stack", ["dual_stack"], ["server_link"]
            )
        return self

    @model_validator(mode="after")
    def _proxy_arp(self) -> Addressing:
        if self.server_link == "proxy-arp" and (self.server_mode != "static" or ":" in self.server_pool):
            raise WrongValueError(
                "server_link proxy-arp is for static IPv4 addresses",
                "set server_mode: static and an IPv4 server_pool",
                ["server_link"],
            )
        return self

    @model_validator(mode="after")
    def _one_way_to_cut(self) -> Addressing:
        _check_one_way(self)
        return self

    @property
    def own_links(self) -> bool:
        """Whether every NIC has a routed port and prefixes of its own."""
        return self.server_link in {"routed", "proxy-arp"}

    @model_validator(mode="after")
    def _mixed(self) -> Addressing:
        links = [("server_link", self.server_link)]
        links += [(f"other_links.{name}", one.server_link) for name, one in self.other_links.items()]
        shared = [at for at, link in links if link in {"access", "trunk"}]
        if self.other_links and self.server_link == "proxy-arp":
            what = "server_link proxy-arp takes all servers for one subnet, so no other links stand beside it"
            raise WrongValueError(what, "use routed", ["other_links"], ["server_link"])
        if len(shared) > 1:
            what = f"{shared[0]} and {shared[1]} both put NICs on a VLAN of their rail"
            raise WrongValueError(what, "let all but one be routed", ["other_links"])
        if self.tagged_vlans and "trunk" not in {link for _, link in links}:
            raise WrongValueError("tagged_vlans without trunk ports", "set server_link: trunk", ["tagged_vlans"])
        if len(set(self.tagged_vlans)) < len(self.tagged_vlans):
            raise WrongValueError("tagged_vlans names a VLAN twice", "name each once", ["tagged_vlans"])
        owners: dict[str, str] = {}
        for name, one in self.other_links.items():
            for server in one.servers:
                if owners.setdefault(server, name) != name:
                    what = f"{server} is in {owners[server]!r} and in {name!r}"
                    raise WrongValueError(what, "a server has one kind of link", ["other_links", name, "servers"])
        return self

    def of_server(self, server: str) -> Addressing:
        """What deals out the prefixes of a server: this, or that of its other link."""
        own = next((one for one in self.other_links.values() if server in one.servers), None)
        return self if own is None else own.beside(self)

    def length(self) -> int:
        """The length of a server prefix."""
        return self.prefix_length if self.server_prefix is None else length_of(self.server_prefix)

    def pools(self) -> tuple[str, ...]:
        """The server pools: one of each address family that NICs have."""
        return (self.server_pool,) if self.dual_stack is None else (self.server_pool, self.dual_stack.server_pool)

    def of_second(self) -> Addressing | None:
        """What deals out the second pool, as if it were the only one; None without dual stack."""
        second = self.dual_stack
        if second is None:
            return None
        length = second.prefix_length
        if length is None:
            length = 64 if ":" in second.server_pool else 31 if self.own_links else 24
        own = {
            "server_pool": second.server_pool,
            "prefix_length": length,
            "bits": second.bits,
            "server_prefix": second.server_prefix,
            "gateway_host": second.gateway_host,
            "dual_stack": None,
        }
        return self.model_copy(update=own)


class AddressLists(Model):
    """Addresses of leaves and spines, in the order of their numbers. Host lists can be written: 10.0.0.[1-4]."""

    leaf: AddressList = Field(default=(), description="of leaves")
    spine: AddressList = Field(default=(), description="of spines")

    def of(self, role: str) -> tuple[str, ...]:
        """The list of a role; empty where it has none."""
        return getattr(self, role.replace("-", "_"), ())


class RouterIdLists(AddressLists):
    """Router ids of switches by role, in the order of their numbers. Host lists can be written: 10.0.0.[1-4]."""

    super_spine: AddressList = Field(default=(), description="of super-spines")
    dci: AddressList = Field(default=(), description="of routers of the interconnect")


class Pools(Model):
    """Number pools. Allocations are recorded in the lock and never move."""

    leaf_asn: NumberRange = Field(
        default=(4200001001, 4200099999), description="AS numbers of leaves (RFC 6996 private range)"
    )
    spine_asn: NumberRange = Field(default=(4200000001, 4200000999), description="AS numbers of spines")
    super_spine_asn: NumberRange = Field(
        default=(4200100001, 4200100999), description="AS numbers of super-spines, where there are such"
    )
    dci_asn: NumberRange = Field(
        default=(4200200001, 4200200999), description="AS numbers of routers of the interconnect, where there are such"
    )
    vlan: NumberRange = Field(
        default=(2, 4094), description="VLAN ids of server-facing segments; the IRB unit equals the VLAN"
    )
    router_id: Prefix = Field(default="10.255.0.0/16", description="router ids, also the loopback address")
    router_ids: RouterIdLists = Field(
        default=RouterIdLists(),
        exclude_if=lambda value: value == RouterIdLists(),
        description="router ids by list, inside router_id: the first switch of a role has the first of its list",
    )
    fabric_links: Prefix = Field(default="fd00:ffff::/48", description="link addresses, for numbered peering")
    fabric_links_by: Literal["port", "cable"] = Field(
        default="port",
        exclude_if=lambda value: value == "port",
        description="port: a link's pair follows from the leaf's number and its port, with room for every port; cable: pairs are "
        "dealt one after another and kept in the lock, so that the pool can be exactly as large as needed",
    )
    fabric_link: Annotated[str, pair_formula("10.1.{leaf}.{spine*4+link*2-6}/31", "leaf", "spine", "link")] | None = (
        Field(
            default=None,
            exclude_if=lambda value: value is None,
            description="a formula for the pair of each link inside fabric_links, for example 10.1.{leaf}.{spine*4+link*2-6}/31; fields: "
            "{leaf} and {spine} (numbers in the fabric), {link} (of parallel ones, from 1). The leaf has the first address",
        )
    )

    @field_validator("vlan")
    @classmethod
    def _vlan_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] < 1 or value[1] > 4094:
            raise WrongValueError(f"VLAN ids {value[0]}-{value[1]} leave the range 1-4094", "for example 2-4094")
        return value

    @field_validator("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn")
    @classmethod
    def _asn_range(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] < 1 or value[1] > 4_294_967_294:
            raise WrongValueError(
                f"AS numbers {value[0]}-{value[1]} leave the range 1-4294967294", "for example 4200000001-4200000999"
            )
        return value

    @field_validator("router_id")
    @classmethod
    def _router_ids(cls, value: str) -> str:
        if ":" in value:
            raise WrongValueError(
                f"router ids are 32-bit numbers, not from {value}", "use an IPv4 pool such as 10.255.0.0/16"
            )
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Pools:
        if self.fabric_link is not None and "fabric_links_by" in self.model_fields_set:
            what = "fabric_link and fabric_links_by both say which addresses a link has"
            raise WrongValueError(what, "keep one", ["fabric_links_by"], ["fabric_link"])
        return self

    @model_validator(mode="after")
    def _apart(self) -> Pools:
        keys = ("leaf_asn", "spine_asn", "super_spine_asn", "dci_asn")
        rare = {"super_spine_asn", "dci_asn"} - self.model_fields_set  # most fabrics have none: in nobody's way
        pools = {key: getattr(self, key) for key in keys if key not in rare}
        for (one, (first, last)), (other, (low, high)) in combinations(pools.items(), 2):
            if first <= high and low <= last:
                raise WrongValueError(
                    f"{one} {first}-{last} and {other} {low}-{high} overlap", "move the ranges apart", [other], [one]
                )
        return self


def _color_name(value: str) -> str:
    if re.fullmatch(COLOR_NAME, value) is None:
        raise WrongValueError(
            f"{value!r} is not a name of a color",
            "use letters, digits, dashes and underscores, at most 32, the first a letter",
        )
    return value


COLOR_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"


class ColorName(Model):
    """A path color: its name, and its number in the color community ``color:0:N``."""

    name: Annotated[str, AfterValidator(_color_name), WithJsonSchema({"type": "string", "pattern": COLOR_NAME})] = (
        Field(description="used in community and group names")
    )
    number: int | None = Field(
        default=None, ge=1, le=4_294_967_295, description="N of color:0:N; empty: its place in the list"
    )
