"""Which release has what: tables and fields by branch, platforms by branch, daemons by tables."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railweave.live.lab.frr.rootfs import Frr
from railweave.live.lab.frr.routers import daemons_of, not_started
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.config.sections import parse as parse_frr
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.operations.deploy.changes import change
from railweave.systems import statement_tables, system
from railweave.systems.sonic import render as sonic
from railweave.systems.sonic.branches import MASTER, NUMBERED, OLDEST, branch, newer
from railweave.systems.sonic.changes import config_tree
from railweave.systems.sonic.daemons import idle_sections, idle_tables, running
from railweave.systems.sonic.render.by_release import LOST, designed, keep, lacking
from railweave.systems.sonic.tables import Tables
from railweave.systems.sonic.validator import Conversion, SonicModels, load, validate
from tests.conftest import SMALL
from tests.model.intent.trial import trial
from tests.retarget import retargeted
from tests.systems.sonic.test_read import SECURED, SECURITY


@cache
def leaf(name: str = "h100-rlb", device: str = "stripe1-leaf1") -> DeviceConfig:
    return device_config(retargeted(name, "sonic"), device)


def on(release: str, name: str = "h100-rlb", device: str = "stripe1-leaf1") -> DeviceConfig:
    return replace(leaf(name, device), release=release)


def ids(config: DeviceConfig) -> dict[str, str]:
    return {one.id: one.what for one in sonic.gaps(config)}


MORE = {"security": SECURITY, "dns": ["172.20.0.2"], "domain": "lab", "ntp": ["172.20.0.3"], "banner": "hands off"}


def wholes() -> Iterator[Tables]:
    """The tables of the examples and of protected fabrics, as the newest branch would have them."""
    for name in SMALL:
        network = retargeted(name, "sonic")
        for one in {one.role: one for one in network.switches}.values():
            yield sonic.tables(replace(device_config(network, one.name), release="209911"))
    for raw in SECURED.values():
        more = {**raw, "management": {**raw.get("management", {}), **MORE}}
        for config in trial(more, "sonic").configs:
            yield sonic.tables(replace(config, release="209911"))


@pytest.mark.parametrize(
    ("release", "there", "absent"),
    [
        ("202311", [], ["DNS_OPTIONS", "BANNER_MESSAGE", "WRED_ECN_QUEUE", "vrf_of_gnmi", "keep"]),
        ("202405", [], ["DNS_OPTIONS", "BANNER_MESSAGE", "WRED_ECN_QUEUE", "vrf_of_gnmi", "keep"]),
        ("202411", ["BANNER_MESSAGE"], ["WRED_ECN_QUEUE", "DNS_OPTIONS", "keep"]),
        ("202505", ["WRED_ECN_QUEUE", "keep"], ["DNS_OPTIONS", "vrf_of_gnmi"]),
        ("202505.3", ["WRED_ECN_QUEUE", "keep"], ["DNS_OPTIONS", "vrf_of_gnmi"]),
        ("202511", ["DNS_OPTIONS"], ["vrf_of_gnmi"]),
        ("202605", ["DNS_OPTIONS"], ["vrf_of_gnmi"]),
        ("202611", ["DNS_OPTIONS", "vrf_of_gnmi"], []),
        ("4.2.1", [], ["DNS_OPTIONS", "vrf_of_gnmi"]),
    ],
)
def test_the_release_decides_what_is_rendered(release: str, there: list[str], absent: list[str]) -> None:
    """First branches: sonic-yang-models, hostcfgd, orchagent and zebra.conf.j2 of each branch; see ``branches``."""
    config = on(release)
    config = replace(config, management=replace(config.management, domain="lab", dns=("172.20.0.2",), banner="no"))
    tables, lines = sonic.tables(config), sonic.files(config)["frr.conf"].splitlines()
    seen = {table for table, rows in tables.items() if rows} | set(tables["FLEX_COUNTER_TABLE"])
    seen |= set(tables["DEVICE_METADATA"]["localhost"])
    seen |= {"vrf_of_gnmi"} if "vrf" in tables["GNMI"]["gnmi"] else set[str]()
    seen |= {"keep"} if "zebra nexthop-group keep 1" in lines else set[str]()
    assert set(there) <= seen
    assert not seen & set(absent)
    found = ids(config)
    assert ("sonic-release" in found) == (release in {"4.2.1", "202311", "202611"})
    assert ("sonic-release-lacks" in found) == ("vrf_of_gnmi" in absent or release in {"202405", "202411"})
    assert ("sonic-old-frr" in found) == (release < "202505" or release == "4.2.1")


def test_gateways_share_a_mac_address_on_master_alone() -> None:
    name, device = "aidc-three-fabrics", "frontend-ai-leaf1"
    assert "SAG" not in sonic.tables(on("202605", name, device))
    assert "sonic-no-anycast" in ids(on("202605", name, device))
    assert sonic.tables(on("202611", name, device))["SAG"]
    assert "sonic-no-anycast" not in ids(on("202611", name, device))


@pytest.mark.parametrize(
    ("model", "release"),
    [
        ("z9864f-on", "202605"),
        ("z9664f-on", "202505"),
        ("z9432f-on", "202505"),
        ("sse-t8164", "202511"),
        ("sn5600", "202505"),
        ("ais800-64d", "202505"),
    ],
)
def test_a_model_has_a_release_with_its_platform(model: str, release: str) -> None:
    """Folder device of sonic-buildimage; no branch has an AS9817."""
    assert catalog().release_of("sonic", model) == release
    config = replace(leaf(), model=model, release=release)
    assert ("sonic-no-platform" in ids(config)) == model.startswith("ais800")
    first = catalog().switches[model].first_releases["sonic"].release
    if first > OLDEST:
        older = replace(config, release=max(one for one in NUMBERED if one < first))
        assert first in ids(older)["sonic-no-platform"]


def test_the_default_release_is_the_models() -> None:
    assert {one.release for one in retargeted("h100-rlb", "sonic").switches} == {"202605"}


def test_what_an_older_release_loses_is_said_of_every_table() -> None:
    newer_than_all = {
        form.raw.split()[0]
        for table in statement_tables.tables("sonic").values()
        for row, forms, inner in table.statements()
        for form in forms
        if row.since or (inner and inner.releases)
    }
    assert newer_than_all == LOST.keys()


def test_branches_are_in_order() -> None:
    assert [branch(one) for one in ("202405", "202505.1", "202508", "202611", "4.2")] == [
        "202405",
        "202505",
        "202505",
        MASTER,
        OLDEST,
    ]
    assert newer(MASTER, "202605")
    assert not newer(MASTER, MASTER)
    assert not newer("202505", MASTER)


def metadata(value: str) -> Tables:
    return {"DEVICE_METADATA": {"localhost": {"frr_mgmt_framework_config": value}}}


def test_bfd_runs() -> None:
    """supervisord.conf.j2 of docker-fpm-frr: bfdd with frr_mgmt_framework_config "true" alone, isisd never."""
    assert "bfdd" in running(sonic.tables(leaf()))
    assert "bfdd" in (system("sonic").daemons(leaf()) or ())
    assert "bfdd" not in running(metadata("false"))
    assert "bfdd" not in running({})
    text = parse_frr("bfd\n profile x\nrouter ospf\n!\nrouter isis 1\n!\nrouter bgp 1\n")
    assert dict(idle_sections(metadata("false"), text)) == {
        "bfd": "bfdd",
        "router ospf": "ospfd",
        "router isis 1": "isisd",
    }
    assert dict(idle_sections(metadata("true"), text)) == {"router isis 1": "isisd"}


@pytest.mark.parametrize(
    ("feature", "tables", "idle"),
    [
        ({}, {"GNMI": {"certs": {}}, "SNMP": {"LOCATION": {}}}, set[str]()),
        ({"gnmi": {"state": "disabled"}}, {"GNMI": {"certs": {}}, "SNMP": {"LOCATION": {}}}, {"GNMI"}),
        ({}, {"TELEMETRY": {"certs": {}}, "SFLOW": {"global": {}}}, {"TELEMETRY", "SFLOW"}),
        ({"sflow": {"state": "enabled"}}, {"SFLOW": {"global": {}}}, set[str]()),
        ({"macsec": {"state": "always_enabled"}}, {"MACSEC_PROFILE": {"a": {}}}, set[str]()),
        ({}, {"DHCPV4_RELAY": {"Vlan2": {}}, "MACSEC_PROFILE": {}}, {"DHCPV4_RELAY"}),
    ],
)
def test_tables_whose_container_is_off_are_seen(feature: Tables, tables: Tables, idle: set[str]) -> None:
    assert {table for table, _ in idle_tables({"FEATURE": feature, **tables})} == idle  # type: ignore[dict-item]


def test_the_lab_starts_what_sonic_starts(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/frr"
    folder.mkdir(parents=True)
    for one in ("mgmtd", "zebra", "bgpd", "isisd", "bfdd"):
        (folder / one).touch()
    frr = Frr(tmp_path, "10.3", 0, 0, frozenset(("bgp", "isis")))
    assert daemons_of(frr, leaf()) == ("mgmtd", "zebra", "bgpd", "bfdd")
    off = replace(leaf(), extra='{"DEVICE_METADATA": {"localhost": {"frr_mgmt_framework_config": "false"}}}')
    assert daemons_of(frr, off) == ("mgmtd", "zebra", "bgpd")
    assert not_started(frr, off, "bfdd") == "stripe1-leaf1 runs no bfdd: sonic starts none"
    assert "sonic-no-daemon" in {one.id for one in system("sonic").lint(off)}
    assert daemons_of(frr, replace(leaf(), nos="frr", extra="")) == frr.daemons


def test_where_bfdd_does_not_run_no_session_has_bfd() -> None:
    files = system("sonic").files(leaf())
    reader = system("sonic").reader
    assert reader is not None
    assert leaf().bgp is not None
    seen = reader.read(files).config
    assert seen.bgp is not None
    assert seen.bgp.bfd is not None
    off = {**files, "config_db.json": files["config_db.json"].replace('config": "true"', 'config": "false"')}
    assert off != files
    seen = reader.read(off).config
    assert seen.bgp is not None
    assert seen.bgp.bfd is None


def test_a_patch_does_not_start_bfdd() -> None:
    """docker_init.sh and supervisord.conf.j2 are read when the container starts."""
    made = compare(config_tree(metadata("false"), "202605"), config_tree(metadata("true"), "202605"))
    assert [one.why for one in made.refused] == [
        "a patch of frr_mgmt_framework_config changes nothing: the container of FRRouting reads it only when it starts"
    ]
    assert "every BGP session" in {one.what for _, one in made.disrupts}


def test_deploy_reloads_where_bfdd_is_to_start() -> None:
    wanted = system("sonic").files(leaf())
    before = {**wanted, "config_db.json": wanted["config_db.json"].replace('config": "true"', 'config": "false"')}
    made = change("leaf", "sonic", before, wanted, None)
    assert made.commands == {"config_db.json": ("config reload -y config_db.json",)}
    assert made.refused == ()


def test_marks_are_counted_where_queues_mark() -> None:
    """counterpoll wredqueue is off by default (init_cfg.json.j2); the runbook's `show queue wredcounters` needs it."""
    assert "WRED_ECN_QUEUE" in sonic.tables(leaf())["FLEX_COUNTER_TABLE"]
    assert leaf().qos is not None


def test_few_attempts_are_said() -> None:
    config = next(
        iter(trial({**SECURED["colors"], "management": {"security": {"login": {"attempts": 2}}}}, "sonic").configs)
    )
    assert "sonic-few-attempts" in ids(config)


needs_libyang = pytest.mark.skipif(not importlib.util.find_spec("libyang"), reason="libyang is not installed")
PLACE = Path(os.environ.get("RAILWEAVE_SONIC_YANG", "/nowhere"))
needs_branches = pytest.mark.skipif(not (PLACE / MASTER).is_dir(), reason="no folder of models for each branch")


@cache
def models(name: str) -> SonicModels:
    return load(PLACE / name)


DAEMON_LATER = {"BANNER_MESSAGE", "WRED_ECN_QUEUE"}
"""Whose model is older than the daemon that reads it; see ``branches``."""


@needs_libyang
@needs_branches
@pytest.mark.slow
def test_first_branches_are_those_of_the_models() -> None:
    """What is rendered for a branch its models have, and what is newer the branch before has not."""
    for tables in wholes():
        for which in (*NUMBERED, MASTER):
            own = {table: dict(rows) for table, rows in tables.items() if rows}
            for table, row, field, first in list(lacking(own, which)):
                if table in DAEMON_LATER or row in DAEMON_LATER:
                    continue
                conversion = Conversion(models(which))
                rows = {row: own[table][row]} if row else own[table]
                conversion.add({table: rows})
                assert conversion.unknown, (which, table, row, field, first)
            keep(own, which)
            conversion = Conversion(models(which))
            conversion.add(own)
            assert conversion.unknown == [], which


@needs_libyang
@needs_branches
@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_examples_pass_the_models_of_their_branch_and_fail_older_ones(name: str) -> None:
    network = retargeted(name, "sonic")
    chosen = {one.role: one for one in network.switches}.values()
    files = {one.name: sonic.files(device_config(network, one.name)) for one in chosen}
    report = validate(files, PLACE, None, {one.name: one.release for one in chosen})
    assert report.findings == []
    assert report.validated == len(files)
    newest = {one.name: sonic.files(replace(device_config(network, one.name), release="209911")) for one in chosen}
    assert validate(newest, PLACE, None, dict.fromkeys(newest, "209911")).findings == []
    for which in NUMBERED:
        asks = any(
            table not in DAEMON_LATER and row not in DAEMON_LATER
            for one in chosen
            for table, row, *_ in _lacking(one.name, name, which)
        )
        refused = validate(newest, PLACE, None, dict.fromkeys(newest, which)).findings
        assert bool(refused) == asks, which


def _lacking(device: str, name: str, which: str) -> list[tuple[str, str, str, str]]:
    return list(lacking(designed(leaf(name, device)), which))
