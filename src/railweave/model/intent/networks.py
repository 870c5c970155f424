"""What a tenant has besides routed NICs: layer-2 networks over several leaves, and routers outside the fabric."""

from __future__ import annotations

import ipaddress
from itertools import product
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, field_validator, model_validator

from railweave.model.intent.addresses import Prefix
from railweave.model.intent.base import Gbps, Line, Model, WrongValueError
from railweave.model.intent.names import check_most, check_name, count_of, expand, repeated_name


def _expand(value: object) -> object:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    members: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise WrongValueError(f"{item!r} is not text", "write H100-01 or H100-01:gpu0_eth")
        server, colon, nic = item.partition(":")
        check_most("the list", len(members) + count_of(server) * count_of(nic))
        nics = [check_name(name) for name in expand(nic)] if colon else [""]
        servers = [check_name(name) for name in expand(server)]
        members += [f"{one}:{other}" if other else one for one, other in product(servers, nics)]
    twice = repeated_name(members)
    if twice is not None:
        raise WrongValueError(f"{twice!r} is listed twice", "name each member once")
    return members


Members = Annotated[tuple[str, ...], BeforeValidator(_expand)]
"""Servers, or NICs of servers, host lists expanded."""


class VirtualNetwork(Model):
    """A layer-2 network: its members are on one VLAN, wherever their leaves are, and share a gateway address (anycast)."""

    members: Members = Field(min_length=1, description="servers or NICs, as a tenant's members")
    prefix: Prefix = Field(description="its subnet")
    gateway_host: int = Field(default=1, ge=1, le=254, description="host part of the gateway's address")
    vlan: int | None = Field(
        default=None, ge=1, le=4094, description="VLAN id; empty: by its slot, from the end of the fabric's VLAN pool"
    )
    vni: int | None = Field(
        default=None, ge=1, le=16_777_215, description="VNI; empty: by its slot from the overlay's network_vni"
    )
    description: Line = Field(default="", description="free text")


class ExternalLink(Model):
    """A link to an external router. The leaf has the first address of its prefix, the router the second."""

    leaf: str = Field(description="the leaf that it ends on")
    port: str = Field(description="the leaf's port, for example et-0/0/31")
    prefix: Prefix = Field(description="the link's two addresses: a /31 or /30, a /127 or /126")
    speed: Gbps | None = Field(default=None, gt=0, description="its speed; empty: that of the whole port")
    vlan: int | None = Field(default=None, ge=1, le=4094, description="802.1Q tag; empty: untagged")

    @field_validator("prefix")
    @classmethod
    def _two_addresses(cls, value: str) -> str:
        network = ipaddress.ip_network(value)
        if network.max_prefixlen - network.prefixlen not in {1, 2}:
            shape = "a /31 or /30" if network.version == 4 else "a /127 or /126"
            raise WrongValueError(f"{value} is no prefix of a point-to-point link", f"use {shape}")
        return value


class ExternalRouter(Model):
    """A router outside the fabric: BGP from a tenant's VRF, a default route in, the tenant's prefixes out."""

    asn: int = Field(ge=1, le=4_294_967_294, description="its AS number")
    links: tuple[ExternalLink, ...] = Field(description="links to leaves, a session on each")
    accept: tuple[Prefix, ...] = Field(
        default=(),
        description="prefixes taken from it, exactly; empty: the default route of the tenant's address family",
    )
    advertise: tuple[Prefix, ...] = Field(
        default=(), description="prefixes it is sent, and those inside them; empty: all of the tenant's"
    )

    @field_validator("links")
    @classmethod
    def _some(cls, value: tuple[ExternalLink, ...]) -> tuple[ExternalLink, ...]:
        if not value:
            raise WrongValueError("an external router without links", "give at least one")
        if len({":" in one.prefix for one in value}) > 1:
            fix = "describe the IPv6 links as a router of another name, on ports of their own"
            raise WrongValueError("links of IPv4 and of IPv6 to one router", fix)
        return value

    @model_validator(mode="after")
    def _of_the_links(self) -> ExternalRouter:
        six = ":" in self.links[0].prefix
        for field, prefixes in (("accept", self.accept), ("advertise", self.advertise)):
            for place, prefix in enumerate(prefixes):
                if (":" in prefix) != six:
                    what = f"{prefix} is not IPv{6 if six else 4}, and the links to the router are"
                    fix = (
                        "a session carries the family of its link: leave it out, or give it to a router on other links"
                    )
                    raise WrongValueError(what, fix, [field, place], [field])
        return self
