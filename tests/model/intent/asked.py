"""Small fabrics in which every field applies, and what a field's type does not tell: other values, context, exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

_SERVERS = """
servers:
  - {names: [a1], model: dgx-h100-2gpu, stripe: stripe1}
  - {names: [a2], model: dgx-h100-2gpu, stripe: stripe2}
"""

COLORS = f"""
name: asked
sites: {{here: {{}}}}
fabrics:
  f:
    site: here
    topology: {{stripes: 2, leaves_per_stripe: 1, spines: 2}}
    leaf: {{device: <switch>, uplink_ports: {{first: 1, fill: spread}}, server_ports: {{first: 16}}}}
    spine: {{device: <switch>}}
    colors: [{{name: green}}, {{name: blue}}]
    qos: {{classes: {{no-loss: {{}}}}}}
    router_advertisements: {{routes: ["fc00::/16"]}}
{_SERVERS}
management:
  pool: 172.20.0.0/24
  root_password: secret:root
  users: {{netops: {{password: "secret:netops"}}}}
  syslog: [{{host: 172.20.0.9}}]
  snmp: {{community: "secret:community", users: {{watcher: {{auth: "secret:auth", privacy: "secret:privacy"}}}}}}
overrides:
  devices: {{stripe1-leaf1: {{}}, spine1: {{}}}}
  nics: {{"a1:gpu0_eth": {{}}}}
  cables: [{{between: ["a1:gpu0_eth", stripe1-leaf1]}}, {{between: [stripe1-leaf1, spine1]}}]
"""

TENANTS = f"""
name: asked
fabrics:
  f:
    topology: {{stripes: 2, leaves_per_stripe: 1, spines: 2}}
    leaf: {{device: <switch>, server_ports: {{first: 8}}}}
    spine: {{device: <switch>}}
    addressing: {{server_mode: static, server_pool: 10.4.0.0/16, prefix_length: 24}}
    pools: {{fabric_links: 10.128.0.0/16}}
    underlay: {{peering: numbered}}
    load_balancing: {{mode: ecmp}}
    overlay: {{}}
    tenants:
      red:
        networks: {{compute: {{members: ["a1:gpu0_eth", "a2:gpu0_eth"], prefix: 10.10.3.0/24}}}}
        external: {{wan: {{asn: 65000, links: [{{leaf: stripe1-leaf1, port: <30>, prefix: 10.200.0.0/31, vlan: 299}}]}}}}
      blue: {{members: ["a1:gpu1_eth", "a2:gpu1_eth"]}}
{_SERVERS}
"""

COLORED_TENANTS = f"""
name: asked
fabrics:
  f:
    topology: {{stripes: 2, leaves_per_stripe: 1, spines: 2}}
    leaf: {{device: <switch>}}
    overlay: {{}}
    tenants: {{red: {{members: [a1, a2]}}}}
{_SERVERS}
"""

PODS = """
name: asked
fabrics:
  f:
    topology: {stripes: 2, leaves_per_stripe: 1, servers_per_stripe: 1, stripes_per_pod: 1, spines: 2, super_spines: 1, links_per_super_spine: 1}
    leaf: {device: <switch>}
    spine: {device: <switch>}
    super_spine: {device: <switch>}
servers: [{names: [a1, a2], model: dgx-h100-2gpu}]
"""

SITES = """
name: asked
sites: {east: {}, west: {}}
fabrics:
  f:
    topology:
      stripes: [east, west]
      leaves_per_stripe: 1
      interconnect: {sites: {east: [east], west: [west]}, links: 2, macsec: {key_name: "50", key: "secret:cak"}}
    leaf: {device: <switch>, server_ports: {first: 16}}
    underlay: {peering: numbered}
    load_balancing: {mode: dlb-flowlet}
servers:
  - {names: [a1], model: dgx-h100-2gpu, stripe: east}
  - {names: [a2], model: dgx-h100-2gpu, stripe: west}
"""

ROUTERS = """
name: asked
sites: {east: {}, west: {}}
fabrics:
  f:
    topology:
      stripes: [east, west]
      leaves_per_stripe: 1
      spines: 2
      interconnect: {sites: {east: [east], west: [west]}, routers: 1, links: 2}
    leaf: {device: <switch>, server_ports: {first: 16}}
    spine: {device: <switch>}
    dci: {device: <switch>}
    load_balancing: {mode: dlb-flowlet}
servers:
  - {names: [a1], model: dgx-h100-2gpu, stripe: east}
  - {names: [a2], model: dgx-h100-2gpu, stripe: west}
"""

FABRICS: dict[str, Any] = {
    name: yaml.safe_load(text)
    for name, text in {
        "colors": COLORS,
        "tenants": TENANTS,
        "colored tenants": COLORED_TENANTS,
        "pods": PODS,
        "sites": SITES,
        "routers": ROUTERS,
    }.items()
}
"""The fabrics by name. A field without a context of its own is tried in the first that has a place for it."""


@dataclass(frozen=True)
class Given:
    """How a field is tried: with which values, in which fabric, with what else changed there."""

    values: tuple[object, ...] = ()
    fabric: str = ""
    beside: dict[str, object] = field(default_factory=dict[str, object])
    """What else stands in the fabric file, before and after, by its place."""
    now: object = None
    """What stands in the place of the field before, where that is not its default."""
    equal: dict[str, str] = field(default_factory=dict[str, str])
    """Values that rightly come to the same as another, with why."""
    along: dict[str, object] = field(default_factory=dict[str, object])
    """What else changes with the value."""
    systems: tuple[str, ...] = ()
    """The systems it is tried on; empty: all of them."""


F = "fabrics.f"
MODE = f"{F}.load_balancing.mode"
STATIC = {
    f"{F}.addressing.server_mode": "static",
    f"{F}.addressing.server_pool": "10.4.0.0/16",
    f"{F}.addressing.prefix_length": 24,
    f"{F}.paths_per_nic": 1,
    f"{F}.colors": [],
    f"{F}.load_balancing.mode": "ecmp",
    f"{F}.router_advertisements.routes": [],
}
FLOWLETS = {MODE: "dlb-flowlet", f"{F}.colors": []}
HASHED = {MODE: "ecmp", f"{F}.colors": []}
SPRAY = {MODE: "spray", f"{F}.colors": []}
EXTRA = {
    "junos": "set system location building hall1",
    "eos": "hostname other",
    "sonic": '{"DEVICE_METADATA": {"localhost": {"mac": "00:00:00:00:00:01"}}}',
    "dell_sonic": "hostname other",
    "frr": "hostname other",
}
BITS = {f"{F}.addressing.bits": {"stripe": 16, "rail": 16, "color": 16}}
TWO_EACH = {
    "servers.0.names": ["a1", "b1"],
    "servers.1.names": ["a2", "b2"],
    f"{F}.topology.leaves_per_stripe": 2,
    "overrides.cables": [],
}
DUAL: dict[str, object] = {f"{F}.addressing.dual_stack": {"server_pool": "fd10::/16"}}
DUAL_BITS: dict[str, object] = {
    f"{F}.addressing.dual_stack": {
        "server_pool": "fd10::/16",
        "bits": {"tenant": 16, "stripe": 16, "rail": 16, "color": 0},
    }
}
ONE_LINK_NUMBERED: dict[str, object] = {
    f"{F}.underlay.peering": "numbered",
    "overrides.cables": [{"between": ["stripe1-leaf1", "spine1"]}],
}
SLICES: dict[str, object] = {f"{F}.tenants": {}, f"{F}.tenant_slices": {"servers": ["a1", "a2"], "gpus": 2}}
APART: dict[str, object] = STATIC | {
    f"{F}.addressing.other_links": {"old": {"servers": ["a1"], "server_pool": "10.5.0.0/16"}},
    "overrides.nics": {},
}
APART_DUAL: dict[str, object] = APART | {f"{F}.addressing.other_links.old.dual_stack": {"server_pool": "fd44::/16"}}
APART_BITS: dict[str, object] = APART_DUAL | {
    f"{F}.addressing.other_links.old.dual_stack.bits": {
        "stripe": 12,
        "server": 12,
        "rail": 12,
        "color": 6,
        "tenant": 6,
    }
}
APART_SHORT: dict[str, object] = {f"{F}.addressing.other_links.old.dual_stack.prefix_length": 63}
EDGE: dict[str, object] = HASHED | {
    f"{F}.edge_ports": {"tester": {"leaf": "stripe1-leaf1", "port": "<30>", "prefixes": ["10.9.1.0/31"]}}
}
EDGE_QOS: dict[str, object] = EDGE | {"overrides.devices.stripe1-leaf1.ports": {"<30>": {}}}
ISIS = {f"{F}.underlay.protocol": "isis"}
SECURED: dict[str, object] = {"management.security": {}, "management.snmp.clients": ["172.20.0.0/24"]}
SERVERS = SECURED | {
    "management.security.aaa": {
        "tacacs": [{"host": "172.20.0.5", "key": "secret:tacacs"}],
        "radius": [{"host": "172.20.0.6", "key": "secret:radius"}],
    }
}
SHARES = {
    f"{F}.qos.buffers": {
        "lossless": 60,
        "headroom": 10,
        "lossy": 10,
        "egress_lossless": 60,
        "egress_lossy": 10,
        "egress_multicast": 10,
    }
}

CONTEXT: dict[str, Given] = {
    "fabrics.*.nics": Given(
        ("storage",),
        beside={
            "servers.0.model": "dgx-h100",
            "servers.1.model": "dgx-h100",
            "overrides": {},
            f"{F}.topology.oversubscription": 9,
        },
    ),
    # Topology
    "fabrics.*.topology.stripes": Given((3, ["stripe1", "stripe2", "row3"])),
    "fabrics.*.topology.spines": Given((4, ["spine1", "top2"])),
    "fabrics.*.topology.leaves_per_stripe": Given((2,)),
    "fabrics.*.topology.planes": Given(
        ("rail",), beside={f"{F}.topology.leaves_per_stripe": 2, "overrides": {}, f"{F}.colors": []}
    ),
    "fabrics.*.topology.stripes_per_pod": Given((2,), "pods", {f"{F}.topology.oversubscription": 9}),
    "fabrics.*.topology.super_spines": Given((2,), "pods"),
    "fabrics.*.topology.links_per_super_spine": Given((2,), "pods"),
    "fabrics.*.topology.servers_per_stripe": Given(
        (2,),
        beside={
            "servers.0.stripe": None,
            "servers.1.stripe": None,
            f"{F}.topology.oversubscription": 9,
            "overrides": {},
        },
        now=1,
    ),
    "fabrics.*.topology.link_speed": Given(("800G",), beside={f"{F}.leaf.uplink_ports": {}}),
    "fabrics.*.topology.interconnect.sites": Given(({"east": ["west"], "west": ["east"]},), "routers"),
    "fabrics.*.topology.interconnect.routers": Given((2,), "routers"),
    "fabrics.*.topology.interconnect.links_per_router": Given((2,), "routers"),
    "fabrics.*.topology.interconnect.links": Given((3,), "sites"),
    "fabrics.*.topology.interconnect.link_speed": Given(("400G",), "sites"),
    "fabrics.*.topology.interconnect.macsec.cipher_suite": Given(fabric="sites"),
    "fabrics.*.topology.interconnect.pfc": Given(fabric="sites"),
    "fabrics.*.topology.interconnect.macsec.key_name": Given(("51",), "sites"),
    "fabrics.*.topology.interconnect.macsec.key": Given(("secret:other",), "sites"),
    # Roles
    "fabrics.*.leaf.device": Given(("qfx5230-64cd",), systems=("junos",)),
    "fabrics.*.leaf.release": Given(("23.4R2",), systems=("junos",)),
    "fabrics.*.leaf.leaf_ports.first": Given((4,)),
    "fabrics.*.leaf.uplink_ports.first": Given((2,)),
    "fabrics.*.leaf.server_ports.first": Given((20,)),
    "fabrics.*.spine.leaf_ports.first": Given((4,)),
    "fabrics.*.spine.uplink_ports.first": Given((40,), "pods"),
    "fabrics.*.spine.uplink_ports.*": Given(fabric="pods", beside={f"{F}.topology.super_spines": 2}),
    "fabrics.*.super_spine.leaf_ports.first": Given((4,), "pods"),
    "fabrics.*.super_spine.uplink_ports.first": Given((4,), "pods"),
    "fabrics.*.dci.leaf_ports.first": Given((4,), "routers"),
    "fabrics.*.dci.uplink_ports.first": Given((40,), "routers"),
    "fabrics.*.spine.server_ports.first": Given((20,)),
    "fabrics.*.super_spine.server_ports.first": Given((20,), "pods"),
    "fabrics.*.dci.server_ports.first": Given((20,), "routers"),
    "fabrics.*.super_spine.qos.buffer_monitor": Given((False,), "pods", now=True),
    "fabrics.*.dci.qos.buffer_monitor": Given((False,), "routers", now=True),
    "fabrics.*.*.qos.buffer_monitor": Given((False,), now=True),
    "fabrics.*.super_spine.*_ports.*": Given(fabric="pods"),
    "fabrics.*.dci.*_ports.fill": Given(
        fabric="routers",
        beside={
            f"{F}.topology.interconnect.{key}": value
            for key, value in (("link_speed", "400G"), ("routers", 2), ("links", 1))
        },
    ),
    "fabrics.*.dci.*_ports.*": Given(fabric="routers"),
    "fabrics.*.leaf.server_ports.fill": Given(beside=TWO_EACH),
    "fabrics.*.super_spine.extra": Given((EXTRA,), "pods"),
    "fabrics.*.dci.extra": Given((EXTRA,), "routers"),
    "fabrics.*.*.extra": Given((EXTRA,)),
    # Addresses and numbers
    "fabrics.*.paths_per_nic": Given((1,), beside={f"{F}.colors": []}),
    "fabrics.*.colors.*.name": Given(("cyan",)),
    "fabrics.*.colors.*.number": Given((77,)),
    "fabrics.*.addressing.server_pool": Given(("fc10::/16",)),
    "fabrics.*.addressing.prefix_length": Given((25,), "tenants"),
    "fabrics.*.addressing.bits.rail": Given((9,), beside=BITS, along={f"{F}.addressing.bits.stripe": 23}),
    "fabrics.*.addressing.bits.tenant": Given((9,), "colored tenants", BITS, along={f"{F}.addressing.bits.rail": 7}),
    "fabrics.*.addressing.bits.server": Given(
        (9,),
        beside=BITS
        | {f"{F}.addressing.server_link": "routed", f"{F}.addressing.bits.server": 8, f"{F}.addressing.bits.color": 8},
        along={f"{F}.addressing.bits.rail": 15},
    ),
    "fabrics.*.addressing.bits.*": Given((9,), beside=BITS, along={f"{F}.addressing.bits.rail": 23}),
    "fabrics.*.addressing.server_mode": Given(("static",), now="slaac"),
    "fabrics.*.addressing.server_link": Given(
        beside=STATIC | {f"{F}.addressing.prefix_length": 30},
        equal={"trunk": "the VLAN is untagged on the port either way, and there is no other on it"},
    ),
    "fabrics.*.addressing.server_prefix": Given(("10.4.{stripe*32+rail*4}.0/24",), beside=STATIC),
    "fabrics.*.addressing.dual_stack.server_pool": Given(("fd11::/16",), "tenants", DUAL),
    "fabrics.*.addressing.dual_stack.prefix_length": Given((80,), "tenants", DUAL),
    "fabrics.*.addressing.dual_stack.server_prefix": Given(("fd10:{tenant}:{stripe}:{rail*8}::/64",), "tenants", DUAL),
    "fabrics.*.addressing.dual_stack.gateway_host": Given((9,), "tenants", DUAL),
    "fabrics.*.addressing.dual_stack.bits.server": Given(
        (7,),
        "tenants",
        {f"{F}.addressing.server_link": "routed", f"{F}.addressing.prefix_length": 30}
        | {
            f"{F}.addressing.dual_stack": {
                "server_pool": "fd10::/16",
                "bits": {"stripe": 24, "server": 8, "rail": 16, "color": 0},
            }
        },
        along={f"{F}.addressing.dual_stack.bits.rail": 17},
    ),
    "fabrics.*.addressing.dual_stack.bits.rail": Given(
        (9,), "tenants", DUAL_BITS, along={f"{F}.addressing.dual_stack.bits.stripe": 23}
    ),
    "fabrics.*.addressing.dual_stack.bits.color": Given(
        (9,), "tenants", DUAL_BITS, along={f"{F}.addressing.dual_stack.bits.rail": 7}
    ),
    "fabrics.*.addressing.dual_stack.bits.*": Given(
        (9,), "tenants", DUAL_BITS, along={f"{F}.addressing.dual_stack.bits.rail": 23}
    ),
    "fabrics.*.tenants.*.route_target": Given(("64999:7",), "colored tenants"),
    "fabrics.*.tenants.*.leaks": Given((["blue"],), "tenants"),
    "fabrics.*.tenants.*.server_pools": Given((["fd77::/32"], ["fd77::/32", "10.0.0.0/9"]), "colored tenants"),
    "fabrics.*.addressing.tagged_vlans": Given(
        ([300], [300, 301]),
        beside={f"{F}.addressing.server_link": "trunk"},
        systems=("junos", "eos", "sonic", "dell_sonic"),  # FRR has no ports, and says so
    ),
    "fabrics.*.addressing.other_links.*.dual_stack.server_pool": Given(
        ("fd55::/16",), now="fd44::/16", beside=APART_DUAL
    ),
    "fabrics.*.addressing.other_links.*.dual_stack.prefix_length": Given((80,), beside=APART_DUAL),
    "fabrics.*.addressing.other_links.*.dual_stack.server_prefix": Given(
        ("fd44:{stripe}:{server}:{rail*8}::/64",), beside=APART_DUAL
    ),
    "fabrics.*.addressing.other_links.*.dual_stack.gateway_host": Given((9,), beside=APART_DUAL),
    "fabrics.*.addressing.other_links.*.dual_stack.bits.color": Given((5,), beside=APART_BITS, along=APART_SHORT),
    "fabrics.*.addressing.other_links.*.dual_stack.bits.tenant": Given((5,), beside=APART_BITS, along=APART_SHORT),
    "fabrics.*.addressing.other_links.*.dual_stack.bits.*": Given((11,), beside=APART_BITS, along=APART_SHORT),
    "fabrics.*.addressing.other_links.*.servers": Given((["a2"],), beside=APART, now=["a1"]),
    "fabrics.*.addressing.other_links.*.server_link": Given(
        ("access", "trunk"),
        now="routed",
        beside=APART | {f"{F}.addressing.server_link": "routed", f"{F}.addressing.prefix_length": 31},
        along={f"{F}.addressing.other_links.old.prefix_length": 24},
        equal={"trunk": "with its native VLAN alone, which SONiC and FRR have as an access port's"},
    ),
    "fabrics.*.addressing.other_links.*.server_pool": Given(("10.6.0.0/16",), now="10.5.0.0/16", beside=APART),
    "fabrics.*.addressing.other_links.*.prefix_length": Given((30,), beside=APART),
    "fabrics.*.addressing.other_links.*.server_prefix": Given(("10.5.{stripe}.{rail*8}/30",), beside=APART),
    "fabrics.*.addressing.other_links.*.gateway_host": Given((0,), beside=APART),
    "fabrics.*.edge_ports.*.leaf": Given(("stripe2-leaf1",), now="stripe1-leaf1", beside=EDGE),
    "fabrics.*.edge_ports.*.port": Given(("<31>",), now="<30>", beside=EDGE),
    "fabrics.*.edge_ports.*.prefixes": Given(
        (["10.9.2.0/31"], ["10.9.1.0/31", "fd09::/127"]), now=["10.9.1.0/31"], beside=EDGE
    ),
    "fabrics.*.edge_ports.*.speed": Given(("400G",), beside=EDGE, along={f"{F}.edge_ports.tester.port": "<30:0>"}),
    "fabrics.*.edge_ports.*.length": Given(("300m",), beside=EDGE),
    "fabrics.*.edge_ports.*.tenant": Given(("blue",), "tenants", EDGE, now="red"),
    "fabrics.*.addressing.local_prefixes": Given((["fd00::/15", "fd08::/16"],)),
    "fabrics.*.pools.leaf_asn": Given(("65001-65099",)),
    "fabrics.*.pools.spine_asn": Given(("65101-65199",)),
    "fabrics.*.pools.super_spine_asn": Given(("65201-65299",), "pods"),
    "fabrics.*.pools.dci_asn": Given(("65201-65299",), "routers"),
    "fabrics.*.pools.vlan": Given(("100-199",)),
    "fabrics.*.pools.router_id": Given(("10.99.0.0/16",)),
    "fabrics.*.pools.fabric_links": Given(("10.77.0.0/16",), "tenants"),
    "fabrics.*.pools.router_ids.leaf": Given(("10.255.9.[1-2]", ["10.255.9.7", "10.255.9.5"])),
    "fabrics.*.pools.router_ids.spine": Given(("10.255.9.[1-2]",)),
    "fabrics.*.pools.router_ids.super_spine": Given(("10.255.9.[1-2]",), "pods"),
    "fabrics.*.pools.router_ids.dci": Given(("10.255.9.[1-2]",), "routers"),
    "fabrics.*.pools.fabric_links_by": Given(fabric="tenants"),
    "fabrics.*.pools.fabric_link": Given(("10.128.{leaf}.{spine*2}/31", "10.128.{spine}.{leaf*4}/30"), "tenants"),
    "fabrics.*.overlay.loopback_lists.*": Given(
        ("fd00:fffe::9:[1-2]",), "colored tenants", {f"{F}.overlay.vtep": "ipv6"}
    ),
    "fabrics.*.overlay.route_target": Given(("64999:{tenant*100}",), "colored tenants"),
    "fabrics.*.overlay.route_distinguisher": Given(("65000:{leaf*100+tenant}", "{router_id}:{vni}"), "colored tenants"),
    "fabrics.*.overlay.tenant_loopbacks": Given(
        (["10.200.{tenant}.{leaf}/32"], ["fd00:200:{tenant}::{leaf}/128", "10.200.{tenant}.{leaf}/32"]), "tenants"
    ),
    "fabrics.*.tenants.*.route_distinguisher": Given(("65000:{leaf}",), "colored tenants"),
    "fabrics.*.tenants.*.loopbacks": Given((["10.201.0.{leaf}/32"],), "tenants"),
    "fabrics.*.tenant_slices.servers": Given((["a1"],), "colored tenants", SLICES, now=["a1", "a2"]),
    "fabrics.*.tenant_slices.gpus": Given((1,), "colored tenants", SLICES, now=2),
    "fabrics.*.tenant_slices.name": Given(("half-{slice}",), "colored tenants", SLICES),
    "fabrics.*.underlay.protocol": Given(("isis",), "sites"),
    "fabrics.*.underlay.isis.area": Given(("49.0002",), "sites", ISIS),
    "fabrics.*.underlay.isis.metric": Given((77,), "sites", ISIS),
    "fabrics.*.underlay.isis.key": Given(("secret:isis",), "sites", ISIS),
    "fabrics.*.underlay.maximum_ecmp": Given((64,)),
    "fabrics.*.underlay.authentication.key": Given(
        ("secret:other",), "tenants", {f"{F}.underlay.authentication": {"key": "secret:bgp"}}
    ),
    "fabrics.*.underlay.authentication.key_id": Given(
        (7,), "tenants", {f"{F}.underlay.authentication": {"key": "secret:bgp", "algorithm": "ao-hmac-sha-1"}}
    ),
    "fabrics.*.underlay.authentication.algorithm": Given(
        fabric="tenants", beside={f"{F}.underlay.authentication": {"key": "secret:bgp"}}
    ),
    "fabrics.*.router_advertisements.routes": Given((["fc00::/15"],)),
    "fabrics.*.underlay.path_color": Given(
        ("dpf", "auto"), now="local-preference", equal={"auto": "one of the two others, by what the switches have"}
    ),
    # Load balancing
    "fabrics.*.load_balancing.profile": Given(
        ("evpn-flowlet-128us-10-90-rate80", "evpn-ecmp"),
        beside={f"{F}.colors": []},
        equal={"evpn-ecmp": "the other is by hash too where flowlets are named as missing"},
    ),
    "fabrics.*.load_balancing.mode": Given(
        ("ecmp", "dlb-flowlet", "dlb-per-packet", "spray"), beside={f"{F}.colors": []}
    ),
    "fabrics.*.load_balancing.dlb.flowset_table_size": Given((2048,), beside=FLOWLETS),
    "fabrics.*.load_balancing.dlb.sampling_rate": Given((125000,), beside=FLOWLETS),
    "fabrics.*.load_balancing.dlb.reassignment.*": Given(
        (5,), beside=FLOWLETS | {f"{F}.load_balancing.dlb.reassignment": {}}
    ),
    "fabrics.*.load_balancing.dlb.*": Given(beside=FLOWLETS),
    "fabrics.*.load_balancing.selective.opcodes": Given(
        (["write-only"],), beside=FLOWLETS | {f"{F}.load_balancing.selective": {}}
    ),
    "fabrics.*.load_balancing.global_balancing": Given(beside=FLOWLETS),
    "fabrics.*.load_balancing.hash.seed": Given((7,), beside=HASHED),
    "fabrics.*.load_balancing.hash.*": Given(beside=HASHED),
    "fabrics.*.load_balancing.spray_opcodes": Given(([10],), beside=SPRAY),
    # QoS
    "fabrics.*.qos.profile": Given(("apstra-ptx-default", "thor2-qfx5240")),
    "fabrics.*.qos.classes.*.queue": Given((5,)),
    "fabrics.*.qos.classes.*.dscp": Given(([26, 28],)),
    "fabrics.*.qos.classes.*.lossless": Given(
        (True,),
        beside={f"{F}.qos.classes.no-loss": {"pfc_priority": None}},
        along={f"{F}.qos.classes.no-loss.pfc_priority": 3},
        now=False,
    ),
    "fabrics.*.qos.classes.*.pfc_priority": Given((5,)),
    "fabrics.*.qos.classes.*.bandwidth": Given((60,)),
    "fabrics.*.qos.classes.*.transmit_percent": Given((70,)),
    "fabrics.*.qos.classes.*.buffer_percent": Given((60,)),
    "fabrics.*.qos.classes.*.dynamic_threshold": Given((9,)),
    "fabrics.*.qos.classes.*.ecn.min_bytes": Given(
        (2000000,), beside={f"{F}.qos.classes.no-loss.ecn": {"min_bytes": 1000000, "max_bytes": 3000000}}
    ),
    "fabrics.*.qos.classes.*.ecn.max_bytes": Given(
        (2000000,), beside={f"{F}.qos.classes.no-loss.ecn": {"min_bytes": 1000000, "max_bytes": 3000000}}
    ),
    "fabrics.*.qos.classes.*.ecn.*": Given(
        (25,), beside={f"{F}.qos.classes.no-loss.ecn": {"min_fill": 10, "max_fill": 30, "max_probability": 50}}
    ),
    "fabrics.*.qos.buffers.egress": Given(("system",)),
    "fabrics.*.qos.buffers.dedicated_*": Given((50,)),
    "fabrics.*.qos.buffers.ingress_dynamic_threshold": Given((5,)),
    "fabrics.*.qos.buffers.*": Given((5,), beside=SHARES),
    "fabrics.*.qos.pfc.xon_offset": Given((50000,)),
    "fabrics.*.qos.pfc.mru": Given((4000,)),
    "fabrics.*.qos.pfc.ports": Given(("server", "fabric")),
    "fabrics.*.qos.pfc.watchdog": Given((None,)),
    # Cables
    "fabrics.*.cabling.interconnect.length": Given((9000,), "sites", {f"{F}.topology.interconnect.pfc": True}),
    "fabrics.*.cabling.*.length": Given((120,)),
    "fabrics.*.mtu.server": Given((8700,)),
    "fabrics.*.mtu.*": Given((9100,), beside={f"{F}.mtu": {"irb": 8900, "server": 8800}}),
    # Names
    "fabrics.*.naming.leaf": Given(("{stripe}-l{leaf}",), beside={"overrides": {}}),
    "fabrics.*.naming.spine": Given(("top-{spine}",), beside={"overrides": {}}),
    "fabrics.*.naming.super_spine": Given(("top-{super_spine}",), "pods"),
    "fabrics.*.naming.dci": Given(("out-{site}-{dci}",), "routers"),
    "fabrics.*.naming.vlan": Given(("lan{vlan}",)),
    "fabrics.*.naming.switches": Given(({"stripe2-leaf1": "rack1"},), beside={"overrides": {}}),
    "fabrics.*.naming.bgp_group": Given(("to-{role}-{color}",)),
    # Servers' routing
    "fabrics.*.host_routing.first_table": Given((2000,)),
    "fabrics.*.host_routing.table_name": Given(("{nic}-{color}",)),
    "fabrics.*.host_routing.main_routes": Given((["default"],)),
    "fabrics.*.host_routing.prefix_route": Given((False,)),
    # Tenants
    "fabrics.*.overlay.vni": Given(("30001-30099",), "tenants"),
    "fabrics.*.overlay.network_vni": Given(("31001-31099",), "tenants"),
    "fabrics.*.overlay.gateway_mac": Given(("00:1c:73:00:00:99",), "tenants"),
    "fabrics.*.overlay.route_target_as": Given((65111,), "tenants"),
    "fabrics.*.overlay.vtep": Given(("ipv6",), "colored tenants"),
    "fabrics.*.overlay.loopbacks": Given(("fd00:99::/64",), "colored tenants", {f"{F}.overlay.vtep": "ipv6"}),
    "fabrics.*.overlay.color_endpoints": Given(("10.88.0.0/16",), "colored tenants"),
    "fabrics.*.overlay.bfd.minimum_interval": Given((4000,), "tenants"),
    "fabrics.*.overlay.bfd.multiplier": Given((5,), "tenants"),
    "fabrics.*.overlay.bfd.enabled": Given((False,), "tenants"),
    "fabrics.*.tenants.*.networks.*.members": Given((["a1:gpu0_eth"],), "tenants"),
    "fabrics.*.tenants.*.members": Given((["a1"],), "colored tenants"),
    "fabrics.*.tenants.*.networks.*.prefix": Given(("10.10.9.0/24",), "tenants"),
    "fabrics.*.tenants.*.networks.*.vlan": Given((77,), "tenants"),
    "fabrics.*.tenants.*.networks.*.vni": Given((77,), "tenants"),
    "fabrics.*.tenants.*.networks.*.gateway_host": Given((254,), "tenants"),
    "fabrics.*.tenants.*.external.*.asn": Given((65009,), "tenants"),
    "fabrics.*.tenants.*.external.*.links.*.leaf": Given(("stripe2-leaf1",), "tenants"),
    "fabrics.*.tenants.*.external.*.links.*.port": Given(("<31>",), "tenants"),
    "fabrics.*.tenants.*.external.*.links.*.prefix": Given(("10.200.0.8/31",), "tenants"),
    "fabrics.*.tenants.*.external.*.links.*.speed": Given(
        ("400G",),
        "tenants",
        {f"{F}.tenants.red.external.wan.links.0.port": "<30:0>"},
        now="200G",
        along={f"{F}.tenants.red.external.wan.links.0.port": "<31:0>"},
    ),
    "fabrics.*.tenants.*.external.*.links.*.vlan": Given((300,), "tenants"),
    "fabrics.*.tenants.*.external.*.accept": Given((["10.9.0.0/16"],), "tenants"),
    "fabrics.*.tenants.*.external.*.advertise": Given((["10.10.3.0/25"],), "tenants"),
    "fabrics.*.tenants.*.vni": Given((77,), "tenants"),
    # Servers
    "servers.*.names": Given((["b1"],), beside={"overrides": {}}),
    "servers.*.model": Given(
        ("dgx-h100-aidc",),
        beside={
            f"{F}.nics": "storage",
            "servers.0.model": "dgx-a100-aidc",
            "servers.1.model": "dgx-a100-aidc",
            "overrides": {},
        },
    ),
    "servers.*.stripe": Given(("stripe2",), beside={f"{F}.topology.oversubscription": 9, "overrides": {}}),
    "servers.*.fabrics": Given(([],), beside={"overrides": {}}),
    "hosts.job.socket_family": Given(("AF_INET",)),
    "hosts.job.address_family": Given(
        ("ipv4", "ipv6"), "tenants", DUAL, equal={"ipv4": "it is the family of server_pool", "None": "likewise"}
    ),
    "hosts.job.net_plugin": Given(("other",)),
    "servers.*.gpus": Given((4,)),
    "servers.*.gpu_nics": Given((1,), along={"servers.1.gpu_nics": 1, "servers.0.gpu_nics": 1}),
    "hardware": Given(
        ({"servers": {"dgx-h100-2gpu": {"extends": "dgx-h100-2gpu", "kernel_command_line": ["quiet"]}}},)
    ),
    "hosts.job.qps_per_connection": Given((8,)),
    "hosts.job.socket_interface": Given(("eno1",)),
    "hosts.job.library_folder": Given(("/opt/lib",)),
    "hosts.job.mpi_folder": Given(("/opt/mpi",)),
    "hosts.job.color_dscp": Given(({"green": 30},)),
    "hosts.job.clear_to_send_dscp": Given((40,)),
    "hosts.roce_bandwidth": Given((60,)),
    "hosts.versions.software": Given(({"rocm": "7.1.0"},)),
    "hosts.versions.nic_firmware": Given(({"connectx-7": "28.43.2026"},)),
    "hosts.versions.nic_driver": Given(({"mlx5_core": "24.10-1.1.4"},)),
    "hosts.versions.*": Given(("2.27.3",)),
    "hosts.job.environment": Given(({"NCCL_DEBUG": "INFO"},)),
    # Management
    "management.pool": Given(("172.21.0.0/24",)),
    "management.gateway": Given(("172.20.0.254",)),
    "management.domain": Given(("example.net",)),
    "management.dns": Given((["172.20.0.2"],)),
    "management.ntp": Given((["172.20.0.3"],)),
    "management.time_zone": Given(("Europe/Berlin",)),
    "management.root_password": Given(("secret:other",)),
    "management.users.*.password": Given(("secret:other",)),
    "management.users.*.ssh_keys": Given((["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1 a@b"],)),
    "management.syslog.*.host": Given(("172.20.0.8",)),
    "management.lldp_interval": Given((10,)),
    "management.lldp_hold": Given((5,)),
    "management.snmp.location": Given(("hall 2",)),
    "management.snmp.contact": Given(("night shift",)),
    "management.snmp.community": Given(("secret:other",)),
    "management.snmp.users.*.*": Given(("secret:other",)),
    "management.snmp.trap_targets": Given((["172.20.0.7"],)),
    "management.services.grpc_certificate": Given(("secret:pem",)),
    "management.services.grpc_port": Given(beside={"management.services.grpc_certificate": "secret:pem"}),
    "management.banner": Given(("Authorised use only",)),
    "management.security.control_plane": Given((None,), beside=SECURED, now={}),
    "management.security.control_plane.management_prefixes": Given((["172.20.0.0/26"],), beside=SECURED),
    "management.snmp.clients": Given((["172.20.0.0/24"],)),
    "management.security.login": Given((None,), beside=SECURED, now={}),
    "management.security.login.*": Given(beside=SECURED),
    "management.security.aaa.*.host": Given(("172.20.0.8",), beside=SERVERS),
    "management.security.aaa.*.port": Given((4949,), beside=SERVERS),
    "management.security.aaa.*.key": Given(("secret:other",), beside=SERVERS),
    "management.security.aaa.*": Given(beside=SERVERS),
    "management.security.edge_ports": Given((None,), beside=SECURED, now={}),
    "management.security.edge_ports.*": Given(beside=SECURED),
    # Overrides
    "overrides.devices.*.asn": Given((65009,)),
    "overrides.devices.*.router_id": Given(("10.255.9.9",)),
    "overrides.devices.*.management_address": Given(("172.20.0.99",)),
    "overrides.devices.*.device": Given(("qfx5230-64cd",), systems=("junos",)),
    "overrides.devices.*.release": Given(("23.4R2",), systems=("junos",)),
    "overrides.devices.*.leaf_ports.first": Given((4,)),
    "overrides.devices.*.leaf_ports.fill": Given(("spread",), now="pack"),
    "overrides.devices.*.server_ports.fill": Given(("spread",), beside=TWO_EACH, now="pack"),
    "overrides.devices.*.uplink_ports.fill": Given(("spread",), now="pack"),
    "overrides.devices.*.uplink_ports.first": Given((2,)),
    "overrides.devices.*.server_ports.first": Given((20,)),
    "overrides.devices.*.buffers.ingress_dynamic_threshold": Given(
        (5,), beside={"overrides.devices.stripe1-leaf1.buffers": SHARES[f"{F}.qos.buffers"]}
    ),
    "overrides.devices.*.buffers.egress": Given(("system",), now="designed"),
    "overrides.devices.*.buffers.dedicated_*": Given((50,)),
    "overrides.devices.*.buffers.*": Given(
        (5,), beside={"overrides.devices.stripe1-leaf1.buffers": SHARES[f"{F}.qos.buffers"]}
    ),
    "overrides.devices.*.ports.*.pfc": Given((False,), beside=EDGE_QOS),
    "overrides.devices.*.ports.*.qos": Given((False,), beside=EDGE_QOS),
    "overrides.devices.*.extra": Given((EXTRA,)),
    "overrides.nics.*.addresses": Given(({"green": "fd01:1:1:1::77"},)),
    "overrides.cables.*.ports": Given(({"stripe1-leaf1": "<30:0>"},)),
    "overrides.cables.*.addresses": Given(
        ({"stripe1-leaf1": "10.99.0.1/30", "spine1": "10.99.0.2/30"},), beside=ONE_LINK_NUMBERED
    ),
    "overrides.cables.*.length": Given((120,)),
    # What is absent is rendered all the same: a finding says what goes without it.
    "status": Given(({"spine1": "failed"},)),
}

ON_SERVERS = (
    "hosts.*",
    "fabrics.*.host_routing.*",
    "fabrics.*.mtu.server",
    "servers.*.names",
    "servers.*.stripe",
    "servers.*.fabrics",
    "servers.*.model",
    "servers.*.gpus",
    "servers.*.gpu_nics",
    "overrides.nics.*",
    "hardware",
)
"""Fields that servers' files express, whatever the switches run."""

REPORTED: dict[str, str] = {
    "racks.*": "lengths of cables, and racks.csv; what configurations have of a length is tried with `cabling.*.length`",
    "fabrics.*.topology.interconnect.delay": "predictions, the lab and the report count with it; a switch measures for itself",
    "name": "the title of the report, and of what is written",
    "*description": "free text, in the report",
    "fabrics.*.site": "decides nothing: sites of a fabric that spans several are those of `interconnect`; in the report",
    "servers.*.site": "in the report and the inventory; no file of a switch or server has it",
    "fabrics.*.topology.oversubscription": "what is accepted: more is refused, less changes nothing",
    "fabrics.*.nos": "what the test itself goes through",
    "overrides.devices.*.nos": "what the test itself goes through, for one switch",
    "fabrics.*.cabling.*optic": "a part in the bill of materials; switches take what is plugged in",
    "*_ports.last": "a limit: what does not fit below it is refused",
    "*_ports.breakout": "taken by itself by the speed of the links; another is refused, but for ports with two of one speed (tests/design)",
    "fabrics.*.spine.device": "as a leaf's",
    "fabrics.*.super_spine.device": "as a leaf's",
    "fabrics.*.dci.device": "as a leaf's",
    "fabrics.*.spine.release": "as a leaf's",
    "fabrics.*.super_spine.release": "as a leaf's",
    "fabrics.*.dci.release": "as a leaf's",
    "overrides.cables.*.optic": "a part in the bill of materials",
    "overrides.cables.*.between": "says which cable, not what of it",
    "overrides.cables.*.link": "says which cable, not what of it",
}
"""Fields that rightly change no statement, each with why."""
