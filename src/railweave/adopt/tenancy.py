"""Tenants and the overlay of a fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.adopt.draft import Draft
    from railweave.adopt.shape import Shape
    from railweave.device.model import DeviceConfig


def tenant_slots(draft: Draft, configs: Mapping[str, DeviceConfig]) -> dict[str, int]:
    return {}


def overlay(draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig], local: Sequence[str]) -> bool:
    return False


def tenants(draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig], slots: Mapping[str, int]) -> None:
    return None
