from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from railweave.analysis.checks.checks import checks
from railweave.design.limits.headroom_terms import headroom
from railweave.model.catalog import catalog
from railweave.model.device.host import host_config
from railweave.model.findings import Finding
from railweave.model.network.model import Network
from railweave.outputs.rendering.network import server_files
from railweave.outputs.report.body import servers_decisions
from railweave.outputs.report.bom import bill
from railweave.outputs.report.decisions.addressing import management_decision
from railweave.outputs.report.decisions.fabric import decisions
from railweave.outputs.report.page import ABOUT, _subscription_tiles, applies, lab_notes_joined
from railweave.outputs.report.tables import table
from tests.conftest import designed, example

Report = Callable[[Network, Sequence[Finding]], str]

EVIL = '</script><img src=x onerror="alert(1)"><b>&'


class Page(HTMLParser):
    """What a browser would find: tags with their attributes, and the text of each section."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.data = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "input", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and self.tags[-1][1].get("id") == "tables":
            self.data += data
        elif not self.open or self.open[-1] not in {"script", "style"}:
            self.text += data

    def table(self, name: str) -> dict[str, Any]:
        return next(one for one in json.loads(self.data) if one["id"] == name)


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a coded table as the page reads them, by column title (a second column of a title gets a ``2``)."""
    titles: list[str] = []
    for column in found["columns"]:
        titles.append(column["title"] + ("2" if column["title"] in titles else ""))
    columns = [data if isinstance(data, list) else [data["d"][k] for k in data["i"]] for data in found["data"]]
    assert all(len(column) == found["rows"] for column in columns)
    return [dict(zip(titles, values, strict=True)) for values in zip(*columns, strict=True)]


def addresses(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Server, NIC and address of every row that the page makes."""
    result: list[tuple[str, str, str]] = []
    for nic, place, host in zip(rows(found["nics"]), found["segment"], found["hosts"], strict=True):
        segment = found["segments"][place]
        texts = [stem + host for _, stem, _ in segment] if isinstance(host, str) else [one[1] for one in host]
        result += [(nic["Server"], nic["NIC"], text) for text in texts]
    return result


def test_it_is_well_formed_and_loads_nothing(h100: Network, report: Report) -> None:
    html = report(h100, list(h100.findings))
    page = Page(html)
    assert page.open == []
    assert not [one for tag, one in page.tags if tag in {"img", "iframe", "object"} or "src" in one]
    assert [one["href"] for tag, one in page.tags if tag == "link"] == ["data:,"]
    policy = next(one["content"] for tag, one in page.tags if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert set(re.findall(r"https?://[^\"' <]*", html)) == {"http://www.w3.org/2000/svg"}


def test_it_is_the_same_every_time(h100: Network, report: Report) -> None:
    again = Network.from_json(h100.to_json())
    assert report(h100, list(h100.findings)) == report(again, list(again.findings))


def test_numbers_in_the_header(h100: Network, report: Report) -> None:
    html = report(h100, [])
    tiles = re.findall(r"<li><b>(.*?)</b><span>(.*?)</span></li>", html)
    assert [(value, re.sub("<[^>]*>", "", label)) for value, label in tiles] == [
        ("32", "GPUs"),
        ("4", "servers"),
        ("16", "leaves"),
        ("4", "spines"),
        ("96", "cables"),
        ("4", "path colors"),
        ("0.5:1", "undersubscribed"),
    ]
    assert '<span class="good">no errors, no warnings</span>' in html


def test_the_first_screen_says_what_comes_next(h100: Network, report: Report) -> None:
    wrong, doubtful = Finding("c", "error", "w", "three"), Finding("a", "warning", "w", "one")
    assert "This page describes a GPU network as it was designed" in report(h100, [])
    assert 'Next: bring the switches up in the order under <a href="#switches">' in report(h100, [])
    assert "Next: read 1 warning under" in report(h100, [doubtful])
    assert "Next: 1 error. Fix it before" in report(h100, [wrong, doubtful])


def test_terms_lead_to_what_they_mean(h100: Network, report: Report) -> None:
    html = report(h100, [])
    led = set(re.findall(r'href="#(term-[^"]*)"', html))
    assert {"term-path-color", "term-oversubscription"} <= led
    assert led <= set(re.findall(r'<dt id="([^"]*)"', html))


def test_warnings_are_in_the_header(h100: Network, report: Report) -> None:
    found = [
        Finding("a", "warning", "w", "one"),
        Finding("b", "warning", "w", "two"),
        Finding("c", "error", "w", "three"),
    ]
    assert '<span class="error">1 error</span><span class="warning">2 warnings</span></h1>' in report(h100, found)
    assert "</span></h1>" in report(h100, found[:2])
    assert "no errors" not in report(h100, found[:2])


def test_checks_are_named_where_they_have_anything_to_look_at() -> None:
    plain, tenants = example("h100-rlb"), example("evpn-functional")
    assert [one for one in checks() if not applies(one, plain)] == [
        "sonic-lint", "dell-lint", "eos-lint", "tenant-isolation", "network-reach", "no-vtep", "tenant-missing",
    ]  # fmt: skip
    assert applies("tenant-isolation", tenants)
    assert set(ABOUT) <= set(checks())


def test_every_link_in_the_navigation_has_its_section(h100: Network, report: Report) -> None:
    page = Page(report(h100, []))
    navigation = Page(report(h100, []).split("<nav", 1)[1].split(">", 1)[1].split("</nav>", 1)[0])
    targets = [one["href"] for tag, one in navigation.tags if tag == "a"]
    assert targets == [f"#{one['id']}" for tag, one in page.tags if tag == "section"]
    assert len(targets) == 12


def test_nothing_from_outside_is_markup(h100: Network, report: Report) -> None:
    finding = Finding("x", "error", EVIL, EVIL, EVIL, EVIL, EVIL, 1)
    page = Page(report(replace(h100, name=EVIL, description=EVIL), [finding]))
    assert not [one for tag, one in page.tags if tag in {"img", "b"} and one]
    assert page.text.count(EVIL) >= 3
    assert rows(page.table("findings"))[0]["What"] == EVIL


def test_notes_of_the_lab_file_are_one_row(h100: Network, report: Report) -> None:
    notes = [
        Finding("frr-no-qos", "info", "spine1 and 19 more", "frr.conf cannot express queues"),
        Finding("frr-no-ports", "info", "spine1 and 19 more", "frr.conf cannot express breakout"),
    ]
    page = Page(report(h100, [Finding("b", "error", "w", "two"), *notes]))
    error, note = rows(page.table("findings"))
    assert (error["Id"], note["Id"], note["Where"]) == ("b", "frr-*", "spine1 and 19 more")
    assert note["What"] == "lab file only: frr.conf cannot express queues; breakout"
    assert "1 error, 2 notes (2 about the lab's frr.conf in one row)." in page.text
    frr = replace(h100, switches=tuple(replace(one, nos="frr") for one in h100.switches))
    assert lab_notes_joined(frr, notes) == notes


def test_lengths_that_nobody_gave_are_said_to_be_defaults(h100: Network, report: Report) -> None:
    assert "all are the defaults (10 m to servers, 50 m between switches)" in Page(report(h100, [])).text
    first, *others = h100.cables
    measured = replace(h100, cables=(replace(first, length_m=12.0, measured=True), *others))
    assert f"1 of {len(h100.cables)} lengths are measured, the others as planned" in Page(report(measured, [])).text


def test_findings_come_errors_first(h100: Network, report: Report) -> None:
    found = [
        Finding("a", "info", "w", "one"),
        Finding("b", "error", "w", "two", "why", "fix", "h.yaml", 7),
        Finding("c", "warning", "w", "three"),
        Finding("d", "error", "w", "four"),
    ]
    page = Page(report(h100, found))
    shown = rows(page.table("findings"))
    assert [one["Id"] for one in shown] == ["b", "d", "c", "a"]
    assert shown[0] == {
        "Severity": "error", "Id": "b", "Where": "w", "Input": "h.yaml:7", "What": "two", "Why": "why", "Fix": "fix",
    }  # fmt: skip
    assert "2 errors, 1 warning, 1 note." in page.text


def test_cabling_table_is_the_cables(h100: Network, report: Report) -> None:
    found = rows(Page(report(h100, [])).table("cables"))
    assert len(found) == 96
    assert found[40] == {
        "From": "stripe1-leaf3", "Port": "et-0/0/0:0", "Lanes": "1-4", "Optic": "osfp-800g-2x400g-sr4",
        "To": "spine1", "Port2": "et-0/0/1:0", "Lanes2": "1-4", "Optic2": "osfp-800g-2x400g-sr4",
        "Speed": "400G", "Length": "50 m", "Path color": "s1-1 green",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["h100", "flat"])
def test_address_table_gives_every_address(name: str, request: pytest.FixtureRequest, report: Report) -> None:
    network: Network = request.getfixturevalue(name)
    found = Page(report(network, [])).table("addresses")
    wanted = [(one.name, nic.name, a.address) for one in network.servers for nic in one.nics for a in nic.addresses]
    assert addresses(found) == wanted
    assert found["rows"] == len(wanted)


def test_addresses_that_follow_no_rule_are_listed_in_full(h100: Network, report: Report) -> None:
    server = h100.servers[0]
    nic = server.nics[0]
    fixed = replace(nic.addresses[1], address="fc00:1:1:2::99", origin="override")
    changed = replace(nic, addresses=(nic.addresses[0], fixed, *nic.addresses[2:]))
    network = replace(h100, servers=(replace(server, nics=(changed, *server.nics[1:])), *h100.servers[1:]))
    found = Page(report(network, [])).table("addresses")
    assert found["hosts"][0][1] == ["s1-2 blue", "fc00:1:1:2::99", 64, "override"]
    assert isinstance(found["hosts"][1], str)
    assert ("H100-01", "gpu0_eth", "fc00:1:1:2::99") in addresses(found)


def test_switch_table_has_the_numbers(h100: Network, report: Report) -> None:
    found = rows(Page(report(h100, [])).table("switches"))
    assert len(found) == 20
    assert [one["Brought up"] for one in found] == [1] * 4 + [2] * 16
    assert found[4]["Name"] == "stripe1-leaf1"
    assert (found[4]["AS number"], found[4]["Router id"], found[4]["Management"]) == (
        4200001001,
        "10.255.0.1",
        "172.20.0.10/24",
    )


def test_a_column_is_coded_only_where_that_is_shorter() -> None:
    coded = table("t", (("A", "text"), ("B", "text"), ("C", "text")), [("x", n, "") for n in range(10)])
    assert [one["title"] for one in coded["columns"]] == ["A", "B"]
    assert coded["data"] == [{"d": ["x"], "i": [0] * 10}, list(range(10))]


def test_bill_of_h100_rlb_by_hand(h100: Network) -> None:
    found = {(one.kind, one.name): one.count for one in bill(h100)}
    assert found == {
        ("switch", "qfx5240-64od"): 16 + 4,
        ("server", "h100-8gpu-cx7"): 4,
        ("NIC", "connectx-7"): 4 * 8,
        # A leaf: et-0/0/16 is split for its two servers, and et-0/0/0 to et-0/0/3 lead to one spine each.
        # A spine: 16 leaves on the two channels of 8 ports.
        ("pluggable", "osfp-800g-2x400g-sr4"): 16 * (1 + 4) + 4 * 8,
        ("pluggable", "osfp-400g-sr4"): 4 * 8,
        ("fibre cable", "multimode fibre, 10 m"): 4 * 8,
        ("fibre cable", "multimode fibre, 50 m"): 16 * 4,
    }


def test_bill_says_what_to_order(h100: Network) -> None:
    found = {one.name: one.description for one in bill(h100)}
    # Each of 16 leaves has 4 uplinks, one to a cage (fill: spread).
    assert "64 of 112 carry fewer than 2 links" in found["osfp-800g-2x400g-sr4"]
    assert "OM4, crossover, MPO-12/APC" in found["multimode fibre, 50 m"]


def test_a_splitter_counts_once_for_its_switch_port(flat: Network) -> None:
    # Four leaves with two rails of three servers: six links on three ports each, the last assembly fully used.
    found = {(one.kind, one.name): one.count for one in bill(flat)}
    assert found["cable assembly", "osfp-800g-2x400g-dac"] == 4 * 3
    assert not [one for kind, one in found if kind in {"pluggable", "fibre cable"}]


def test_a_splitter_with_a_leg_to_spare_is_still_one(flat: Network) -> None:
    # node3 holds the fifth and sixth link of each leaf; its NIC of the sixth is unplugged, the assembly remains.
    used = [one for one in flat.cables if not (one.a.device == "node3" and one.b.channel == 1)]
    assert len(used) == 24 - 4
    found = {one.name: one.count for one in bill(replace(flat, cables=tuple(used)))}
    assert found["osfp-800g-2x400g-dac"] == 4 * 3


def test_headroom_is_the_sum_of_its_terms(h100: Network, report: Report) -> None:
    leaf = headroom(h100, h100.fabrics[0], "leaf")
    assert leaf is not None
    # 2 x 50 m at 0.66 c is 505.4 ns, 25,270 B at 400 Gb/s; 905 quanta of peer and 1080 ns of pipeline; packets of 9216 B take 37 cells.
    each = [round((flight + 57_920 + 54_000) * 37 * 254 / 9236) + 2 * 37 * 254 for flight in (25_270, 5_054)]
    assert [(one.kind, one.ports) for one in leaf.terms] == [("leaf-spine", 4), ("server", 2)]
    assert [one.port.need_bytes for one in leaf.terms] == pytest.approx(each, abs=2)
    assert leaf.need_bytes == 4 * leaf.terms[0].port.need_bytes + 2 * leaf.terms[1].port.need_bytes
    assert leaf.partition_bytes == 16_500_000
    assert leaf.fits
    html = report(h100, [])
    assert f"{leaf.need_bytes:,} B" in html
    assert "16,500,000 B" in html


@pytest.mark.scale
def test_headroom_is_compared_with_what_is_shared(large: Network) -> None:
    """128 cables of 50 m: 20.3 MB. A share of 24 % of 165 MB holds them, and of 84,206 KB too; a tenth of 165 MB does not."""
    spine = headroom(large, large.fabrics[0], "spine")
    assert spine is not None
    assert spine.need_bytes == 128 * spine.terms[0].port.need_bytes == pytest.approx(20.28e6, rel=0.001)
    assert spine.published_bytes == round(84_206 * 1024 / 10)
    assert not spine.fits
    card = next(one for one in decisions(large, large.fabrics[0]) if one.title == "Buffers and headroom")
    assert "headroom is too small on leaf" in card.chosen or "headroom is too small on stripe" in card.chosen
    assert "spine 8.62 MB (SHORT: needs 20.27)" in dict(card.facts)["By published defaults"]
    assert [(one.severity, one.where) for one in large.findings if one.id.startswith("headroom")] == [
        ("error", "stripe1-leaf1"),
        ("error", "spine1"),
    ]


def test_fewer_dedicated_buffers_leave_more_to_share() -> None:
    dedicated = catalog().switches["qfx5240-64od"].dedicated
    assert dedicated is not None
    # The output of `show class-of-service shared-buffer` in the same document: 23,135 and 25,964 KB dedicated, 113,162 shared.
    assert dedicated.shared_bytes(75, 55) // 1024 == pytest.approx(113_162, abs=2)
    assert dedicated.shared_bytes(None, None) == 84_206 * 1024


@pytest.mark.scale
def test_lengths_have_their_limits(large: Network, h100: Network) -> None:
    card = next(one for one in decisions(large, large.fabrics[0]) if one.title == "Cable lengths")
    server, fabric = card.grids[0].rows
    assert server[:4] == ("8,192 x server to leaf", "10 m", "0 of 8,192", "50 m (osfp-400g-sr4)")
    # 16.5 MB / 128 are 128,906 B, less than the 132,676 B that a cable of no length asks for
    assert fabric[4:] == ("no length (spine1 is short already)",) * 2
    assert card.grids[0].emphasis == (1,)
    assert "the planned length is all that the optic reaches" in card.chosen
    measured = replace(h100, cables=tuple(replace(one, measured=True) for one in h100.cables))
    card = next(one for one in decisions(measured, measured.fabrics[0]) if one.title == "Cable lengths")
    assert card.grids[0].emphasis == ()


@pytest.mark.scale
def test_thresholds_are_told_in_bytes(large: Network) -> None:
    facts = dict(next(one for one in decisions(large, large.fabrics[0]) if one.title == "Traffic classes").facts)
    # 80 % of 165 MB, over 128 ports; half of the pool for one port, a 129th for each of 128
    assert "1.03 MB, so 0.57 to 0.93 MB (assumed)" in facts["ECN marks"]
    assert "66.0 MB where one port is congested, 1.02 MB each where all 128 are" in facts["PFC pauses"]


@pytest.mark.scale
def test_management_says_what_is_a_default_and_what_is_missing(large: Network, h100: Network, report: Report) -> None:
    card = management_decision(h100)
    assert card.chosen == "management network 172.20.0.0/24"
    assert dict(card.facts)["Time (NTP)"] == "172.20.0.3"
    card = management_decision(large)
    assert (
        card.chosen
        == "management network 172.20.0.0/16, the default; no server for time, names, logs is in the fabric file"
    )
    assert dict(card.facts)["Gateway"] == "172.20.0.1, the first address of the pool, a default"
    assert "management network 172.20.0.0/24" in Page(report(h100, [])).text


def test_protection_is_told_where_the_file_has_it(tmp_path: Path) -> None:
    text = """
    name: small
    fabrics:
      backend:
        topology: {stripes: 1, spines: 2}
        leaf: {device: qfx5240-64od}
        underlay: {%s}
    servers: [{names: "gpu-[1-2]", model: h100-8gpu-cx7}]
    management: {%s}
    """
    security = (
        "aaa: {radius: [{host: 172.20.0.6, key: secret:radius}]}, control_plane: {management_prefixes: [172.20.0.0/24]}"
    )
    given = f"snmp: {{community: secret:community, clients: [172.20.0.0/24]}}, security: {{{security}}}"
    sessions = "graceful_restart: true, ttl_security: true, authentication: {key: secret:bgp}"
    network, _ = designed(tmp_path, text % (sessions, given))
    facts = dict(management_decision(network).facts)
    assert facts["Login servers"] == "RADIUS 172.20.0.6; local users where none answers"
    assert facts["Login limits"].startswith("3 wrong passwords, 5 minutes of lockout")
    assert facts["Control plane"].startswith("filtered: managed from 172.20.0.0/24")
    assert facts["Layer-2 server ports"] == "shut where a bridge is heard, floods up to 1 %"
    assert facts["SNMP"] == "community (v2c, read-only) for 172.20.0.0/24"
    routing = dict(next(one for one in decisions(network, network.fabrics[0]) if one.title == "Routing").facts)
    assert routing["Authentication"] == "TCP MD5, by a key that is a secret"
    assert {"Graceful restart", "Hop limit"} <= routing.keys()
    without, _ = designed(tmp_path, text % ("", ""))
    said = {
        name for one in (management_decision(without), *decisions(without, without.fabrics[0])) for name, _ in one.facts
    }
    assert not {"Login servers", "Login limits", "Control plane", "Graceful restart", "Authentication"} & said


def test_servers_are_told_once_per_model(h100: Network, report: Report) -> None:
    [card] = servers_decisions(h100)
    assert card.chosen == "4 servers with 8 H100 GPUs, 8 NICs"
    facts = dict(card.facts)
    assert "DSCP 26, priority 3, traffic class byte 106, lossless" in facts["QoS"]
    assert "Congestion notification: DSCP 48, priority 6, strict" in facts["QoS"]
    assert facts["Jobs"] == "NCCL, 4 queue pairs a connection, net plug-in railweave"
    environment, firmware, files = card.grids
    assert ("NCCL_IB_TC", "106") in {row[:2] for row in environment.rows}
    assert ("CNP_DSCP_P1", "48") in {row[:2] for row in firmware.rows}
    listed = [name for _, names in files.rows for name in names.split(", ")]
    config = host_config(h100, h100.servers[0].name)
    assert sorted(f"hosts/H100-01/{name}" for name in listed) == sorted(server_files(config))
    assert "32 of 32 MAC addresses are placeholders" in Page(report(h100, [])).text
    three = servers_decisions(example("aidc-three-fabrics"))
    assert [one.title for one in three] == ["dgx-a100-aidc", "dgx-h100-aidc", "weka-storage", "headend"]


def test_headroom_that_is_short_is_marked(h100: Network, report: Report) -> None:
    fabric = h100.fabrics[0]
    qos = fabric.spine.qos.model_copy(update={"buffers": fabric.spine.qos.buffers.model_copy(update={"headroom": 1})})
    changed = replace(fabric, spine=replace(fabric.spine, qos=qos))
    network = replace(h100, fabrics=(changed,))
    card = next(one for one in decisions(network, changed) if one.title == "Buffers and headroom")
    assert card.chosen == "headroom is too small on spine1"
    assert card.grids[-1].emphasis
    assert 'class="short"' in report(network, [])
    assert 'class="short"' not in report(h100, [])


def test_decisions_name_what_was_chosen(h100: Network, flat: Network) -> None:
    titles = [one.title for one in decisions(h100, h100.fabrics[0])]
    assert titles == [
        "Topology", "Ports", "Addressing", "Routing", "Path colors", "Load balancing", "Traffic classes",
        "Buffers and headroom", "MTU", "Cable lengths",
    ]  # fmt: skip
    cards = {one.title: one for one in decisions(h100, h100.fabrics[0])}
    assert cards["Topology"].chosen == "rail-optimised, 2 stripes of 8 leaves, 4 spines"
    assert cards["Ports"].grids[0].rows == (
        ("stripe1-leaf1", "servers", "2", "et-0/0/16:0 … et-0/0/16:1", "1 of 64"),
        ("stripe1-leaf1", "spines", "4", "et-0/0/0:0 … et-0/0/3:0", "4 of 64"),
        ("spine1", "leaves", "16", "et-0/0/0:0 … et-0/0/7:1", "8 of 64"),
    )
    assert ("BFD", "1000 ms x 3: a silent neighbor is down after 3,000 ms") in cards["Routing"].facts
    assert cards["Path colors"].grids[0].rows[3] == ("orange", "color:0:4", "1", "spine4")
    plain = {one.title: one for one in decisions(flat, flat.fabrics[0])}
    assert plain["Path colors"].chosen == "none"


TWO_FABRICS = """
name: t
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, links_per_spine: 1}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: ecmp}
    naming: {leaf: "{fabric}-leaf{leaf}", spine: "{fabric}-{spine}"}
  storage:
    nics: storage
    addressing: {server_pool: "fd02::/16"}
    topology: {stripes: 1, spines: 1, links_per_spine: 1, oversubscription: 2}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: ecmp}
    naming: {leaf: "{fabric}-leaf{leaf}", spine: "{fabric}-{spine}"}
servers: [{names: "gpu-[1-2]", model: dgx-h100}]
"""


def test_fabrics_with_different_oversubscription_have_a_tile_each(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, TWO_FABRICS)
    assert _subscription_tiles(network) == [
        ("1:1", "oversubscription, backend"),
        ("2:1", "oversubscription, storage"),
    ]
    alike, _ = designed(
        tmp_path, TWO_FABRICS.replace("spines: 1, links_per_spine: 1, oversubscription: 2", "spines: 2")
    )
    assert _subscription_tiles(alike) == [("1:1", "oversubscription")]
