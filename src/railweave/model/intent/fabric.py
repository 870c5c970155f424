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
            f"{value!r} is not a valid name of a path color",
            "use letters, digits, dashes and underscores, at most 32; begin with a letter",
        )
    return value


COLOR_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"


class ColorName(base.Model):
    """A path color: its name, and the number N in the color community ``color:0:N``."""

    name: Annotated[str, AfterValidator(_color_name), WithJsonSchema({"type": "string", "pattern": COLOR_NAME})] = (
        Field(description="used in community and group names")
    )
    number: int | None = Field(
        default=None,
        ge=1,
        le=4_294_967_295,
        description="the number N in the community color:0:N; empty: the color's place in the list",
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

    site: str | None = Field(default=None, description="name of the site; empty: the only site")
    nics: str = Field(default="gpu", description="group of the server models' NICs that the fabric connects")
    topology: Topology = Field(description="numbers of stripes, rails, spines and links")
    leaf: Role = Field(description="the leaves")
    spine: Role | None = Field(default=None, description="settings of the spines; empty: those of the leaves")
    super_spine: Role | None = Field(
        default=None, description="settings of the super-spines; empty: those of the spines"
    )
    dci: Role | None = Field(
        default=None, description="settings of the routers of the interconnect; empty: those of the spines"
    )
    paths_per_nic: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="number of path colors, and so of addresses, per NIC; empty: with rlb one per uplink, else 1",
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
    load_balancing: LoadBalancing = Field(default=LoadBalancing(), description="how packets are shared over uplinks")
    qos: Qos = Field(default=Qos(), description="QoS of every role that has no QoS of its own")
    mtu: Mtu = Field(default=Mtu(), description="MTUs")
    cabling: Cabling = Field(default=Cabling(), description="cables and optics")
    naming: Naming = Field(default=Naming(), description="names of devices")
    host_routing: HostRouting = Field(default=HostRouting(), description="source routing on the servers")
    overlay: Overlay | None = Field(
        default=None, description="EVPN-VXLAN over the fabric; empty: only if the fabric has tenants"
    )
    tenants: dict[base.Name, Tenant] = Field(
        default_factory=dict[str, Tenant], description="tenants by name; each has a VRF on the leaves"
    )
    edge_ports: dict[base.Name, EdgePort] = Field(
        default_factory=dict[str, EdgePort],
        exclude_if=lambda value: not value,
        description="routed ports of leaves without BGP, by the name of the device there, for example a tester",
    )
    tenant_slices: TenantSlices | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="tenants that get slices of servers, in addition to those of `tenants`; empty: none",
    )
    emulation: Emulation = Field(default=Emulation(), description="settings of the emulated network, which runs FRR")

    @field_validator("colors")
    @classmethod
    def _distinct(cls, value: tuple[ColorName, ...]) -> tuple[ColorName, ...]:
        names = [color.name for color in value]
        numbers = [color.number or place for place, color in enumerate(value, 1)]
        for label, items in (("name", names), ("number", numbers)):
            seen: dict[str | int, int] = {}
            for place, item in enumerate(items):
                if item in seen:
                    raise base.WrongValueError(
                        f"{label} {item} is used by two colors", "", [place], earlier=[seen[item]]
                    )
                seen[item] = place
        return value

    def evpn(self) -> Overlay | None:
        """Return the ``overlay`` section, a default overlay if only tenants exist, or None."""
        return self.overlay or (Overlay() if self.tenants else None)

    def spine_role(self) -> Role:
        """Return the role of the spines.

        The default role has the leaves' device, operating system and release, and no other settings.
        """
        return self.spine or Role(device=self.leaf.device, nos=self.leaf.nos, release=self.leaf.release)

    def super_spine_role(self) -> Role:
        """Return the role of the super-spines.

        The default role has the spines' device, operating system and release, and no other settings.
        """
        spine = self.spine_role()
        return self.super_spine or Role(device=spine.device, nos=spine.nos, release=spine.release)

    def dci_role(self) -> Role:
        """Return the role of the interconnect routers.

        The default role has the spines' device, operating system and release, and no other settings.
        """
        spine = self.spine_role()
        return self.dci or Role(device=spine.device, nos=spine.nos, release=spine.release)


class ServerGroup(base.Model):
    """Servers of one model."""

    names: tuple[str, ...] = Field(min_length=1, description="names of servers, or host lists such as H100-[01-04]")
    model: str = Field(description="server model, or the model of its NICs: a name of the catalog, or a part of one")
    gpus: int | None = Field(
        default=None, ge=1, le=64, description="number of GPUs of each server, if it differs from the model's"
    )
    gpu_nics: int | None = Field(
        default=None, ge=1, le=64, description="number of NICs for GPUs of each server, if it differs from the model's"
    )
    stripe: str | dict[str, str] | None = Field(
        default=None,
        description="stripe they are in, or stripe by fabric; empty: spread over the stripes (docs/day-two.md#change-the-design-diff-lock-status)",
    )
    site: str | None = Field(default=None, description="site of the servers; empty: the only site")
    fabrics: tuple[str, ...] | None = Field(
        default=None,
        description="fabrics that the servers are connected to; empty: every fabric that their NICs can connect to",
    )

    @field_validator("names", mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        return base.expand_all(value, "server {} is listed twice", "name each server once")


class FabricFile(base.Model):
    """The fabric file: one or more fabrics that share servers."""

    name: base.Name = Field(description="name of the network")
    description: base.Line = Field(default="", description="free text")
    sites: dict[base.Name, Site] = Field(
        default_factory=lambda: {"site1": Site()}, min_length=1, description="sites by name"
    )
    fabrics: dict[base.Name, Fabric] = Field(min_length=1, description="fabrics by name")
    servers: tuple[ServerGroup, ...] = Field(default=(), description="groups of servers")
    hosts: Hosts = Field(default=Hosts(), description="configuration of the servers, and how jobs are started")
    management: Management = Field(default=Management(), description="management plane of the switches")
    overrides: Overrides = Field(default=Overrides(), description="explicit overrides")
    status: dict[Pattern, Status] = Field(
        default_factory=dict[str, Status],
        exclude_if=lambda value: not value,
        description="what is not active, by switch, server, SERVER:NIC, plane (plane2, or FABRIC/plane2) or link (A--B, A:port--B:port); "
        "host lists and `*` stand for several, and of two lines the later one holds. It is designed and rendered, and treated as absent by "
        "routes, paths, sim, the lab and checks (docs/day-two.md#change-the-design-diff-lock-status)",
    )
    racks: Racks = Field(default=Racks(), description="positions of devices, from which the lengths of cables follow")
    hardware: dict[str, dict[str, dict[str, Any]]] = Field(
        default_factory=dict[str, dict[str, dict[str, Any]]],
        description="your own models, in the sections switches, nics, servers and optics (docs/hardware.md)",
    )

    @field_validator("servers", mode="before")
    @classmethod
    def _not_endless(cls, value: object) -> object:
        """Return the groups unchanged. Raise an error if they name more than ``MOST_NAMES`` servers in total.

        The check precedes the expansion of host lists, because a file may have thousands of groups.
        """
        groups = cast("list[Any]", value) if isinstance(value, list) else []
        lists = [cast("dict[str, Any]", group).get("names") for group in groups if isinstance(group, dict)]
        names = [
            name
            for group_names in lists
            for name in (cast("list[Any]", group_names) if isinstance(group_names, list) else [group_names])
        ]
        base.check_most(
            "the list for all groups together", sum(_count(name) for name in names if isinstance(name, str))
        )
        return cast("object", value)

    @field_validator("fabrics")
    @classmethod
    def _apart(cls, value: dict[str, Fabric]) -> dict[str, Fabric]:
        if len(value) > MOST_FABRICS:
            raise base.WrongValueError(
                f"there are {len(value):,} fabrics", f"at most {MOST_FABRICS} fabrics can be designed together"
            )
        twice = base.repeated_name(list(value))
        if twice is not None:
            raise base.WrongValueError(
                f"two fabrics have the name {twice!r}, apart from capital letters",
                "files and hosts are named after them: rename one",
            )
        return value


def _count(pattern: str) -> int:
    try:
        return base.count_of(pattern)
    except ValueError:  # said where the group is read
        return 0
