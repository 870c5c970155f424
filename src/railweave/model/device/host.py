"""Construction of one server's ``HostConfig`` from its ``HostScope``, which holds the parts of the network that affect the server."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog, in_force
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.host_job import job, tenant_jobs
from railweave.model.device.host_model import (
    BiosOption,
    FirmwareOption,
    HostAddress,
    HostConfig,
    HostNic,
    HostQos,
    HostRoute,
    HostRule,
    LosslessClass,
    Versions,
)
from railweave.model.device.host_scope import HostScope, host_scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.catalog.hardware import NicModel
    from railweave.model.network.devices import Fabric, Nic
    from railweave.model.network.model import Network


_OF_PORT = re.compile(r"_P(\d+)$")
"""A pattern of the names of firmware settings that apply to one port of a NIC card. They end with its number: ``CNP_DSCP_P2``."""


def firmware(model: NicModel, qos: HostQos, ports: range | None = None) -> tuple[FirmwareOption, ...]:
    """Return the firmware settings of a NIC model on a fabric, in the catalog's order. ``qos`` gives the values for the fabric's traffic.

    ``ports`` holds the numbers of the card's ports on this fabric, if the card is connected to two fabrics. Settings of the card's ports on
    the second fabric are left out. None means that all ports are on this fabric.
    """
    return tuple(
        FirmwareOption(
            option.name,
            option.value.format(cnp_dscp=qos.cnp_dscp, cnp_priority=qos.cnp_priority),
            option.per_function,
            option.why,
        )
        for option in model.firmware
        if (qos.adaptive_routing or not option.spraying) and _is_of(option.name, ports)
    )


def _is_of(setting: str, ports: range | None) -> bool:
    port = _OF_PORT.search(setting)
    return ports is None or port is None or int(port[1]) in ports


def sysctl(scope: HostScope, nics: Sequence[HostNic]) -> dict[str, str]:
    """Return the values of kernel parameters of the server in ``scope``, by name as in sysctl.d.

    If systemd-networkd handles router advertisements, ``accept_ra`` is left out. networkd sets it to 0 and processes
    advertisements itself. With 1, the kernel would process them a second time.
    """
    settings: dict[str, str] = {}
    if scope.hosts.router_advertisements == "kernel":
        for nic in nics:
            settings |= _advertisements(nic) if nic.slaac else {}
    for nic in nics:
        # Addresses from router advertisements go when the interface is set down, whatever this says.
        if any(address.address.family == "ipv6" and address.origin == "static" for address in nic.addresses):
            settings[parameter("net", "ipv6", "conf", nic.netdev, "keep_addr_on_down")] = "1"
    with_ipv4 = [nic for nic in nics if any(address.address.family == "ipv4" for address in nic.addresses)]
    if with_ipv4:
        settings |= {"net.ipv4.conf.all.arp_announce": "1", "net.ipv4.conf.all.arp_ignore": "2"}
    for nic in with_ipv4:
        settings[parameter("net", "ipv4", "conf", nic.netdev, "rp_filter")] = "2"
    for family in (4, 6):
        settings |= dict(_neighbors(family, _neighbor_count(scope, nics, family)))
    return settings | {"kernel.numa_balancing": "0"}


def parameter(*parts: str) -> str:
    """Return the name of a kernel parameter. Its parts are joined by dots, or by slashes if a part contains a dot (``eth1.100``).

    sysctl takes the first separator in a name as the separator of all parts (sysctl.d(5)).
    """
    return ("/" if any("." in part for part in parts) else ".").join(parts)


def _advertisements(nic: HostNic) -> dict[str, str]:
    # The link-local address takes a place, and a prefix that was renumbered keeps its own until it expires: so twice.
    room = max(catalog().kernel.max_addresses, _power_of_two(2 * (_of_ipv6(nic) + 1)))
    values = {
        "accept_ra": "1",
        "autoconf": "1",
        "use_tempaddr": "0",
        "addr_gen_mode": "0",
        "max_addresses": str(room),
    }
    return {parameter("net", "ipv6", "conf", nic.netdev, name): value for name, value in values.items()}


def _of_ipv6(nic: HostNic) -> int:
    return sum(address.address.family == "ipv6" for address in nic.addresses)


def _neighbors(family: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield (kernel parameter, value) for the three thresholds of the neighbor table, if the defaults are too small.

    They are too small if twice ``count``, the number of neighbors, exceeds the default limit. The new values keep the
    proportions of the defaults. ``family`` is 4 or 6.
    """
    first, second, third = catalog().kernel.neighbor_gc_thresh
    wanted = _power_of_two(2 * count)
    if wanted <= third:
        return
    for number, threshold in enumerate((first, second, third), 1):
        yield f"net.ipv{family}.neigh.default.gc_thresh{number}", str(threshold * wanted // third)


def _neighbor_count(scope: HostScope, nics: Sequence[HostNic], family: int) -> int:
    """Return the number of neighbors that the server in ``scope`` can learn on all its NICs, for the IP version ``family`` (4 or 6).

    The count includes all addresses of the other servers and of the gateways on each NIC's segment. For IPv6, it also includes a
    link-local address of each of these servers and gateways.
    """
    total = 0
    for nic in nics:
        paths = sum((address.address.family == "ipv6") == (family == 6) for address in nic.addresses)
        others = scope.sharing[nic.name]
        total += others * (paths + (family == 6)) if paths else 0
    return total


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


LOSSY_PRIORITIES = (3, 1, 2, 4, 5, 6, 7, 0)
"""NIC priorities for RDMA data that is not lossless, best first.

RDMA data usually has DSCP 26 and priority 3. If PFC pauses a different class at priority 3, the next priority is used.
"""

CNP_DSCP = 48
"""DSCP of congestion notification packets if the design has no class for them (Thor2 guide, section 2.2.1.3)."""

CNP_PRIORITIES = range(7, 0, -1)
"""Priorities for congestion notification packets, best first, for use if PFC pauses the NIC's default priority."""

NIC_SHARE = 50
"""Default share, in percent, of RDMA data that is not lossless in a NIC's scheduler (Thor2 guide, section 2.2.1.3: ROCE_BW=50)."""

ECT0 = 2
"""The ECN code point that marks a packet as ECN-capable (RFC 3168, section 5)."""


def host_configs(network: Network) -> dict[str, HostConfig]:
    """Return the configuration of every server, by name."""
    return {server.name: host_config(network, server.name) for server in network.servers}


def host_config(network: Network, name: str) -> HostConfig:
    """Return the configuration of the server ``name``. Raises ``KeyError`` if there is no such server."""
    with in_force(network.catalog):
        return config_of(host_scope(network, name))


def config_of(scope: HostScope) -> HostConfig:
    """Return the configuration of a server. ``scope`` holds the server and the parts of the network that affect it."""
    model, fabrics = scope.model, scope.fabrics
    qos = tuple(_qos(scope, fabric) for fabric in fabrics.values())
    nics = tuple(nic for fabric_qos in qos for nic in _nics(scope, fabrics[fabric_qos.fabric], fabric_qos))
    shared = tenant_jobs(scope, nics, qos) if model.gpus else ()
    return HostConfig(
        network=scope.network,
        name=scope.name,
        model=scope.server.model,
        gpus=model.gpus,
        gpu=model.gpu,
        gpu_vendor=model.gpu_vendor,
        cpu_vendor=model.cpu_vendor,
        memory_gib=model.memory_gib,
        domain_gpus=model.domain_gpus if model.domain_servers > 1 else None,
        advertisements_by=scope.hosts.router_advertisements,
        nics=nics,
        routes=tuple(route for nic in nics for route in _routes(scope, fabrics[nic.fabric], nic)),
        rules=tuple(rule for nic in nics for rule in _rules(scope, fabrics[nic.fabric], nic)),
        qos=qos,
        bfd_detection_ms={
            name: fabric.underlay.bfd.detection_ms() for name, fabric in fabrics.items() if fabric.underlay.bfd.enabled
        },
        sysctl=sysctl(scope, nics),
        kernel_command_line=model.kernel_command_line,
        kernel_command_line_source=model.kernel_command_line_source,
        bios=tuple(
            BiosOption(option.area, option.setting, option.value, option.note, option.verify) for option in model.bios
        ),
        bios_source=model.bios_source,
        library=scope.library,
        job=() if shared or not model.gpus else job(scope, nics, qos),
        tenant_jobs=shared,
        versions=_versions(scope, nics),
    )


def _versions(scope: HostScope, nics: Sequence[HostNic]) -> Versions:
    """Return the software versions that the fabric file asks for on the server in ``scope``.

    Versions of NIC firmware and NIC drivers are included only for the NICs of this server.
    """
    asked = scope.hosts.versions
    models, drivers = {nic.model for nic in nics}, {nic.driver for nic in nics}
    return Versions(
        kernel=asked.kernel or "",
        gpu_driver=asked.gpu_driver or "",
        collective_library=asked.collective_library or "",
        nic_firmware=tuple((model, version) for model, version in asked.nic_firmware.items() if model in models),
        nic_driver=tuple((driver, version) for driver, version in asked.nic_driver.items() if driver in drivers),
        software=tuple(asked.software.items()),
    )


def _nics(scope: HostScope, fabric: Fabric, qos: HostQos) -> list[HostNic]:
    server, group = scope.server, scope.model.nics[fabric.nics]
    model = catalog().nics[group.nic]
    options = firmware(model, qos, scope.model.own_ports(fabric.nics))
    host_nics: list[HostNic] = []
    table = fabric.first_table
    first = next((nic for nic in server.nics if nic.fabric == fabric.name and nic.addresses), None)
    for nic in server.nics:
        if nic.fabric != fabric.name:
            continue
        addresses = _addresses(scope, fabric, nic, table, qos)
        table += len(addresses)
        optic, wavelength_nm = scope.optics.get(nic.name, ("", None))
        host_nics.append(
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
                gpu=group.gpu_of(nic.rail, scope.gpus) if group.per_gpu else None,
                fabric=nic.fabric,
                stripe=nic.stripe,
                rail=nic.rail,
                leaf=nic.leaf,
                leaf_port=nic.leaf_port,
                leaf_port_names=scope.port_names.get(nic.name, ()),
                speed_gbps=nic.speed_gbps,
                cable_m=scope.cable_m.get(nic.name),
                optic=optic,
                wavelength_nm=wavelength_nm,
                mtu=fabric.mtu.server,
                slaac=fabric.server_mode == "slaac" and not nic.network and (_has_ipv6(nic) or not nic.addresses),
                addresses=addresses,
                firmware=options,
                tenant=nic.tenant,
                network=nic.network,
                main_routes=fabric.host_routing.main_routes if nic is first else (),
            )
        )
    return host_nics


def _has_ipv6(nic: Nic) -> bool:
    return any(":" in address.address for address in nic.addresses)


def _addresses(scope: HostScope, fabric: Fabric, nic: Nic, table: int, qos: HostQos) -> tuple[HostAddress, ...]:
    gateways = {(subnet.color, subnet.family): subnet for subnet in scope.segments[nic.name].subnets}
    colors = {color.index: color for color in fabric.colors}
    own_dscp, priorities = scope.hosts.job.color_dscp, qos.priorities
    addresses: list[HostAddress] = []
    for path, nic_address in enumerate(nic.addresses, 1):
        address, color = Address(nic_address.address), None if nic_address.color is None else colors[nic_address.color]
        subnet = gateways[nic_address.color, address.family]
        color_name = color.name if color else fabric.color_name(None)
        dscp = own_dscp.get(color_name)
        addresses.append(
            HostAddress(
                address=address,
                prefix=Prefix(fabric.server_pool if fabric.server_link == "proxy-arp" else subnet.prefix),
                origin="slaac" if nic_address.origin == "slaac" else "static",
                gateway=Address(subnet.gateway),
                table=table + path - 1,
                table_name=fabric.table_name(nic.name, nic.rail, path, color_name),
                path=path,
                color=color.number if color else None,
                color_name=color_name,
                spines=scope.spines.get((nic.name, color.index), ()) if color else (),
                traffic_class=None if dscp is None else dscp * 4 + ECT0,
                service_level=None if dscp is None else priorities[dscp],
            )
        )
    return tuple(addresses)


def _routed(scope: HostScope, fabric: Fabric, nic: HostNic) -> bool:
    """Return True if the link from a NIC of the server in ``scope`` to the leaf is routed and belongs only to this NIC."""
    return not nic.network and fabric.link_of(scope.segments[nic.name].vlan) == "routed"


def _routes(scope: HostScope, fabric: Fabric, nic: HostNic) -> list[HostRoute]:
    """Return the routes of a NIC of the server in ``scope``. Each of the NIC's routing tables has a default route through the leaf.

    If the fabric file asks for it (``prefix_route``), each table also has a direct route to the server prefix. If the file
    does not set ``prefix_route``, only the tables of IPv6 addresses from SLAAC, and all tables in fabrics with proxy ARP, have this route.
    """
    routing = fabric.host_routing
    routes: list[HostRoute] = []
    reach = "global" if _routed(scope, fabric, nic) else None
    for address in nic.addresses:
        shared = (nic.slaac and address.address.family == "ipv6") or fabric.server_link == "proxy-arp"
        if routing.prefix_route if routing.prefix_route is not None else shared:
            routes.append(HostRoute(address.table, address.prefix, nic.netdev, None))
        routes.append(HostRoute(address.table, "default", nic.netdev, address.gateway, reach))
    return routes


def _rules(scope: HostScope, fabric: Fabric, nic: HostNic) -> list[HostRule]:
    """Return one routing rule for each address of a NIC of the server in ``scope``. A rule matches packets by source.

    - SLAAC: the prefix, so that an address that arrives late or changes is routed the same way.
    - Fixed address in a shared prefix: the address itself, even if the leaf answers for the other addresses (proxy
      ARP).
    - Routed link: the prefix. An extra rule sends traffic without a bound source address into the fabric (Thor2 guide,
      section 2.4.2.1).
    """
    priority = fabric.host_routing.rule_priority
    rules: list[HostRule] = []
    routed = _routed(scope, fabric, nic)
    for address in nic.addresses:
        if routed:
            family = address.address.family
            pools = [pool for pool in map(Prefix, _pools(fabric, nic)) if pool.family == family]
            pool = next((pool for pool in pools if ip_address(address.address) in ip_network(pool)), pools[0])
            rules.append(HostRule(nic.netdev, address.table, address.prefix, None, priority))
            if address == next(first for first in nic.addresses if first.address.family == family):
                last = None if priority is None else priority + 1
                rules.append(
                    HostRule(
                        nic.netdev, address.table, None, InterfaceAddress(f"{address.gateway}/{pool.length}"), last
                    )
                )
                rules += [
                    HostRule(nic.netdev, address.table, None, InterfaceAddress(str(other)), last)
                    for other in pools
                    if fabric.other_link and other != pool
                ]
        else:
            source = address.prefix if address.origin == "slaac" else address.address
            rules.append(HostRule(nic.netdev, address.table, source, None, priority))
    return rules


def _pools(fabric: Fabric, nic: HostNic) -> tuple[str, ...]:
    """Return the address pools of all servers that a NIC can reach on its fabric."""
    return (*fabric.pools_of(nic.tenant), *fabric.other_pools)


def _qos(scope: HostScope, fabric: Fabric) -> HostQos:
    qos = fabric.leaf.qos
    data, cnp = qos.rdma_class(), qos.cnp_class()
    model = catalog().nics[scope.model.nics[fabric.nics].nic]
    dscp = data.dscp[0] if data and data.dscp else 0
    lossless = data is not None and data.lossless and qos.pfc.pauses("server")
    asked = scope.hosts.roce_bandwidth
    shares = qos.nic_shares(asked)
    others = tuple(
        LosslessClass(name, qos_class.dscp, qos_class.pfc_priority, qos_class.ecn is not None, shares[name])
        for name, qos_class in qos.classes.items()
        if qos.pfc.pauses("server") and qos_class is not data and qos_class.pfc_priority is not None
    )
    paused = tuple(other.priority for other in others)
    if data is not None and data.pfc_priority is not None:
        paused = (data.pfc_priority, *paused)
    # Congestion notification must not wait behind the data that it is about.
    cnp_priority = next(candidate for candidate in (model.cnp_priority, *CNP_PRIORITIES) if candidate not in paused)
    priority = 0 if data is None else data.pfc_priority or _lossy_priority(*paused, cnp_priority)
    given = dict.fromkeys(data.dscp if data else (), priority)
    for lossless_class in others:
        given |= dict.fromkeys(lossless_class.dscp, lossless_class.priority)
    cnp_dscp = cnp.dscp if cnp and cnp.dscp else (CNP_DSCP,)
    given |= dict.fromkeys(cnp_dscp, cnp_priority)
    clear = scope.hosts.job.clear_to_send_dscp
    if clear is None and scope.library == "RCCL" and model.clear_to_send_as_notification:
        clear = cnp_dscp[0]
    return HostQos(
        fabric=fabric.name,
        dscp=dscp,
        priority=priority,
        traffic_class=dscp * 4 + ECT0,
        lossless=lossless,
        cnp_dscp=cnp_dscp[0],
        cnp_priority=cnp_priority,
        bandwidth_percent=shares.get(qos.rdma_name() or "") or asked or (data.nic_share if data else None) or NIC_SHARE,
        adaptive_routing=fabric.load_balancing.group_mode() in {"dlb-per-packet", "spray"},
        ecn=data is not None and data.ecn is not None,
        priorities=tuple(
            given.get(codepoint, _other(codepoint, priority, *paused, cnp_priority)) for codepoint in range(64)
        ),
        clear_to_send_traffic_class=None if clear is None else clear * 4 + ECT0,
        other_lossless=others,
    )


def _lossy_priority(*taken: int) -> int:
    """Return the NIC priority of RDMA data that is not lossless: the first of ``LOSSY_PRIORITIES`` that is not in ``taken``."""
    return next(priority for priority in LOSSY_PRIORITIES if priority not in taken)


def _other(dscp: int, *designed: int) -> int:
    """Return the NIC priority of a DSCP that the design does not use for RDMA.

    By default, NICs use the upper three bits of the DSCP (class selectors, RFC 2474, section 4.2.2; the default map of mlnx_qos).
    ``designed`` holds the priorities of RDMA data and congestion notification. If the default is one of them, the result is 0.
    """
    default = dscp >> 3
    return 0 if default in designed else default
