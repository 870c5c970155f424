"""Explicit overrides: this address, that cable, in place of what design would choose."""

from __future__ import annotations

import ipaddress

from pydantic import Field, field_validator

from railweave.spec.base import Metres, Model


def _host(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address -- for example fc00:1:1:1::10") from None


class DeviceOverride(Model):
    """What is fixed about one switch."""

    asn: int | None = Field(default=None, ge=1, le=4_294_967_294, description="AS number")
    router_id: str | None = Field(default=None, description="router id")
    management_address: str | None = Field(default=None, description="management address, without a length")
    release: str | None = Field(default=None, description="release of its network operating system")

    @field_validator("router_id", "management_address")
    @classmethod
    def _addresses(cls, value: str | None) -> str | None:
        return None if value is None else _host(value)


class NicOverride(Model):
    """What is fixed about one NIC."""

    addresses: dict[str, str] = Field(
        default_factory=dict[str, str], description="address by path-color name (or `default`), configured statically"
    )

    @field_validator("addresses")
    @classmethod
    def _addresses(cls, value: dict[str, str]) -> dict[str, str]:
        return {color: _host(address) for color, address in value.items()}


class CableOverride(Model):
    """What is fixed about one cable."""

    between: tuple[str, str] = Field(description="its ends: [SERVER:NIC, LEAF] or [LEAF, SPINE]")
    link: int = Field(default=1, ge=1, description="which of several parallel leaf-spine links")
    ports: dict[str, str] = Field(
        default_factory=dict[str, str], description="port by device, for example {spine1: et-0/0/9:1}"
    )
    length: Metres | None = Field(default=None, description="length of this cable")
    optic: str | None = Field(default=None, description="catalog name at both ends")


class Overrides(Model):
    """Overrides by what they concern."""

    devices: dict[str, DeviceOverride] = Field(default_factory=dict[str, DeviceOverride], description="by switch name")
    nics: dict[str, NicOverride] = Field(default_factory=dict[str, NicOverride], description="by SERVER:NIC")
    cables: tuple[CableOverride, ...] = Field(default=(), description="single cables")
