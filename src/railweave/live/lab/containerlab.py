"""The network as a containerlab topology, for vendor images: https://containerlab.dev/manual/topo-def-file/.

Images number their ports without gaps and do not split them. Therefore every switch's cabled ports are renumbered in
order, and its configuration uses the new names. An image may refuse or ignore settings for hardware that it does not
emulate (QoS, port splits, load balancing). The topology is meant for tests of routing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from railweave.errors import InputError, LabError, Option, Problem
from railweave.live.lab import slicing
from railweave.live.lab.kernel.links import router_lines
from railweave.model.catalog import catalog, in_force
from railweave.model.catalog.systems import Image
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.status import present
from railweave.outputs.rendering import host as render_host
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


SERVER = Image(kind="linux", port="", image="ghcr.io/srl-labs/network-multitool:latest", file="net-setup.sh")


@dataclass(frozen=True)
class ExportedLab:
    """The files of a topology for containerlab: content by path. ``name`` is the name of the network."""

    name: str
    files: dict[str, str]


def exported(network: Network, part: str, words: Sequence[str]) -> ExportedLab:
    """Return the topology files of a network, or of a part of the network.

    ``part`` selects the part, written like the option --slice of ``lab up``; empty selects everything. ``words`` are the
    images to use, each as ``KIND=IMAGE``.
    """
    shown = present(network)
    shown = slicing.sliced(shown, slicing.parse(part)) if part else shown
    with in_force(shown.catalog):
        return ExportedLab(shown.name, topology(shown, images_of(words)))


def topology(network: Network, images: dict[str, str]) -> dict[str, str]:
    """Return the files of a topology, by path: ``NAME.clab.yml`` and the configuration of every device.

    ``images`` has images by containerlab kind; they replace the default images. Raises ``LabError`` for an operating system
    without a containerlab kind.
    """
    files: dict[str, str] = {}
    nodes: dict[str, Any] = {}
    names: dict[tuple[str, str], str] = {}
    for switch in network.switches:
        kind = catalog().systems[switch.nos].containerlab
        if kind is None:
            raise LabError(f"{switch.name}: there is no containerlab kind for {switch.nos}")
        config = device_config(network, switch.name)
        renamed = _renumbered(config, kind)
        ports = zip(config.interfaces, renamed.interfaces, strict=True)
        names |= {(switch.name, old.link): new.name for old, new in ports}
        path = f"{switch.name}/{kind.file}"
        files[path] = system(switch.nos).files(renamed)[kind.file]
        nodes[switch.name] = {"kind": kind.kind, "image": images.get(kind.kind, kind.image)}
        if kind.kind == "linux":
            files[f"{switch.name}/daemons"] = "bgpd=yes\nbfdd=yes\n"
            binds = [f"{switch.name}/{name}:/etc/frr/{name}" for name in (kind.file, "daemons")]
            nodes[switch.name] |= {"binds": binds, "exec": [f"ip {line}" for line in router_lines(renamed)]}
        else:
            nodes[switch.name]["startup-config"] = path
    macs: dict[tuple[str, str], tuple[str, str]] = {}
    for server in network.servers:
        path = f"{server.name}/{SERVER.file}"
        config = host_config(network, server.name)
        files[path] = render_host.files(config)[SERVER.file]
        macs |= {(server.name, nic.name): (nic.netdev, nic.mac) for nic in server.nics}
        nodes[server.name] = {
            "kind": SERVER.kind,
            "image": images.get("server", SERVER.image),
            "binds": [f"{path}:/railweave/{SERVER.file}:ro"],
            "exec": [f"bash /railweave/{SERVER.file}"],
        }
    links: list[dict[str, Any]] = []
    for cable in network.cables:
        ends: list[dict[str, str]] = []
        for end in (cable.a, cable.b):
            if (end.device, end.port) in macs:
                netdev, mac = macs[end.device, end.port]
                ends.append({"node": end.device, "interface": netdev, "mac": mac})
            else:
                ends.append({"node": end.device, "interface": names[end.device, cable.name]})
        links.append({"type": "veth", "endpoints": ends})
    top = {"name": network.name, "topology": {"nodes": nodes, "links": links}}
    head = f"# {network.name}, written by railweave: containerlab deploy -t {network.name}.clab.yml\n"
    files[f"{network.name}.clab.yml"] = head + yaml.safe_dump(top, sort_keys=False, width=120)
    return files


def _renumbered(config: DeviceConfig, kind: Image) -> DeviceConfig:
    """Return a configuration without port splits. The cabled ports get, in order, the port names that the image ``kind`` uses."""
    new = {port.name: kind.port.format(kind.first_port + place) for place, port in enumerate(config.interfaces)}
    groups = config.bgp.groups if config.bgp else ()
    bgp = config.bgp and replace(
        config.bgp,
        groups=tuple(
            replace(group, sessions=tuple(replace(s, interface=new[s.interface]) for s in group.sessions))
            for group in groups
        ),
    )
    return replace(
        config,
        splits=(),
        interfaces=tuple(replace(port, name=new[port.name]) for port in config.interfaces),
        gateways=tuple(replace(gateway, port=new.get(gateway.port, "")) for gateway in config.gateways),
        bgp=bgp,
        qos=None,
        extra="",
    )


def images_of(words: Sequence[str]) -> dict[str, str]:
    """Return the images by kind, from words such as ``KIND=IMAGE``. Raises ``InputError`` for an invalid word."""
    known = {nos.containerlab.kind for nos in catalog().systems.values() if nos.containerlab} | {"server"}
    images: dict[str, str] = {}
    for word in words:
        kind, _, image = word.partition("=")
        if kind not in known or not re.fullmatch(r"\S+", image):
            raise InputError(
                [Problem(Option("--image"), f"{word!r} is no KIND=IMAGE", f"kinds are {', '.join(sorted(known))}")]
            )
        images[kind] = image
    return images
