"""The AVD validator finds what is broken in the EOS renderer: ``avd.json`` computes every value a second time.

Each mutation replaces the code of one computation of the renderer in place, so that whoever imports it has the broken one.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.outputs.rendering.eos.networks import config

from railweave.model.config.addresses import Address
from railweave.model.device.model import DeviceConfig, TunnelEndpoint
from railweave.systems.eos import names
from railweave.systems.eos import render as eos
from railweave.systems.eos import validator as avd

pyavd: Any = pytest.importorskip("pyavd")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
RENDERER = "railweave.systems.eos.render"
MEANINGS = tuple(
    f"railweave.systems.{part}"
    for part in ("eos.meaning.bgp", "eos.meaning.policy", "frr.meaning.bgp", "frr.meaning.policy")
)
"""Modules that compute what statement tables print. Rows only print it."""


class Mutation(NamedTuple):
    """``old`` is once in the renderer's source and becomes ``new``; ``seen`` is in a finding about it."""

    id: str
    old: str
    new: str
    seen: str


POLICIES = [
    Mutation(
        "local preference",
        "local_preference=action.local_preference,",
        "local_preference=action.local_preference and action.local_preference + 1,",
        "only in eos.conf: route-map from-green permit 10 / set local-preference 201",
    ),
    Mutation(
        "prefix left out",
        "bgp.prefix_lists.get(name, ())",
        "bgp.prefix_lists.get(name, ())[1:]",
        "missing in eos.conf: ipv6 prefix-list own",
    ),
    Mutation(
        "length of a prefix",
        "BITS[prefix.family] if longer",
        "BITS[prefix.family] - 1 if longer",
        "only in eos.conf: ipv6 prefix-list local / seq 5 permit fc00::/16 le 127",
    ),
    Mutation("sequence of a prefix list", "5 * len(entries) + 5", "7 * len(entries) + 7", "/ seq 7 permit"),
    Mutation(
        "sequence of a route map",
        "policy.name, 10 * place",
        "policy.name, 20 * place",
        "only in eos.conf: route-map connected permit 20",
    ),
    Mutation(
        "order of a route map",
        "enumerate(policy.terms, 1)",
        "enumerate(policy.terms[::-1], 1)",
        "only in eos.conf: route-map connected permit 20",
    ),
    Mutation(
        "permit and deny",
        "permits=action.accept",
        "permits=not action.accept",
        "only in eos.conf: route-map connected deny 10",
    ),
    Mutation(
        "community that is set",
        "large_communities=large,",
        'large_communities=tuple(f"{value}0" for value in large),',
        "set large-community 4200000001:1:10 additive",
    ),
    Mutation(
        "community that is matched",
        "bgp.values(matched).items()",
        '{name: value + "0" for name, value in bgp.values(matched).items()}.items()',
        "only in eos.conf: ip large-community-list path-blue permit 4200000001:1:20",
    ),
    Mutation("kind of a community", 'value.count(":") == 2', 'value.count(":") == 1', " community "),
]
BGP = [
    Mutation(
        "AS number",
        "asn=bgp.asn,\n        router_id=bgp.router_id,\n        activates",
        "asn=bgp.asn + 1,\n        router_id=bgp.router_id,\n        activates",
        "router bgp 4200001002",
    ),
    Mutation(
        "peer filter",
        "{10 * place: numbers for",
        "{10 * place: (numbers[0] + 1, numbers[1]) for",
        "as-range 4200000002-",
    ),
    Mutation("maximum paths", "ways=bgp.maximum_ecmp", "ways=1", "maximum-paths 1 ecmp"),
    Mutation(
        "route maps of a group", "imports=group.import_policy", "imports=group.export_policy", "route-map to-spines in"
    ),
    Mutation(
        "IPv4 over IPv6 next hops",
        'over_six=family == "ipv4"',
        'over_six=family == "ipv6"',
        "next-hop address-family ipv6 originate",
    ),
    Mutation(
        "source of overlay sessions",
        "update_source=names.ROUTER_LOOPBACK",
        "update_source=names.TUNNEL_LOOPBACK",
        "update-source Loopback1",
    ),
    Mutation(
        "what a router outside is sent",
        'longer=way == "to"',
        'longer=way == "from"',
        "only in eos.conf: ip prefix-list from-jobs-wan / seq 5 permit 0.0.0.0/0 le 32",
    ),
]
VXLAN = [
    Mutation("VNI of a VRF", "vni {vrf.vni}", "vni {vrf.vni + 1}", "vxlan vrf tenant-1 vni 20002"),
    Mutation("VNI of a VLAN", "vni {vlan.vni}", "vni {vlan.vlan}", "vxlan vlan 3 vni 3"),
    Mutation(
        "RD of a VRF",
        "distinguisher=vrf.route_distinguisher,\n        imports",
        'distinguisher=vrf.route_distinguisher + "0",\n        imports',
        " / rd ",
    ),
    Mutation("RD of a VLAN", "FIRST_BRIDGED + vlan.vlan", "FIRST_BRIDGED - vlan.vlan", ":59997"),
    Mutation(
        "route target of a VRF",
        "imports=tuple(map(target_value, vrf.import_targets)),\n        exports",
        'imports=tuple(f"{target_value(target)}9" for target in vrf.import_targets),\n        exports',
        "route-target import evpn ",
    ),
    Mutation("route target of a VLAN", '{"both": target}', '{"both": target + "9"}', "route-target both 64512:100019"),
    Mutation(
        "source interface",
        ".address in addresses else",
        ".address not in addresses else",
        "only in eos.conf: interface Vxlan1 / vxlan source-interface Loopback0",
    ),
    Mutation(
        "families of a VRF", '"ipv6": "ipv6"}[family]', '"ipv6": "ip"}[family]', "ipv6 unicast-routing vrf tenant-1"
    ),
    Mutation("paths of a VRF", "ways = max(1, len(", "ways = max(1, 1 + len(", " / maximum-paths "),
    Mutation("MAC address of gateways", "(gateway.mac for", "(gateway.mac[::-1] for", "ip virtual-router mac-address"),
]
QOS = [
    Mutation(
        "headroom",
        "profile.headroom_bytes for profile in qos.profiles",
        "profile.headroom_bytes // 2 for profile in qos.profiles",
        "ingress headroom bytes ",
    ),
    Mutation("headroom pool", "qos.buffers.headroom / 100", "qos.buffers.headroom / 10", "headroom-pool limit bytes"),
    Mutation("DSCP map", "range(64)", "range(63)", " to traffic-class 0"),
    Mutation(
        "PFC priority",
        "traffic_class.pfc_priority for traffic_class in qos",
        "traffic_class.pfc_priority + 1 for traffic_class in qos",
        "priority-flow-control priority 4 no-drop",
    ),
    Mutation("ECN threshold", "marking.first // 1000", "marking.first // 1024", "minimum-threshold 976 kbytes"),
    Mutation(
        "share of a queue",
        "bandwidth percent {traffic_class",
        "bandwidth percent 1{traffic_class",
        "bandwidth percent 15",
    ),
    Mutation(
        "queue of a class",
        "to tx-queue {traffic_class.queue}",
        "to tx-queue {traffic_class.queue % 6}",
        "6 to tx-queue 0",
    ),
    Mutation("dynamic threshold", "alpha(index)", "alpha(index + 1)", "priority-group 3 threshold 2"),
    Mutation("watchdog", "poll_interval * watchdog.detection", "poll_interval + watchdog.detection", "timeout 0.102"),
    Mutation(
        "DSCP of a class",
        "to dscp {traffic_class.dscp[0]}",
        "to dscp {traffic_class.dscp[-1] + 1}",
        "class 3 to dscp 27",
    ),
    Mutation(
        "what is watched",
        "watched and traffic_class.lossless",
        "watched and not traffic_class.lossless",
        "queue 3 / bandwidth guaranteed",
    ),
    Mutation("unit of the watchdog", "milliseconds / 1000", "milliseconds / 100", "recovery-time 2"),
    Mutation("ports that are paused", "not any(port in", "any(port in", "service-profile ROCE-UNPAUSED"),
    Mutation("size of the flowset table", "bit_length() - 8", "bit_length() - 7", "dynamic flow-set-size 2"),
]
PORTS = [
    Mutation("MTU", "port.mtu - ETHERNET_HEADER", "port.mtu", "mtu 9216"),
    Mutation("lanes", "min(port.lanes", "max(port.lanes", "speed 100g-8"),
    Mutation("loopback addresses", "ends - sources", "sources - ends", "interface Loopback"),
    Mutation(
        "VLAN of a port",
        "gateway.vlan_name: gateway.vlan for",
        "gateway.vlan_name: gateway.vlan + 1 for",
        "access vlan",
    ),
    Mutation("timers of router advertisements", "{timers.max_interval}", "{timers.min_interval}", "ra interval"),
    Mutation("IS-IS metric", "isis metric {link.metric}", "isis metric {link.metric + 1}", "isis metric 11"),
    Mutation("which prefixes IS-IS advertises", "gateway.port or gateway.name", 'gateway.port or ""', "isis passive"),
    Mutation("cipher", 'f"cipher {CIPHERS[profile.cipher_suite]}"', '"cipher aes128-gcm"', "cipher aes128-gcm"),
    Mutation("key of MACsec", "key {profile.key_name} 0", "key {profile.key_name}", "key 50 <secret:macsec-cak>"),
    Mutation("severity of syslog", "order[max(levels)]", "order[min(levels)]", "logging trap errors"),
]
MUTATIONS = [*POLICIES, *BGP, *VXLAN, *QOS, *PORTS]


@cache
def everything() -> DeviceConfig:
    """One switch with a little of all: no example has path colors, an overlay, bridging, routers outside and IS-IS at once."""
    leaf, tenant = config("h100-rlb", "stripe1-leaf1"), config("evpn-gpu-isolation", "stripe1-leaf1")
    weka, east = config("aidc-three-fabrics", "frontend-weka-leaf1"), config("dci-50km", "ptx-east")
    assert leaf.qos
    assert tenant.overlay
    assert east.isis
    paused, long = leaf.qos.profiles
    grave = replace(leaf.management.syslog[0], severity="error")
    plain = replace(grave, severity="info", host="172.20.0.5")
    wanted = (
        (leaf, ("Ethernet1/1", "Ethernet17/1")),
        (weka, ("Ethernet9/1", "Ethernet31/1")),
        (east, ("Ethernet2/1",)),
    )
    return replace(
        leaf,
        management=replace(leaf.management, syslog=(grave, plain)),
        interfaces=tuple(port for own, names in wanted for port in own.interfaces if port.name in names),
        gateways=(*leaf.gateways[:1], *weka.gateways),
        qos=replace(leaf.qos, profiles=(paused, replace(long, ports=("Ethernet1/1",)))),
        overlay=replace(tenant.overlay, endpoints=(TunnelEndpoint(Address("fd00:fffe::101"), None),)),
        vrfs=(*tenant.vrfs[:1], *weka.vrfs),
        mac_vrf=weka.mac_vrf,
        isis=replace(east.isis, passive=("Vlan2",)),
    )


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """AVD is asked once about the same data, to be fast: ``avd.json`` is the same whatever is broken in the renderer."""
    answers: dict[str, object] = {}

    def remembering(name: str, function: Callable[[object], object]) -> Callable[[object], object]:
        def answer(data: object) -> object:
            key = f"{name} {data!r}"
            if key not in answers:
                answers[key] = function(data)
            return answers[key]

        return answer

    with pytest.MonkeyPatch.context() as patch:
        for name in ("validate_structured_config", "get_device_config"):
            patch.setattr(pyavd, name, remembering(name, getattr(pyavd, name)))
        yield


@pytest.fixture
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mutation:
    mutation: Mutation = request.param
    parts = [f"{RENDERER}.{path.stem}" for path in sorted(Path(inspect.getfile(eos)).parent.glob("[!_]*.py"))]
    modules = [importlib.import_module(part) for part in (RENDERER, *parts, *MEANINGS)]
    [(module, source)] = [(one, text) for one in modules if mutation.old in (text := inspect.getsource(one))]
    assert source.count(mutation.old) == 1
    made: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(mutation.old, mutation.new), module.__name__, "exec"), made)  # noqa: S102 - the renderer's own code, broken in one place
    for name, function in made.items():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            monkeypatch.setattr(getattr(module, name), "__code__", function.__code__)
    return mutation


def test_what_is_not_broken_is_accepted() -> None:
    assert avd.validate({"leaf": eos.files(everything())}).findings == []


@pytest.mark.parametrize("broken", MUTATIONS, ids=lambda one: one.id, indirect=True)
def test_what_is_broken_is_found(broken: Mutation) -> None:
    found = avd.validate({"leaf": eos.files(everything())}).findings
    assert {one.id for one in found} == {"eos-avd-differs"}
    assert any(broken.seen in one.what for one in found), [one.what for one in found]


def test_only_names_are_shared() -> None:
    """``avd`` reads the device's configuration and the catalog, and takes nothing else but names."""
    allowed = ("railweave.systems.eos.avd", "railweave.systems.eos.names", "railweave.model.catalog")
    typed = ("railweave.model.device", "railweave.model.config.addresses")
    files = sorted((Path(inspect.getfile(names)).parent / "avd").glob("*.py"))
    assert files
    for file in files:
        tree = ast.parse(file.read_text())
        for_types = {one for guard in tree.body if isinstance(guard, ast.If) for one in ast.walk(guard)}
        for one in ast.walk(tree):
            home = "." * one.level + (one.module or "") + "." if isinstance(one, ast.ImportFrom) else ""
            found = [home + alias.name for alias in one.names] if isinstance(one, ast.Import | ast.ImportFrom) else []
            for source in found:
                known = (*allowed, *typed) if one in for_types else allowed
                assert source.startswith(known) or not source.startswith(("railweave", ".")), f"{file.name}: {source}"


def test_names_are_text() -> None:
    """Nothing is computed in the module that the two share, and nothing else of ours is reached through it."""
    values = [value for name, value in vars(names).items() if name.isupper()]
    texts = [text for value in values for text in (value.values() if isinstance(value, dict) else [value])]
    assert {type(text) for text in texts} == {str}
    assert "railweave." not in inspect.getsource(names)
