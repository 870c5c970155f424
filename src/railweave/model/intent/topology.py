"""The topology section of the fabric file: stripes, rails, spines, device roles, port layout, cabling and links between sites."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import AfterValidator, Field, field_validator, model_validator

from railweave.model.intent import base
from railweave.model.intent.qos import Qos


class Macsec(base.Model):
    """The MACsec settings of the long links, with a pre-shared key (IEEE 802.1AE; 802.1X for the key agreement)."""

    cipher_suite: Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"] = Field(
        default="gcm-aes-xpn-256",
        description="cipher; xpn counts packets with 64 bits, without which an 800G link needs a new key every minute",
    )
    key_name: str = Field(
        pattern=r"^([0-9a-fA-F]{2}){1,32}$", description="name of the connectivity association key (CKN), hexadecimal"
    )
    key: str = Field(description="secret:NAME of the connectivity association key (CAK), hexadecimal")

    _reference = field_validator("key")(base.secret_reference)


class Interconnect(base.Model):
    """The stripes at each site, and the links between the sites.

    Without ``routers``, the leaves of different sites are linked directly, and each site has one leaf. With
    ``routers``, each spine of a site has links to every router of the site, and the routers have links to the routers
    of other sites.
    """

    sites: dict[base.Name, tuple[str, ...]] = Field(min_length=2, description="stripes at each site")
    routers: int = Field(
        default=0,
        ge=0,
        le=8,
        description="number of routers of the interconnect at each site; 0: the leaves connect the sites",
    )
    links_per_router: int = Field(
        default=1, ge=1, le=64, description="number of parallel links between a spine and each router of its site"
    )
    links: int = Field(
        default=4, ge=1, le=64, description="number of parallel links between each pair of routers of two sites"
    )
    link_speed: base.Gbps = Field(default=800, description="speed of the links between sites")
    delay: base.Microseconds | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="measured one-way delay of a long link; empty: computed from its length",
    )
    macsec: Macsec | None = Field(default=None, description="encryption of the links between sites; empty: none")
    pfc: bool = Field(
        default=False,
        description="PFC on the links between sites; it needs headroom for twice the delay at full rate",
    )

    @model_validator(mode="after")
    def _stripe_once(self) -> Interconnect:
        owner: dict[str, str] = {}
        for site, stripes in self.sites.items():
            if not stripes:
                raise base.WrongValueError(f"site {site!r} has no stripe", "list the stripes there", ["sites", site])
            for stripe in stripes:
                other = owner.setdefault(stripe, site)
                if other != site:
                    raise base.WrongValueError(
                        f"stripe {stripe!r} is listed at both {other!r} and {site!r}",
                        "list it at one site only",
                        ["sites", site],
                        earlier=["sites", other],
                    )
        return self

    def site_of(self, stripe: str) -> str:
        """Return the site of a stripe, or an empty string if the stripe has none."""
        return next((site for site, stripes in self.sites.items() if stripe in stripes), "")


MOST_EXTRA = 1 << 18
"""The greatest length, in characters, of the operator's statements for a role: a few thousand lines."""

MOST_PLANES = 8
"""The largest number of NIC ports that NCCL merges into one device, if its net plugin interface has version 11 or older."""

DEFAULT_SYSTEM = "junos"
"""The system that switches run if a fabric file does not name one."""


class PortRange(base.Model):
    """The ports of a device for one kind of cable, and the order in which they are used."""

    first: int | None = Field(
        default=None, ge=0, description="number of the first physical port; empty: chosen by the topology"
    )
    last: int | None = Field(
        default=None,
        ge=0,
        description="number of the last physical port; empty: the end of the device or of the free range",
    )
    fill: Literal["pack", "spread"] = Field(
        default="pack",
        description="pack: use every channel of a port before the next port; spread: each neighbor has a port of its own",
    )
    breakout: str | None = Field(
        default=None,
        description="how ports are split, for example 2x400G; empty: the breakout with the speed of the links",
    )

    @model_validator(mode="after")
    def _ordered(self) -> PortRange:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise base.WrongValueError(
                f"the range begins at {self.first} and ends at {self.last}", "write the lower port as `first:`"
            )
        return self


def _release(value: str) -> str:
    if not value[:1].isdecimal():
        raise base.WrongValueError(f"{value!r} is not a release", "write it as 25.4R1, with the number first")
    return value


Release = Annotated[str, AfterValidator(_release)]
"""A release of a network operating system. Releases are ordered by their leading numbers."""


class Role(base.Model):
    """The settings of all devices of one role (leaf, spine, super-spine or dci) in a fabric."""

    device: str = Field(
        description="switch model, as the catalog names it, a part of its name, or its maker, for example qfx5240-64od"
    )
    nos: str = Field(
        default=DEFAULT_SYSTEM,
        description="network operating system of the switches; if the model does not run the default, the first system of "
        "the catalog that it runs",
    )
    release: Release | None = Field(
        default=None,
        description="release of that system. It decides which features can be used and, on SONiC, what is rendered; "
        "empty: the catalog's release for the system and the switch model",
    )
    uplink_ports: PortRange = Field(
        default=PortRange(),
        description="ports towards the spines (leaves), towards super-spines or routers of the interconnect (spines), or "
        "towards other sites (routers of the interconnect)",
    )
    server_ports: PortRange = Field(default=PortRange(), description="ports towards servers, only for leaves")
    leaf_ports: PortRange = Field(
        default=PortRange(),
        description="ports towards the leaves (spines) or towards the spines (super-spines and routers of the "
        "interconnect)",
    )
    qos: Qos | None = Field(default=None, description="QoS of this role; empty: that of the fabric")
    extra: dict[str, Annotated[str, Field(max_length=MOST_EXTRA)]] = Field(
        default_factory=dict[str, str],
        description="your own statements, by network operating system, in the form that the system prints (junos: curly "
        "or set form). They are merged into the rendered configuration, validated and listed",
    )


def _count_or_names(value: object) -> object:
    """Return a number unchanged. Expand a host list, or a list of names and host lists, into names."""
    if isinstance(value, list | tuple) or (isinstance(value, str) and "[" in value):
        return base.expand_all(cast("object", value), "{} is listed twice", "name each stripe or spine once")
    if value is None or isinstance(value, dict):  # of another kind, which pydantic says
        return cast("object", value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise base.WrongValueError(f"{value!r} is neither a count nor a list of names", "write 4, or [name1, name2]")
    if not 0 <= value <= 4096:
        raise base.WrongValueError(f"{value} is outside the allowed range", "0 to 4096")
    return value


class Topology(base.Model):
    """A rail-optimised leaf-spine fabric: NIC r of every server in a stripe connects to that stripe's leaf for rail r.

    One set of spines joins all leaves by default. With ``planes`` or ``stripes_per_pod``, each rail, each NIC port or each
    pod has its own spines.
    """

    stripes: int | tuple[str, ...] = Field(
        default=1,
        description="groups of servers that share one set of leaves: a number, or names, so that you can remove one from "
        "the middle",
    )
    leaves_per_stripe: int | None = Field(
        default=None,
        ge=1,
        description="number of leaves per stripe; empty: one per rail. With fewer, several rails share a leaf, and the "
        "number must divide the rails. With planes of NIC ports, it counts the leaves of each plane",
    )
    spines: int | tuple[str, ...] = Field(
        default=0,
        description="spines (of each rail plane or pod, if the topology has them): a number or names; 0: no spine tier",
    )
    planes: Literal["rail"] | Annotated[int, Field(ge=2, le=MOST_PLANES)] | None = Field(
        default=None,
        description="rail: each rail has its own spines, and no path leads to another rail; a number: each port of the "
        "servers' NICs has its own leaves and spines, and every NIC has that many ports (docs/howto/size-a-network.md#planes-nics-with-several-ports); "
        "empty: one set of spines connects all rails",
    )
    stripes_per_pod: int | None = Field(
        default=None,
        ge=1,
        description="number of stripes that share one set of spines, under super-spines; empty: all, without super-spines",
    )
    super_spines: int = Field(
        default=0,
        ge=0,
        le=512,
        description="number of super-spines above each spine of a pod. They connect the spines with the same number in "
        "all pods",
    )
    links_per_super_spine: int = Field(
        default=1, ge=1, le=64, description="number of parallel links between a spine and each of its super-spines"
    )
    interconnect: Interconnect | None = Field(
        default=None,
        description="sites of the fabric, each with its own spines, and the links between sites",
    )
    links_per_spine: int = Field(
        default=1, ge=1, le=64, description="number of parallel links between a leaf and each spine"
    )
    link_speed: base.Gbps = Field(default=400, description="speed of leaf-spine links")
    oversubscription: base.Ratio = Field(
        default=1.0, description="largest accepted ratio of server bandwidth to uplink bandwidth on a leaf, as 3 or 3:1"
    )
    servers_per_stripe: int | None = Field(
        default=None,
        ge=1,
        description="number of servers that fill a stripe before the next stripe is used; empty: servers are spread "
        "equally over the stripes",
    )

    @model_validator(mode="after")
    def _tiers(self) -> Topology:
        if self.planes == "rail" and (self.super_spines or self.stripes_per_pod):
            part = "super_spines" if self.super_spines else "stripes_per_pod"
            raise base.WrongValueError(f"planes: rail and {part} cannot be combined", "choose one of them", ["planes"])
        if bool(self.super_spines) != bool(self.stripes_per_pod):
            there, missing = ("super_spines", "stripes_per_pod")[:: 1 if self.super_spines else -1]
            raise base.WrongValueError(
                f"{there} without {missing}", "pods and super-spines must be given together", [there]
            )
        if self.interconnect and (self.planes or self.super_spines):
            part = "planes" if self.planes else "super_spines"
            raise base.WrongValueError(f"interconnect and {part} cannot be combined", "keep one", ["interconnect"])
        if self.interconnect and bool(self.interconnect.routers) != bool(self.spines):
            message = "spines without routers" if self.spines else "routers without spines"
            raise base.WrongValueError(
                message,
                "spines need routers of the interconnect at each site; without spines, the leaves connect the sites",
                ["interconnect"],
            )
        if self.super_spines and not self.spines:
            raise base.WrongValueError("super_spines without spines", "add `spines:`", ["super_spines"])
        return self

    @field_validator("stripes", "spines", mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        return _count_or_names(value)

    @field_validator("planes", mode="before")
    @classmethod
    def _planes(cls, value: object) -> object:
        number = isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= MOST_PLANES
        if value not in (None, "rail") and not number:
            raise base.WrongValueError(
                f"{value!r} is neither `rail` nor a number of planes",
                f"write rail, or a number from 2 to {MOST_PLANES}: the number of ports of every NIC",
            )
        return value

    @field_validator("stripes")
    @classmethod
    def _some(cls, value: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if not value:
            raise base.WrongValueError("with 0 stripes there is no place for servers", "give at least 1")
        return value

    @property
    def port_planes(self) -> int:
        """The number of planes, one for each port of a NIC; 1 if all ports are on the same switches."""
        return self.planes if isinstance(self.planes, int) else 1

    def stripe_names(self) -> list[str]:
        """Return the stripe names in file order. If the file has only a count, the names are stripe1, stripe2, and so on."""
        return _names(self.stripes, "stripe")

    def spine_names(self) -> list[str]:
        """Return the spine names in file order. If the file has only a count, the names are spine1, spine2, and so on."""
        return _names(self.spines, "spine")


def _names(value: int | tuple[str, ...], stem: str) -> list[str]:
    return [f"{stem}{number}" for number in range(1, value + 1)] if isinstance(value, int) else list(value)


class CableIntent(base.Model):
    """The length of one kind of cable, and the optic or cable at each end."""

    length: base.Metres = Field(description="planned length; a measured length in the inventory overrides it")
    optic: str | None = Field(
        default=None,
        description="catalog name of the optic at the switch; empty: the shortest reach that is long enough",
    )
    far_optic: str | None = Field(
        default=None,
        description="catalog name of the optic at the far end (NIC or spine); empty: chosen in the same way",
    )


class Cabling(base.Model):
    """The cables of a fabric, by kind."""

    server: CableIntent = Field(default=CableIntent(length=10), description="server to leaf")
    fabric: CableIntent = Field(default=CableIntent(length=50), description="leaf to spine")
    interconnect: CableIntent = Field(
        default=CableIntent(length=50_000),
        exclude_if=lambda value: value == CableIntent(length=50_000),
        description="between sites",
    )


class Mtu(base.Model):
    """The MTUs, in bytes. The MTU of a port counts Ethernet frames; the MTU of an IRB or a NIC counts IP packets."""

    fabric: int = Field(default=9216, ge=1500, le=9416, description="leaf-spine ports, Ethernet frame")
    server_port: int = Field(default=9216, ge=1500, le=9416, description="server-facing ports, Ethernet frame")
    irb: int = Field(
        default=9000, ge=1280, le=9400, description="MTU of the gateway interfaces to servers, counted as IP packet"
    )
    server: int = Field(default=9000, ge=1280, le=9400, description="NIC, IP packet")


class Naming(base.Model):
    """The naming patterns of devices.

    Braces hold fields: {fabric}, {stripe}, {plane} and {leaf} (a number) for a leaf, {spine} for a spine. They may also
    hold a sum of fields and numbers, with a format for the digits: leaf{stripe_number*2+leaf-2:02d}.
    """

    leaf: Annotated[
        str,
        base.naming_pattern(fabric="backend", stripe="stripe1", leaf=1, stripe_number=1, number=1, plane="plane1"),
    ] = Field(
        default="{stripe}-leaf{leaf}",
        description="pattern for leaves; fields: {fabric}, {stripe} (names), {stripe_number}, {leaf} (number in the stripe), "
        "{number} (number in the fabric), {plane} (name of the plane, if the topology has planes)",
    )
    spine: Annotated[str, base.naming_pattern(fabric="backend", spine="spine1", number=1)] = Field(
        default="{spine}",
        description="pattern for spines; fields: {fabric}, {spine} (name, after the name of its rail or pod if the topology has "
        "them), {number} (number in the fabric)",
    )
    super_spine: Annotated[str, base.naming_pattern(fabric="backend", super_spine="plane1-super1")] = Field(
        default="{super_spine}",
        exclude_if=lambda value: value == "{super_spine}",
        description="pattern for super-spines; fields: {fabric}, {super_spine} (plane and number)",
    )
    dci: Annotated[str, base.naming_pattern(fabric="backend", site="site1", dci=1)] = Field(
        default="{site}-dci{dci}",
        exclude_if=lambda value: value == "{site}-dci{dci}",
        description="pattern for routers of the interconnect; fields: {fabric}, {site} (names), {dci} (number at the site)",
    )
    vlan: Annotated[str, base.naming_pattern(fabric="backend", stripe="stripe1", rail=1, vlan=2)] = Field(
        default="vn{vlan}", description="pattern for VLANs; fields: {vlan} (the VLAN id)"
    )
    bgp_group: Annotated[str, base.naming_pattern(role="spine", color="color1")] = Field(
        default="{role}-{color}", description="{role} is the neighbor's role, {color} the path color's name"
    )
    switches: dict[base.Name, base.Name] = Field(
        default_factory=dict[str, str],
        exclude_if=lambda value: not value,
        description="names of single switches that differ from the patterns, by the names that the patterns give them",
    )

    def name_of(self, patterned: str) -> str:
        """Return the final name of a switch: its entry in ``switches``, or else the name that the pattern gives (``patterned``)."""
        return self.switches.get(patterned, patterned)
