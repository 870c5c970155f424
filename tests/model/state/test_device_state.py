"""What devices say, read into one type: every system's reader against answers in the forms that public documents show."""

from __future__ import annotations

import dataclasses
import importlib
import json

import pytest

from railweave.model.device.build import device_config
from railweave.model.state.capture import read_capture
from railweave.model.state.device_state import DeviceState
from railweave.model.state.protocols import FamilyState, IsisAdjacency, NextHop, PacketFilter
from railweave.model.state.question import reads_only
from railweave.systems import system, systems
from railweave.systems.reading import read_state, read_states
from tests.conftest import example
from tests.model.state.samples.junos import reply

_FIXED = {"device", "system", "answered", "notes"}


def answers(nos: str) -> dict[str, str]:
    return importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS


def state(nos: str, **other: str | None) -> DeviceState:
    """The state of a system's sample, with other answers in the place of some, or without them."""
    texts = {name: text for name, text in (answers(nos) | other).items() if text is not None}
    return read_state("leaf1", nos, texts)


@pytest.mark.parametrize("nos", systems())
def test_a_field_is_read_or_listed_as_not_read(nos: str) -> None:
    found = state(nos)
    reader = system(nos).state
    assert reader is not None
    empty = {one.name for one in dataclasses.fields(found) if getattr(found, one.name) is None}
    fields = {one.name for one in dataclasses.fields(found)} - _FIXED
    assert empty == set(reader.NOT_READ) & fields
    assert found.notes == ()
    assert found.answered == set(answers(nos))


@pytest.mark.parametrize("nos", systems())
def test_nothing_answered_is_nothing_known(nos: str) -> None:
    found = read_state("leaf1", nos, {})
    assert {getattr(found, one.name) for one in dataclasses.fields(found) if one.name not in _FIXED} == {None}
    assert found.notes == ()


@pytest.mark.parametrize("nos", systems())
def test_what_a_reader_reads_is_asked_and_asking_changes_nothing(nos: str) -> None:
    network = example("evpn-gpu-isolation")
    config = device_config(network, network.switches[0].name, nos)
    config = dataclasses.replace(config, isis=device_config(example("dci-50km"), "ptx-east").isis)
    reader = system(nos).state
    assert reader is not None
    routes = [("default", "fc00:1:2:1::/64"), ("tenant-1", "10.0.0.0/24")]
    asked = [one for tables in (True, False) for one in reader.questions(config, routes, tables=tables)]
    for tables in (True, False):
        names = [one.name for one in reader.questions(config, routes, tables=tables)]
        assert len(set(names)) == len(names)
    names = [one.name for one in asked]
    read = {name for name in answers(nos) if "@" not in name}
    assert read <= set(names)
    assert "configuration" in names
    for one in asked:
        for protocol, words in one.asked.items():
            assert reads_only(protocol, words), words


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("ssh", "show version; reboot"),
        ("ssh", "show version | save /etc/passwd"),
        ("ssh", "show version\nreload now"),
        ("ssh", "vtysh -c 'configure terminal'"),
        ("ssh", "vtysh -c 'show version' -c 'clear bgp *'"),
        ("ssh", "sonic-db-cli CONFIG_DB DEL 'PORT|Ethernet0'"),
        ("ssh", "ip -j link set eth0 down"),
        ("ssh", "cat /etc/sonic/../shadow"),
        ("ssh", "show version > /tmp/x"),
        ("ssh", "show $(reboot)"),
        ("ssh", "sonic-cli -c 'show running-configuration | save config://x'"),
        ("ssh", "ip -j link delete eth0"),
        ("eapi", "configure"),
        ("eapi", "show version | append flash:x"),
        ("netconf", "request system reboot"),
        ("netconf", "show version</command><lock/>"),
        ("restconf", "operations/reboot?x"),
        ("restconf", "../operations/reboot"),
    ],
)
def test_what_is_not_known_to_read_only_is_not_asked(protocol, words) -> None:
    assert not reads_only(protocol, words)


def test_entries_of_arp() -> None:
    for nos, port in (("frr", "et-2-1"), ("eos", "Vlan10"), ("junos", "irb.2")):
        [entry] = state(nos).ipv4_neighbors or ()
        assert (entry.address[:7], entry.interface) == ("10.0.1.", port)


def test_filters_and_numbers_of_routes() -> None:
    named = {
        "frr": PacketFilter("table inet x, chain f", ("et-0-0", "et-1-0")),  # by the chain that it jumps to
        "sonic": PacketFilter("DATA", ("Ethernet0", "Ethernet4")),
        "eos": PacketFilter("DATA", ("Ethernet1/1",)),
        "junos": PacketFilter("DATA", ("et-0/0/0:0",)),
    }
    for nos, one in named.items():
        others = (PacketFilter("protect"),) if nos == "junos" else ()
        assert state(nos).filters == (one, *others)
    for nos in ("frr", "sonic"):
        assert state(nos).route_counts == {"default": {"ipv6": 4, "ipv4": 4}}
    assert state("junos").route_counts == {"default": {"ipv6": 4}}


def test_a_router_of_the_lab() -> None:
    found = state("frr")
    assert found.identity is not None
    assert (found.identity.host_name, found.identity.version) == ("stripe1-leaf1", "10.7.1")
    assert found.clock is not None
    assert found.clock.time == 1795376734
    assert found.interfaces is not None
    port = found.interfaces["et-0-0"]
    assert (port.admin_up, port.oper_up, port.speed_gbps, port.mtu) == (True, True, 10, 9202)
    assert (port.description, port.vrf, port.flaps) == ("spine1 et-0/0/0:0", "default", 0)
    assert port.errors.in_errors == 0
    assert port.errors.ecn_marked is None
    assert found.interfaces["irb.2"].vrf == "tenant-1"
    assert found.bgp is not None
    overlay, underlay = found.bgp
    assert (overlay.peer, overlay.interface, overlay.group) == ("fd00:fffe::5", None, "overlay")
    assert overlay.families == {"evpn": FamilyState(accepted=2, sent=2)}
    assert (underlay.interface, underlay.state, underlay.peer_as, underlay.bfd) == (
        "et-0-0",
        "established",
        4200000001,
        "up",
    )
    assert underlay.discovered
    assert underlay.host_name == "spine1"
    assert underlay.families == {"ipv6": FamilyState(accepted=2, sent=1)}
    assert underlay.policy_missing is False
    assert found.bfd is not None
    assert [(one.state, one.tx_ms, one.multiplier, one.detection_ms) for one in found.bfd] == [
        ("up", 300, 3, 900),
        ("up", 100, 3, 300),
    ]
    assert found.advertising is not None
    assert found.advertising["et-0-0"].sent
    assert found.ipv6_neighbors is not None
    assert found.ipv6_neighbors[0].state == "reachable"
    assert found.routes is not None
    (route,) = found.routes
    assert (route.prefix, route.vrf, route.protocol, route.installed) == ("fc00:1:2:101::/64", "tenant-1", "bgp", True)
    assert route.next_hops == (NextHop("fd00:fffe::3", "br20001", True, weight=1),)
    assert route.paths is not None
    assert [one.best for one in route.paths].count(True) == 1
    assert found.vnis is not None
    assert (found.vnis[20001].layer, found.vnis[20001].vrf, found.vnis[20001].up) == (3, "tenant-1", True)
    assert found.vrfs is not None
    assert found.vrfs["tenant-1"].route_distinguisher == "10.255.0.1:1"
    assert found.vrfs["tenant-1"].import_targets == found.vrfs["tenant-1"].export_targets == ("64512:20001",)
    assert found.evpn is not None
    assert (found.evpn.type2, found.evpn.type5) == (0, 4)


@pytest.mark.parametrize(("nos", "port"), [("frr", "et-0-0"), ("eos", "Ethernet1/1"), ("junos", "et-0/0/0:0")])
def test_adjacencies_of_isis(nos: str, port: str) -> None:
    found = read_state("router-a", nos, {"isis": answers(nos)["isis"]}).isis
    assert found is not None
    assert found[0] == IsisAdjacency(port, "router-b", "up", 2)
    assert [one.state for one in found[1:]] == (["initializing"] if nos == "frr" else [])


def test_a_route_that_a_router_has_not_is_one_without_next_hops() -> None:
    name = "route@default@fc99::_64"
    found = state("frr", **{name: "{}\n"})
    assert found.routes is not None
    assert next(one for one in found.routes if one.prefix == "fc99::/64").next_hops == ()
    refused = state("frr", **{name: "% VRF x not found\n"})
    assert refused.routes is not None
    assert "fc99::/64" not in {one.prefix for one in refused.routes}
    assert [one.question for one in refused.notes] == [name]


def test_a_switch_of_arista() -> None:
    found = state("eos")
    assert found.identity is not None
    assert (found.identity.model, found.identity.serial, found.identity.version) == (
        "DCS-7060X6-64PE",
        "HBG00000001",
        "4.33.2F",
    )
    assert found.clock is not None
    assert found.clock.synchronized
    assert found.commit is not None
    assert found.commit.pending
    assert found.alarms is not None
    assert [one.text for one in found.alarms] == ["temperature: temperatureCritical", "power supply 2: powerLoss"]
    assert found.neighbors is not None
    (heard,) = found.neighbors["Ethernet1/1"]
    assert (heard.system, heard.port) == ("spine1.example.net", "Ethernet5/1")
    assert found.interfaces is not None
    port = found.interfaces["Ethernet1/1"]
    assert port.addresses == ("fc00:1:1:1::1", "fe80::21c:73ff:fe00:1", "192.0.2.1", "198.51.100.1")
    assert (port.admin_up, port.oper_up, port.speed_gbps, port.lanes, port.mtu, port.flaps) == (
        True,
        True,
        400,
        4,
        9200,
        3,
    )
    assert (port.errors.in_errors, port.errors.in_discards, port.errors.in_crc, port.errors.in_resource) == (2, 7, 2, 9)
    assert (port.fec.corrected, port.fec.uncorrected, port.fec.pre_fec_ber) == (1200, 0, 3.2e-9)
    dark = found.interfaces["Ethernet2/1"]
    assert (dark.admin_up, dark.oper_up, dark.reason, dark.errors.in_errors) == (True, False, "errdisabled", None)
    assert found.optics is not None
    optic = found.optics["Ethernet1/1"]
    assert [one.rx_dbm for one in optic.lanes] == [-2.6, -2.7]
    assert (optic.rx_low_dbm, optic.vendor, optic.serial) == (-9.4, "Example Optics", "XYZ1")
    assert found.optics["Ethernet2/1"].present is False
    assert found.bgp is not None
    underlay, overlay = found.bgp
    assert (underlay.peer, underlay.interface, underlay.peer_as) == ("fe80::1", "Ethernet1/1", 4200000001)
    assert underlay.families == {"ipv6": FamilyState(received=36, accepted=34)}
    assert (overlay.peer, overlay.interface, overlay.state, overlay.established) == ("fd00::5", None, "active", False)
    assert underlay.flaps == 1
    assert found.bfd is not None
    assert [(one.interface, one.tx_ms, one.detection_ms) for one in found.bfd] == [("Ethernet1/1", 1000, 3000)]
    assert found.pfc is not None
    assert found.pfc["Ethernet1/1"][3].received == 812
    assert found.watchdog is not None
    assert found.watchdog["Ethernet1/1"][3].storming
    assert found.queues is not None
    queue = found.queues["Ethernet1/1"].egress[3]
    assert (queue.dropped, queue.ecn_marked, queue.sent) == (6, 48211, None)
    assert found.vrfs is not None
    assert (found.vrfs["tenant-1"].vni, found.vrfs["tenant-1"].interfaces) == (20001, ("Vlan2", "Ethernet3/1"))
    assert found.evpn is not None
    assert (found.evpn.type2, found.evpn.type5) == (1, 1)
    assert found.routes is not None
    known, missing = found.routes
    assert [one.interface for one in known.next_hops] == ["Ethernet1/1", "Ethernet2/1"]
    assert known.paths is not None
    assert (known.paths[0].local_preference, known.paths[0].large_communities) == (200, ("4200000001:1:2",))
    assert missing.next_hops == ()


def test_a_switch_of_juniper() -> None:
    found = state("junos")
    assert found.identity is not None
    assert (found.identity.model, found.identity.serial, found.identity.version) == (
        "qfx5240-64od",
        "AB123",
        "24.4R1.9-EVO",
    )
    assert found.identity.booted == 1763700000
    assert found.clock is not None
    assert (found.clock.time, found.clock.synchronized) == (1763701000, True)
    assert found.commit is not None
    assert (found.commit.user, found.commit.revision, found.commit.pending) == ("railweave", "re0-1763700900-41", True)
    assert found.alarms is not None
    assert [(one.severity, one.text) for one in found.alarms] == [("major", "PSU 1 Not Powered")]
    assert found.neighbors is not None
    assert {port: heard[0].port for port, heard in found.neighbors.items()} == {
        "et-0/0/0:0": "et-0/0/4:0",
        "et-0/0/0:1": "et-0/0/4:1",
    }
    assert found.interfaces is not None
    port = found.interfaces["et-0/0/0:0"]
    assert (port.speed_gbps, port.mtu, port.flaps, port.last_change) == (400, 9216, 5, 1763700400)
    assert (port.errors.in_resource, port.errors.ecn_marked, port.fec.mode, port.fec.uncorrected) == (
        3,
        48211,
        "FEC119",
        0,
    )
    assert found.interfaces["et-0/0/0:0.0"].addresses == ("fe80::9e5a:80ff:fe00:2",)
    assert port.addresses == ("fe80::9e5a:80ff:fe00:2",)
    assert found.interfaces["lo0"].mtu is None
    assert found.optics is not None
    optic = found.optics["et-0/0/0:0"]
    assert (optic.lanes[0].rx_dbm, optic.alarms, optic.serial) == (float("-inf"), ("laser-rx-power-low-alarm",), "OPT1")
    assert found.ipv6_neighbors is not None
    assert [(one.mac, one.state, one.interface) for one in found.ipv6_neighbors] == [
        ("9c:5a:80:00:00:01", "stale", "et-0/0/0:0"),
        (None, "incomplete", "et-0/0/0:1"),
    ]
    assert found.advertising is not None
    assert found.advertising["et-0/0/0:0"].heard[0].conflicts == ("ipv6-ra-mtu",)
    assert found.vrfs is not None
    assert found.vrfs["tenant-1"].import_targets == found.vrfs["tenant-1"].export_targets == ("64512:20001",)
    assert found.bgp is not None
    overlay, underlay = found.bgp
    assert (overlay.peer, overlay.state) == ("fd00::5", "active")
    assert (underlay.peer, underlay.interface, underlay.discovered) == ("fe80::9e5a:80ff:feef:a28f", "et-0/0/0:0", True)
    assert underlay.families == {"ipv6": FamilyState(received=36, accepted=35, sent=4, active=12)}
    assert (underlay.established_since, underlay.vrf) == (1763700700, "default")
    assert found.bfd is not None
    assert [(one.state, one.tx_ms, one.detection_ms) for one in found.bfd] == [("up", 1000, 3000)]
    assert found.pfc is not None
    assert {priority: (one.received, one.sent) for priority, one in found.pfc["et-0/0/0:0"].items()} == {
        0: (0, 0),
        3: (9, 8),
    }
    assert found.watchdog is not None
    assert found.watchdog["et-0/0/0:0"][4].storming is False
    assert found.queues is not None
    queue = found.queues["et-0/0/0:0"].egress[4]
    assert (queue.name, queue.sent, queue.ecn_marked, queue.peak_bytes) == ("NO-LOSS", 918, 12, 81920)
    assert found.routes is not None
    (route,) = found.routes
    assert [one.interface for one in route.next_hops] == ["et-0/0/0:0", "et-0/0/0:1"]
    assert route.paths is not None
    assert [(one.best, one.hidden, one.communities, one.aigp) for one in route.paths] == [
        (True, None, ("color:0:1",), 0),
        (False, "Color mismatch", (), None),
    ]


def test_xml_and_the_json_of_junos_read_alike() -> None:
    entry = {
        "peer-address": [{"data": "fd00::5+179"}],
        "peer-state": [{"data": "Established"}],
        "elapsed-time": [{"data": "5", "attributes": {"junos:seconds": "300"}}],
    }
    as_json = json.dumps({"bgp-information": [{"attributes": {"xmlns": "x"}, "bgp-peer": [entry]}]})
    as_xml = reply(
        "<bgp-information><bgp-peer><peer-address>fd00::5+179</peer-address><peer-state>Established</peer-state>"
        '<elapsed-time junos:seconds="300">5</elapsed-time></bgp-peer></bgp-information>'
    )
    one = state("junos", **{"bgp": as_json, "bgp-neighbors": None})
    other = state("junos", **{"bgp": as_xml, "bgp-neighbors": None})
    assert one.bgp == other.bgp
    assert one.bgp is not None
    assert one.bgp[0].peer == "fd00::5"


def test_a_switch_of_sonic() -> None:
    found = state("sonic")
    assert found.identity is not None
    assert (found.identity.model, found.identity.serial, found.identity.version) == (
        "Example-64x800G",
        "MT0001",
        "202505.1",
    )
    assert found.alarms is not None
    assert [one.text for one in found.alarms] == ["SYSTEM_READY|SYSTEM_STATE: DOWN"]
    assert found.neighbors is not None
    assert {port: (heard[0].system, heard[0].port) for port, heard in found.neighbors.items()} == {
        "Ethernet0": ("spine1", "Ethernet16"),
        "Ethernet8": (None, "00:1c:73:a0:fc:19"),
    }
    assert found.interfaces is not None
    assert set(found.interfaces) == {"Ethernet0", "Ethernet8", "Vlan2"}
    assert found.interfaces["Ethernet0"].addresses == ("fe80::21c:73ff:fe00:1",)
    assert found.interfaces["Vlan2"].addresses == ("fc00:1:1:1::1",)
    port = found.interfaces["Ethernet0"]
    assert (port.speed_gbps, port.lanes, port.mtu, port.flaps, port.fec.mode) == (400, 4, 9100, 3, "rs544")
    assert (port.errors.in_discards, port.fec.corrected) == (4, 100)
    assert found.interfaces["Ethernet8"].errors.in_errors is None
    assert found.optics is not None
    assert found.optics["Ethernet0"].cable_m == 3
    assert [(one.rx_dbm, one.tx_dbm) for one in found.optics["Ethernet0"].lanes] == [
        (-2.5, None),
        (float("-inf"), None),
    ]
    assert found.pfc is not None
    assert (found.pfc["Ethernet0"][3].received, found.pfc["Ethernet0"][3].sent) == (8, 9)
    assert found.queues is not None
    queues = found.queues["Ethernet0"]
    assert (queues.egress[3].ecn_marked, queues.egress[3].peak_bytes) == (48211, 81920)
    assert (queues.ingress[3].dropped, queues.ingress[3].peak_headroom_bytes) == (6, 1024)
    assert found.pools is not None
    assert found.pools["ingress_lossless_pool"].peak_bytes == 99999
    assert found.watchdog is not None
    assert found.watchdog["Ethernet0"][3].storming
    assert found.bgp
    assert found.routes


def test_a_switch_of_dell() -> None:
    found = state("dell_sonic")
    assert found.identity is not None
    assert (found.identity.host_name, found.identity.serial, found.identity.version) == (
        "stripe1-leaf1",
        "TH001",
        "4.5.0",
    )
    assert found.interfaces is not None
    port = found.interfaces["Eth1/1"]
    assert (port.admin_up, port.oper_up, port.mtu, port.errors.in_discards, port.fec.mode) == (
        True,
        False,
        9100,
        2,
        "FEC_RS",
    )
    assert found.neighbors is not None
    assert list(found.neighbors) == ["Eth1/1"]
    assert found.bgp is not None
    (session,) = found.bgp
    assert (session.interface, session.state, session.vrf) == ("Eth1/1", "established", "default")
    assert session.families == {"ipv6": FamilyState(received=36, accepted=34, sent=4)}
    assert found.queues is not None
    assert set(found.queues["Eth1/1"].egress) == {3}


@pytest.mark.parametrize("nos", systems())
def test_one_answer_that_is_garbage_takes_no_other_with_it(nos: str) -> None:
    whole = state(nos)
    for name in answers(nos):
        if name.startswith("configuration"):
            continue
        found = state(nos, **{name: "\x1b[2J<<%% [[ {"})
        assert {one.question for one in found.notes} == {name}
        lost = [one for one in dataclasses.fields(found) if getattr(found, one.name) != getattr(whole, one.name)]
        assert len(lost) <= 6, name
        assert not any("\x1b" in str(one) for one in found.notes)


def test_a_capture_made_by_hand_reads_as_one_that_was_collected(tmp_path) -> None:
    for nos, device in (("frr", "leaf1"), ("junos", "leaf2")):
        (tmp_path / device).mkdir()
        for name, text in answers(nos).items():
            (tmp_path / device / f"{name}.{'json' if text[0] in '{[' else 'txt'}").write_text(text)
    (tmp_path / "leaf2" / "bgp.txt").write_bytes(b"\xff\xfe\x00")
    found = read_states(read_capture(tmp_path), {"leaf1": "frr", "leaf2": "junos", "leaf3": "eos"})
    assert list(found) == ["leaf1", "leaf2"]
    assert found["leaf1"] == state("frr")
    assert {one.question for one in found["leaf2"].notes} == {"bgp"}


def test_a_system_that_nothing_reads_is_said() -> None:
    found = read_state("leaf1", "unheard-of", {"version": "x"})
    assert [str(one) for one in found.notes] == ["leaf1: : nothing reads the state of unheard-of"]
