"""Names that a system does not print: its traffic classes are known by their queues, its VLANs by their numbers.

A reader gives them names of its own. Before such a configuration is held against another, they get that one's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

CLASS_NAMES, VLAN_NAMES = NAMES = ("qos.classes.name", "gateways.vlan_name")
"""How a system's ``unsaid`` names them."""


def rename(document: dict[str, Any], like: dict[str, Any], unsaid: Collection[str]) -> None:
    """Give classes and VLANs of a configuration's document the names that another has for their queues and numbers."""
    if CLASS_NAMES in unsaid and document["qos"] and like["qos"]:
        _rename_classes(document["qos"], like["qos"])
    if VLAN_NAMES in unsaid:
        _rename_vlans(document, like)


def _rename_classes(qos: dict[str, Any], like: dict[str, Any]) -> None:
    names = {one["queue"]: name for name, one in like["classes"].items()}
    taken = set(names.values())
    new = _unique(
        {
            name: names.get(one["queue"], f"queue-{one['queue']}" if name in taken else name)
            for name, one in qos["classes"].items()
        }
    )
    for field in ("classes", "marking"):
        renamed = {new.get(name, name): value for name, value in qos[field].items()}
        ordered = {name: renamed[name] for name in like[field] if name in renamed}
        qos[field] = {**ordered, **renamed}
    qos["default_class"] = new.get(qos["default_class"], qos["default_class"])


def _rename_vlans(document: dict[str, Any], like: dict[str, Any]) -> None:
    names = dict(_vlans(like))
    new = _unique({name: names.get(number, name) for number, name in _vlans(document)})
    bridged: list[dict[str, Any]] = document["mac_vrf"]["vlans"] if document["mac_vrf"] else []
    entries: list[tuple[str, dict[str, Any]]] = [
        *(("vlan", one) for one in document["interfaces"]),
        *(("vlan_name", one) for one in document["gateways"]),
        *(("name", one) for one in bridged),
    ]
    for field, one in entries:
        one[field] = new.get(one[field], one[field])


def _vlans(document: dict[str, Any]) -> Iterable[tuple[int, str]]:
    """VLANs by number and name."""
    yield from ((one["vlan"], one["vlan_name"]) for one in document["gateways"] if one["vlan"])
    yield from ((one["vlan"], one["name"]) for one in (document["mac_vrf"] or {"vlans": ()})["vlans"])


def _unique(new: dict[str, str]) -> dict[str, str]:
    """New names by old ones; none where two would have the same."""
    return new if len(set(new.values())) == len(new) else {}
