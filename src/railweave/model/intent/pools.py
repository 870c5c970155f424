"""Number pools of a fabric: AS numbers, VLANs, router ids, addresses of links."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from railweave.model.intent.addresses import AddressList, NumberRange, Prefix
from railweave.model.intent.base import Model, WrongValueError
from railweave.model.intent.formula import pair_formula


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
