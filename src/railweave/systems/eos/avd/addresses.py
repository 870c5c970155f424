"""AVD: addresses of an interface, own or shared with other switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.config.addresses import Addressed


def addressed(addresses: Sequence[Addressed]) -> dict[str, Any]:
    """The keys of an interface's own addresses; all IPv4 addresses but the first are secondary."""
    four, six = _by_family(addresses)
    found: dict[str, Any] = {"ip_address": four[0]} if four else {}
    found |= {"ip_address_secondaries": four[1:]} if four[1:] else {}
    return found | ({"ipv6_addresses": six} if six else {})


def shared(addresses: Sequence[Addressed]) -> dict[str, Any]:
    """The keys of addresses that other switches have too."""
    four, six = _by_family(addresses)
    found: dict[str, Any] = {"ip_address_virtual": four[0]} if four else {}
    found |= {"ip_address_virtual_secondaries": four[1:]} if four[1:] else {}
    return found | ({"ipv6_address_virtuals": six} if six else {})


def _by_family(addresses: Sequence[Addressed]) -> tuple[list[str], list[str]]:
    return [one for one in addresses if one.family == "ipv4"], [one for one in addresses if one.family == "ipv6"]
