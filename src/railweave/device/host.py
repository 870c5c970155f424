"""``Network`` to ``HostConfig``: intent resolved for one server."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.design.host_tables import table_name
from railweave.device.host_firmware import firmware
from railweave.device.host_job import job, tenant_jobs
from railweave.device.host_model import (
    BiosOption,
    HostAddress,
    HostConfig,
    HostNic,
    HostQos,
    HostRoute,
    HostRule,
)
from railweave.device.host_sysctl import sysctl

if TYPE_CHECKING:
    from railweave.design.network import Fabric, Network, Nic, Server

LOSSY_PRIORITY = 3
"""The NIC's priority of RDMA data that no switch pauses for (facts the sources agree on: DSCP 26, priority 3)."""

CNP_DSCP = 48
"""DSCP of congestion notification packets where no class is theirs (Thor2 guide, section 2.2.1.3)."""

CNP_PRIORITIES = (7, 6)
"""Priorities of congestion notification packets, where the NIC's own choice is taken by the data."""

ECT0 = 2
"""The ECN code point that marks a packet as ECN-capable (RFC 3168, section 5)."""


def host_configs(network: Network) -> dict[str, HostConfig]:
    """The configuration of every server, by name."""
    return {server.name: host_config(network, server.name) for server in network.servers}


def host_config(network: Network, name: str) -> HostConfig:
    """The configuration of one server. Raises ``KeyError`` where there is no such server."""
    server = network.server(name)
    model = catalog().servers[server.model]
    fabrics = [network.fabric(name) for name in dict.fromkeys(nic.fabric for nic in server.nics)]
    qos = tuple(_qos(network, fabric, server) for fabric in fabrics)
    nics = tuple(nic for fabric, one in zip(fabrics, qos, strict=True) for nic in _nics(network, server, fabric, one))
    library = "RCCL" if model.gpu_vendor == "AMD" else "NCCL"
    shared = tenant_jobs(network, nics, qos, library)
    return HostConfig(
        network=network.name,
        name=name,
        model=server.model,
        gpus=model.gpus,
        gpu=model.gpu,
        gpu_vendor=model.gpu_vendor,
        cpu_vendor=model.cpu_vendor,
        advertisements_by=network.hosts.router_advertisements,
        nics=nics,
        routes=tuple(route for nic in nics for route in _routes(network.fabric(nic.fabric), nic)),
        rules=tuple(rule for nic in nics for rule in _rules(network.fabric(nic.fabric), nic)),
        qos=qos,
        bfd_detection_ms={f.name: f.underlay.bfd.detection_ms() for f in fabrics if f.underlay.bfd.enabled},
        sysctl=sysctl(network, nics),
        kernel_command_line=model.kernel_command_line,
        kernel_command_line_source=model.kernel_command_line_source,
        bios=tuple(BiosOption(one.area, one.setting, one.value, one.note, one.verify) for one in model.bios),
        bios_source=model.bios_source,
        library=library,
        job=() if shared else job(network, nics, qos, library),
        tenant_jobs=shared,
    )


def _nics(network: Network, server: Server, fabric: Fabric, qos: HostQos) -> list[HostNic]:
    group = catalog().servers[server.model].nics[fabric.nics]
    model = catalog().nics[group.nic]
    options = firmware(model, qos)
    found: list[HostNic] = []
    table = fabric.first_table
    for nic in server.nics:
        if nic.fabric != fabric.name:
            continue
        addresses = _addresses(network, fabric, server, nic, table)
        table += len(addresses)
        found.append(
            HostNic(
                name=nic.name,
                netdev=nic.netdev,
                rdma=nic.rdma,
                rdma_port=group.rdma_port,
                mac=nic.mac,
                mac_is_placeholder=nic.mac_is_placeholder,
                model=group.nic,
                vendor=model.vendor,
                driver=model.driver,
                gpu=nic.rail - 1 if group.per_gpu else None,
                fabric=nic.fabric,
                stripe=nic.stripe,
                rail=nic.rail,
                leaf=nic.leaf,
                leaf_port=nic.leaf_port,
                speed_gbps=nic.speed_gbps,
                mtu=fabric.mtu.server,
                slaac=fabric.server_mode == "slaac",
                addresses=addresses,
                firmware=options,
                tenant=nic.tenant,
            )
        )
    return found


def _addresses(network: Network, fabric: Fabric, server: Server, nic: Nic, table: int) -> tuple[HostAddress, ...]:
    gateways = {subnet.color: subnet for subnet in network.segment_of(server.name, nic).subnets}
    found: list[HostAddress] = []
    for path, one in enumerate(nic.addresses, 1):
        color = next((color for color in fabric.colors if color.index == one.color), None)
        subnet = gateways[one.color]
        found.append(
            HostAddress(
                address=one.address,
                prefix=fabric.server_pool if fabric.server_link == "proxy-arp" else subnet.prefix,
                origin="slaac" if one.origin == "slaac" else "static",
                gateway=subnet.gateway,
                table=table + path - 1,
                table_name=table_name(fabric, nic.name, nic.rail, path, one.color),
                path=path,
                color=color.number if color else None,
                color_name=fabric.color_name(one.color),
            )
        )
    return tuple(found)


def _routes(fabric: Fabric, nic: HostNic) -> list[HostRoute]:
    """A default route by the leaf in every table, and the prefix itself where servers on it are to be met directly."""
    routing = fabric.host_routing
    shared = nic.slaac or fabric.server_link == "proxy-arp"
    direct = routing.prefix_route if routing.prefix_route is not None else shared
    found: list[HostRoute] = []
    for one in nic.addresses:
        if direct:
            found.append(HostRoute(one.table, one.prefix, nic.netdev, None))
        scope = "global" if fabric.server_link == "routed" else None
        found.append(HostRoute(one.table, "default", nic.netdev, one.gateway, scope))
    return found


def _rules(fabric: Fabric, nic: HostNic) -> list[HostRule]:
    """The rule of every address, by what is known of it beforehand.

    SLAAC: its prefix, so that an address that comes late or changes is routed alike. A fixed address in a shared prefix:
    itself, also where the leaf answers for the others of it (proxy ARP). A routed link: its prefix, and one more rule that takes what is bound to no address into the fabric (Thor2
    guide, section 2.4.2.1).
    """
    priority = fabric.host_routing.rule_priority
    found: list[HostRule] = []
    for one in nic.addresses:
        if fabric.server_link == "routed":
            pool = ipaddress.ip_network(fabric.server_pool)
            found.append(HostRule(nic.netdev, one.table, one.prefix, None, priority))
            if one.path == 1:
                last = None if priority is None else priority + 1
                found.append(HostRule(nic.netdev, one.table, None, f"{one.gateway}/{pool.prefixlen}", last))
        else:
            source = one.prefix if one.origin == "slaac" else one.address
            found.append(HostRule(nic.netdev, one.table, source, None, priority))
    return found


def _qos(network: Network, fabric: Fabric, server: Server) -> HostQos:
    qos = fabric.leaf.qos
    data, cnp = qos.rdma_class(), qos.cnp_class()
    model = catalog().nics[catalog().servers[server.model].nics[fabric.nics].nic]
    dscp = data.dscp[0] if data and data.dscp else 0
    priority = 0 if data is None else LOSSY_PRIORITY if data.pfc_priority is None else data.pfc_priority
    given = dict.fromkeys(data.dscp if data else (), priority)
    # Congestion notification must not wait behind the data that it is about.
    cnp_priority = next(one for one in (model.cnp_priority, *CNP_PRIORITIES) if one != priority)
    cnp_dscp = cnp.dscp if cnp and cnp.dscp else (CNP_DSCP,)
    given |= dict.fromkeys(cnp_dscp, cnp_priority)
    return HostQos(
        fabric=fabric.name,
        dscp=dscp,
        priority=priority,
        traffic_class=dscp * 4 + ECT0,
        lossless=data is not None and data.lossless,
        cnp_dscp=cnp_dscp[0],
        cnp_priority=cnp_priority,
        bandwidth_percent=network.hosts.roce_bandwidth,
        adaptive_routing=fabric.load_balancing.group_mode() in {"dlb-per-packet", "spray"},
        ecn=data is not None and data.ecn is not None,
        priorities=tuple(given.get(one, _other(one, priority, cnp_priority)) for one in range(64)),
    )


def _other(dscp: int, *designed: int) -> int:
    """The priority of a DSCP that the design gives to nothing RDMA.

    NICs take the upper three bits (class selectors, RFC 2474, section 4.2.2; the default map that mlnx_qos shows). Data and
    congestion notification keep their priorities to themselves: what would share one gets the lowest instead.
    """
    default = dscp >> 3
    return 0 if default in designed else default
