"""SONiC's files of the examples against values of their sources, of SONiC's own platforms and of the design's arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.sections import flat
from railweave.model.config.sections import parse as parse_frr
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from railweave.systems.frr.tree import to_text as to_frr
from railweave.systems.sonic import render as sonic
from railweave.systems.sonic.names import vrf_names
from railweave.systems.sonic.tables import Tables, parse, to_text
from tests.conftest import SMALL, designed
from tests.retarget import retargeted


@cache
def config(device: str, name: str = "h100-rlb") -> DeviceConfig:
    return device_config(retargeted(name, "sonic"), device)


@cache
def tables(device: str, name: str = "h100-rlb") -> Tables:
    return parse(sonic.files(config(device, name))["config_db.json"])


def frr(device: str, name: str = "h100-rlb") -> list[str]:
    return flat(parse_frr(sonic.files(config(device, name))["frr.conf"]))


LEAF = tables("stripe1-leaf1")


@pytest.mark.parametrize("name", SMALL)
def test_what_is_printed_reads_back_and_prints_the_same(name: str) -> None:
    network = retargeted(name, "sonic")
    for switch in network.switches[:1] + network.switches[-1:]:
        files = sonic.files(device_config(network, switch.name))
        found = parse(files["config_db.json"])
        assert found == {table: rows for table, rows in sonic.tables(config(switch.name, name)).items() if rows}
        assert found == json.loads(files["config_db.json"])
        assert to_text(found) == files["config_db.json"]
        assert to_frr(parse_frr(files["frr.conf"])) == files["frr.conf"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"PORT": {"Ethernet0": {"speed": 400}}}', "PORT|Ethernet0 speed"),
        ('{"PORT": {"Ethernet0": []}}', "PORT|Ethernet0 is not an object"),
        ('{"PORT": {"a": {}, "a": {}}}', "'a' stands twice"),
        ('{\n"PORT": {\n', "line 3"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(text: str, line: str) -> None:
    with pytest.raises(RenderError, match=line.replace("|", r"\|")):
        parse(text)


def test_ports_have_the_lanes_of_the_published_platform() -> None:
    """device/dell/x86_64-dell_z9864f-r0/Dell-Z9864f-O64/port_config.ini: Ethernet8 17-24, Ethernet256 25-32, Ethernet504 481-488."""
    ports = LEAF["PORT"]
    assert ports["Ethernet256"]["lanes"] == "25,26,27,28,29,30,31,32"
    assert ports["Ethernet504"]["lanes"] == "481,482,483,484,485,486,487,488"
    assert (ports["Ethernet8"]["lanes"], ports["Ethernet12"]["lanes"]) == ("17,18,19,20", "21,22,23,24")
    assert (ports["Ethernet12"]["speed"], ports["Ethernet12"]["index"], ports["Ethernet12"]["subport"]) == (
        "400000",
        "2",
        "2",
    )
    assert LEAF["BREAKOUT_CFG"]["Ethernet8"] == {"brkout_mode": "2x400G"}
    assert LEAF["BREAKOUT_CFG"]["Ethernet256"] == {"brkout_mode": "1x800G"}
    lanes = [lane for row in ports.values() for lane in str(row["lanes"]).split(",")]
    assert len(lanes) == len(set(lanes)) == 512
    assert ports["Ethernet12"]["admin_status"] == "down", "no cable is on it"
    assert ports["Ethernet8"]["admin_status"] == "up"
    assert LEAF["DEVICE_METADATA"]["localhost"]["hwsku"] == "Dell-Z9864f-O64"


def test_a_400g_port_of_four_lanes_is_called_after_them() -> None:
    """device/dell/x86_64-dell_z9664f-r0: Ethernet4 has lanes 9-12; the third port is Ethernet8."""
    network = designed_on("z9664f-on")
    found = sonic.tables(device_config(network, "leaf1"))
    assert found["PORT"]["Ethernet4"]["lanes"] == "9,10,11,12"
    used = [name for name, row in found["PORT"].items() if row["admin_status"] == "up"]
    assert used == [f"Ethernet{4 * port}" for port in range(1, 17)]


@cache
def designed_on(model: str) -> Network:
    from railweave.outputs.folder.designing import design_file
    from tests.conftest import EXAMPLES

    return design_file(EXAMPLES / "mi300x-leaf-31.yaml", device=[f"leaf={model}:sonic"])[0]


def test_classes_are_on_the_queues_of_the_guide() -> None:
    """Thor2 guide, section 2.5.2: DSCP 26 on traffic class and queue 3, 48 on 6; PFC priority 3."""
    classes = LEAF["DSCP_TO_TC_MAP"]["roce"]
    assert (classes["26"], classes["48"], classes["56"], classes["0"]) == ("3", "6", "7", "0")
    assert len(classes) == 64
    assert LEAF["TC_TO_QUEUE_MAP"]["roce"] == {str(number): str(number) for number in range(8)}
    assert {tc for tc, group in LEAF["TC_TO_PRIORITY_GROUP_MAP"]["roce"].items() if group != "0"} == {"3"}
    assert LEAF["MAP_PFC_PRIORITY_TO_QUEUE"]["roce"]["3"] == "3"
    port = LEAF["PORT_QOS_MAP"]["Ethernet128"]
    assert (port["pfc_enable"], port["pfcwd_sw_enable"], port["dscp_to_tc_map"]) == ("3", "3", "roce")
    assert LEAF["PFC_WD"]["Ethernet128"] == {"action": "drop", "detection_time": "200", "restoration_time": "200"}
    assert LEAF["PFC_WD"]["GLOBAL"] == {"POLL_INTERVAL": "100"}
    assert LEAF["SCHEDULER"][str(LEAF["QUEUE"]["Ethernet128|6"]["scheduler"])] == {"type": "STRICT"}
    assert LEAF["SCHEDULER"][str(LEAF["QUEUE"]["Ethernet128|3"]["scheduler"])] == {"type": "DWRR", "weight": "85"}
    assert "Ethernet132|3" in LEAF["QUEUE"]
    assert "Ethernet12|3" not in LEAF["QUEUE"], "nothing on ports without a cable"


def test_headroom_is_that_of_the_design() -> None:
    """Room for what arrives after XOFF, in whole cells of 254 bytes; two frames of 37 cells and XON 3556 as the platform has."""
    name = str(LEAF["BUFFER_PG"]["Ethernet0|3"]["profile"])
    profile = LEAF["BUFFER_PROFILE"][name]
    port = next(one for one in config("stripe1-leaf1").interfaces if one.name == "Ethernet0")
    table = catalog().switches["z9864f-on"].buffer.headroom
    assert table is not None
    assert name == f"pg_lossless_400000_{port.length_m:.0f}m_profile"
    row, of_table, xoff = table.rows[400], table.at(400, port.length_m), int(str(profile["xoff"]))
    assert of_table is not None
    assert row[40] < of_table <= xoff < row[300], "a cable of 50 m"
    assert int(str(profile["xoff"])) % 254 == 0
    assert (profile["size"], profile["xon_offset"], profile["dynamic_th"]) == ("18796", "3556", "0")
    pools = {name: int(str(row["size"])) for name, row in LEAF["BUFFER_POOL"].items()}
    assert pools["ingress_lossless_pool"] + pools["ingress_lossy_pool"] <= 165_000_000
    assert int(str(LEAF["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"])) == pytest.approx(16_500_000, abs=254)
    assert "CABLE_LENGTH" not in LEAF


def test_thresholds_count_from_alpha_one() -> None:
    """SONiC's dynamic_th is the power of two of alpha, -8 to 7 (sonic-buffer-profile.yang); index 7 is alpha 1."""
    plain = config("stripe1-leaf1")
    assert plain.qos is not None
    buffers = replace(plain.qos.buffers, ingress_dynamic_threshold=10)
    found = sonic.tables(replace(plain, qos=replace(plain.qos, buffers=buffers)))
    name = str(found["BUFFER_PG"]["Ethernet0|3"]["profile"])
    assert found["BUFFER_PROFILE"][name]["dynamic_th"] == "3"


def test_links_without_addresses_use_link_local_ones_and_frr_advertises() -> None:
    assert LEAF["INTERFACE"] == {f"Ethernet{8 * port}": {"ipv6_use_link_local_only": "enable"} for port in range(4)}
    assert LEAF["FEATURE"]["radv"] == {"state": "disabled"}
    assert LEAF["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"
    lines = frr("stripe1-leaf1")
    assert "interface Vlan2 / ipv6 nd prefix fc00:1:1:1::/64 2592000 604800" in lines
    assert "interface Vlan2 / ipv6 nd ra-lifetime 1800" in lines
    assert "interface Ethernet0 / no ipv6 nd suppress-ra" in lines
    assert not any(" address " in line and "interface" in line for line in lines), (
        "SONiC gives interfaces their addresses"
    )


def test_vlan_2_has_the_four_gateways_of_the_source() -> None:
    keys = {f"Vlan2|fc00:1:1:{color}::1/64" for color in (1, 2, 3, 4)}
    assert set(LEAF["VLAN_INTERFACE"]) == {"Vlan2", *keys}
    assert LEAF["VLAN"]["Vlan2"]["vlanid"] == "2"
    assert set(LEAF["VLAN_MEMBER"]) == {"Vlan2|Ethernet128", "Vlan2|Ethernet132"}


def test_path_colors_are_carried_as_on_frr() -> None:
    lines = frr("stripe1-leaf1")
    assert "bgp large-community-list standard path-green seq 5 permit 4200000001:1:1" in lines
    assert any(line.endswith("/ neighbor Ethernet0 interface remote-as 4200000001") for line in lines)
    assert any(line.endswith("/ neighbor Ethernet0 peer-group spine-green") for line in lines)
    assert "route-map from-green permit 10 / set local-preference 200" in lines


def test_tenants_have_a_vrf_a_tunnel_and_a_vlan_for_each_vni() -> None:
    found = tables("stripe1-leaf1", "evpn-server-isolation")
    vrfs = config("stripe1-leaf1", "evpn-server-isolation").vrfs
    names = vrf_names(config("stripe1-leaf1", "evpn-server-isolation"))
    assert {name: row["vni"] for name, row in found["VRF"].items()} == {names[one.name]: str(one.vni) for one in vrfs}
    assert all(name.startswith("Vrf") and len(name) <= 15 for name in found["VRF"])
    for row in found["VXLAN_TUNNEL_MAP"].values():
        interface = found["VLAN_INTERFACE"][str(row["vlan"])]
        assert found["VRF"][str(interface["vrf_name"])]["vni"] == row["vni"]
    lines = frr("stripe1-leaf1", "evpn-server-isolation")
    first = vrfs[0]
    assert f"vrf {names[first.name]} / vni {first.vni}" in lines
    assert any(line.startswith("router bgp ") and line.endswith(f"/ rd {first.route_distinguisher}") for line in lines)


def test_numbered_links_have_their_addresses() -> None:
    found = tables("stripe1-leaf1", "evpn-server-isolation")["INTERFACE"]
    assert found["Ethernet0"] == {}
    assert sum(key.startswith("Ethernet0|10.25") and key.endswith("/31") for key in found) == 1


def test_management_is_in_a_vrf_and_secrets_are_references() -> None:
    assert LEAF["MGMT_VRF_CONFIG"] == {"vrf_global": {"mgmtVrfEnabled": "true"}}
    [(key, row)] = LEAF["MGMT_INTERFACE"].items()
    assert (key.startswith("eth0|172.20.0."), row) == (True, {"gwaddr": "172.20.0.1"})
    assert LEAF["NTP_SERVER"] == {"172.20.0.3": {"iburst": "on"}}
    assert LEAF["SYSLOG_SERVER"]["172.20.0.4"] == {"port": "514", "vrf": "mgmt", "severity": "notice"}
    assert LEAF["SNMP_COMMUNITY"] == {"<secret:snmp-community>": {"TYPE": "RO"}}


def test_own_statements_are_merged_listed_and_refused_where_they_cannot_be_read() -> None:
    extra = '{"PORT": {"Ethernet0": {"mtu": "9100"}}, "CRM": {"Config": {"polling_interval": "300"}}}\nrouter bgp 4200001001\n bgp log-neighbor-changes\n'
    changed = replace(config("stripe1-leaf1"), extra=extra)
    found = sonic.tables(changed)
    assert (found["PORT"]["Ethernet0"]["mtu"], found["PORT"]["Ethernet0"]["speed"]) == ("9100", "400000")
    assert "bgp log-neighbor-changes" in sonic.files(changed)["frr.conf"]
    ids = [finding.id for finding in sonic.gaps(changed)]
    assert (ids.count("extra-statement"), ids.count("extra-routing")) == (3, 1)
    with pytest.raises(RenderError):
        sonic.check_extra('{"PORT": {')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('\n\n{"PORT": {\n', 4),
        ('{\n"PORT": {}\n}\nrouter bgp 1\n\tneighbor x\n', 5),
        ("router bgp 1\n\tneighbor x\n", 2),
        ('{"PORT": {}}\n\tneighbor x\n', 2),
    ],
)
def test_a_mistake_in_own_statements_has_its_line_in_the_whole_text(text: str, line: int) -> None:
    with pytest.raises(RenderError) as caught:
        sonic.check_extra(text)
    assert caught.value.line == line


def test_what_has_no_place_is_said() -> None:
    ids = {finding.id for finding in sonic.gaps(config("stripe1-leaf1"))}
    assert ids >= {
        "sonic-no-load-balancing", "sonic-no-logins", "sonic-no-ra-interval", "sonic-certificate", "sonic-strict-cap",
    }  # fmt: skip
    spine = {finding.id for finding in sonic.gaps(config("spine1", "evpn-gpu-isolation"))}
    assert "sonic-ipv6-tunnel" not in spine
    leaf = {finding.id for finding in sonic.gaps(config("stripe1-leaf1", "evpn-gpu-isolation"))}
    assert {"sonic-ipv6-tunnel", "sonic-no-ra-routes"} <= leaf


def test_a_secret_is_put_in_as_json_has_it(tmp_path: Path) -> None:
    from railweave.outputs.folder.rendering import with_secrets

    text = sonic.files(config("stripe1-leaf1"))["config_db.json"]
    hidden = 'a "quoted\\ word'
    found = parse(with_secrets("devices/leaf/config_db.json", text, {"snmp-community": hidden}, "sonic"))
    assert found["SNMP_COMMUNITY"] == {hidden: {"TYPE": "RO"}}


def test_a_role_without_lossless_classes_has_no_pause(tmp_path: Path) -> None:
    text = """\
        name: one
        fabrics:
          backend:
            topology: {stripes: 1, leaves_per_stripe: 1}
            leaf: {device: z9864f-on, nos: sonic}
            qos: {classes: {no-loss: {lossless: false, pfc_priority: null, dscp: [26], ecn: {}}}}
        servers: [{names: "host[1-2]", model: h100-8gpu-cx7}]
        """
    network, _ = designed(tmp_path, text)
    found = sonic.tables(device_config(network, network.switches[0].name))
    assert "PFC_WD" not in found
    assert not any("lossless" in name for name in found["BUFFER_POOL"])
    assert not any("pfc_enable" in row for row in found["PORT_QOS_MAP"].values())
