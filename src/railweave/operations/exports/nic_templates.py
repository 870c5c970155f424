"""Templates for NVIDIA's NIC Configuration Operator: the settings of NVIDIA NICs that the design and the catalog state.

Sources: NIC Configuration Operator of NVIDIA Network Operator 26.7, "Configuration details" and the CRD of
NicConfigurationTemplate; the PCI ID repository for device IDs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.operations.exports.manifests import FABRIC, SERVER, Document, document, object_name, printed, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.device.host_model import HostConfig, HostNic, HostQos
    from railweave.operations.exports.placement import Placement

DEVICES = {
    "connectx-6dx": "101d",
    "connectx-6": "101b",
    "connectx-7": "1021",
    "connectx-8": "1023",
    "connectx-9": "1025",
    "bluefield-3": "a2dc",
}
"""The PCI device ID (the operator's NIC type) by the start of a NIC model's name in the catalog."""
READ_REQUEST_BYTES = 4096
"""The PCIe read request size that `host check` wants on NVIDIA NICs."""
CABLE_M = range(7, 1000)
"""Cable lengths in metres that the driver accepts; it assumes 7 m by default (mlx5 en/port_buffer.h, en_dcbnl.c)."""


def device_id(model: str) -> str:
    """Return the PCI device ID of a NIC model, or an empty string if it is not known."""
    return next((number for name, number in DEVICES.items() if model == name or model.startswith(f"{name}-")), "")


@dataclass(slots=True)
class _Selected:
    """The NICs of one PCI device ID on the servers of one model and fabric: those that one template selects.

    ``by_fabric`` has their settings for each fabric to which they connect. ``servers`` and ``model`` name the nodes.
    """

    fabric: str
    model: str
    nic_type: str
    by_fabric: dict[str, list[tuple[HostNic, HostQos]]] = field(
        default_factory=dict[str, list[tuple["HostNic", "HostQos"]]]
    )


def text(network: str, places: Sequence[Placement], configs: Mapping[str, HostConfig]) -> str:
    """Return the text of the templates file, or an empty string if no server has NVIDIA NICs.

    - ``network``: the name of the network.
    - ``configs``: the configuration of each server, by name.
    """
    selected = _selected(places, configs)
    if not selected:
        return ""
    head = [
        f"Written by `railweave export kubernetes` for {network}, for NVIDIA Network Operator 26.7 or later.",
        "The operator sets PFC, trust, ToS, ECN, cable length and flash settings. It cannot set the share of the link",
        "of each class, nor the priority of a DSCP: `nic-qos.sh` of the server's files shows and sets these.",
    ]
    notes = dict.fromkeys(note for group in selected for note in _notes(group))
    documents: list[Document] = []
    apart: list[str] = []
    for group in selected:
        templates = [_template(nics) for nics in group.by_fabric.values()]
        name = object_name(group.fabric, group.model, group.nic_type)
        if all(_comparable(template) == _comparable(templates[0]) for template in templates):
            documents.append(_document(name, group, _longest_cable(templates)))
        else:
            apart += _apart(name, group, templates)
    return text_of([*head, *notes, *apart], documents)


def _apart(name: str, group: _Selected, templates: Sequence[Document]) -> Iterator[str]:
    """Yield templates as lines of comment: those that would select each other's NICs."""
    yield ""
    yield f"Not applied: servers {group.model} have NICs of type {group.nic_type} with different settings on the fabrics {', '.join(group.by_fabric)}."
    yield "Only PCI addresses can tell these NICs apart, and the design has none. To apply a template: put its NICs'"
    yield "addresses under nicSelector.pciAddresses, and remove the comment signs."
    for (fabric, nics), template in zip(group.by_fabric.items(), templates, strict=True):
        yield f"NICs of {fabric}: {', '.join(dict.fromkeys(nic.netdev for nic, _ in nics))}"
        yield "---"
        yield from printed(_document(object_name(name, fabric), group, template)).splitlines()


def _selected(places: Sequence[Placement], configs: Mapping[str, HostConfig]) -> list[_Selected]:
    groups: dict[tuple[str, str, str], _Selected] = {}
    for place in places:
        config = configs[place.server]
        for nic in config.nics:
            if nic.vendor == "NVIDIA" and (number := device_id(nic.model)):
                key = (place.fabric, config.model, number)
                group = groups.setdefault(key, _Selected(*key))
                group.by_fabric.setdefault(nic.fabric, []).append((nic, config.qos_of(nic.fabric)))
    return list(groups.values())


def _document(name: str, group: _Selected, template: Document) -> Document:
    spec = {
        "nodeSelector": {FABRIC: group.fabric, SERVER: group.model},
        "nicSelector": {"nicType": group.nic_type},
        "template": template,
    }
    return document("configuration.net.nvidia.com/v1alpha1", "NicConfigurationTemplate", name, spec)


def _template(nics: Sequence[tuple[HostNic, HostQos]]) -> Document:
    nic, qos = nics[0]
    with_rdma = bool(qos.paused) or qos.ecn or qos.dscp > 0
    settings: Document = {
        "trust": "dscp",
        "pfc": ",".join("1" if priority in qos.paused else "0" for priority in range(8)),
        "tos": qos.traffic_class,
        "ecn": {"enabled": qos.ecn, "priority": qos.priority},
        "pauseFrames": {"enabled": False},
    }
    cables = [member.cable_m for member, _ in nics if member.cable_m]
    if cables and qos.paused:
        settings["cableLen"] = min(max(*cables, CABLE_M.start), CABLE_M.stop - 1)
    # linkType sets LINK_TYPE_P1 and _P2 itself. Flash settings of the design override the operator's own (CNP_DSCP_P1=4).
    flash = [
        {"name": option.name, "value": option.value}
        for option in nic.firmware
        if option.value and not option.name.startswith("LINK_TYPE_")
    ]
    return {
        "numVfs": 0,
        "linkType": "Ethernet",
        "pciPerformanceOptimized": {"enabled": True, "maxReadRequest": READ_REQUEST_BYTES},
        "roceOptimized": {"enabled": True, "roceMode": 2, "qos": settings} if with_rdma else {"enabled": False},
        **({"rawNvConfig": flash} if flash else {}),
    }


def _settings(template: Document) -> Document:
    return template["roceOptimized"].get("qos", {})


def _comparable(template: Document) -> Document:
    """Return a template without its cable length: the longest of several is right for all of them."""
    settings = {name: value for name, value in _settings(template).items() if name != "cableLen"}
    return template | {"roceOptimized": template["roceOptimized"] | {"qos": settings}}


def _longest_cable(templates: Sequence[Document]) -> Document:
    return max(templates, key=lambda template: _settings(template).get("cableLen", 0))


def _notes(group: _Selected) -> Iterator[str]:
    """Yield what the operator cannot express of a design."""
    seen: set[tuple[str, str]] = set()
    for fabric, nics in group.by_fabric.items():
        nic, qos = nics[0]
        if (fabric, nic.model) in seen:
            continue
        seen.add((fabric, nic.model))
        moved = [f"{dscp}:{priority}" for dscp, priority in enumerate(qos.priorities) if priority != dscp >> 3]
        if moved:
            yield f"Fabric {fabric}: set by nic-qos.sh only, DSCP:priority that differ from the NIC's default: {' '.join(moved)}"
        marked = [str(other.priority) for other in qos.other_lossless if other.ecn]
        if marked:
            yield f"Fabric {fabric}: the operator turns ECN on for one priority only; set by nic-qos.sh: {', '.join(marked)}"
        longest = max((member.cable_m or 0 for member, _ in nics), default=0)
        if longest >= CABLE_M.stop:
            yield f"Fabric {fabric}: a cable of {longest} m; the driver accepts {CABLE_M.stop - 1} m at most"
