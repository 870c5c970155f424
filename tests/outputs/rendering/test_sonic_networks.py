"""SONiC with what three fabrics and two sites ask for: layer-2 networks, external routers, IS-IS, MACsec, proxy ARP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.errors import InputError
from railweave.model.config.sections import flat
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.outputs.folder.designing import design_file
from railweave.systems.dell_sonic import render as dell_sonic
from railweave.systems.dell_sonic.lint import lint as lint_dell
from railweave.systems.sonic import render as sonic
from railweave.systems.sonic.lint import lint
from railweave.systems.sonic.names import routed_name
from tests.conftest import EXAMPLES, example
from tests.retarget import STAND_IN, retargeted

THREE, LONG = "aidc-three-fabrics", "dci-50km"
AFTER_ALL = "202611"
"""A release after the branches that have been read: master's."""


def config(name: str, device: str, nos: str = "sonic") -> DeviceConfig:
    return device_config(retargeted(name, nos), device, nos)


def routing(found: DeviceConfig) -> list[str]:
    return flat(sonic.frr.tree(found))


def test_a_layer_2_network_is_a_vlan_with_a_vni_and_a_shared_gateway() -> None:
    """The example's file: network compute is VLAN 3 with 10.10.3.0/24; its gateways have one MAC address."""
    found = replace(config(THREE, "frontend-ai-leaf1"), release=AFTER_ALL)
    tables = sonic.tables(found)
    assert found.mac_vrf is not None
    [vlan] = found.mac_vrf.vlans
    assert {"vlan": "Vlan3", "vni": str(vlan.vni)} in tables["VXLAN_TUNNEL_MAP"].values()
    assert tables["VLAN_INTERFACE"]["Vlan3"] == {"vrf_name": "Vrf-jobs", "static_anycast_gateway": "true"}
    assert "Vlan3|10.10.3.1/24" in tables["VLAN_INTERFACE"]
    assert tables["SAG"] == {"GLOBAL": {"gateway_mac": found.gateways[0].mac}}
    servers = [one.name for one in found.interfaces if one.kind == "server"]
    assert {key for key in tables["VLAN_MEMBER"] if key.startswith("Vlan3|")} == {f"Vlan3|{one}" for one in servers}
    lines = routing(found)
    assert any(line.endswith("advertise-all-vni") for line in lines)
    target = vlan.route_target.removeprefix("target:")
    assert any(f"vni {vlan.vni}" in line and line.endswith(f"route-target import {target}") for line in lines)


def test_leaves_agree_on_a_network_and_its_gateway() -> None:
    names = ("ai", "weka")
    one, other = (sonic.tables(replace(config(THREE, f"frontend-{name}-leaf1"), release=AFTER_ALL)) for name in names)
    assert one["SAG"] == other["SAG"]
    shared = set(one["VXLAN_TUNNEL_MAP"]) & set(other["VXLAN_TUNNEL_MAP"])
    assert any(one["VXLAN_TUNNEL_MAP"][key]["vlan"] == "Vlan3" for key in shared)


def test_external_routers_are_in_the_vrf_of_their_tenant() -> None:
    """The example's file: wan over a tag of 299, admin without one."""
    found = config(THREE, "frontend-weka-leaf1")
    tables, lines = sonic.tables(found), routing(found)
    [tagged, plain] = [one for one in found.interfaces if one.kind == "external"]
    name = f"{tagged.name}.299"
    assert tables["VLAN_SUB_INTERFACE"] == {
        name: {"vrf_name": "Vrf-jobs", "vlan": "299", "admin_status": "up"},
        f"{name}|10.200.0.2/31": {},
    }
    assert tables["INTERFACE"][plain.name] == {"vrf_name": "Vrf-weka"}
    assert f"{plain.name}|10.200.0.4/31" in tables["INTERFACE"]
    assert tables["PORT"][plain.name]["admin_status"] == tables["PORT"][tagged.name]["admin_status"] == "up"
    assert any(line.startswith(f"interface {name} vrf Vrf-jobs") for line in lines)
    in_vrf = [line for line in lines if " vrf Vrf-jobs " in line and line.startswith("router bgp")]
    assert any(line.endswith("neighbor 10.200.0.3 remote-as 65000") for line in in_vrf)
    assert any(line.endswith("neighbor wan route-map from-Vrf-jobs-wan in") for line in in_vrf)


def test_a_sub_interface_has_a_name_that_linux_takes() -> None:
    port = next(one for one in config(THREE, "frontend-weka-leaf1").interfaces if one.kind == "external")
    assert routed_name(replace(port, name="Ethernet504", unit_vlan=299)) == "Ethernet504.299"
    assert routed_name(replace(port, name="Ethernet504", unit_vlan=4000)) == "Eth504.4000"
    assert routed_name(replace(port, name="Ethernet504", unit_vlan=None)) == "Ethernet504"


@pytest.mark.parametrize(
    ("id_", "table", "row", "old", "new"),
    [
        ("sonic-reference", "VLAN_SUB_INTERFACE", "", "Vrf-jobs", "Vrf-nobody"),
        ("sonic-frr-interface", "VLAN_SUB_INTERFACE", "|10.200.0.2/31", "", ""),
        ("sonic-vni", "VXLAN_TUNNEL_MAP", "Vlan3", "", ""),
    ],
)
def test_what_is_missing_is_seen(id_: str, table: str, row: str, old: str, new: str) -> None:
    """A VRF that is not there, an address that was taken away, a network whose VNI leads nowhere."""
    found = config(THREE, "frontend-weka-leaf1")
    tables = sonic.tables(found)
    assert lint("leaf", tables, sonic.frr.tree(found)) == []
    [key] = [one for one in tables[table] if one.endswith(row) and (row or "|" not in one)]
    if old:
        assert tables[table][key]["vrf_name"] == old
        tables[table][key]["vrf_name"] = new
    else:
        del tables[table][key]
    assert id_ in {one.id for one in lint("leaf", tables, sonic.frr.tree(found))}


def test_isis_is_in_frr_and_that_the_image_has_to_run_it_is_said() -> None:
    found = config(LONG, "ptx-east")
    lines = routing(found)
    assert found.isis is not None
    assert any(line.startswith("interface Loopback0") and line.endswith("isis passive") for line in lines)
    assert any(line.startswith("router isis underlay") and line.endswith(f"net {found.isis.net}") for line in lines)
    for link in found.isis.ports:
        assert any(f"interface {link.interface}" in line and "network point-to-point" in line for line in lines)
    for port in found.isis.passive:
        assert any(f"interface {port}" in line and line.endswith("isis passive") for line in lines)
    assert "sonic-isisd" in {one.id for one in sonic.gaps(found)}


def test_macsec_is_a_profile_on_the_long_links_alone() -> None:
    """The example's file: gcm-aes-xpn-256 (the default), key name 50, filled up as the model asks for."""
    found = config(LONG, "ptx-east")
    tables = sonic.tables(found)
    assert tables["MACSEC_PROFILE"] == {
        "interconnect": {
            "cipher_suite": "GCM-AES-XPN-256",
            "primary_cak": "<secret:macsec-cak>",
            "primary_ckn": "50" + 62 * "0",
            "policy": "security",
        }
    }
    assert tables["FEATURE"]["macsec"] == {"state": "enabled"}
    on = {name for name, row in tables["PORT"].items() if row.get("macsec") == "interconnect"}
    assert on == {one.name for one in found.interfaces if one.between_sites}
    assert {"sonic-macsec-key", "sonic-macsec-name"} <= {one.id for one in sonic.gaps(found)}


def test_long_links_do_not_pause() -> None:
    tables = sonic.tables(config(LONG, "ptx-east"))
    paused = {name for name, row in tables["PORT_QOS_MAP"].items() if "pfc_enable" in row}
    assert paused == {name for name in tables["PFC_WD"] if name != "GLOBAL"}
    assert paused == {one.name for one in config(LONG, "ptx-east").interfaces if one.kind == "server"}


def test_proxy_arp_is_on_vlans_and_said_of_ports() -> None:
    on_port = config(LONG, "ptx-east")
    assert "sonic-no-proxy-arp" in {one.id for one in sonic.gaps(on_port)}
    leaf = config("h100-rlb", "stripe1-leaf1")
    asked = replace(leaf, gateways=tuple(replace(one, proxy_arp=True) for one in leaf.gateways))
    rows = sonic.tables(asked)["VLAN_INTERFACE"]
    assert all(row["proxy_arp"] == "enabled" for key, row in rows.items() if "|" not in key)
    assert "sonic-no-proxy-arp" not in {one.id for one in sonic.gaps(asked)}


def block(commands: str, header: str) -> list[str]:
    """What stands below a section at the top, with the spaces of its depth less one."""
    lines = commands.splitlines()
    start = lines.index(header) + 1
    return [line[1:] for line in lines[start : lines.index("exit", start)]]


def test_dell_has_networks_and_external_routers() -> None:
    found = config(THREE, "frontend-weka-leaf1", "dell_sonic")
    text = dell_sonic.files(found)["sonic.cli"]
    assert found.mac_vrf is not None
    vni = next(one.vni for one in found.mac_vrf.vlans if one.vlan == 3)
    assert "ip anycast-address 10.10.3.1/24" in block(text, "interface Vlan 3")
    assert f"ip anycast-mac-address {found.gateways[0].mac}" in text.splitlines()
    assert f"map vni {vni} vlan 3" in block(text, "interface vxlan vtep")
    [tagged, plain] = [one for one in found.interfaces if one.kind == "external"]
    assert block(text, f"interface {tagged.name}.299")[1:] == [
        "encapsulation dot1q vlan-id 299", "ip vrf forwarding Vrf-jobs", "ip address 10.200.0.2/31",
    ]  # fmt: skip
    assert {"ip vrf forwarding Vrf-weka", "ip address 10.200.0.4/31"} <= set(block(text, f"interface {plain.name}"))
    [router] = [line for line in text.splitlines() if line.endswith(" vrf Vrf-jobs") and line.startswith("router bgp")]
    inside = block(text, router)
    assert inside[inside.index("neighbor 10.200.0.3") + 1 :][:2] == [" remote-as 65000", " peer-group wan"]
    assert "  route-map to-Vrf-jobs-wan out" in inside
    assert lint_dell("leaf", dell_sonic.tree(found)) == []


def test_dell_answers_arp_and_says_that_it_does_not_encrypt() -> None:
    found = replace(device_config(example(LONG), "ptx-east", "dell_sonic"), isis=None)
    ports = [one.port for one in found.gateways]
    assert ports
    for port in ports:
        assert "ip proxy-arp enable remote-only" in block(dell_sonic.files(found)["sonic.cli"], f"interface {port}")
    assert "dell_sonic-no-macsec" in {one.id for one in dell_sonic.gaps(found)}


def test_isis_on_dell_is_refused_with_what_to_set_instead() -> None:
    with pytest.raises(InputError) as error:
        design_file(EXAMPLES / f"{LONG}.yaml", device=[f"{STAND_IN}:dell_sonic"])
    [problem] = error.value.problems
    assert problem.what == f"no public document shows IS-IS with dell_sonic, the system of {STAND_IN}"
    assert "protocol: bgp" in problem.fix
    assert problem.place.line > 0
    errors = [
        one.id
        for one in dell_sonic.gaps(device_config(example(LONG), "ptx-east", "dell_sonic"))
        if one.severity == "error"
    ]
    assert errors == ["dell_sonic-no-isis"]
