"""The fabric file: the top level of the user's input."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator

from railweave.model.intent import base
from railweave.model.intent.addresses import Pools
from railweave.model.intent.addressing import Addressing
from railweave.model.intent.balancing import LoadBalancing
from railweave.model.intent.hosts import HostRouting, Hosts
from railweave.model.intent.management import Management
from railweave.model.intent.overrides import Overrides, Racks
from railweave.model.intent.qos import Qos
from railweave.model.intent.status import Pattern, Status
from railweave.model.intent.tenants import EdgePort, Overlay, Tenant, TenantSlices
from railweave.model.intent.topology import Cabling, Mtu, Naming, Role, Topology
from railweave.model.intent.underlay import RouterAdvertisements, Underlay


def _color_name(value: str) -> str:
    if re.fullmatch(COLOR_NAME, value) is None:
        raise base.WrongValueError(
            f"{value!r} is not a name of a color",
            "use letters, digits, dashes and underscores, at most 32, the first a letter",
        )
    return value


COLOR_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"


class ColorName(base.Model):
    """A path color: its name, and the number N in the color community ``color:0:N``."""

    name: Annotated[str, AfterValidator(_color_name), WithJsonSchema({"type": "string", "pattern": COLOR_NAME})] = (
        Field(description="used in community and group names")
    )
    number: int | None = Field(
        default=None, ge=1, le=4_294_967_295, description="N of color:0:N; empty: its place in the list"
    )


MOST_FABRICS = 64
"""The largest number of fabrics in one file."""


class Site(base.Model):
    """A place that holds fabrics and servers."""

    description: base.Line = Field(default="", description="free text")


class Emulation(base.Model):
    """The settings of the emulated network, which runs FRR in the lab."""

    path_color: Literal["local-preference", "aigp"] = Field(
        default="local-preference",
        description="how FRR carries path colors; aigp needs FRR 10 and loses ECMP (docs/load-balancing.md)",
    )


class Fabric(base.Model):
    """One network fabric: the leaves and spines that connect one kind of server NIC."""

    site: str | None = Field(default=None, description="the site it stands in; empty: the only one")
    nics: str = Field(default="gpu", description="which NIC group of the server models it connects")
    topology: Topology = Field(description="stripes, rails, spines and links")
    leaf: Role = Field(description="the leaves")
    spine: Role | None = Field(default=None, description="the spines; empty: like the leaves")
    super_spine: Role | None = Field(default=None, description="the super-spines; empty: like the spines")
    dci: Role | None = Field(default=None, description="the routers of the interconnect; empty: like the spines")
    paths_per_nic: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="path colors, and so addresses, per NIC; empty: with rlb one per uplink, else 1",
    )
    colors: tuple[ColorName, ...] = Field(
        default=(), description="names of path colors in order; empty: color1, color2, …"
    )
    addressing: Addressing = Field(default=Addressing(), description="server prefixes")
    pools: Pools = Field(default=Pools(), description="number pools")
    underlay: Underlay = Field(default=Underlay(), description="BGP and BFD")
    router_advertisements: RouterAdvertisements = Field(
        default=RouterAdvertisements(), description="router advertisements to servers"
    )
    load_balancing: LoadBalancing = Field(default=LoadBalancing(), description="how uplinks are shared")
    qos: Qos = Field(default=Qos(), description="QoS of every role that has none of its own")
    mtu: Mtu = Field(default=Mtu(), description="MTUs")
    cabling: Cabling = Field(default=Cabling(), description="cables and optics")
    naming: Naming = Field(default=Naming(), description="names of devices")
    host_routing: HostRouting = Field(default=HostRouting(), description="source routing on the servers")
    overlay: Overlay | None = Field(
        default=None, description="EVPN-VXLAN over the fabric; empty: there where there are tenants, else none"
    )
    tenants: dict[base.Name, Tenant] = Field(
        default_factory=dict[str, Tenant], description="tenants by name, each in a VRF of its own on the leaves"
    )
    edge_ports: dict[base.Name, EdgePort] = Field(
        default_factory=dict[str, EdgePort],
        exclude_if=lambda value: not value,
        description="routed ports of leaves without BGP, by the name of what is there, for example a tester",
    )
    tenant_slices: TenantSlices | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="tenants by slices of servers, beside those of `tenants`; empty: none",
    )
    emulation: Emulation = Field(default=Emulation(), description="the FRR form of the network")

    @field_validator("colors")
    @classmethod
    def _distinct(cls, value: tuple[ColorName, ...]) -> tuple[ColorName, ...]:
        names = [color.name for color in value]
        numbers = [color.number or place for place, color in enumerate(value, 1)]
        for label, items in (("name", names), ("number", numbers)):
            seen: dict[str | int, int] = {}
            for place, item in enumerate(items):
                if item in seen:
                    raise base.WrongValueError(f"two colors have the {label} {item}", "", [place], earlier=[seen[item]])
                seen[item] = place
        return value

    def evpn(self) -> Overlay | None:
        """Return the overlay, or None if the fabric has neither an ``overlay`` section nor tenants."""
        return self.overlay or (Overlay() if self.tenants else None)

    def spine_role(self) -> Role:
        """Return the role of the spines. Its default has the leaves' device, operating system and release, without their other settings."""
        return self.spine or Role(device=self.leaf.device, nos=self.leaf.nos, release=self.leaf.release)

    def super_spine_role(self) -> Role:
        """Return the role of the super-spines. Its default has the spines' device, operating system and release, without their other settings."""
        spine = self.spine_role()
        return self.super_spine or Role(device=spine.device, nos=spine.nos, release=spine.release)

    def dci_role(self) -> Role:
        """Return the role of the interconnect routers.

        Its default has the spines' device, operating system and release, without their other settings.
        """
        spine = self.spine_role()
        return self.dci or Role(device=spine.device, nos=spine.nos, release=spine.release)


class ServerGroup(base.Model):
    """Servers of one model."""

    names: tuple[str, ...] = Field(min_length=1, description="names, or host lists such as H100-[01-04]")
    model: str = Field(description="server model, or the model of its NICs, as the catalog names it or a part of that")
    gpus: int | None = Field(
        default=None, ge=1, le=64, description="GPUs of each, where they are not as many as the model has"
    )
    gpu_nics: int | None = Field(
        default=None, ge=1, le=64, description="NICs of the GPUs of each, where they are not as many as the model has"
    )
    stripe: str | dict[str, str] | None = Field(
        default=None,
        description="stripe they are in, or stripe by fabric; empty: spread over the stripes (docs/changes.md)",
    )
    site: str | None = Field(default=None, description="the site they stand in; empty: the only one")
    fabrics: tuple[str, ...] | None = Field(
        default=None, description="fabrics they are on; empty: every one that connects NICs they have"
    )

    @field_validator("names", mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        return base.expand_all(value, "server {} is listed twice", "name each server once")


class FabricFile(base.Model):
    """The fabric file: one or more fabrics that share servers."""

    name: base.Name = Field(description="name of the whole")
    description: base.Line = Field(default="", description="free text")
    sites: dict[base.Name, Site] = Field(
        default_factory=lambda: {"site1": Site()}, min_length=1, description="sites by name"
    )
    fabrics: dict[base.Name, Fabric] = Field(min_length=1, description="fabrics by name")
    servers: tuple[ServerGroup, ...] = Field(default=(), description="groups of servers")
    hosts: Hosts = Field(default=Hosts(), description="the servers' own configuration, and how jobs are started")
    management: Management = Field(default=Management(), description="management plane of the switches")
    overrides: Overrides = Field(default=Overrides(), description="explicit overrides")
    status: dict[Pattern, Status] = Field(
        default_factory=dict[str, Status],
        exclude_if=lambda value: not value,
        description="what is not active, by switch, server, SERVER:NIC, plane (plane2, or FABRIC/plane2) or link (A--B, A:port--B:port); "
        "host lists and `*` stand for several, and of two lines the later one holds. It is designed and rendered, and treated as absent by "
        "routes, paths, sim, the lab and checks (docs/changes.md)",
    )
    racks: Racks = Field(default=Racks(), description="where devices stand; cables are as long as that makes them")
    hardware: dict[str, dict[str, dict[str, Any]]] = Field(
        default_factory=dict[str, dict[str, dict[str, Any]]],
        description="models of your own in the sections switches, nics, servers and optics (docs/hardware.md)",
    )

    @field_validator("servers", mode="before")
    @classmethod
    def _not_endless(cls, value: object) -> object:
        """Return the groups unchanged. Raise an error if they name more than ``MOST_NAMES`` servers in total.

        This check comes before any host list is expanded, because a file may have thousands of groups.
        """
        groups = cast("list[Any]", value) if isinstance(value, list) else []
        lists = [cast("dict[str, Any]", group).get("names") for group in groups if isinstance(group, dict)]
        names = [
            name
            for group_names in lists
            for name in (cast("list[Any]", group_names) if isinstance(group_names, list) else [group_names])
        ]
        base.check_most("all groups together: the list", sum(_count(name) for name in names if isinstance(name, str)))
        return cast("object", value)

    @field_validator("fabrics")
    @classmethod
    def _apart(cls, value: dict[str, Fabric]) -> dict[str, Fabric]:
        if len(value) > MOST_FABRICS:
            raise base.WrongValueError(
                f"there are {len(value):,} fabrics", f"at most {MOST_FABRICS} are designed together"
            )
        twice = base.repeated_name(list(value))
        if twice is not None:
            raise base.WrongValueError(
                f"two fabrics are called {twice!r}, but for capitals",
                "files and hosts are named after them: rename one",
            )
        return value


def _count(pattern: str) -> int:
    try:
        return base.count_of(pattern)
    except ValueError:  # said where the group is read
        return 0
