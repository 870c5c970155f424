"""Rendering of ports, VLANs with their gateways, router advertisements, and the filter for selective dynamic load balancing (DLB)."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES, SELECTIVE_FILTER
from railweave.systems.junos.render.spraying import spraying_filter
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf

if TYPE_CHECKING:
    from railweave.model.config.addresses import Addressed, Family
    from railweave.model.device.model import DeviceConfig, Gateway, Interface, Split, Vrf


def of_link(config: DeviceConfig, port: Interface) -> list[Family]:
    """Return the address families of a port between switches. The family of the port's addresses comes first.

    If IPv4 is routed over an IPv6 link (RFC 8950), the port also needs ``family inet`` without an address. Otherwise
    the port would drop IPv4 packets (Juniper, QFX5240 configuration essentials, BGP auto-discovered neighbor, step 1).
    """
    families: list[Family] = [port.addresses[0].family if port.addresses else "ipv6"]
    if families == ["ipv6"] and config.bgp is not None and "ipv4" in config.bgp.families:
        families.append("ipv4")
    return families


def input_filter(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> Statement | None:
    """Return the statement that applies the filter for selective load balancing to a port, or None if the port has no filter.

    ``gateway`` is the gateway on the port itself, if any. On leaves, the filter is on ports to servers. On all other switches, it is on
    ports
    between switches. Spines of an overlay have no filter: the filter cannot read the opcode of a tunneled packet, which is too deep inside.
    """
    if not config.balancing.selective:
        return None
    if config.role == "leaf":
        wanted = port.kind == "server"
    else:
        wanted = config.overlay is None and not _families_of(config, port, gateway).isdisjoint(_families(config))
    return block("filter", leaf("input", SELECTIVE_FILTER)) if wanted else None


def firewall(config: DeviceConfig) -> Statement | None:
    """Return the block ``firewall`` with the filter for selective load balancing in every address family that needs it.

    Return None if the device has no selective load balancing.
    """
    if not config.balancing.selective:
        return None
    return block("firewall", [_filter(config, family) for family in _bound(config)])


def field_profile(config: DeviceConfig) -> Statement | None:
    """Return ``system packet-forwarding-options``, which reserves chip space for user-defined fields in filters.

    Return None if the device has no selective load balancing. A change of this statement restarts the forwarding engine
    (description in the published 23.4R2 models).
    """
    if not config.balancing.selective:
        return None
    kinds = dict.fromkeys("inet" if family.startswith("inet") else family for family in _bound(config))
    profiles = [block(kind, leaf("udf-profile1")) for kind in kinds]
    return block("system", block("packet-forwarding-options", block("firewall", block("profiles", profiles))))


def _bound(config: DeviceConfig) -> list[str]:
    """Return the address families in which ports apply the filter for selective load balancing, as Junos names them."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    ports = [(port, routed.get(port.name)) for port in config.interfaces]
    return list(
        dict.fromkeys(
            family
            for port, gateway in ports
            if input_filter(config, port, gateway)
            for family in sorted(_families_of(config, port, gateway))
        )
    )


def _families_of(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> set[str]:
    """Return the address families of a port, as Junos names them (``inet``, ``inet6``). A dual-stack port has both.

    ``gateway`` is the gateway on the port itself, if any.
    """
    if port.kind == "server" and gateway is None:
        return {"ethernet-switching"}
    if gateway is not None:
        return {FAMILIES[address.family] for address in gateway.addresses}
    return {FAMILIES[family] for family in of_link(config, port)}


def _families(config: DeviceConfig) -> list[str]:
    return [FAMILIES[family] for family in config.balancing.ether_types]


def _filter(config: DeviceConfig, family: str) -> Statement | None:
    versions = config.balancing.ether_types if family == "ethernet-switching" else ("",)
    return block(
        ("family", family),
        block(
            ("filter", SELECTIVE_FILTER),
            [
                block(
                    ("term", f"rdma-{version}" if version else "rdma"),
                    block(
                        "from",
                        block(("ip-version", version), choices("rdma-opcode", config.balancing.selective))
                        if version
                        else choices("rdma-opcode", config.balancing.selective),
                    ),
                    block("then", entry("count", "rdma"), leaf("dynamic-load-balance", "enable"), leaf("accept")),
                )
                for version in versions
            ],
            block(("term", "rest"), block("then", leaf("accept"))),
        ),
    )


MANAGEMENT_PORT = "re0:mgmt-0"
STORM_PROFILE = "server-ports"


def _family(address: Addressed) -> str:
    return "inet6" if address.family == "ipv6" else "inet"


def interfaces(config: DeviceConfig) -> Statement | None:
    """Return the block ``interfaces``: breakouts, ports, gateways, management port and loopback. None if it would be empty.

    The unit number of a gateway is its VLAN.
    """
    ports = {port.name: port for port in config.interfaces}
    order = sorted(ports, key=port_order)
    splits = {split.port: split for split in config.splits}
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    bridged = [gateway for gateway in config.gateways if not gateway.port]
    statements: list[Statement | None] = []
    for name in sorted({*order, *splits}, key=port_order):
        split = splits.get(name)
        if split is not None and split.channels > 1:
            statements.append(
                block(
                    (name,),
                    leaf("description", f"{split.channels} x {split.speed_gbps}G"),
                    leaf("number-of-sub-ports", split.channels),
                    leaf("speed", f"{split.speed_gbps}g"),
                )
            )
        if name in ports:
            gateway = routed.get(name)
            chosen = spraying_filter(config, name) or input_filter(config, ports[name], gateway)
            statements.append(_port(config, ports[name], gateway, split, chosen))
    return block(
        "interfaces",
        statements,
        block(
            "irb",
            leaf("mtu", max((port.mtu for port in config.interfaces if port.kind == "server"), default=9216)),
            [_gateway(gateway) for gateway in bridged],
        )
        if bridged
        else None,
        block(
            (MANAGEMENT_PORT,),
            block(
                "unit 0",
                block(("family", _family(config.management_address)), entry("address", config.management_address)),
            ),
        ),
        _loopback(config),
    )


def _loopback(config: DeviceConfig) -> Statement | None:
    families: dict[str, list[str]] = {}
    for address in config.loopbacks():
        families.setdefault(_family(address), []).append(address)
    # If tunnels have addresses of their own on the interface, the address of the sessions stays the primary one.
    first = config.overlay.loopback if config.overlay and len(config.overlay.endpoints) > 1 else ""
    return block(
        "lo0",
        block(
            "unit 0",
            [
                block(("family", family), [_loopback_address(address, first) for address in addresses])
                for family, addresses in families.items()
            ],
            block("family iso", entry("address", config.isis.net)) if config.isis else None,
        ),
        [_vrf_loopback(vrf) for vrf in config.vrfs if vrf.unit is not None],
    )


def _vrf_loopback(vrf: Vrf) -> Statement | None:
    return block(
        ("unit", vrf.unit),
        leaf("description", f"loopback of {vrf.name}"),
        [
            block(
                ("family", _family(prefix)),
                [entry("address", each) for each in vrf.loopbacks if each.family == prefix.family],
            )
            for prefix in {each.family: each for each in sorted(vrf.loopbacks, key=lambda each: each.family)}.values()
        ],
    )


def _loopback_address(address: str, first: str) -> Statement | None:
    if first and address.partition("/")[0] == first:
        return block(("address", address), leaf("primary"), leaf("preferred"))
    return entry("address", address)


@lru_cache(maxsize=4096)
def port_order(name: str) -> tuple[int, ...]:
    """Return a sort key by the numbers in a port name: et-0/0/2 comes before et-0/0/16, and a port before its channels."""
    numbers = name.partition("-")[2].replace(":", "/").split("/")
    return tuple(int(number) for number in numbers if number.isdigit())


def _port(
    config: DeviceConfig, port: Interface, gateway: Gateway | None, split: Split | None, chosen: Statement | None
) -> Statement | None:
    more: list[Statement | None] = []
    family: list[Statement | None] = []
    if port.kind == "external":
        return _external(port, split)
    if gateway is not None:
        more = [leaf("proxy-arp", "unrestricted")] if gateway.proxy_arp else []
        more += _addressed(gateway, chosen)
    elif port.kind == "server":
        bridged = block(
            "family ethernet-switching",
            leaf("interface-mode", "access" if port.native_vlan is None and not port.tagged else "trunk"),
            block("vlan", _members(config, port)),
            leaf("storm-control", STORM_PROFILE) if config.storm_control() else None,
            chosen,
        )
        family = [bridged]
    else:
        family = [_routed(port, family_name, deepcopy(chosen)) for family_name in of_link(config, port)]
    shut = None if port.enabled else leaf("disable")
    if port.kind == "server" and gateway is None and not (port.vlan or port.tagged):  # it is reserved for a tenant
        return block((port.name,), leaf("description", port.description), shut, leaf("mtu", port.mtu), _fec(port))
    runs_isis = config.isis is not None and port.kind == "fabric"
    # A whole port that runs below its highest speed. The speed of channels is set on the port to which they belong.
    speed = leaf("speed", f"{split.speed_gbps}g") if split is not None else None
    native = [] if port.native_vlan is None else [leaf("native-vlan-id", port.native_vlan)]
    return block(
        (port.name,),
        leaf("description", port.description),
        shut,
        speed,
        native,
        leaf("mtu", port.mtu),
        _fec(port),
        block("unit 0", more, family, block("family iso", keep=True) if runs_isis else None),
    )


def _fec(port: Interface) -> Statement | None:
    """Return the statement for a port's forward error correction, or None if the optic's default applies.

    Source: Juniper documentation, fec (ether).
    """
    return block("ether-options", leaf("fec", {"none": "none", "fc": "fec74"}[port.fec])) if port.fec else None


def _routed(port: Interface, family: Family, chosen: Statement | None) -> Statement | None:
    addresses = [entry("address", address) for address in port.addresses if address.family == family]
    return block(("family", FAMILIES[family]), chosen, addresses, keep=True)


def _members(config: DeviceConfig, port: Interface) -> Statement | None:
    """Return the statement ``vlan members`` with the names of a port's VLANs, or None if the port has no VLAN."""
    if not port.tagged:
        return leaf("members", port.vlan)
    names = {gateway.vlan: gateway.vlan_name for gateway in config.gateways}
    return choices("members", [names.get(number) or bare_name(number) for number in config.carried(port)])


def bare_name(vlan: int) -> str:
    """Return the name, such as ``vlan-100``, of a VLAN without a gateway."""
    return f"vlan-{vlan}"


def _external(port: Interface, split: Split | None) -> Statement | None:
    """Return the statements of a port to an external router. Tagged units need no native VLAN.

    ``split`` is the port's breakout with its speed; None if no speed is configured.
    """
    return block(
        (port.name,),
        leaf("description", port.description),
        None if port.enabled else leaf("disable"),
        leaf("flexible-vlan-tagging") if port.unit_vlan is not None else None,
        leaf("speed", f"{split.speed_gbps}g") if split is not None else None,
        leaf("mtu", port.mtu),
        _fec(port),
        [_external_unit(part) for part in port.parts()],
    )


def _external_unit(port: Interface) -> Statement | None:
    families: list[Family] = sorted(
        {address.family for address in port.addresses}
    )  # no statement, if a configuration that was read lacks the address
    family = [_routed(port, family_name, None) for family_name in families]
    tag = [] if port.unit_vlan is None else [leaf("vlan-id", port.unit_vlan)]
    return block(("unit", port.unit_vlan or 0), tag, family)


def _addressed(gateway: Gateway, chosen: Statement | None = None) -> list[Statement | None]:
    """Return the ``family`` blocks of a gateway, IPv4 first, as Junos prints them.

    Each block applies the filter ``chosen``, if it is given.
    """
    return [
        block(
            ("family", _family(addresses[0])),
            leaf("mtu", gateway.mtu),
            deepcopy(chosen),  # trees are changed in place, so each family needs its own copy
            [entry("address", address) for address in addresses],
        )
        for family in sorted(gateway.families)
        for addresses in [[address for address in gateway.addresses if address.family == family]]
    ]


def _gateway(gateway: Gateway) -> Statement | None:
    mac = leaf("mac", gateway.mac) if gateway.mac else None
    return block(("unit", gateway.vlan), leaf("description", gateway.description), _addressed(gateway), mac)


def vlans(config: DeviceConfig) -> Statement | None:
    """Return the block ``vlans`` with a VLAN, and its gateway, for each layer-2 segment of servers. None if it would be empty.

    VLANs that EVPN extends are in the EVPN instance instead.
    """
    bare = [block((bare_name(number),), leaf("vlan-id", number)) for number in config.bare_vlans()]
    return block("vlans", [vlan(gateway) for gateway in config.gateways if gateway.vlan and not gateway.mac], bare)


def vlan(gateway: Gateway, vni: int | None = None) -> Statement | None:
    """Return the statements of a VLAN with its gateway, and with its VNI if EVPN extends the VLAN. The result is never None."""
    return block(
        (gateway.vlan_name,),
        leaf("description", gateway.description),
        leaf("vlan-id", gateway.vlan),
        leaf("l3-interface", f"irb.{gateway.vlan}"),
        None if vni is None else block("vxlan", leaf("vni", vni)),
    )


def router_advertisement(config: DeviceConfig) -> Statement | None:
    """Return ``protocols router-advertisement``, or None if it would be empty.

    Advertisements to servers contain prefixes. Advertisements on links where BGP discovers its neighbors contain none.
    """
    discovered = (
        [] if config.bgp is None else [s for group in config.bgp.groups for s in group.sessions if not s.peer_address]
    )
    return block(
        "router-advertisement",
        [_advertised(gateway) for gateway in config.gateways],
        [block(("interface", f"{session.interface}.0"), keep=True) for session in discovered],
    )


def _advertised(gateway: Gateway) -> Statement | None:
    timers = gateway.advertisements
    if timers is None:
        return None

    def flag(name: str, *, on: bool) -> Statement:
        return leaf(name if on else f"no-{name}")

    return block(
        ("interface", (f"irb.{gateway.vlan}" if gateway.vlan else f"{gateway.port}.0")),
        leaf("max-advertisement-interval", timers.max_interval),
        leaf("min-advertisement-interval", timers.min_interval),
        flag("managed-configuration", on=timers.managed),
        flag("other-stateful-configuration", on=timers.other),
        flag("link-mtu", on=timers.link_mtu),
        leaf("reachable-time", timers.reachable_time),
        leaf("retransmit-timer", timers.retransmit_timer),
        leaf("current-hop-limit", timers.hop_limit),
        leaf("default-lifetime", timers.router_lifetime),
        [
            block(
                ("prefix", prefix),
                leaf("valid-lifetime", timers.prefix_valid_lifetime),
                leaf("preferred-lifetime", timers.prefix_preferred_lifetime),
                flag("on-link", on=timers.on_link),
                flag("autonomous", on=timers.autonomous),
            )
            for prefix in gateway.advertised
        ],
        [
            block(
                ("rio-prefix", prefix),
                leaf("rio-lifetime", timers.route_lifetime),
                leaf("rio-preference", timers.route_preference),
            )
            for prefix in timers.routes
        ],
    )
