"""Explicit overrides of the design's choices (an address, a cable, a switch's model), and racks."""

from __future__ import annotations

import ipaddress
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from railweave.model.intent.addresses import Address, ManagementAddress, RouterId
from railweave.model.intent.base import Metres, Model, Name, WrongValueError, check_most, count_of, expand
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.topology import PortRange, Release, Role

if TYPE_CHECKING:
    from railweave.model.intent.qos import Qos


class Rack(Model):
    """A rack: its position in the room, and its devices."""

    x: Metres = Field(default=0, description="position along the row")
    y: Metres = Field(default=0, description="position across the rows")
    units: int = Field(default=48, ge=1, le=80, description="height of a rack in rack units")
    devices: dict[str, int] = Field(
        default_factory=dict[str, int],
        description="lowest rack unit of each device, by the device's name. A host list such as gpu-[1-4] gives the unit "
        "of the first device; the others are directly above it, one after another",
    )


class Racks(Model):
    """The racks of a room. Cable lengths assume that cables between racks run above the racks, along the rows and across them."""

    slack: Metres = Field(default=2, description="length that is added to every cable, for both its ends together")
    step: Metres = Field(default=1, gt=0, description="lengths are rounded up to a multiple of this")
    racks: dict[Name, Rack] = Field(default_factory=dict[str, Rack], description="racks by name")


def _link_address(value: str) -> str:
    try:
        interface = ipaddress.ip_interface(value)
    except ValueError:
        raise WrongValueError(f"{value!r} is not an address with a prefix length", "write it as 10.0.0.0/31") from None
    if "/" not in value or interface.network.num_addresses < 2:
        raise WrongValueError(f"{value!r} does not have the prefix length of a link", "write it as 10.0.0.0/31")
    return str(interface)


LinkAddress = Annotated[
    str, AfterValidator(_link_address), WithJsonSchema({"type": "string", "examples": ["10.0.0.0/31"]})
]
"""The address of one end of a link, with the prefix length of the link."""

_EQUIPMENT = ("device", "nos", "release", "uplink_ports", "server_ports", "leaf_ports", "buffers")
_OF_ONE = ("asn", "router_id", "management_address")


class PortOverride(Model):
    """The fixed quality-of-service settings of one port."""

    pfc: bool | None = Field(
        default=None, description="enable priority flow control on the port; empty: as `qos.pfc.ports` says"
    )
    qos: bool = Field(
        default=True, description="no: `qos` is not applied to the port, which keeps the system's defaults"
    )

    @model_validator(mode="after")
    def _something(self) -> PortOverride:
        if not self.qos and self.pfc:
            raise WrongValueError("pfc is on for a port without qos", "leave one out", ["pfc"], ["qos"])
        return self


class DeviceOverride(Model):
    """The fixed settings of one switch, or of each switch of a host list such as ``stripe2-leaf[1-8]``."""

    asn: int | None = Field(default=None, ge=1, le=4_294_967_294, description="AS number")
    router_id: RouterId | None = Field(default=None, description="router id")
    management_address: ManagementAddress | None = Field(
        default=None, description="management address, without a prefix length"
    )
    device: str | None = Field(default=None, description="switch model; empty: the model of the role")
    nos: str | None = Field(default=None, description="network operating system; empty: that of the role")
    release: Release | None = Field(default=None, description="release of the network operating system")
    uplink_ports: PortRange | None = Field(
        default=None,
        description="settings as in the role; empty: those of the role, or the defaults if `device` is given",
    )
    server_ports: PortRange | None = Field(default=None, description="likewise")
    leaf_ports: PortRange | None = Field(default=None, description="likewise")
    buffers: Buffers | None = Field(
        default=None, description="partition of the shared packet buffer; empty: that of the role"
    )
    ports: dict[str, PortOverride] = Field(
        default_factory=dict[str, PortOverride],
        exclude_if=lambda value: not value,
        description="exceptions from quality of service, by port, for example {et-0/0/30: {pfc: false}}",
    )
    extra: dict[str, str] = Field(
        default_factory=dict[str, str],
        exclude_if=lambda value: not value,
        description="your own statements for this switch, by operating system, instead of the `extra` of the role",
    )

    def own_equipment(self) -> frozenset[str]:
        """Return the keys of this override that change the switch's hardware, software or settings.

        Keys for names, numbers or addresses are left out.
        """
        return frozenset(key for key in _EQUIPMENT if getattr(self, key) is not None)

    def only_release(self) -> DeviceOverride:
        """Return an override that sets only the release, for a switch that gets a new model but keeps its operating system."""
        return DeviceOverride(release=self.release)

    def applied(self, role: Role, qos: Qos) -> Role:
        """Return the role with this switch's overrides applied. ``qos`` is the fabric's QoS.

        If the override sets a different model, the role's port ranges are dropped, because they belong to the old model.
        """
        changes: dict[str, object] = {key: getattr(self, key) for key in self.own_equipment() - {"buffers"}}
        if self.device is not None:
            changes = {"uplink_ports": PortRange(), "server_ports": PortRange(), "leaf_ports": PortRange(), **changes}
        if self.nos is not None:  # the role's release is one of another system
            changes = {"release": None, **changes}
        if self.buffers is not None:
            changes["qos"] = (role.qos or qos).model_copy(update={"buffers": self.buffers})
        return role.model_copy(update=changes)


class NicOverride(Model):
    """The fixed settings of one NIC."""

    addresses: dict[str, Address] = Field(
        default_factory=dict[str, Address],
        description="static addresses of the NIC, by the name of the path color (or `default`)",
    )


class CableOverride(Model):
    """The fixed settings of one cable."""

    between: tuple[str, str] = Field(description="ends of the cable: [SERVER:NIC, LEAF] or [LEAF, SPINE]")
    link: int = Field(default=1, ge=1, description="number of the cable among parallel leaf-spine links")
    ports: dict[str, str] = Field(
        default_factory=dict[str, str], description="port of each end, by device, for example {spine1: et-0/0/9:1}"
    )
    addresses: dict[str, LinkAddress] = Field(
        default_factory=dict[str, str],
        exclude_if=lambda value: not value,
        description="for numbered peering: addresses of both ends with prefix length, by device, for example "
        "{leaf1: 10.0.0.0/31, spine1: 10.0.0.1/31}",
    )
    length: Metres | None = Field(default=None, description="length of this cable")
    optic: str | None = Field(default=None, description="catalog name of the optic at both ends")

    @model_validator(mode="after")
    def _own_ports(self) -> CableOverride:
        for device in self.ports:
            if device not in self.between:
                raise WrongValueError(
                    f"{device!r} is not an end of this cable",
                    f"its ends are {' and '.join(self.between)}",
                    ["ports", device],
                )
        return self

    @model_validator(mode="after")
    def _address_pair(self) -> CableOverride:
        given = {device: ipaddress.ip_interface(address) for device, address in self.addresses.items()}
        if given and (set(given) != set(self.between) or len({interface.network for interface in given.values()}) > 1):
            raise WrongValueError(
                "both ends of a cable must have addresses of the same subnet, or neither end may have an address here",
                f"give {' and '.join(self.between)} one each",
                ["addresses"],
            )
        if len({interface.ip for interface in given.values()}) < len(given):
            raise WrongValueError("both ends have the same address", "give each end a different address", ["addresses"])
        return self


class Overrides(Model):
    """The overrides by their subject: switches, NICs and cables."""

    devices: dict[str, DeviceOverride] = Field(
        default_factory=dict[str, DeviceOverride], description="exceptions by switch name, or by a host list of names"
    )
    nics: dict[str, NicOverride] = Field(default_factory=dict[str, NicOverride], description="by SERVER:NIC")
    cables: tuple[CableOverride, ...] = Field(default=(), description="single cables")

    @cached_property
    def _key_of(self) -> dict[str, str]:
        return {name: key for key in self.devices for name in expand(key)}

    def of_device(self, name: str) -> tuple[str, DeviceOverride | None]:
        """Return (key in the file, override or None) for a switch. The key is a switch name or a host list."""
        key = self._key_of.get(name, name)
        return key, self.devices.get(key)

    @model_validator(mode="after")
    def _once(self) -> Overrides:
        owner: dict[str, str] = {}
        check_most("the list", sum(map(count_of, self.devices)))
        for key, override in self.devices.items():
            names = expand(key)
            for name in names:
                first = owner.setdefault(name, key)
                if first != key:
                    raise WrongValueError(
                        f"{name} is in {first!r} and in {key!r}",
                        "name each switch once",
                        ["devices", key],
                        earlier=["devices", first],
                    )
            given = next((part for part in _OF_ONE if getattr(override, part) is not None), None)
            if len(names) > 1 and given:
                raise WrongValueError(
                    f"{given} of {len(names)} switches",
                    "write one entry for each switch, under the switch's own name",
                    ["devices", key, given],
                )
        return self
