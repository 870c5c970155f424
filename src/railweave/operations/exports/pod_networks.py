"""Secondary networks that give whole NICs to pods: one per rail, with its addresses, if nv-ipam can give those of the design.

The CNI plugin host-device moves a NIC into a pod. The design has addresses, QoS and counters of whole NICs, and jobs on
several servers take all GPUs and NICs of each. So there are no SR-IOV virtual functions: the design has no address for them.

Sources: Multus, "NetworkAttachmentDefinition"; SR-IOV network device plugin, "Configurations"; CNI plugins host-device, sbr,
tuning and rdma; nv-ipam 0.4, "CIDRPool CR".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING

from railweave.operations.exports.contracts import check_distinct, check_names
from railweave.operations.exports.manifests import (
    HOSTNAME,
    OBJECT,
    PREFIX,
    RESOURCE,
    Document,
    document,
    object_name,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Family
    from railweave.model.device.host_model import HostAddress, HostConfig, HostNic
    from railweave.operations.exports.placement import Placement

RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
ADVERTISEMENTS = {"accept_ra": "1", "autoconf": "1", "addr_gen_mode": "0", "use_tempaddr": "0", "disable_ipv6": "0"}
"""The IPv6 settings of an interface that makes its addresses from router advertisements and its MAC address, as on servers."""


@dataclass(frozen=True, slots=True)
class Rail:
    """NICs of one rail with one interface name, each on a different node. ``name`` is that of their secondary network.

    - ``nics``: the NIC of each node, by node.
    - ``sysctl``: the kernel parameters of the servers' configuration that belong to the NIC, for the interface ``IFNAME``.
    """

    name: str
    fabric: str
    netdev: str
    nics: dict[str, HostNic]
    sysctl: dict[str, str]

    @property
    def resource(self) -> str:
        """The device plugin resource that a pod requests to get a NIC of this rail."""
        return f"{PREFIX}/{self.name}"

    @property
    def slaac(self) -> bool:
        """True if the NICs make their addresses from router advertisements."""
        return any(nic.slaac for nic in self.nics.values())

    def addresses(self, family: Family) -> dict[str, HostAddress]:
        """Return the address of each node in a family, by node. Call it only for rails without ``obstacle``."""
        return {
            node: address
            for node, nic in self.nics.items()
            for address in nic.addresses
            if address.address.family == family
        }

    def obstacle(self) -> str:
        """Return why pods cannot have the addresses of the design on this rail, or an empty string if they can."""
        addresses = [address for nic in self.nics.values() for address in nic.addresses]
        if any(address.color is not None for address in addresses):
            return "a NIC has an address and a routing table for each path color, and CNI plugins make one table per interface"
        if not all(nic.addresses for nic in self.nics.values()):
            return "a NIC has no address in the design yet"
        for nic in self.nics.values():
            families = [address.address.family for address in nic.addresses]
            if len(set(families)) < len(families):
                return "a NIC has several addresses of one family, and a CIDRPool gives one"
        static = [address for address in addresses if address.origin == "static"]
        if any(address.prefix_length not in {31, 127} for address in static):
            return (
                "a CIDRPool gives a node its own prefix, and here NICs share theirs, or it has more than two addresses"
            )
        return ""


def rails(places: Sequence[Placement], nodes: Mapping[str, str], configs: Mapping[str, HostConfig]) -> list[Rail]:
    """Return the rails of the GPUs' fabrics. ``nodes`` and ``configs`` are by server.

    Raises ``InputError`` if a name is not valid, or if two rails would have the same name.
    """
    members: dict[tuple[str, int, str], list[tuple[str, HostNic, HostConfig]]] = {}
    for place in places:
        config = configs[place.server]
        for nic in config.nics_of(place.fabric):
            members.setdefault((place.fabric, nic.rail, nic.netdev), []).append((nodes[place.server], nic, config))
    by_rail: dict[tuple[str, int], int] = {}
    for fabric, rail, _ in members:
        by_rail[fabric, rail] = by_rail.get((fabric, rail), 0) + 1
    result: list[Rail] = []
    for (fabric, rail, netdev), nics in members.items():
        name = object_name(fabric, f"rail{rail}", netdev if by_rail[fabric, rail] > 1 else "")
        _, first, config = nics[0]
        result.append(Rail(name, fabric, netdev, {node: nic for node, nic, _ in nics}, _sysctl(config, first)))
    check_names(OBJECT, (rail.name for rail in result))
    check_names(RESOURCE, (rail.name for rail in result))
    check_distinct("the secondary network", {f"{rail.fabric} {rail.name} {rail.netdev}": rail.name for rail in result})
    return result


def _sysctl(config: HostConfig, nic: HostNic) -> dict[str, str]:
    settings: dict[str, str] = {}
    for family in ("ipv4", "ipv6"):
        start = f"net.{family}.conf.{nic.netdev}."
        for name, value in config.sysctl.items():
            if name.startswith(start):
                settings[f"net.{family}.conf.IFNAME.{name.removeprefix(start)}"] = value
            elif name.startswith(f"net.{family}.conf.all."):
                settings[name] = value
    if nic.slaac:
        settings |= {f"net.ipv6.conf.IFNAME.{name}": value for name, value in ADVERTISEMENTS.items()}
    return settings


def files(network: str, designed: Sequence[Rail]) -> dict[str, str]:
    """Return the files of the secondary networks, by name. Rails with an ``obstacle`` are left out, with the reason."""
    usable = [rail for rail in designed if not rail.obstacle()]
    written = f"written by `railweave export kubernetes` for {network}."
    reasons = list(_reasons(designed))
    if not usable:
        head = [f"No secondary networks; {written}", *reasons, "Pods use the network of their node (mpijob.yaml)."]
        return {"pod-networks.txt": text_of(head, [])}  # kubectl refuses a file without objects
    head = [
        f"Secondary networks that give whole NICs to pods, one per rail; {written}",
        "Needs Multus, the CNI plugins host-device, sbr, tuning and rdma, the SR-IOV network device plugin",
        "(device-plugin.yaml), and RDMA devices in the namespaces of pods: rdma system set netns exclusive.",
        "Do not apply nmstate-gpus/ of their fabric with them: a NIC that is in a pod is not on its node.",
        *reasons,
    ]
    texts = {
        "pod-networks.yaml": text_of(head, [_network(rail) for rail in usable]),
        "device-plugin.yaml": text_of(
            [f"The NICs of each rail as resources of the SR-IOV network device plugin; {written}"],
            [_device_plugin(usable)],
        ),
    }
    pools = [pool for rail in usable for pool in _pools(rail)]
    if pools:
        texts["cidr-pools.yaml"] = text_of(
            [
                f"The addresses of the design for nv-ipam 0.4 or later; {written}",
                "Each node has a prefix of two addresses: the leaf's, which is the gateway, and the NIC's.",
            ],
            pools,
        )
    return texts


def _reasons(designed: Iterable[Rail]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for rail in designed:
        if reason := rail.obstacle():
            by_reason.setdefault(reason, []).append(rail.name)
    for reason, names in by_reason.items():
        yield f"Not here: {', '.join(names)}: {reason}."


def _pool_name(rail: Rail, family: Family) -> str:
    return f"{rail.name}-{family}"


def _families(rail: Rail) -> list[Family]:
    families: tuple[Family, ...] = ("ipv4", "ipv6")
    return [
        family
        for family in families
        if any(
            address.address.family == family and address.origin == "static"
            for nic in rail.nics.values()
            for address in nic.addresses
        )
    ]


def _network(rail: Rail) -> Document:
    nic = next(iter(rail.nics.values()))
    families = _families(rail)
    ipam: Document = {}
    if families:
        pools = ",".join(_pool_name(rail, family) for family in families)
        ipam = {"type": "nv-ipam", "poolName": pools, "poolType": "cidrpool"}
    plugins: list[Document] = [{"type": "host-device", "ipam": ipam}]
    if families:
        # Without it all rails would share the main table of the pod, where the first default route takes all traffic.
        plugins.append({"type": "sbr"})
    plugins += [{"type": "tuning", "mtu": nic.mtu, "sysctl": rail.sysctl}, {"type": "rdma"}]
    config = {"cniVersion": "0.3.1", "name": rail.name, "plugins": plugins}
    return document(
        "k8s.cni.cncf.io/v1",
        "NetworkAttachmentDefinition",
        rail.name,
        {"config": json.dumps(config)},
        {RESOURCE_NAME: rail.resource},
    )


def _device_plugin(usable: Sequence[Rail]) -> Document:
    resources = [
        {
            "resourcePrefix": PREFIX,
            "resourceName": rail.name,
            "selectors": [{"pfNames": [rail.netdev], "isRdma": True}],
        }
        for rail in usable
    ]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "sriovdp-config"},
        "data": {"config.json": json.dumps({"resourceList": resources}, indent=1) + "\n"},
    }


def _pools(rail: Rail) -> Iterator[Document]:
    for family in _families(rail):
        addresses = rail.addresses(family)
        whole = ip_network(next(iter(addresses.values())).prefix)
        while not all(ip_network(address.prefix).network_address in whole for address in addresses.values()):
            whole = whole.supernet()
        spec: Document = {
            "cidr": str(whole),
            "perNodeNetworkPrefix": next(iter(addresses.values())).prefix_length,
            # Needed for the default route; each node's own gateway is below.
            "gatewayIndex": 0,
            "defaultGateway": True,
            "staticAllocations": [
                {"nodeName": node, "prefix": str(address.prefix), "gateway": str(address.gateway)}
                for node, address in addresses.items()
            ],
            # nv-ipam would give free prefixes to any other node.
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": list(addresses)}]}
                ]
            },
        }
        yield document("nv-ipam.nvidia.com/v1alpha1", "CIDRPool", _pool_name(rail, family), spec)
