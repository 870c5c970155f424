"""Tenants of a fabric: which NICs are theirs, and the EVPN-VXLAN overlay that keeps them apart."""

from __future__ import annotations

from itertools import product
from typing import Literal, cast

from pydantic import Field, field_validator

from railweave.spec.addressing import NumberRange, Prefix
from railweave.spec.base import Model
from railweave.spec.names import check_name, expand
from railweave.spec.underlay import Bfd


class Overlay(Model):
    """EVPN-VXLAN: an IP-VRF per tenant on the leaves, pure type-5 routes between them (RFC 9136, section 4.4.1).

    Leaves and spines peer loopback to loopback by EBGP; spines pass routes on with the next hop unchanged, so that
    tunnels run from leaf to leaf (EVPN test report; values as in Juniper's validated configuration of it).
    """

    vtep: Literal["ipv4", "ipv6"] = Field(
        default="ipv4", description="address family of loopbacks and tunnels: overlay sessions and VXLAN use it"
    )
    vni: NumberRange = Field(default=(20001, 29999), description="VNIs of tenants, one each")
    route_target_as: int = Field(
        default=64512, ge=1, le=65535, description="first half of the route targets, target:AS:VNI"
    )
    loopbacks: Prefix = Field(
        default="fd00:fffe::/64",
        description="IPv6 loopbacks of switches, where `vtep` is ipv6; IPv4 ones are the router ids",
    )
    color_endpoints: Prefix | None = Field(
        default=None,
        description="tunnel endpoints of leaves, one per path color; empty: 10.254.0.0/16 or fd00:fffd::/64",
    )
    bfd: Bfd = Field(
        default=Bfd(minimum_interval=3000), description="BFD of the overlay sessions; slower than the underlay's"
    )

    def endpoint_pool(self) -> str:
        """The pool of the tunnel endpoints that carry a path color."""
        return self.color_endpoints or ("10.254.0.0/16" if self.vtep == "ipv4" else "fd00:fffd::/64")


class Tenant(Model):
    """A tenant: servers, or single NICs of servers, that reach each other and nobody else."""

    members: tuple[str, ...] = Field(
        min_length=1,
        description="servers (H100-[01-02]: all their NICs on this fabric) or NICs (H100-[01-04]:gpu[0-3]_eth)",
    )
    vni: int | None = Field(
        default=None, ge=1, le=16_777_215, description="VNI; empty: by its slot from the overlay's range"
    )
    description: str = Field(default="", description="free text")

    @field_validator("members", mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
        members: list[str] = []
        for item in items:
            if not isinstance(item, str):
                raise ValueError(f"{item!r} is not text -- write H100-01 or H100-01:gpu0_eth")  # noqa: TRY004 - pydantic wants it
            server, colon, nic = item.partition(":")
            nics = [check_name(name) for name in expand(nic)] if colon else [""]
            servers = [check_name(name) for name in expand(server)]
            members += [f"{one}:{other}" if other else one for one, other in product(servers, nics)]
        if len(set(members)) < len(members):
            twice = next(name for name in members if members.count(name) > 1)
            raise ValueError(f"{twice!r} is listed twice -- name each member once")
        return members
