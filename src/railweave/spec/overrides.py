"""Explicit overrides: this address, that cable, in place of what design would choose."""

from __future__ import annotations

from pydantic import Field, model_validator

from railweave.spec.addressing import Address, ManagementAddress, RouterId
from railweave.spec.base import Metres, Model, PartError
from railweave.spec.topology import Release


class DeviceOverride(Model):
    """What is fixed about one switch."""

    asn: int | None = Field(default=None, ge=1, le=4_294_967_294, description="AS number")
    router_id: RouterId | None = Field(default=None, description="router id")
    management_address: ManagementAddress | None = Field(
        default=None, description="management address, without a length"
    )
    release: Release | None = Field(default=None, description="release of its network operating system")


class NicOverride(Model):
    """What is fixed about one NIC."""

    addresses: dict[str, Address] = Field(
        default_factory=dict[str, Address],
        description="address by path-color name (or `default`), configured statically",
    )


class CableOverride(Model):
    """What is fixed about one cable."""

    between: tuple[str, str] = Field(description="its ends: [SERVER:NIC, LEAF] or [LEAF, SPINE]")
    link: int = Field(default=1, ge=1, description="which of several parallel leaf-spine links")
    ports: dict[str, str] = Field(
        default_factory=dict[str, str], description="port by device, for example {spine1: et-0/0/9:1}"
    )
    length: Metres | None = Field(default=None, description="length of this cable")
    optic: str | None = Field(default=None, description="catalog name at both ends")

    @model_validator(mode="after")
    def _own_ports(self) -> CableOverride:
        for device in self.ports:
            if device not in self.between:
                raise PartError(
                    f"{device!r} is not an end of this cable -- its ends are {' and '.join(self.between)}",
                    ["ports", device],
                )
        return self


class Overrides(Model):
    """Overrides by what they concern."""

    devices: dict[str, DeviceOverride] = Field(default_factory=dict[str, DeviceOverride], description="by switch name")
    nics: dict[str, NicOverride] = Field(default_factory=dict[str, NicOverride], description="by SERVER:NIC")
    cables: tuple[CableOverride, ...] = Field(default=(), description="single cables")
