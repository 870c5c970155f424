"""Runbooks: the values are those of the device, counted here in another way than the runbook counts them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.analysis.expect.device import expected_routing
from railweave.design import design
from railweave.model.device.build import device_config
from railweave.model.intent.reading.source import read_source
from railweave.model.network.model import Network
from railweave.outputs.folder import steps as build_pages
from railweave.systems import system, systems
from railweave.systems.frr import runbook as frr
from railweave.systems.sonic.names import vrf_names
from tests.conftest import EXAMPLES, example
from tests.dual_stack import dual
from tests.external_port import shared_port
from tests.retarget import retargeted


def written(network: Network) -> dict[str, str]:
    subject = Subject.of(network)
    with build_pages.pages(network, subject.configs, subject.routes) as found:
        return found()[0]


@pytest.fixture(scope="module")
def h100() -> Network:
    return design(read_source(EXAMPLES / "h100-rlb.yaml"))[0]


@pytest.fixture(scope="module")
def pages(h100: Network) -> dict[str, str]:
    return written(h100)


def section(page: str, title: str) -> str:
    """The part of a page under a heading, numbered or not."""
    return re.split(rf"(?m)^#+ (?:\d+\. )?{re.escape(title)}$", page)[1].split("\n#")[0]


def cells(text: str) -> list[list[str]]:
    """The rows of the table in a text, without its heading."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_switch_has_one(h100: Network, pages: dict[str, str]) -> None:
    assert pages.keys() == {f"runbook/{switch.name}.md" for switch in h100.switches}
    for name, page in pages.items():
        assert page.startswith(f"# {Path(name).stem}\n")
        assert page.count("```") % 2 == 0


def test_sessions_of_a_leaf(pages: dict[str, str]) -> None:
    found = section(pages["runbook/stripe1-leaf1.md"], "BGP sessions")
    assert "Groups: 4  Peers: 4  Down peers: 0" in found
    assert "local AS 4200001001, router id 10.255.0.1" in found
    assert "Active as in its last column" in found
    # 15 other leaves with a prefix in each of 4 path colors, of which this spine's is used; its own 4 go up.
    assert cells(found) == [
        [f"spine-{color}", f"%et-0/0/{k}:0.0", f"spine{k + 1}", str(4200000001 + k), "60", "4", "15"]
        for k, color in enumerate(("green", "blue", "red", "orange"))
    ]


def test_sessions_of_a_spine(h100: Network, pages: dict[str, str]) -> None:
    found = section(pages["runbook/spine2.md"], "BGP sessions")
    assert "Peers: 16  Down peers: 0" in found
    asns = {switch.name: str(switch.asn) for switch in h100.switches if switch.role == "leaf"}
    assert {row[2]: row[3] for row in cells(found)} == asns
    assert {(row[4], row[5], row[6]) for row in cells(found)} == {("4", "60", "4")}


def test_ports_are_what_lldp_must_show(h100: Network, pages: dict[str, str]) -> None:
    for name in ("stripe2-leaf8", "spine4"):
        page = pages[f"runbook/{name}.md"]
        wanted = [
            (here.port, there.device, there.port)
            for cable in h100.cables
            for here, there in ((cable.a, cable.b), (cable.b, cable.a))
            if here.device == name
        ]
        assert sorted(tuple(row[:3]) for row in cells(section(page, "Ports"))) == sorted(wanted)
        others = len({there for _, there, _ in wanted if not there.startswith("H100")})
        assert f"{others} switches seen" in page


def test_a_path_color_leaves_by_its_own_port(pages: dict[str, str]) -> None:
    rows = cells(section(pages["runbook/stripe1-leaf1.md"], "Routes to another leaf"))
    assert rows == [
        [f"fc00:2:1:{k}::/64", color, f"et-0/0/{k - 1}:0.0"]
        for k, color in enumerate(("green", "blue", "red", "orange"), 1)
    ]


def test_quality_of_service_is_the_device_s_own(pages: dict[str, str]) -> None:
    page = pages["runbook/stripe1-leaf1.md"]
    found = {row[0]: row for row in cells(section(page, "Classes, ECN"))}
    assert found["NO-LOSS"][1:] == [
        "4", "26 (011010)", "no-loss, PFC priority 3", "low, at least 85 %", "55 % to 90 % fill, up to 100 %",
    ]  # fmt: skip
    assert found["CNP"][4] == "strict-high, at most 5 %"
    assert "ingress: lossless 80 %, headroom 10 %, lossy 10 %, dynamic threshold 7" in page
    # 10 % of the 84,206 KB that a QFX5240 shares as delivered; 2 ports of 10 m and 4 of 50 m need 137,823 and 158,392 B each.
    buffers = section(page, "Buffer partitions")
    assert "Shared Buffer about 84,206 KB" in buffers
    assert "Lossless Headroom 8,420 KB" in buffers
    assert f"at least {-(-(2 * 137_823 + 4 * 158_392) // 1024)} KB" in buffers
    assert cells(section(page, "PFC per port")) == [
        ["pfc-10m", "10 m", "9216", "2 ports"],
        ["pfc-50m", "50 m", "9216", "4 ports"],
    ]
    assert "valid 2,592,000 s, preferred 604,800 s, every 200 to 600 s" in page
    assert len(cells(section(page, "Server prefixes"))) == 4
    assert "### 9. Server prefixes" not in pages["runbook/spine1.md"]


def test_every_cable_end_has_one_label(h100: Network, pages: dict[str, str]) -> None:
    labels = [line for page in pages.values() for line in section(page, "Cable labels").splitlines() if " > " in line]
    ends = [
        f"{here.device} {here.port} > {there.device} {there.port}, {cable.length_m:g} m"
        for cable in h100.cables
        for here, there in ((cable.a, cable.b), (cable.b, cable.a))
    ]
    assert sorted(labels) == sorted(ends)


def test_every_port_s_module_is_looked_at(h100: Network, pages: dict[str, str]) -> None:
    for name, modules, links in (("stripe1-leaf1", 5, 6), ("spine1", 8, 16)):
        found = section(pages[f"runbook/{name}.md"], "Modules and error correction, all ports")
        assert "show interfaces diagnostics optics" in found
        assert f"light on {links} optical links" in found
        assert cells(found) == [["osfp-800g-2x400g-sr4", str(modules), str(links), "2 x 400GBASE-SR4, twin MPO-12"]]
        assert sum(name in {one.a.device, one.b.device} for one in h100.cables) == links


def test_a_color_of_several_uplinks_is_used_from_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(ONE_STRIPE, encoding="utf-8")
    found = section(written(design(read_source(file))[0])["runbook/stripe1-leaf1.md"], "BGP sessions")
    assert "Active may count one with several next hops on one of their sessions alone" in found
    # 7 other leaves; a color is 4 of the 8 uplinks, and each of its sessions has all of the color's prefixes.
    assert {row[6] for row in cells(found)} == {"7"}


def test_order_is_spines_first(pages: dict[str, str]) -> None:
    order = section(pages["runbook/stripe2-leaf1.md"], "Order")
    assert (
        "1. The management network 172.20.0.0/24 with its gateway 172.20.0.1, and its servers: time 172.20.0.3" in order
    )
    assert "2. 4 spines, spine1 first" in order
    assert "3. 16 leaves, stripe1-leaf1 first" in order
    assert "**This switch is number 9 of them.**" in order


def test_what_waits_for_servers_is_said(pages: dict[str, str]) -> None:
    leaf = section(pages["runbook/stripe2-leaf1.md"], "Order")
    assert "Junos keeps an IRB down until one port of its VLAN is up" in leaf
    assert "expect server ports down and 0 in place of the prefix counts" in leaf
    assert "server ports down" not in section(pages["runbook/spine1.md"], "Order")


def blocks(text: str) -> list[list[str]]:
    """The commands of each block of a text."""
    return [found.split("\n") for found in re.findall(r"```\n(.*?)\n```", text, re.DOTALL)]


def test_each_commit_waits_for_what_was_seen_before_it(h100: Network, pages: dict[str, str]) -> None:
    load = section(pages["runbook/spine3.md"], "Load")
    copied, checked, trial, login, commit = blocks(load)
    assert copied == ["scp devices/spine3/junos.conf root@ADDRESS:/var/tmp/spine3.conf"]  # netops comes with the file
    assert checked[-1] == "commit check"
    assert trial == ["commit confirmed 10"]
    assert login == [f"ssh netops@{h100.switch('spine3').management_address.partition('/')[0]}"]
    assert commit == ["commit"]
    assert "from the console" in load


def test_statements_never_tried_are_said_before_the_commit(h100: Network, pages: dict[str, str]) -> None:
    colored = Subject.of(h100).configs["spine1"].bgp
    assert colored is not None
    assert any(group.fabric_color for group in colored.groups)
    load = section(pages["runbook/spine1.md"], "Load")
    assert load.index("never tried on a device") < load.index("commit confirmed")


ONE_STRIPE = """
name: one
fabrics: {backend: {topology: {stripes: 1, spines: 2, links_per_spine: 4}, leaf: {device: qfx5240-64od}, paths_per_nic: 2}}
servers: [{names: "gpu-[1-2]", model: h100-8gpu-cx7}]
"""


def test_in_one_stripe_routes_lead_to_a_leaf_of_another_rail(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(ONE_STRIPE, encoding="utf-8")
    network = design(read_source(file))[0]
    found = section(written(network)["runbook/stripe1-leaf1.md"], "Routes to another leaf")
    assert "prefixes of stripe1-leaf2" in found
    assert [len(row[2].split(", ")) for row in cells(found)] == [4, 4]


def test_frr_has_its_own_commands(tmp_path: Path) -> None:
    text = (EXAMPLES / "h100-rlb.yaml").read_text(encoding="utf-8")
    changed = text.replace("release: 25.4R1", 'nos: frr, release: "10.3"'.replace(", ", "\n      "))
    assert changed.count("nos: frr") == 2
    file = tmp_path / "frr.yaml"
    file.write_text(changed, encoding="utf-8")
    network = design(read_source(file))[0]
    page = written(network)["runbook/stripe1-leaf1.md"]
    assert "show bgp ipv6 unicast summary" in page
    assert "show ipv6 nd ra-interfaces" in page
    assert "vtysh -C -f /etc/frr/frr.conf" in page
    assert "junos" not in page.lower()
    rows = cells(section(page, "BGP sessions"))
    assert [row[1:4] for row in rows] == [[f"et-{k}-0", f"spine{k + 1}", str(4200000001 + k)] for k in range(4)]


@pytest.mark.parametrize(
    ("nos", "target"),
    [
        ("junos", "target:64512:20001"),
        ("eos", "64512:20001"),
        ("sonic", "64512:20001"),
        ("dell_sonic", "64512:20001"),
        ("frr", "64512:20001"),
    ],
)
def test_route_targets_have_the_form_of_the_system(nos: str, target: str) -> None:
    """The runbook writes them as the configuration of the same switch does."""
    network = retargeted("evpn-gpu-isolation", nos)
    config = device_config(network, "stripe1-leaf1")
    (row, *_) = cells(section(written(network)["runbook/stripe1-leaf1.md"], "Tenants"))
    assert row[3] == target
    assert target in "\n".join(system(nos).files(config).values())


def test_tenants_of_a_leaf_and_what_their_tables_must_hold() -> None:
    """Two rails of each tenant on this leaf in two stripes: 2 prefixes of its own and 2 of the other stripe's leaf."""
    pages = written(example("evpn-gpu-isolation"))
    leaf = pages["runbook/stripe1-leaf1.md"]
    assert cells(section(leaf, "Tenants")) == [
        ["tenant-1", "20001", "10.255.0.1:1", "target:64512:20001", "2", "2"],
        ["tenant-2", "20002", "10.255.0.1:2", "target:64512:20002", "2", "2"],
    ]
    assert "show evpn ip-prefix-database l3-context tenant-1" in section(leaf, "Tenants")
    # 2 links to each of 4 spines below, and a session to each of them above.
    assert "Groups: 2  Peers: 12  Down peers: 0" in section(leaf, "BGP sessions")
    assert "12 sessions up" in section(leaf, "BFD")
    over = cells(section(leaf, "Overlay sessions"))
    assert [row[1] for row in over] == ["spine1", "spine2", "spine3", "spine4"]
    spine = pages["runbook/spine1.md"]
    assert "4 sessions of the group overlay" in section(spine, "Overlay sessions")
    assert "Tenants" not in re.findall(r"(?m)^#+ (?:\d+\. )?(.*)$", spine)


def test_tenants_in_frr_have_their_own_commands() -> None:
    network = example("evpn-gpu-isolation")
    config = device_config(network, "stripe1-leaf1", "frr")
    expected = expected_routing(network, config, Subject.of(network).routes)
    checks = {check.title: check for check in frr.checks(network, config, expected)}
    sessions, tenants = checks["Overlay sessions"], checks["Tenants"]
    assert sessions.commands == ("show bgp l2vpn evpn summary",)
    assert "show bgp vrf tenant-1 ipv6 unicast" in tenants.commands
    assert [row[:2] for row in tenants.rows] == [("tenant-1", 20001), ("tenant-2", 20002)]


@pytest.mark.parametrize("nos", systems())
def test_every_line_of_every_runbook_can_be_printed(nos: str) -> None:
    """A name in braces that nothing has a value for is an error at the first switch that would print it: all are tried here."""
    book, printed = system(nos).runbook, set[str]()
    assert book is not None
    for network in (retargeted("h100-rlb", nos), dual("tenants", nos), shared_port(nos)):
        subject = Subject.of(network)
        for name in ("stripe1-leaf1", network.switches[-1].name):
            config = subject.configs[name]
            checks = book.checks(network, config, expected_routing(network, config, subject.routes))
            printed.update(check.title for check in checks)
            texts = [part for check in checks for part in (check.title, *check.commands, *check.points)]
            texts += [part for words, commands in book.load(config) for part in (words, *commands)]
            assert not [text for text in texts if not text.strip() or re.search(r"\{[?!]?\w|\bNone\b", text)]
    assert {"BGP sessions", "Overlay sessions", "Tenants", "External sessions", "Server prefixes"} - printed <= {
        "External sessions" if nos == "junos" else ""
    }


SONICS = ("sonic", "dell_sonic")


def test_every_system_has_a_runbook() -> None:
    assert [nos for nos in systems() if system(nos).runbook is None] == []


@pytest.mark.parametrize("nos", SONICS)
def test_sonic_s_values_are_those_of_its_files(nos: str) -> None:
    network = retargeted("h100-rlb", nos)
    page = written(network)["runbook/stripe1-leaf1.md"]
    config = device_config(network, "stripe1-leaf1")
    assert config.qos is not None
    ports = [one.name for one in config.fabric_interfaces()]
    assert [row[1:] for row in cells(section(page, "BGP sessions"))] == [
        [port, f"spine{k + 1}", str(4200000001 + k), "60", "4", "15"] for k, port in enumerate(ports)
    ]
    assert [row[2] for row in cells(section(page, "Routes to another leaf"))] == ports
    assert len(cells(section(page, "Server prefixes"))) == 4
    assert "4 switches seen" in section(page, "Cabling, by LLDP")
    assert "MTU 9202, without the Ethernet header" in page or "MTU 9202 on every port, without" in page
    text = "\n".join(system(nos).files(config).values())
    classes = cells(section(page, "Classes, ECN" if nos == "sonic" else "Classes, ECN, PFC"))
    assert [row[1] for row in classes] == sorted(str(one.queue) for one in config.qos.classes.values())
    assert "48" in {row[2] for row in classes}
    for found in ("9202", str(config.management_address.address), "4200001001"):
        assert found in text


def test_sonic_s_buffer_profiles_are_those_of_the_file() -> None:
    network = retargeted("h100-rlb", "sonic")
    page = written(network)["runbook/stripe1-leaf1.md"]
    files = system("sonic").files(device_config(network, "stripe1-leaf1"))
    wanted = json.loads(files["config_db.json"])
    groups = [row["profile"] for key, row in wanted["BUFFER_PG"].items() if key.endswith("|3")]
    rows = cells(section(page, "PFC and buffers"))
    assert {row[0]: (row[1], row[2], int(row[3])) for row in rows} == {
        name: (wanted["BUFFER_PROFILE"][name]["size"], wanted["BUFFER_PROFILE"][name]["xoff"], groups.count(name))
        for name in set(groups)
    }
    dog = wanted["PFC_WD"]["Ethernet0"]
    assert f"detection {dog['detection_time']} ms, restoration {dog['restoration_time']} ms" in page


@pytest.mark.parametrize("nos", SONICS)
@pytest.mark.parametrize("name", ["evpn-server-isolation", "mi300x-leaf-24"])
def test_sonic_s_pages_of_tenants_and_of_one_leaf(nos: str, name: str) -> None:
    network = retargeted(name, nos)
    pages = written(network)
    assert len(pages) == len(network.switches)
    for name, page in pages.items():
        config = device_config(network, Path(name).stem)
        assert ("Tenants" in page) == bool(config.vrfs)
        assert page.count("```") % 2 == 0
        if config.vrfs:
            assert [row[0] for row in cells(section(page, "Tenants"))] == list(vrf_names(config).values())


def test_sonic_says_which_daemons_run_and_what_the_chip_hashes() -> None:
    """supervisord.conf.j2 of docker-fpm-frr; switchorch.cpp of sonic-swss leaves the hash as it is where the chip lacks a field."""
    network = retargeted("h100-rlb", "sonic")
    page = written(network)["runbook/stripe1-leaf1.md"]
    services = section(page, "Services")
    assert "FRRouting runs zebra, bgpd, bfdd" in services
    assert "RM_SET_SRC" in services
    assert "starts no" not in services
    [fields] = json.loads(system("sonic").files(device_config(network, "stripe1-leaf1"))["config_db.json"])[
        "SWITCH_HASH"
    ].values()
    assert ", ".join(fields["ecmp_hash"]) in section(page, "Hash of next-hop groups")
    assert "SONiC itself starts no isisd" in section(
        written(retargeted("dci-50km", "sonic"))["runbook/ptx-west.md"], "Services"
    )


def test_sonic_asks_its_routing_daemons_in_vtysh() -> None:
    page = written(retargeted("evpn-server-isolation", "sonic"))
    for text in page.values():
        commands = [
            line
            for block in re.findall(
                r"```\n(.*?)```", text.split("## After loading")[1].split("## Cable labels")[0], re.DOTALL
            )
            for line in block.splitlines()
        ]
        assert all(line.startswith(("show ", "vtysh -c 'show ")) for line in commands)
        assert any("l2vpn evpn summary" in line for line in commands)


ASKED = {  # how a system is asked for the table of the first tenant's VRF, and for external sessions
    "eos": ("show ip route vrf tenant-1", "show bgp ipv4 unicast summary vrf red"),
    "frr": ("show bgp vrf tenant-1 ipv4 unicast", "show bgp vrf red ipv4 unicast summary"),
    "sonic": ("show bgp vrf Vrf-tenant-1 ipv4 unicast", "show bgp vrf Vrf-red ipv4 unicast summary"),
    "dell_sonic": ("show ip route vrf Vrf-tenant-1", "show bgp ipv4 unicast vrf Vrf-red summary"),
}


@pytest.mark.parametrize("nos", ASKED)
def test_steps_about_tenants_ask_the_vrfs_that_are_there(nos: str) -> None:
    network = dual("tenants", nos)
    page = written(network)["runbook/stripe1-leaf1.md"]
    assert ASKED[nos][0] in section(page, "Tenants")
    assert len(cells(section(page, "Overlay sessions"))) == 2
    assert ASKED[nos][1] in section(written(shared_port(nos))["runbook/stripe1-leaf1.md"], "External sessions")
    # Tenants' prefixes are in no default VRF: the tunnel endpoints of their leaf are.
    [ends] = [one.endpoints for one in network.switches if one.name == "stripe2-leaf1"]
    assert [row[0] for row in cells(section(page, "Routes to another leaf"))] == [f"{one.address}/128" for one in ends]
    # Three loopbacks of other leaves and two of spines, each used from the links to it; none of the tenants' prefixes.
    assert all(int(row[6]) <= int(row[4]) for row in cells(section(page, "BGP sessions")))
    if nos != "dell_sonic":
        assert "6 sessions up" in section(page, "BFD"), "four on links, two of the overlay"


@pytest.mark.parametrize("nos", ["eos", "frr", "sonic", "dell_sonic"])
def test_both_families_are_asked_for(nos: str) -> None:
    page = written(dual("plain", nos))["runbook/stripe1-leaf1.md"]
    sessions, ways = section(page, "BGP sessions"), section(page, "Routes to another leaf")
    assert all(f"show bgp {family} unicast summary" in sessions for family in ("ipv4", "ipv6"))
    assert "of both families together" in sessions
    assert "show ip route" in ways
    assert "show ipv6 route" in ways
    assert not re.search(r"(ipv4 unicast|show ip route) fd", page)


def test_designed_leaks_are_no_leaks_to_stop_at(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    text = (EXAMPLES / "evpn-server-isolation.yaml").read_text()
    assert "tenant-1: {" in text
    file.write_text(text.replace("tenant-1: {", "tenant-1: {leaks: [tenant-2], ", 1), encoding="utf-8")
    page = written(design(read_source(file))[0])["runbook/stripe1-leaf1.md"]
    assert "tenant-1 takes in those of tenant-2" in section(page, "Tenants")
