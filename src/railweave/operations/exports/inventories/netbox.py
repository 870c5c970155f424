"""NetBox: its kinds of objects. Paths and fields are those of NetBox 4.7 (``/api/schema/``)."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.operations.exports.inventories.design import items
from railweave.operations.exports.inventories.objects import DEVICES, Id, Kind, Product, by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.exports.inventories.objects import Ends, Key, Known, Record


def _by_slug(known: Known, record: Record) -> list[Key]:
    """Return the keys of a device type by its slug. Libraries of device types write the name of a model in many ways."""
    maker = known.get(("manufacturer", record["manufacturer"]["id"]), ())
    prefix = f"{record['manufacturer']['slug']}-"
    return [(*maker, record["slug"]), (*maker, record["slug"].removeprefix(prefix))]


def _of_interface(known: Known, record: Record, *more: str) -> list[Key]:
    if record.get("assigned_object_type") != "dcim.interface":
        return []
    interface = known.get(("interface", record["assigned_object_id"]))
    return [(*interface, *more)] if interface is not None else []


def _of_mac(known: Known, record: Record) -> list[Key]:
    return _of_interface(known, record, record["mac_address"].upper())


def _of_address(known: Known, record: Record) -> list[Key]:
    host = str(ipaddress.ip_interface(record["address"]).ip)
    vrf = known.get(("VRF", record["vrf"]["id"]), (f"#{record['vrf']['id']}",)) if record["vrf"] else ("",)
    return [(host, *vrf), *((host, *vrf, *interface) for interface in _of_interface(known, record))]


_NAMES = {"slug": "slug", "name": "name"}
_OF_DEVICES = {"device_id": DEVICES}
KINDS = by_name(
    (
        Kind("tag", "extras/tags", ("slug", "color", "weight", "description"), _NAMES, named=True, shared=True),
        Kind("site", "dcim/sites", ("slug", "status"), _NAMES, named=True, shared=True),
        Kind("rack", "dcim/racks", ("status", "u_height", "width"), identity=("site", "name")),
        Kind("manufacturer", "dcim/manufacturers", ("slug",), _NAMES, named=True, shared=True),
        Kind(
            "device type",
            "dcim/device-types",
            ("slug", "comments", "is_full_depth"),
            {"slug": "slug", "model": "model"},
            ("manufacturer", "model"),
            more=_by_slug,
        ),
        Kind("device role", "dcim/device-roles", ("slug", "color", "vm_role"), _NAMES, named=True, shared=True),
        Kind("platform", "dcim/platforms", ("slug",), _NAMES, named=True, shared=True),
        Kind("RIR", "ipam/rirs", ("slug", "is_private"), _NAMES, named=True, shared=True),
        Kind("ASN", "ipam/asns", ("rir",), {"asn": "asn"}, ("asn",)),
        Kind("VRF", "ipam/vrfs", ("enforce_unique",)),
        Kind("VLAN group", "ipam/vlan-groups", ("slug", "scope_type", "scope_id"), _NAMES, named=True),
        Kind("VLAN", "ipam/vlans", ("status",), {"group_id": "group"}, ("group", "vid"), whole=True),
        Kind(
            "prefix",
            "ipam/prefixes",
            ("status", "scope_type", "scope_id"),
            {"prefix": "prefix"},
            ("prefix", "vrf"),
            "prefixes",
        ),
        Kind("device", "dcim/devices", query={"exclude": "config_context"}, within="site"),
        Kind("interface", "dcim/interfaces", (), _OF_DEVICES, ("device", "name"), whole=True),
        Kind("MAC address", "dcim/mac-addresses", (), _OF_DEVICES, (), "MAC addresses", more=_of_mac, whole=True),
        Kind("cable", "dcim/cables", ("profile",), _OF_DEVICES, ()),
        Kind(
            "IP address",
            "ipam/ip-addresses",
            ("status",),
            _OF_DEVICES,
            (),
            "IP addresses",
            more=_of_address,
            whole=True,
        ),
        Kind("primary MAC address", "dcim/interfaces", plural="primary MAC addresses", field_of="interface"),
        Kind(
            "primary address",
            "dcim/devices",
            plural="primary addresses",
            query={"exclude": "config_context"},
            field_of="device",
        ),
    )
)
"""The kinds of objects. An object comes after those that it refers to, except those with ``field_of``."""


def _ends_of(record: Record) -> Ends:
    return {side: [(end["object_type"], end["object_id"]) for end in record[f"{side}_terminations"]] for side in "ab"}


def _ends_body(ends: Mapping[str, Sequence[tuple[str, Id | None]]], _new: bool) -> Record:
    return {
        f"{side}_terminations": [{"object_type": kind, "object_id": number} for kind, number in there]
        for side, there in ends.items()
    }


NETBOX = Product(
    name="NetBox",
    target="netbox",
    oldest=(4, 2),
    because="MAC addresses are objects there",
    kinds=KINDS,
    items=items,
    batch=100,
    place="site",
    place_filter="site_id",
    tag_filter="tag",
    loose={"unterminated": "true"},
    query={},
    query_of_names={},
    ends_of=_ends_of,
    ends_body=_ends_body,
)
