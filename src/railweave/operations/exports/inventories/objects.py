"""The objects of NetBox that a design has, as values: the kinds of objects, and their fields with references to each other.

Names of kinds and fields are those of NetBox's REST API (NetBox 4.7, ``/api/schema/``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Key = tuple[str, ...]
"""The values that identify an object among those of its kind, for example the names of a device and its interface."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference from one object to another. NetBox's API takes the other's number; its import pages take a name."""

    kind: str
    key: Key


Value = str | int | float | bool | Reference


@dataclass(frozen=True)
class Item:
    """An object that a design has.

    ``fields`` lacks the values that the design does not know. They are not compared, so a value that an operator
    enters in NetBox stays.
    """

    kind: str
    key: Key
    fields: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The name of the object in reports, for example ``leaf1 et-0/0/1:0``."""
        return " ".join(part for part in self.key if part)


def cable_ends(item: Item) -> tuple[Reference, Reference]:
    """Return the interfaces at the two ends of a cable."""
    a_device, a_port, b_device, b_port = item.key
    return Reference("interface", (a_device, a_port)), Reference("interface", (b_device, b_port))


@dataclass(frozen=True)
class Kind:
    """A kind of objects.

    - ``name``: the name in references and reports, such as ``device type``. ``plural``: the plural, if it is irregular.
    - ``path``: the path of the API below ``/api/``.
    - ``at_creation``: fields that are sent only when an object is created. People often choose other values for these.
    - ``shared``: True for kinds that a network shares with others, such as manufacturers. An object that railweave did
      not make is then used as it is, without a report of differences.
    """

    name: str
    path: str
    at_creation: frozenset[str] = frozenset()
    plural: str = ""
    shared: bool = False
    query: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def many(self) -> str:
        """The plural of the name."""
        return self.plural or f"{self.name}s"


def _kind(
    name: str,
    path: str,
    at_creation: Iterable[str] = (),
    *,
    plural: str = "",
    shared: bool = False,
    query: Mapping[str, str] | None = None,
) -> Kind:
    return Kind(name, path, frozenset(at_creation), plural, shared, query or {})


KINDS = {
    kind.name: kind
    for kind in (
        _kind("tag", "extras/tags", ("slug", "color", "weight", "description"), shared=True),
        _kind("site", "dcim/sites", ("slug", "status"), shared=True),
        _kind("rack", "dcim/racks", ("status", "u_height", "width")),
        _kind("manufacturer", "dcim/manufacturers", ("slug",), shared=True),
        _kind("device type", "dcim/device-types", ("slug", "comments", "is_full_depth")),
        _kind("device role", "dcim/device-roles", ("slug", "color", "vm_role"), shared=True),
        _kind("platform", "dcim/platforms", ("slug",), shared=True),
        _kind("RIR", "ipam/rirs", ("slug", "is_private"), shared=True),
        _kind("ASN", "ipam/asns", ("rir",)),
        _kind("VRF", "ipam/vrfs", ("enforce_unique",)),
        _kind("VLAN group", "ipam/vlan-groups", ("slug", "scope_type", "scope_id")),
        _kind("VLAN", "ipam/vlans", ("status",)),
        _kind("prefix", "ipam/prefixes", ("status", "scope_type", "scope_id"), plural="prefixes"),
        _kind("device", "dcim/devices", query={"exclude": "config_context"}),
        _kind("interface", "dcim/interfaces"),
        _kind("MAC address", "dcim/mac-addresses", plural="MAC addresses"),
        _kind("cable", "dcim/cables", ("profile",)),
        _kind("IP address", "ipam/ip-addresses", ("status",), plural="IP addresses"),
    )
}
"""The kinds of objects in the order in which they are created: an object comes after those that it refers to."""


def slug(name: str) -> str:
    """Return the identifier that NetBox uses in URLs: lower-case letters, digits and hyphens.

    For example: ``Junos OS Evolved`` has the slug ``junos-os-evolved``.
    """
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")
