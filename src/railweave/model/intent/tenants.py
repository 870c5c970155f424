"""The tenants of a fabric, and the EVPN-VXLAN overlay that separates them.

A tenant has NICs, networks, external routers and edge ports.
"""

from __future__ import annotations

import ipaddress
from itertools import product
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from railweave.model.intent import base
from railweave.model.intent.addresses import AddressLists, NumberRange, Prefix
from railweave.model.intent.formula import DistinguisherFormula, LoopbackFormula, TargetFormula
from railweave.model.intent.underlay import Bfd


def _expand(value: object) -> object:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    members: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise base.WrongValueError(f"{item!r} is not text", "write H100-01 or H100-01:gpu0_eth")
        server, colon, nic = item.partition(":")
        base.check_most("the list", len(members) + base.count_of(server) * base.count_of(nic))
        nics = [base.check_name(name) for name in base.expand(nic)] if colon else [""]
        servers = [base.check_name(name) for name in base.expand(server)]
        members += [f"{server_name}:{other}" if other else server_name for server_name, other in product(servers, nics)]
    twice = base.repeated_name(members)
    if twice is not None:
        raise base.WrongValueError(f"{twice!r} is listed twice", "name each member once")
    return members


Members = Annotated[tuple[str, ...], BeforeValidator(_expand)]
"""A list of servers, or of NICs of servers, with host lists expanded."""


class VirtualNetwork(base.Model):
    """A layer-2 network of a tenant. Its members share one VLAN and one anycast gateway address, on all of their leaves."""

    members: Members = Field(min_length=1, description="servers or NICs, as a tenant's members")
    prefix: Prefix = Field(description="its subnet")
    gateway_host: int = Field(default=1, ge=1, le=254, description="host part of the gateway's address")
    vlan: int | None = Field(
        default=None,
        ge=1,
        le=4094,
        description="VLAN id; empty: from the end of the fabric's VLAN range, by the network's slot",
    )
    vni: int | None = Field(
        default=None,
        ge=1,
        le=16_777_215,
        description="VNI; empty: from the overlay's network_vni, by the network's slot",
    )
    description: base.Line = Field(default="", description="free text")


class ExternalLink(base.Model):
    """A link to an external router. The leaf has the first address of the link's prefix, and the router has the second."""

    leaf: str = Field(description="leaf at the end of the link")
    port: str = Field(description="port of the leaf, for example et-0/0/31")
    prefix: Prefix = Field(description="prefix of the link, which holds both addresses: /31 or /30, /127 or /126")
    speed: base.Gbps | None = Field(default=None, gt=0, description="speed of the link; empty: that of the whole port")
    vlan: int | None = Field(default=None, ge=1, le=4094, description="802.1Q tag; empty: untagged")

    @field_validator("prefix")
    @classmethod
    def _two_addresses(cls, value: str) -> str:
        network = ipaddress.ip_network(value)
        if network.max_prefixlen - network.prefixlen not in {1, 2}:
            shape = "a /31 or /30" if network.version == 4 else "a /127 or /126"
            raise base.WrongValueError(f"{value} is not the prefix of a point-to-point link", f"use {shape}")
        return value


class ExternalRouter(base.Model):
    """A router outside the fabric, with BGP sessions to a tenant's VRF.

    By default the router advertises a default route, and receives the tenant's prefixes.
    """

    asn: int = Field(ge=1, le=4_294_967_294, description="its AS number")
    links: tuple[ExternalLink, ...] = Field(description="links to leaves; each carries one BGP session")
    accept: tuple[Prefix, ...] = Field(
        default=(),
        description="prefixes that are accepted from the router, exactly; empty: the default route of the tenant's "
        "address family",
    )
    advertise: tuple[Prefix, ...] = Field(
        default=(),
        description="prefixes that are announced to the router, including longer ones inside them; empty: all of the "
        "tenant's",
    )

    @field_validator("links")
    @classmethod
    def _some(cls, value: tuple[ExternalLink, ...]) -> tuple[ExternalLink, ...]:
        if not value:
            raise base.WrongValueError("an external router must have links", "give at least one")
        if len({":" in link.prefix for link in value}) > 1:
            fix = "describe the IPv6 links as a second router with another name, on other ports"
            raise base.WrongValueError("the router has both IPv4 and IPv6 links", fix)
        return value

    @model_validator(mode="after")
    def _of_the_links(self) -> ExternalRouter:
        six = ":" in self.links[0].prefix
        for field, prefixes in (("accept", self.accept), ("advertise", self.advertise)):
            for place, prefix in enumerate(prefixes):
                if (":" in prefix) != six:
                    message = f"{prefix} is not IPv{6 if six else 4}, but the links to the router are"
                    fix = (
                        "a session carries only the address family of its link: remove the prefix, or give it "
                        "to a router whose links have its family"
                    )
                    raise base.WrongValueError(message, fix, [field, place], [field])
        return self


class EdgePort(base.Model):
    """A routed port of a leaf to equipment without BGP.

    The leaf has the first address of each prefix of the port, and advertises these prefixes.
    """

    leaf: str = Field(description="leaf of the port")
    port: str = Field(description="port of the leaf, for example et-0/0/31")
    prefixes: Annotated[tuple[Prefix, ...], Field(min_length=1)] = Field(
        description="prefixes of the network at the port, at most one of each address family"
    )
    speed: base.Gbps | None = Field(default=None, gt=0, description="speed of the port; empty: that of the whole port")
    length: base.Metres | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="length of the cable, for PFC headroom; empty: the planned length of cables to servers",
    )
    tenant: base.Name | None = Field(
        default=None, description="tenant whose VRF the port is in, if the fabric has tenants"
    )
    description: base.Line = Field(default="", description="free text")

    @field_validator("prefixes")
    @classmethod
    def _one_of_each(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len({":" in prefix for prefix in value}) < len(value):
            message = f"{' and '.join(value)} have the same address family"
            raise base.WrongValueError(message, "give at most one IPv4 and one IPv6 prefix")
        for prefix in value:
            if ipaddress.ip_network(prefix).prefixlen == 0:
                raise base.WrongValueError(
                    f"{prefix} is a default route, but an edge port has addresses of a connected network",
                    "connect a router under `tenants: {NAME: {external: …}}`: it announces the default route by BGP",
                )
            if ipaddress.ip_network(prefix).num_addresses < 2:
                raise base.WrongValueError(
                    f"{prefix} is too small for the leaf and another device", "use a /31 or /127, or a shorter one"
                )
        return value


def _unicast_mac(value: str) -> str:
    octets = value.lower().split(":")
    if len(octets) != 6 or any(len(octet) != 2 or set(octet) - set("0123456789abcdef") for octet in octets):
        raise base.WrongValueError(f"{value!r} is not a MAC address", "for example 00:1c:73:00:00:01")
    if int(octets[0], 16) & 1:
        raise base.WrongValueError(
            f"{value} is a multicast address", "the first octet of a gateway's MAC address must be even"
        )
    return ":".join(octets)


def _one_of_each(value: tuple[str, ...]) -> tuple[str, ...]:
    if len({":" in formula for formula in value}) < len(value):
        raise base.WrongValueError(
            f"{' and '.join(value)} must have different address families", "give at most one IPv4 and one IPv6 formula"
        )
    return value


Loopbacks = Annotated[tuple[LoopbackFormula, ...], AfterValidator(_one_of_each)]
"""The formulas for loopbacks, at most one for each address family."""


class Overlay(base.Model):
    """EVPN-VXLAN with an IP-VRF per tenant on the leaves, and pure type-5 routes between the leaves (RFC 9136, section 4.4.1).

    Leaves and spines have EBGP sessions between their loopbacks. Spines leave the next hop of routes unchanged, so that
    tunnels run from leaf to leaf. The source is the EVPN test report; the values are those of Juniper's validated
    configuration.
    """

    vtep: Literal["ipv4", "ipv6"] = Field(
        default="ipv4", description="address family of loopbacks and tunnels, for overlay sessions and VXLAN"
    )
    vni: NumberRange = Field(default=(20001, 29999), description="VNIs of tenants; each tenant has one")
    network_vni: NumberRange = Field(
        default=(10001, 19999), description="VNIs of layer-2 networks; each network has one"
    )
    gateway_mac: Annotated[str, AfterValidator(_unicast_mac)] = Field(
        default="00:1c:73:00:00:01",
        description="MAC address of the gateways of layer-2 networks, the same on every leaf (anycast)",
    )
    route_target_as: int = Field(
        default=64512, ge=1, le=65535, description="first half of the route targets, in AS:VNI"
    )
    route_target: TargetFormula | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a formula for the route targets of tenants, for example 64512:{tenant*100}; fields: {tenant} (its number), "
        "{vni}; empty: route_target_as and the VNI",
    )
    route_distinguisher: DistinguisherFormula | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="a formula for the route distinguishers of tenants, for example 65000:{leaf*100+tenant}; fields: {router_id} "
        "and {asn} of the leaf, {leaf} and {tenant} (numbers), {vni}; empty: {router_id}:{tenant}",
    )
    tenant_loopbacks: Loopbacks = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="formulas for a loopback in each VRF, one per address family, for example 10.200.{tenant}.{leaf}/32; "
        "fields: {leaf} and {tenant} (numbers); empty: none",
    )
    loopbacks: Prefix = Field(
        default="fd00:fffe::/64",
        description="pool of the switches' IPv6 loopbacks, if `vtep` is ipv6; IPv4 loopbacks are the router ids",
    )
    loopback_lists: AddressLists = Field(
        default=AddressLists(),
        exclude_if=lambda value: value == AddressLists(),
        description="IPv6 loopbacks as lists, each inside loopbacks: the first switch of a role has the first entry of "
        "the role's list",
    )
    color_endpoints: Prefix | None = Field(
        default=None,
        description="pool of the leaves' tunnel endpoints, one per path color; empty: 10.254.0.0/16 or fd00:fffd::/64",
    )
    bfd: Bfd = Field(
        default=Bfd(minimum_interval=3000), description="BFD of the overlay sessions; slower than in the underlay"
    )

    @model_validator(mode="after")
    def _of_the_tunnels(self) -> Overlay:
        if self.vtep == "ipv4":
            for key in ("loopbacks", "loopback_lists"):
                if key in self.model_fields_set:
                    message = (
                        f"overlay.{key} holds IPv6 loopbacks, but tunnels use the router ids over IPv4 (`vtep: ipv4`)"
                    )
                    raise base.WrongValueError(message, f"set `vtep: ipv6`, or leave {key} out", [key])
        return self

    def endpoint_pool(self) -> str:
        """Return the address pool of the tunnel endpoints that carry a path color."""
        return self.color_endpoints or ("10.254.0.0/16" if self.vtep == "ipv4" else "fd00:fffd::/64")


class Tenant(base.Model):
    """A tenant: servers, or single NICs of servers, that reach only each other. Other products use the term routing zone.

    Its NICs either have their own routed segments (``members``) or share a layer-2 network (``networks``).
    """

    members: Members = Field(
        default=(),
        description="servers (H100-[01-02]: all their NICs on this fabric) or NICs (H100-[01-04]:gpu[0-3]_eth)",
    )
    networks: dict[base.Name, VirtualNetwork] = Field(
        default_factory=dict[str, VirtualNetwork],
        description="layer-2 networks by name. Each is a VLAN on every leaf with a member, with one subnet and one "
        "gateway address",
    )
    external: dict[base.Name, ExternalRouter] = Field(
        default_factory=dict[str, ExternalRouter],
        description="routers outside the fabric that the VRF has sessions with, by name",
    )
    server_pools: tuple[Prefix, ...] = Field(
        default=(),
        description="the tenant's own pools, at most one of each address family: its routed members have addresses of "
        "these families, in prefixes by stripe and rail; empty: the fabric's pools",
    )
    leaks: tuple[base.Name, ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="tenants with shared services. This tenant and each of them exchange their prefixes with one another, "
        "but with no other tenant: two tenants that use the same services do not reach each other",
    )
    vni: int | None = Field(
        default=None,
        ge=1,
        le=16_777_215,
        description="VNI of the tenant; empty: from the overlay's range, by the tenant's slot",
    )
    route_target: TargetFormula | None = Field(
        default=None,
        description="route target of the tenant, A:B, for example 64512:100; empty: by the overlay's formula",
    )
    route_distinguisher: DistinguisherFormula | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="formula for the tenant's route distinguishers, as in the overlay; empty: the overlay's",
    )
    loopbacks: Loopbacks | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="formulas for the tenant's loopback on each leaf, as in tenant_loopbacks of the overlay; empty: those "
        "formulas",
    )
    description: base.Line = Field(default="", description="free text")

    @model_validator(mode="after")
    def _somebody(self) -> Tenant:
        if not self.members and not self.networks:
            raise base.WrongValueError("a tenant without members", "list servers under `members:`, or under a network")
        if self.server_pools and not self.members:
            message = "server_pools needs `members`: NICs in a layer-2 network have addresses of the network's subnet"
            raise base.WrongValueError(message, "leave it out, or list routed members", ["server_pools"])
        if len({":" in pool for pool in self.server_pools}) < len(self.server_pools):
            message = f"server_pools {' and '.join(self.server_pools)} must have different address families"
            raise base.WrongValueError(message, "give at most one IPv4 and one IPv6 pool", ["server_pools"])
        return self


class TenantSlices(base.Model):
    """Tenants that each own a part of every server. The first tenant has the NICs of the first GPUs of each server, and so on."""

    servers: Members = Field(description="servers of these tenants; NICs cannot be listed")
    gpus: int = Field(
        ge=1,
        le=64,
        description="number of GPUs that a tenant gets on each server; it must divide the server's number of GPUs",
    )
    name: Annotated[str, base.naming_pattern(slice=1)] = Field(
        default="tenant-{slice}",
        description="pattern for the names of the tenants; {slice} is the tenant's number, from 1",
    )

    @model_validator(mode="after")
    def _whole_servers(self) -> TenantSlices:
        nic = next((server for server in self.servers if ":" in server), None)
        if nic is not None:
            raise base.WrongValueError(
                f"{nic} is a NIC", "list only servers: the slices determine the NICs", ["servers"]
            )
        return self
