"""AVD's data for VLANs, ports, loopbacks, gateways, IS-IS, logins and SNMP clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos import names
from railweave.systems.eos.avd.qos import at_gateway, service_profiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.config.addresses import Addressed, Prefix
    from railweave.model.device.management import LoginServer, Management, Snmp
    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.model.device.timers import RouterAdvertisements


def addressed(addresses: Sequence[Addressed]) -> dict[str, Any]:
    """Return the AVD keys for an interface's own addresses. All IPv4 addresses except the first are secondary."""
    four, six = _by_family(addresses)
    keys: dict[str, Any] = {"ip_address": four[0]} if four else {}
    keys |= {"ip_address_secondaries": four[1:]} if four[1:] else {}
    return keys | ({"ipv6_addresses": six} if six else {})


def shared(addresses: Sequence[Addressed]) -> dict[str, Any]:
    """Return the AVD keys for virtual addresses, which several switches share."""
    four, six = _by_family(addresses)
    keys: dict[str, Any] = {"ip_address_virtual": four[0]} if four else {}
    keys |= {"ip_address_virtual_secondaries": four[1:]} if four[1:] else {}
    return keys | ({"ipv6_address_virtuals": six} if six else {})


def _by_family(addresses: Sequence[Addressed]) -> tuple[list[str], list[str]]:
    return [address for address in addresses if address.family == "ipv4"], [
        address for address in addresses if address.family == "ipv6"
    ]


PASSIVE: dict[str, Any] = {"isis_enable": names.ISIS_INSTANCE, "isis_passive": True}
"""The settings of an interface whose prefix IS-IS advertises, but on which IS-IS does not run."""


def _key(reference: str | None) -> dict[str, Any]:
    return {"both": {"mode": "md5", "key_type": "0", "key": names.secret(reference)}} if reference else {}


def on_port(config: DeviceConfig, port: str) -> dict[str, Any]:
    """Return AVD's keys for IS-IS on a port between switches; empty if IS-IS does not run on the port."""
    isis = config.isis
    metrics = {link.interface: link.metric for link in isis.ports} if isis else {}
    if isis is None or port not in metrics:
        return {}
    keys: dict[str, Any] = {
        "isis_enable": names.ISIS_INSTANCE,
        "isis_circuit_type": "level-2",
        "isis_metric": metrics[port],
        "isis_network_point_to_point": True,
    }
    if isis.bfd:
        every = isis.bfd.minimum_interval
        keys |= {"isis_bfd": True, "bfd": {"interval": every, "min_rx": every, "multiplier": isis.bfd.multiplier}}
    return {**keys, "isis_authentication": _key(isis.key)} if isis.key else keys


def on_gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    """Return AVD's keys for IS-IS on an interface to servers; empty if IS-IS does not advertise the interface's prefix."""
    return PASSIVE if config.isis and (gateway.port or gateway.name) in config.isis.passive else {}


def router_isis(config: DeviceConfig) -> dict[str, Any]:
    """Return AVD's key for the IS-IS instance; empty if the device does not run IS-IS."""
    isis = config.isis
    if isis is None:
        return {}
    router: dict[str, Any] = {
        "instance": names.ISIS_INSTANCE,
        "net": isis.net,
        "router_id": isis.router_id,
        "is_type": "level-2",
        "log_adjacency_changes": True,
    }
    router |= {"authentication": _key(isis.key)} if isis.key else {}
    for family in isis.families:
        router[f"address_family_{family}"] = {"enabled": True, "maximum_paths": isis.maximum_ecmp}
    return {"router_isis": router}


FIRST_VRF_LOOPBACK = 100
DESCRIPTIONS = {names.ROUTER_LOOPBACK: "router id", names.TUNNEL_LOOPBACK: "tunnels"}


def loopback_interfaces(config: DeviceConfig) -> list[dict[str, Any]]:
    """Return AVD's data for each loopback that has addresses."""
    passive = PASSIVE if config.isis else {}
    loopbacks = [
        {"name": name, "description": DESCRIPTIONS[name], **addressed(addresses), **passive}
        for name, addresses in _addresses(config).items()
    ]
    of_vrfs = [
        {
            "name": f"Loopback{FIRST_VRF_LOOPBACK + vrf.unit}",
            "description": f"loopback of {vrf.name}",
            "vrf": vrf.name,
            **addressed(list(vrf.loopbacks)),
        }
        for vrf in config.vrfs
        if vrf.unit is not None
    ]
    return [*loopbacks, *of_vrfs]


def tunnel_source(config: DeviceConfig) -> str | None:
    """Return the name of the loopback whose address is the source of VXLAN tunnels, or None if the device has no tunnels."""
    if config.overlay is None or not config.overlay.endpoints:
        return None
    begins = config.overlay.endpoints[0].address.prefix
    return next(name for name, addresses in _addresses(config).items() if begins in addresses)


def _addresses(config: DeviceConfig) -> dict[str, list[Prefix]]:
    """Return the prefixes of the loopback interfaces, by interface name.

    VXLAN tunnels have a separate loopback only if their source addresses differ from the addresses of the router's loopback.
    """
    router = [config.loopback]
    tunnels: list[Prefix] = []
    if config.overlay is not None:
        if (sessions := config.overlay.loopback.prefix) not in router:
            router.append(sessions)
        for endpoint in config.overlay.endpoints:
            if (end := endpoint.address.prefix) not in (*router, *tunnels):
                tunnels.append(end)
    return {names.ROUTER_LOOPBACK: router, **({names.TUNNEL_LOOPBACK: tunnels} if tunnels else {})}


def _server(server: LoginServer) -> dict[str, Any]:
    return {"host": server.host, "key": names.secret(server.key), "key_type": "0", "timeout": server.timeout}


def _with_port(kind: str, server: LoginServer) -> str:
    """Return the configuration line of a login server with a port that is not the default, because AVD's schema cannot express the port.

    ``kind`` is ``tacacs`` or ``radius``.
    """
    port = f"port {server.port}" if kind == "tacacs" else f"auth-port {server.port}"
    key = f"timeout {server.timeout} key 0 {names.secret(server.key)}"
    return f"{kind}-server host {server.host} vrf {names.MANAGEMENT_VRF} {port} {key}"


def logins(wanted: Management, raw: list[str]) -> dict[str, Any]:
    """Return AVD's keys for login methods, servers and limits; empty if the device has no users and no login settings.

    Lines that the schema cannot express are appended to ``raw``. ``wanted`` has the device's management settings.
    """
    security = wanted.security
    aaa = security.aaa if security else None
    tacacs, radius = (aaa.tacacs, aaa.radius) if aaa else ((), ())
    methods = ["group tacacs+"] * bool(tacacs) + ["group radius"] * bool(radius) + ["local"]
    settings: dict[str, Any] = {}
    authentication: dict[str, Any] = {}
    authorization: dict[str, Any] = {}
    source = [{"name": names.MANAGEMENT_PORT, "vrf": names.MANAGEMENT_VRF}]
    if tacacs:
        raw += [_with_port("tacacs", server) for server in tacacs if server.port]
        hosts = [{**_server(server), "vrf": names.MANAGEMENT_VRF} for server in tacacs if not server.port]
        settings |= {"tacacs_servers": {"hosts": hosts}} if hosts else {}
        settings["ip_tacacs_source_interfaces"] = source
    if radius:
        raw += [_with_port("radius", server) for server in radius if server.port]
        servers = [_server(server) for server in radius if not server.port]
        settings |= {"radius_server": {"vrfs": [{"name": names.MANAGEMENT_VRF, "servers": servers}]}} if servers else {}
        settings["ip_radius_source_interfaces"] = source
    if aaa and (tacacs or radius):
        role = "network-admin" if aaa.role == "super-user" else "network-operator"
        authorization["policy"] = {"local_default_role": role}
    if wanted.users or tacacs or radius:
        authentication["login"] = {"default": " ".join(methods)}
        authorization["exec"] = {"default": " ".join(methods)}
    if security and security.login:
        lockout = {"failure": security.login.attempts, "duration": security.login.lockout * 60}
        authentication["policies"] = {"lockout": lockout}
        settings["management_console"] = {"idle_timeout": security.login.idle}
    settings |= {"aaa_authentication": authentication} if authentication else {}
    return settings | ({"aaa_authorization": authorization} if authorization else {})


def snmp_lists(snmp: Snmp | None) -> dict[str, Any]:
    """Return AVD's keys for access lists of the clients that may use the SNMP community. Each list ends with a rule that denies all others."""
    if snmp is None or not (snmp.community and snmp.clients):
        return {}
    lists: dict[str, Any] = {}
    for key, six in (("standard_access_lists", False), ("ipv6_standard_access_lists", True)):
        actions = [f"permit {client}" for client in snmp.clients if (client.family == "ipv6") == six]
        numbered = [{"sequence": 10 * at, "action": action} for at, action in enumerate([*actions, "deny any"], 1)]
        lists[key] = [{"name": names.SNMP_CLIENTS, "sequence_numbers": numbered}]
    return lists


def edge_port(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    """Return AVD's keys that protect a layer-2 server port: storm control and BPDU guard."""
    edge = config.management.security.edge_ports if config.management.security else None
    if edge is None or port.kind != "server" or port.vlan is None:
        return {}
    keys: dict[str, Any] = {}
    if edge.storm_control is not None:
        level = {"level": str(edge.storm_control), "unit": "percent"}
        keys["storm_control"] = {"broadcast": level, "multicast": level, "unknown_unicast": level}
    if edge.bpdu_guard:
        keys |= {"spanning_tree_portfast": "edge", "spanning_tree_bpduguard": "enabled"}
    return keys


def spanning_tree(config: DeviceConfig) -> dict[str, Any]:
    """Return the mode of the spanning tree. The spanning tree is on only if a layer-2 server port has BPDU guard, which needs it."""
    edge = config.management.security.edge_ports if config.management.security else None
    bridged = any(port.kind == "server" and port.vlan for port in config.interfaces)
    return {"mode": "rstp" if edge and edge.bpdu_guard and bridged else "none"}


ETHERNET_HEADER_BYTES = 14
ERROR_CORRECTION = {"": {"reed_solomon": True}, "none": {"enabled": False}, "fc": {"fire_code": True}}


def interfaces(config: DeviceConfig) -> dict[str, Any]:
    """Return AVD's keys for all interfaces except the management port."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    profiles = service_profiles(config)
    settings: dict[str, Any] = {
        "ethernet_interfaces": [
            *(_port(config, port, routed.get(port.name), profiles.get(port.name)) for port in config.interfaces),
            *(_tagged(part) for port in config.interfaces if port.unit_vlan is not None for part in port.parts()),
        ],
        "loopback_interfaces": loopback_interfaces(config),
    }
    vlans = [gateway for gateway in config.gateways if gateway.vlan]
    if vlans:
        bare = [{"id": vlan, "name": f"VLAN{vlan:04d}"} for vlan in config.bare_vlans()]
        settings["vlans"] = [*({"id": gateway.vlan, "name": gateway.vlan_name} for gateway in vlans), *bare]
        settings["vlan_interfaces"] = [
            {
                "name": f"Vlan{gateway.vlan}",
                "description": gateway.description,
                "mtu": gateway.mtu,
                **_gateway(config, gateway),
            }
            for gateway in vlans
        ]
    return settings


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None, profile: str | None) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "name": port.name,
        "description": port.description,
        "speed": _speed(port),
        "flowcontrol": {"received": "off"},
        "error_correction_encoding": ERROR_CORRECTION[port.fec],
    }
    raw = ["flowcontrol send off"]
    bridged = port.kind == "server" and gateway is None
    if not port.enabled:
        keys["shutdown"] = True
    if profile is not None:
        keys["service_profile"] = profile
    if bridged:
        keys |= {"switchport": {"enabled": True, **_membership(config, port)}, **edge_port(config, port)}
    else:
        keys["switchport"] = {"enabled": False}
        if gateway is None:
            keys["mtu"] = port.mtu - ETHERNET_HEADER_BYTES
            if port.unit_vlan is None:
                keys |= _addressed(port) if port.addresses else {"ipv6_enable": True}
        else:
            routed = _gateway(config, gateway)
            raw += [line for line in [routed.pop("eos_cli", "")] if line]
            keys |= {"mtu": gateway.mtu, **routed}
    keys |= {"mac_security": {"profile": names.MACSEC_PROFILE}} if port.macsec else {}
    return {**keys, **on_port(config, port.name), "eos_cli": "\n".join(raw)}


def _addressed(port: Interface) -> dict[str, Any]:
    keys = addressed(port.addresses)
    keys |= {"vrf": port.vrf} if port.vrf else {}
    return keys | ({"ipv6_enable": True} if port.vrf and "ipv6_addresses" in keys else {})


def _tagged(port: Interface) -> dict[str, Any]:
    keys = {"name": f"{port.name}.{port.unit_vlan}", "description": port.description}
    return {**keys, "encapsulation_dot1q": {"vlan": port.unit_vlan}, **_addressed(port)}


def encryption(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """Return AVD's keys for the MACsec profile of encrypted links.

    The MACsec key is appended to ``raw`` as a line, because the schema accepts only keys that a switch has encrypted.
    """
    wanted = [port.macsec for port in config.interfaces if port.macsec]
    if not wanted:
        return {}
    macsec = wanted[0]  # all links between sites use the same profile
    raw += [
        "mac security",
        f"   profile {names.MACSEC_PROFILE}",
        f"      key {macsec.key_name} 0 {names.secret(macsec.key)}",
    ]
    *_, bits = macsec.cipher_suite.split("-")
    cipher = f"aes{bits}-gcm{'-xpn' if '-xpn-' in macsec.cipher_suite else ''}"
    return {"mac_security": {"profiles": [{"name": names.MACSEC_PROFILE, "cipher": cipher}]}}


def _membership(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    number = next((gateway.vlan for gateway in config.gateways if gateway.vlan_name == port.vlan), port.native_vlan)
    untagged = set[int]() if number is None else {number}
    carried = sorted(untagged | set(port.tagged))
    if not carried:
        return {}
    if port.native_vlan is None and not port.tagged:
        return {"mode": "access", "access_vlan": carried[0]}
    native = {} if port.native_vlan is None else {"native_vlan": port.native_vlan}
    return {"mode": "trunk", "trunk": {**native, "allowed_vlan": _listed(carried)}}


def _listed(numbers: list[int]) -> str:
    """Return sorted numbers as EOS prints them, with consecutive numbers joined to a range, such as ``1-4,7``."""
    text = ""
    for at, number in enumerate(numbers):
        before, after = number - 1 in numbers, number + 1 in numbers
        if before and after:
            continue
        mark = "" if at == 0 else "-" if before else ","
        text += f"{mark}{number}"
    return text


def _gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    timers = gateway.advertisements
    keys = shared(gateway.addresses) if gateway.mac else addressed(gateway.addresses)
    keys |= {"ip_proxy_arp": True} if gateway.proxy_arp else {}
    keys |= {**on_gateway(config, gateway), **at_gateway(config, gateway)}
    if "ipv6" in gateway.families:
        keys["ipv6_enable"] = True
    if gateway.vrf:
        keys["vrf"] = gateway.vrf
    if timers is None:
        return {**keys, "ipv6_nd": {"ra": {"disabled": True}}} if "ipv6_enable" in keys else keys
    prefix: dict[str, Any] = {
        "valid_lifetime": str(timers.prefix_valid_lifetime),
        "preferred_lifetime": str(timers.prefix_preferred_lifetime),
    }
    prefix |= {} if timers.autonomous else {"no_autoconfig_flag": True}
    prefixes = [{"ipv6_prefix": advertised, **prefix} for advertised in gateway.advertised] if timers.on_link else []
    discovery: dict[str, Any] = {"prefixes": prefixes} if prefixes else {}
    discovery |= {"managed_config_flag": True} if timers.managed else {}
    discovery |= {"other_config_flag": True} if timers.other else {}
    keys |= {"ipv6_nd": discovery} if discovery else {}
    return {**keys, "eos_cli": "\n".join(_unknown_to_schema(gateway, timers))}


def _unknown_to_schema(gateway: Gateway, timers: RouterAdvertisements) -> list[str]:
    """Return those configuration lines about a gateway's router advertisements (``timers``) that AVD's schema cannot express."""
    lines = [
        f"ipv6 nd ra interval {timers.max_interval} {timers.min_interval}",
        f"ipv6 nd ra lifetime {timers.router_lifetime}",
        f"ipv6 nd ra hop-limit {timers.hop_limit}",
    ]
    if not timers.link_mtu:
        lines.append("ipv6 nd ra mtu suppress")
    if timers.reachable_time:
        lines.append(f"ipv6 nd reachable-time {timers.reachable_time}")
    if timers.retransmit_timer:
        lines.append(f"ipv6 nd ns-interval {timers.retransmit_timer}")
    if not timers.on_link:
        flags = "no-onlink" if timers.autonomous else "no-autoconfig no-onlink"
        lifetimes = f"{timers.prefix_valid_lifetime} {timers.prefix_preferred_lifetime}"
        lines += [f"ipv6 nd prefix {prefix} {lifetimes} {flags}" for prefix in gateway.advertised]
    return lines


def _speed(port: Interface) -> str:
    """Return the speed of a port with its number of lanes, such as ``400g-8``. At 100G and 200G, at most four lanes are used."""
    lanes = min(4, port.lanes) if port.speed_gbps in {100, 200} else port.lanes
    return f"{port.speed_gbps}g-{lanes}"
