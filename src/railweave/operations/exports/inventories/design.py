"""The objects that a design has on an inventory server, in NetBox's form.

- Each channel of a split port is an interface of its own, with a physical type, and each link is a cable of its own. This
  works with every release since 4.2. Releases that have cable profiles (4.5 and later) get the profile of one connector.
- MAC addresses that are placeholders are left out, and so are addresses that servers would form from them (RFC 4862).
- Addresses have a VRF if their prefix belongs to a tenant.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.config.naming import named
from railweave.operations.exports.contracts import NameRule, check_distinct, check_names
from railweave.operations.exports.inventories.equipment import (
    OTHER,
    VIRTUAL,
    cable_type,
    device_types,
    module_words,
    nic_type,
    port_type,
)
from railweave.operations.exports.inventories.objects import Item, Reference, Value, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.network.devices import Cable, Segment, Server, Switch
    from railweave.model.network.model import Network

_SOURCE = "NetBox 4.7, models dcim and ipam"
_LONGEST = 100
"""The longest label of a cable (dcim.Cable.label)."""
_DESCRIPTION = 200
"""The longest description of an object (netbox.models.PrimaryModel.description)."""
_RACK_UNITS = 48
"""The height that a new rack gets, unless a device needs more: the height of a rack in a fabric file that gives none."""
_RACK_WIDTH = 19
"""The width of a new rack in inches (EIA-310)."""
_KBITS = 1_000_000
"""The kbit/s of 1 Gb/s: NetBox counts the speed of an interface in kbit/s."""
ROLES = {
    "leaf": ("Leaf", "2196f3"),
    "spine": ("Spine", "3f51b5"),
    "super-spine": ("Super-spine", "673ab7"),
    "dci": ("Interconnect", "009688"),
    "gpu-server": ("GPU server", "4caf50"),
    "server": ("Server", "795548"),
}
"""The device roles: name, and color of new ones."""
_PRIVATE_ASNS = (range(64512, 65535), range(4_200_000_000, 4_294_967_295))
"""The AS numbers for private use (RFC 6996)."""
PRIVATE_RIR = "RFC 6996"


def items(network: Network, *, site: str = "", tag: str = "railweave") -> list[Item]:
    """Return the objects of a network in the order of ``netbox.KINDS``.

    - ``site``: the name of the site on the server. It replaces the name in the fabric file, which may then have one site only.
    - ``tag``: the tag of all objects that railweave creates.

    Raises ``InputError`` if a server would refuse a name, or would confuse two of them.
    """
    sites = _sites(network, site)
    _check(network, tag)
    made: dict[tuple[str, tuple[str, ...]], Item] = {}
    for item in _all(network, sites, tag):
        made.setdefault((item.kind, item.key), item)
    return list(made.values())


def _sites(network: Network, site: str) -> dict[str, str]:
    """Return the name in NetBox of each site of a network."""
    named_sites = dict.fromkeys(device.site for device in (*network.switches, *network.servers))
    if not site:
        return {name: name or network.name for name in named_sites}
    if len(named_sites) > 1:
        message = f"the network has {len(named_sites)} sites: {', '.join(named_sites)}"
        raise InputError(
            [Problem(Option("--site"), message, "leave --site out: the sites have the names of the fabric file")]
        )
    return dict.fromkeys(named_sites, site)


def _check(network: Network, tag: str) -> None:
    devices = [device.name for device in (*network.switches, *network.servers)]
    check_names(NameRule("a device of NetBox", r".+", "at least one character", 64, f"{_SOURCE}: Device.name"), devices)
    check_distinct("the device", {name: name.casefold() for name in devices})
    ports = {end.port for cable in network.cables for end in (cable.a, cable.b)}
    check_names(
        NameRule("an interface of NetBox", r".+", "at least one character", 64, f"{_SOURCE}: Interface.name"), ports
    )
    racks = {position.rack for position in network.positions.values()}
    check_names(NameRule("a rack of NetBox", r".+", "at least one character", 100, f"{_SOURCE}: Rack.name"), racks)
    check_distinct("the device type", {model: kind.slug for model, kind in device_types(network).items()})
    if not slug(tag) or len(tag) > _LONGEST:
        fix = "use letters, digits and hyphens"
        raise InputError([Problem(Option("--tag", tag), "no tag can have this name", fix)])


def _all(network: Network, sites: Mapping[str, str], tag: str) -> Iterator[Item]:
    vrfs = vrf_names(network)
    yield Item(
        "tag",
        (tag,),
        {"name": tag, "slug": slug(tag), "color": "607d8b", "weight": 1000, "description": "made by railweave"},
    )
    for name in dict.fromkeys(sites.values()):
        yield Item("site", (name,), {"name": name, "slug": slug(name), "status": "active"})
    yield from _racks(network, sites)
    yield from _types(network)
    yield from _asns(network)
    yield from _vlans(network, sites, vrfs)
    yield from _prefixes(network, sites, vrfs)
    yield from _devices(network, sites)
    for switch in network.switches:
        yield from _switch_interfaces(network, switch, vrfs)
    for server in network.servers:
        yield from _nics(network, server)
    yield from _links(network)
    yield from _addresses(network, vrfs)


def _described(text: str) -> str:
    return text if len(text) <= _DESCRIPTION else f"{text[: _DESCRIPTION - 1]}…"


def _racks(network: Network, sites: Mapping[str, str]) -> Iterator[Item]:
    types = device_types(network)
    tops: dict[tuple[str, str], int] = {}
    for device in (*network.switches, *network.servers):
        if (position := network.positions.get(device.name)) is not None:
            rack = (sites[device.site], position.rack)
            tops[rack] = max(tops.get(rack, _RACK_UNITS), position.unit + types[device.model].units - 1)
    for (site, rack), top in tops.items():
        fields: dict[str, Value] = {
            "name": rack,
            "site": Reference("site", (site,)),
            "status": "active",
            "u_height": top,
            "width": _RACK_WIDTH,
        }
        yield Item("rack", (site, rack), fields)


def _types(network: Network) -> Iterator[Item]:
    types = device_types(network)
    for maker in dict.fromkeys(kind.manufacturer for kind in types.values()):
        yield Item("manufacturer", (maker,), {"name": maker, "slug": slug(maker)})
    for kind in types.values():
        fields: dict[str, Value] = {
            "manufacturer": Reference("manufacturer", (kind.manufacturer,)),
            "model": kind.model,
            "slug": kind.slug,
            "u_height": kind.units,
            "is_full_depth": True,
            "description": _described(kind.description),
        }
        if kind.assumed:
            fields["comments"] = "The height is assumed: no document that railweave knows gives it."
        yield Item("device type", (kind.manufacturer, kind.model), fields)
    for role in dict.fromkeys(role_of(network, device) for device in (*network.switches, *network.servers)):
        name, color = ROLES[role]
        yield Item("device role", (name,), {"name": name, "slug": slug(name), "color": color, "vm_role": False})
    for nos in dict.fromkeys(switch.nos for switch in network.switches):
        name = network.catalog.systems[nos].description
        yield Item("platform", (name,), {"name": name, "slug": slug(name)})


def role_of(network: Network, device: Switch | Server) -> str:
    """Return the role of a device, a key of ``ROLES``."""
    role: str = getattr(device, "role", "")
    if role:
        return role
    model = network.catalog.servers.get(device.model)
    return "gpu-server" if model is not None and model.gpus else "server"


def _asns(network: Network) -> Iterator[Item]:
    owners: dict[int, list[str]] = {}
    for switch in network.switches:
        owners.setdefault(switch.asn, []).append(switch.name)
    private = {asn: names for asn, names in owners.items() if is_private(asn)}
    if private:
        fields: dict[str, Value] = {"name": PRIVATE_RIR, "slug": slug(PRIVATE_RIR), "is_private": True}
        yield Item("RIR", (PRIVATE_RIR,), fields)
    for asn, names in private.items():
        words = ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"
        rir = Reference("RIR", (PRIVATE_RIR,))
        yield Item("ASN", (str(asn),), {"asn": asn, "rir": rir, "description": _described(f"{network.name}: {words}")})


def is_private(asn: int) -> bool:
    """Return True if an AS number is for private use (RFC 6996)."""
    return any(asn in numbers for numbers in _PRIVATE_ASNS)


_Vrfs = dict[tuple[str, str], str]
"""The names of VRFs, by fabric and tenant."""


def vrf_names(network: Network) -> _Vrfs:
    """Return the name of the VRF of each tenant, by fabric and tenant.

    It is the name of the tenant. If several fabrics have a tenant of the name, the fabric's name is put before it.
    """
    count = Counter(tenant.name for fabric in network.fabrics for tenant in fabric.tenants)
    return {
        (fabric.name, tenant.name): f"{fabric.name}/{tenant.name}" if count[tenant.name] > 1 else tenant.name
        for fabric in network.fabrics
        for tenant in fabric.tenants
    }


def _vrf(vrfs: _Vrfs, fabric: str, tenant: str) -> dict[str, Value]:
    name = vrfs.get((fabric, tenant), "")
    return {"vrf": Reference("VRF", (name,))} if name else {}


def _vlan(network: Network, fabric: str, vlan: int) -> Reference:
    return Reference("VLAN", (_vlan_group(network, fabric), str(vlan)))


def _vlan_group(network: Network, fabric: str) -> str:
    return f"{network.name} {fabric}"


def _vlans(network: Network, sites: Mapping[str, str], vrfs: _Vrfs) -> Iterator[Item]:
    for (fabric, tenant), name in vrfs.items():
        words = f"tenant {tenant} of {network.name} {fabric}"
        yield Item("VRF", (name,), {"name": name, "enforce_unique": True, "description": _described(words)})
    vlans: dict[tuple[str, int], str] = {}
    for segment in network.segments:
        if segment.vlan is not None:
            vlans.setdefault((segment.fabric, segment.vlan), segment.vlan_name)
    for fabric in dict.fromkeys(fabric for fabric, _ in vlans):
        group = _vlan_group(network, fabric)
        fields: dict[str, Value] = {"name": group, "slug": slug(group)}
        if site := sites.get(network.fabric(fabric).site):
            fields |= {"scope_type": "dcim.site", "scope_id": Reference("site", (site,))}
        yield Item("VLAN group", (group,), fields)
    for (fabric, vlan), name in vlans.items():
        group = Reference("VLAN group", (_vlan_group(network, fabric),))
        vlan_fields: dict[str, Value] = {"vid": vlan, "name": name or f"vlan{vlan}", "group": group, "status": "active"}
        yield Item("VLAN", (*group.key, str(vlan)), vlan_fields)


def _prefix(prefix: str, fields: Mapping[str, Value]) -> Item:
    """Return a prefix as an object. ``fields`` may have its VRF."""
    vrf = fields.get("vrf")
    text = str(ipaddress.ip_network(prefix, strict=False))
    key = (text, *(vrf.key if isinstance(vrf, Reference) else ()))
    return Item("prefix", key, {"prefix": text, **fields})


def _prefixes(network: Network, sites: Mapping[str, str], vrfs: _Vrfs) -> Iterator[Item]:
    leaf_sites = {switch.name: sites[switch.site] for switch in network.switches}

    def at(site: str) -> dict[str, Value]:
        return {"scope_type": "dcim.site", "scope_id": Reference("site", (site,)), "status": "active"}

    everywhere = at(next(iter(sites.values()))) if len(set(sites.values())) == 1 else {"status": "active"}
    for segment in network.segments:
        vlan: dict[str, Value] = {"vlan": _vlan(network, segment.fabric, segment.vlan)} if segment.vlan else {}
        for subnet in segment.subnets:
            fields = at(leaf_sites[segment.leaf]) | vlan | _vrf(vrfs, segment.fabric, segment.tenant)
            yield _prefix(subnet.prefix, fields | {"description": _described(_segment_words(network, segment))})
    for cable in network.cables:
        if cable.prefix_length is not None:
            fields = {**at(leaf_sites[cable.a.device]), "description": _described(cable.name)}
            yield _prefix(f"{cable.a.address}/{cable.prefix_length}", fields)
    for fabric, tenant, router, link in network.external_links():
        fields = at(leaf_sites[link.leaf]) | _vrf(vrfs, fabric.name, tenant.name)
        words = f"{link.leaf} {link.port} to {router.name}"
        yield _prefix(f"{link.address}/{link.prefix_length}", fields | {"description": _described(words)})
    yield _prefix(network.management.pool, {**everywhere, "description": f"{network.name}: management"})
    for fabric in network.fabrics:
        for pool in fabric.server_pools:
            words = f"{network.name} {fabric.name}: pool of servers"
            yield _prefix(pool, {**everywhere, "status": "container", "description": _described(words)})
        for tenant in fabric.tenants:
            for pool in tenant.server_pools:
                words = f"{network.name} {fabric.name}: pool of tenant {tenant.name}"
                fields = everywhere | _vrf(vrfs, fabric.name, tenant.name) | {"status": "container"}
                yield _prefix(pool, fields | {"description": _described(words)})


def _segment_words(network: Network, segment: Segment) -> str:
    if segment.nic:
        return f"{segment.leaf} to {segment.nic.replace(':', ' ')}"
    place = segment.network or f"{segment.stripe} rail {segment.rail}"
    return f"{network.name} {segment.fabric}: {place}"


_STATUS = {"planned": "planned", "drained": "offline", "draining": "active", "failed": "failed"}
"""The status of a device in NetBox, by ``status:`` in the fabric file."""


def _devices(network: Network, sites: Mapping[str, str]) -> Iterator[Item]:
    inactive = {part.name: part.status for part in network.not_active}
    types = device_types(network)
    for device in (*network.switches, *network.servers):
        kind, site = types[device.model], sites[device.site]
        fields: dict[str, Value] = {
            "name": device.name,
            "device_type": Reference("device type", (kind.manufacturer, kind.model)),
            "role": Reference("device role", (ROLES[role_of(network, device)][0],)),
            "site": Reference("site", (site,)),
            "status": _STATUS.get(inactive.get(device.name, ""), "active"),
        }
        if (position := network.positions.get(device.name)) is not None:
            fields |= {"rack": Reference("rack", (site, position.rack)), "position": position.unit, "face": "front"}
        if device.serial:
            fields["serial"] = device.serial
        nos: str = getattr(device, "nos", "")
        if nos:
            fields["platform"] = Reference("platform", (network.catalog.systems[nos].description,))
        yield Item("device", (device.name,), fields)


def _interface(device: str, name: str, fields: Mapping[str, Value]) -> Item:
    return Item("interface", (device, name), {"device": Reference("device", (device,)), "name": name, **fields})


def _switch_interfaces(network: Network, switch: Switch, vrfs: _Vrfs) -> Iterator[Item]:
    fabric = network.fabric(switch.fabric)
    system = network.catalog.systems[switch.nos]
    yield _interface(switch.name, system.management_port, {"type": OTHER, "mgmt_only": True})
    vlans = _server_vlans(network, switch)
    for cable in network.cables_of(switch.name):
        near, far = (cable.a, cable.b) if cable.a.device == switch.name else (cable.b, cable.a)
        mtu = fabric.mtu.server_port if cable.kind == "server" else fabric.mtu.fabric
        words = f"to {far.device} {far.port}; {module_words(near)}"
        yield _port(
            network, switch, near.port, near.physical, cable.speed_gbps, words, {"mtu": mtu} | vlans.get(near.port, {})
        )
    for edge_port in fabric.edge_ports:
        if edge_port.leaf == switch.name:
            yield _port(
                network, switch, edge_port.port, edge_port.physical, edge_port.speed_gbps, f"to {edge_port.name}", {}
            )
    for owner, tenant, router, link in network.external_links():
        if link.leaf != switch.name:
            continue
        yield _port(network, switch, link.port, link.physical, link.speed_gbps, f"to {router.name}", {})
        if link.vlan:
            parent = Reference("interface", (switch.name, link.port))
            fields = {"type": VIRTUAL, "parent": parent} | _vrf(vrfs, owner.name, tenant.name)
            yield _interface(switch.name, f"{link.port}.{link.vlan}", fields)
    for name, tenant in _loopbacks(network, switch):
        yield _interface(switch.name, name, {"type": VIRTUAL} | _vrf(vrfs, switch.fabric, tenant))
    for segment in network.segments_of(switch.name):
        if segment.vlan and segment.subnets:
            fields: dict[str, Value] = {"type": VIRTUAL, "mtu": fabric.mtu.irb}
            fields |= _vrf(vrfs, segment.fabric, segment.tenant)
            yield _interface(switch.name, system.vlan_interface.format(vlan=segment.vlan), fields)


def _port(
    network: Network,
    switch: Switch,
    name: str,
    physical: int | None,
    speed_gbps: int,
    words: str,
    fields: Mapping[str, Value],
) -> Item:
    kind = port_type(network, switch.model, physical, speed_gbps)
    base: dict[str, Value] = {"type": kind, "speed": speed_gbps * _KBITS, "description": _described(words)}
    return _interface(switch.name, name, base | dict(fields))


def _server_vlans(network: Network, switch: Switch) -> dict[str, dict[str, Value]]:
    """Return the VLAN fields of the server ports of a leaf, by port."""
    result: dict[str, dict[str, Value]] = {}
    for cable in network.cables_of(switch.name):
        if cable.kind != "server":
            continue
        nic = network.server(cable.a.device).nic(cable.a.port)
        if nic is not None and nic.vlan is not None:
            vlan = _vlan(network, nic.fabric, nic.vlan)
            trunk = network.fabric(nic.fabric).link_of(nic.vlan) == "trunk"
            result[cable.b.port] = {
                "mode": "tagged" if trunk else "access",
                "tagged_vlans" if trunk else "untagged_vlan": vlan,
            }
    return result


def _loopbacks(network: Network, switch: Switch) -> Iterator[tuple[str, str]]:
    """Yield the loopback interfaces of a switch with the tenant of each, which is empty for the main routing table."""
    system = network.catalog.systems[switch.nos]
    yield system.loopback, ""
    if system.tunnel_loopback and any(
        end.address not in {switch.router_id, switch.loopback} for end in switch.endpoints
    ):
        yield system.tunnel_loopback, ""
    for tenant in network.fabric(switch.fabric).tenants:
        if tenant.on(switch.name).loopbacks:
            yield named(system.vrf_loopback, unit=tenant.slot), tenant.name


def _nics(network: Network, server: Server) -> Iterator[Item]:
    for nic in server.nics:
        fabric = network.fabric(nic.fabric)
        names = [name for name in (nic.netdev if nic.netdev != nic.name else "", nic.rdma) if name]
        words = f"{nic.fabric} rail {nic.rail}" + (f"; {', '.join(names)}" if names else "")
        fields: dict[str, Value] = {
            "type": nic_type(network, server, nic),
            "speed": nic.speed_gbps * _KBITS,
            "mtu": fabric.mtu.server,
            "description": _described(words),
        }
        yield _interface(server.name, nic.name, fields)
        if not nic.mac_is_placeholder:
            interface = Reference("interface", (server.name, nic.name))
            key = (server.name, nic.name, nic.mac.upper())
            assigned: dict[str, Value] = {"assigned_object_type": "dcim.interface", "assigned_object_id": interface}
            yield Item("MAC address", key, {"mac_address": nic.mac.upper(), **assigned})
            yield Item("primary MAC address", interface.key, {"primary_mac_address": Reference("MAC address", key)})


def _links(network: Network) -> Iterator[Item]:
    inactive = {part.name: part.status for part in network.not_active}
    for cable in network.cables:
        yield _link(network, cable, inactive)


def _link(network: Network, cable: Cable, inactive: Mapping[str, str]) -> Item:
    planned = "planned" in {inactive.get(name) for name in (cable.name, cable.a.device, cable.b.device)}
    fields: dict[str, Value] = {
        "status": "planned" if planned else "connected",
        "profile": "single-1c1p",
        "length": cable.length_m,
        "length_unit": "m",
        "description": _described(f"{module_words(cable.a)} - {module_words(cable.b)}"),
    }
    if kind := cable_type(network.catalog.optics.get(cable.a.optic)):
        fields["type"] = kind
    if len(cable.name) <= _LONGEST:
        fields["label"] = cable.name
    return Item("cable", (cable.a.device, cable.a.port, cable.b.device, cable.b.port), fields)


def _address(device: str, interface: str, address: str, fields: Mapping[str, Value], *, shared: bool = False) -> Item:
    """Return an address with its prefix length as an object. ``shared`` is True if several devices have the address."""
    vrf = fields.get("vrf")
    host = str(ipaddress.ip_interface(address).ip)
    key = (host, *(vrf.key if isinstance(vrf, Reference) else ("",)), *((device, interface) if shared else ()))
    base: dict[str, Value] = {
        "address": address,
        "status": "active",
        "assigned_object_type": "dcim.interface",
        "assigned_object_id": Reference("interface", (device, interface)),
    }
    return Item("IP address", key, base | ({"role": "anycast"} if shared else {}) | dict(fields))


def _addresses(network: Network, vrfs: _Vrfs) -> Iterator[Item]:
    for switch in network.switches:
        yield from _switch_addresses(network, switch, vrfs)
    for cable in network.cables:
        for end in (cable.a, cable.b) if cable.prefix_length is not None else ():
            yield _address(end.device, end.port, f"{end.address}/{cable.prefix_length}", {})
    for fabric, tenant, _, link in network.external_links():
        interface = f"{link.port}.{link.vlan}" if link.vlan else link.port
        fields = _vrf(vrfs, fabric.name, tenant.name)
        yield _address(link.leaf, interface, f"{link.address}/{link.prefix_length}", fields)
    yield from _gateways(network, vrfs)
    for server in network.servers:
        for nic in server.nics:
            fields = _vrf(vrfs, nic.fabric, nic.tenant)
            for address in nic.addresses:
                if not (nic.mac_is_placeholder and address.origin == "slaac"):
                    yield _address(server.name, nic.name, f"{address.address}/{address.prefix_length}", fields)


def _switch_addresses(network: Network, switch: Switch, vrfs: _Vrfs) -> Iterator[Item]:
    system = network.catalog.systems[switch.nos]
    management = _address(switch.name, system.management_port, switch.management_address, {})
    yield management
    family = "primary_ip6" if ":" in switch.management_address else "primary_ip4"
    yield Item("primary address", (switch.name,), {family: Reference("IP address", management.key)})
    role: dict[str, Value] = {"role": "loopback"}
    loopbacks = dict.fromkeys(address for address in (switch.router_id, switch.loopback) if address)
    for address in loopbacks:
        yield _address(switch.name, system.loopback, _alone(address), role)
    at = system.tunnel_loopback or system.loopback
    for endpoint in switch.endpoints:
        if endpoint.address not in loopbacks:
            yield _address(switch.name, at, _alone(endpoint.address), role)
    for tenant in network.fabric(switch.fabric).tenants:
        for address in tenant.on(switch.name).loopbacks:
            fields = role | _vrf(vrfs, switch.fabric, tenant.name)
            yield _address(switch.name, named(system.vrf_loopback, unit=tenant.slot), _alone(address), fields)


def _gateways(network: Network, vrfs: _Vrfs) -> Iterator[Item]:
    ports = {f"{server.name}:{nic.name}": nic.leaf_port for server in network.servers for nic in server.nics}
    ports |= {edge_port.nic: edge_port.port for fabric in network.fabrics for edge_port in fabric.edge_ports}
    systems = {switch.name: network.catalog.systems[switch.nos] for switch in network.switches}
    rows = [
        (segment, f"{subnet.gateway}/{ipaddress.ip_network(subnet.prefix, strict=False).prefixlen}")
        for segment in network.segments
        for subnet in segment.subnets
    ]
    count = Counter((segment.fabric, segment.tenant, address) for segment, address in rows)
    for segment, address in rows:
        name = systems[segment.leaf].vlan_interface.format(vlan=segment.vlan) if segment.vlan else ports[segment.nic]
        shared = count[segment.fabric, segment.tenant, address] > 1
        fields = _vrf(vrfs, segment.fabric, segment.tenant)
        yield _address(segment.leaf, name, address, fields, shared=shared)


def _alone(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"
