"""The addressing section of the fabric file: how server prefixes are assigned."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from railweave.model.intent.addresses import Prefix
from railweave.model.intent.base import Model, Name, WrongValueError, expand_all
from railweave.model.intent.formula import PrefixFormula, length_of


def _servers(value: object) -> object:
    return expand_all(value, "server {} is listed twice", "name each server once")


ServerList = Annotated[
    tuple[str, ...],
    BeforeValidator(_servers),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}, "examples": ["storage-[01-04]"]}),
]
"""A list of servers, given one by one or as host lists such as H100-[01-04]."""


class FieldBits(Model):
    """The number of bits that each number (stripe, rail, color and so on) occupies in a server prefix, after the bits of the pool."""

    stripe: int = Field(ge=0, le=32, description="bits that hold the stripe number")
    rail: int = Field(ge=0, le=32, description="bits that hold the rail number")
    color: int = Field(ge=0, le=32, description="bits that hold the path color's number")
    server: int = Field(
        default=0, ge=0, le=32, description="bits that hold the server's number in its stripe, on routed links"
    )
    tenant: int = Field(
        default=0, ge=0, le=32, description="bits that hold the tenant's number, directly after the pool's bits"
    )


def _check_one_way(pool: Addressing | SecondFamily) -> None:
    """Raise ``WrongValueError`` if ``pool.server_prefix`` comes with ``bits`` or a different ``prefix_length``."""
    if pool.server_prefix is None:
        return
    if pool.bits is not None:
        raise WrongValueError(
            "server_prefix and bits are both given, but only one of them can divide the pool",
            "keep one",
            ["bits"],
            ["server_prefix"],
        )
    length = length_of(pool.server_prefix)
    if "prefix_length" in pool.model_fields_set and pool.prefix_length != length:
        raise WrongValueError(
            f"prefix_length {pool.prefix_length} contradicts server_prefix {pool.server_prefix}",
            "leave it out",
            ["prefix_length"],
        )


class SecondFamily(Model):
    """The second address family of every NIC, in addition to the family of ``server_pool`` (dual stack)."""

    server_pool: Prefix = Field(
        description="pool of the second family: IPv4 if the other server_pool is IPv6, else IPv6"
    )
    prefix_length: int | None = Field(
        default=None,
        ge=8,
        le=128,
        description="length of a server prefix; empty: 64 for IPv6, 24 for IPv4, 31 for IPv4 on routed links",
    )
    bits: FieldBits | None = Field(default=None, description="bits of each number, as in `addressing.bits`")
    server_prefix: PrefixFormula | None = Field(
        default=None, description="a formula for server prefixes, as in `addressing.server_prefix`"
    )
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")

    @model_validator(mode="after")
    def _one_way_to_cut(self) -> SecondFamily:
        _check_one_way(self)
        return self


class OtherLink(Model):
    """Servers with a different link type from the fabric's other servers: their names, their link type and their pools."""

    servers: ServerList = Field(description="servers, or host lists such as storage-[01-04]")
    server_link: Literal["access", "trunk", "routed"] = Field(
        default="routed",
        description="kind of the servers' links, as in `addressing.server_link`. At most one kind of link in a fabric is "
        "access or trunk",
    )
    server_pool: Prefix = Field(description="their pool")
    prefix_length: int | None = Field(
        default=None,
        ge=8,
        le=128,
        description="length of a server prefix; empty: 64 for IPv6, 24 for IPv4, 31 for IPv4 on routed links",
    )
    server_prefix: PrefixFormula | None = Field(
        default=None, description="a formula for server prefixes, as in `addressing.server_prefix`"
    )
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")
    dual_stack: SecondFamily | None = Field(
        default=None, description="pool of a second address family for these servers; empty: they have one family"
    )

    @model_validator(mode="after")
    def _two_families(self) -> OtherLink:
        second = self.dual_stack
        if second is not None and (":" in second.server_pool) == (":" in self.server_pool):
            message = (
                f"server_pool {self.server_pool} and dual_stack's server_pool {second.server_pool} have the same "
                "address family"
            )
            raise WrongValueError(message, "give one IPv4 and one IPv6 pool", ["dual_stack", "server_pool"])
        return self

    def pools(self) -> tuple[str, ...]:
        """Return the pools of these servers, one for each of their address families."""
        return (self.server_pool,) if self.dual_stack is None else (self.server_pool, self.dual_stack.server_pool)

    def beside(self, usual: Addressing) -> Addressing:
        """Return ``usual``, the addressing of other servers, changed to these servers' link type and pools."""
        length = self.prefix_length
        if length is None:
            length = 64 if ":" in self.server_pool else 31 if self.server_link == "routed" else 24
        changes = {
            "server_pool": self.server_pool,
            "prefix_length": length,
            "server_prefix": self.server_prefix,
            "bits": None,
            "server_link": self.server_link,
            "gateway_host": self.gateway_host,
            "dual_stack": self.dual_stack,
            "other_links": dict[str, OtherLink](),
        }
        return usual.model_copy(update=changes)


class Addressing(Model):
    """The addresses of the servers.

    A server prefix is the pool followed by the stripe, rail and color numbers. For example, ``fc00::/16`` with 16 bits
    for each number gives ``fc00:<stripe>:<rail>:<color>::/64`` (RLB document, Table 2).
    """

    server_pool: Prefix = Field(
        default="fd01::/16",
        description="pool that is divided into server prefixes. A private pool is within fd00::/8 (RFC 4193, section "
        "3.1), which fc00::/16 of the RLB document is not; links and loopbacks use fd00::/16",
    )
    prefix_length: int = Field(default=64, ge=8, le=128, description="length of a server prefix")
    bits: FieldBits | None = Field(
        default=None,
        description="bits of each number; empty: 16 each if the pool has room for that, else fewer. On routed links the "
        "numbers are stripe, server, rail and color",
    )
    server_mode: Literal["slaac", "static"] = Field(
        default="slaac",
        description="slaac: NICs form EUI-64 addresses from router advertisements; static: addresses follow the server's "
        "number. IPv4 addresses of dual stack always follow the server's number",
    )
    server_link: Literal["access", "trunk", "routed", "proxy-arp"] = Field(
        default="access",
        description="access: the NICs of a rail and stripe share a VLAN and its prefixes; trunk: like access, but the "
        "VLAN is the native VLAN of a trunk port; routed: every NIC has its own prefixes and a routed port; "
        "proxy-arp: like routed, but NICs treat the whole IPv4 pool as one subnet, and the leaf answers ARP "
        "for the other addresses",
    )
    server_prefix: PrefixFormula | None = Field(
        default=None,
        description="a formula for server prefixes, instead of the bits of the pool, for example 192.168.{rail}.0/24, "
        "10.200.{stripe*8+rail-9}.0/24 or 10.1.{server+100}.{rail*10+4}/31; fields: {stripe}, {rail}, "
        "{color}, {tenant}, and {server} on routed links",
    )
    gateway_host: int = Field(default=1, ge=0, le=254, description="host part of the leaf's address in a server prefix")
    tagged_vlans: tuple[Annotated[int, Field(ge=1, le=4094)], ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="VLANs that trunk ports carry with a tag, in addition to the native VLAN: layer 2 on each leaf "
        "without a gateway, for the servers' own use. Numbers of the range `pools.vlan` are not allowed",
    )
    other_links: dict[Name, OtherLink] = Field(
        default_factory=dict[str, OtherLink],
        exclude_if=lambda value: not value,
        description="servers with another kind of link than the rest, for example routed links where the others have "
        "trunks",
    )
    local_prefixes: tuple[Prefix, ...] = Field(
        default=(), description="prefixes that a leaf may originate (its `local` list); empty: the server pools"
    )
    dual_stack: SecondFamily | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a second pool, of the other address family: every NIC gets one of its addresses for each address of "
        "the first pool",
    )

    @model_validator(mode="after")
    def _two_families(self) -> Addressing:
        second = self.dual_stack
        if second is None:
            return self
        if (":" in second.server_pool) == (":" in self.server_pool):
            raise WrongValueError(
                f"server_pool {self.server_pool} and dual_stack's server_pool {second.server_pool} have the "
                "same address family",
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
                "server_link proxy-arp works only with static IPv4 addresses",
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
        """True if every NIC has a routed port and its own prefixes."""
        return self.server_link in {"routed", "proxy-arp"}

    @model_validator(mode="after")
    def _mixed(self) -> Addressing:
        links = [("server_link", self.server_link)]
        links += [(f"other_links.{name}", other_link.server_link) for name, other_link in self.other_links.items()]
        shared = [at for at, link in links if link in {"access", "trunk"}]
        if self.other_links and self.server_link == "proxy-arp":
            message = "server_link proxy-arp treats all servers as one subnet, so other links are not possible"
            raise WrongValueError(message, "use routed", ["other_links"], ["server_link"])
        if len(shared) > 1:
            message = f"{shared[0]} and {shared[1]} both put NICs on a VLAN of their rail"
            raise WrongValueError(message, "make all of them routed except one", ["other_links"])
        if self.tagged_vlans and "trunk" not in {link for _, link in links}:
            raise WrongValueError("tagged_vlans without trunk ports", "set server_link: trunk", ["tagged_vlans"])
        if len(set(self.tagged_vlans)) < len(self.tagged_vlans):
            raise WrongValueError("tagged_vlans names a VLAN twice", "name each once", ["tagged_vlans"])
        owners: dict[str, str] = {}
        for name, other_link in self.other_links.items():
            for server in other_link.servers:
                if owners.setdefault(server, name) != name:
                    message = f"{server} is in both {owners[server]!r} and {name!r}"
                    raise WrongValueError(
                        message, "list each server in one kind of link only", ["other_links", name, "servers"]
                    )
        return self

    def of_server(self, server: str) -> Addressing:
        """Return a server's addressing: this one, or its variant for the entry of ``other_links`` with the server."""
        link = next((other_link for other_link in self.other_links.values() if server in other_link.servers), None)
        return self if link is None else link.beside(self)

    def length(self) -> int:
        """The length of a server prefix in bits."""
        return self.prefix_length if self.server_prefix is None else length_of(self.server_prefix)

    def pools(self) -> tuple[str, ...]:
        """Return the server pools, one for each address family of the NICs."""
        return (self.server_pool,) if self.dual_stack is None else (self.server_pool, self.dual_stack.server_pool)

    def of_second(self) -> Addressing | None:
        """Return the addressing of the second pool as a separate ``Addressing``. Return None without dual stack."""
        second = self.dual_stack
        if second is None:
            return None
        length = second.prefix_length
        if length is None:
            length = 64 if ":" in second.server_pool else 31 if self.own_links else 24
        changes = {
            "server_pool": second.server_pool,
            "prefix_length": length,
            "bits": second.bits,
            "server_prefix": second.server_prefix,
            "gateway_host": second.gateway_host,
            "dual_stack": None,
        }
        return self.model_copy(update=changes)
