"""A check is never good with something unseen that was not allowed, and it names what was not seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from railweave import api
from railweave.errors import InputError
from railweave.live.check import NetworkStates
from railweave.live.check.check import state_questions
from railweave.live.check.counting import counts, unseen
from railweave.live.check.diagnosis import deviations, explained
from railweave.live.check.subjects import SUBJECTS
from railweave.model.device.build import device_config
from railweave.model.findings import Finding
from railweave.model.findings.registry import rules_of
from railweave.model.network.model import Network
from railweave.model.state.host_state import read_host
from railweave.model.state.protocols import Path as BgpPath
from railweave.systems import system
from railweave.systems.reading import read_state
from tests.conftest import example
from tests.live.check.captures import whole, write_answers, write_capture
from tests.live.check.matrix import SYSTEMS, wanted
from tests.live.check.said.host import document
from tests.live.check.test_servers import servers
from tests.outputs.folder.fabrics import fabric


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return fabric(tmp_path / "in")


@pytest.fixture
def network(file: Path) -> Network:
    return api.load(file, device=[":frr"])


def _without(folder: Path, *questions: str) -> None:
    """Leave these answers of every device out of a capture."""
    for answer in folder.glob("*/*"):
        if answer.stem in questions:
            answer.unlink()


def test_answers_to_show_version_alone_are_not_good(file: Path, network: Network, tmp_path: Path) -> None:
    folder = tmp_path / "now"
    for switch in network.switches:
        write_answers(folder / switch.name, {"version": "FRRouting 10.3 (x) on Linux(6.18).\n"})
    result = api.check(file, folder, device=[":frr"])
    assert not result.good
    assert {finding.id for finding in result.findings if finding.severity == "error"} >= {"not-seen"}
    assert [finding.where for finding in result.findings if finding.id == "not-seen"] == [
        s.name for s in network.switches
    ]
    assert {row.subject for row in result.counts if row.not_seen} >= {"ports", "bgp-sessions", "routes", "cables"}


def test_what_is_allowed_by_name_may_stay_unseen(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network)
    _without(folder, "bfd")
    result = api.check(file, folder, device=[":frr"])
    assert [finding.id for finding in result.findings] == ["not-seen"] * len(network.switches)
    assert not result.good
    allowed = api.check(file, folder, device=[":frr"], allow_unseen=["bfd-sessions", "bfd-timers", "answers"])
    assert allowed.good
    assert sum(row.not_seen for row in allowed.counts) == sum(row.not_seen for row in result.counts) > 0
    with pytest.raises(InputError, match="there is no such subject"):
        api.check(file, folder, device=[":frr"], allow_unseen=["bfd-session"])


def test_a_part_that_is_unseen_is_counted(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network)
    answer = folder / "spine1" / "interfaces.json"
    shown = json.loads(answer.read_text())
    port = next(iter(shown))
    del shown[port]["mtu"]
    answer.write_text(json.dumps(shown))
    links = folder / "spine1" / "links.json"
    links.write_text(json.dumps([{**each, "mtu": None} for each in json.loads(links.read_text())]))
    [finding] = api.check(file, folder, device=[":frr"]).findings
    assert (finding.id, finding.where) == ("not-seen", "spine1")
    assert finding.what == f"not seen: 1 of {len(shown)} port MTUs"


def test_a_running_configuration_that_is_missing_is_not_seen(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network)
    for switch in network.switches:
        config = device_config(network, switch.name)
        write_answers(folder / switch.name, {"configuration": system("frr").files(config)["frr.conf"]})
    result = api.check(file, folder, device=[":frr"])
    assert result.good, [(each.id, each.where, each.what) for each in result.findings]
    [row] = [row for row in result.subject_rows if row["subject"] == "configurations"]
    assert (row["expected"], row["right"]) == (len(network.switches), len(network.switches))
    (folder / "spine1" / "configuration.txt").unlink()
    [finding] = api.check(file, folder, device=[":frr"]).findings
    assert (finding.id, finding.where, finding.what) == (
        "not-seen",
        "spine1",
        "not seen: 1 of 1 running configurations",
    )


def test_where_nobody_answers_each_device_is_silent(file: Path, network: Network, tmp_path: Path) -> None:
    names = [switch.name for switch in network.switches]
    rows = {name: {"status": "failed", "error": "connection refused"} for name in names}
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "meta.json").write_text(json.dumps({"devices": rows}))
    result = api.check(file, tmp_path / "now", device=[":frr"])
    assert [(each.id, each.where) for each in result.findings] == [("device-silent", name) for name in names]
    assert not result.good


def test_junit_skips_rules_of_which_nothing_was_seen(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network)
    _without(folder, "bfd")
    result = api.check(file, folder, device=[":frr"])
    cases = [*ET.fromstring(result.to_junit()).iter("testcase")]  # noqa: S314 - our own output
    skipped = {case.get("name"): skip.get("message") for case in cases if (skip := case.find("skipped")) is not None}
    assert skipped["bfd-down"] == "not seen: BFD sessions"
    assert (
        skipped["optic-dark"]
        == "not asked: FRRouting knows no optics: `ethtool -m` on the host has no form that all drivers share"
    )
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert failed == {"not-seen"}


@pytest.mark.parametrize("key", ["addresses", "rules", "routes", "gids"])
def test_a_server_that_leaves_something_out_is_not_good(key: str) -> None:
    wanted_servers = servers("h100-rlb")
    name, server = next(iter(wanted_servers.items()))
    shown = document(server)
    del shown[key]
    living = NetworkStates(
        example("h100-rlb"),
        {},
        {},
        servers_expected={name: server},
        hosts={name: read_host(name, {"host": json.dumps(shown)})},
    )
    differences = deviations(living)
    rows = counts(living, differences, {})
    [finding] = explained([*differences, *unseen(living, rows, ())])
    assert finding.id == "not-seen"


def test_every_rule_about_expected_state_has_a_subject() -> None:
    rules = [rule.id for subject in SUBJECTS.values() for rule in subject.rules]
    assert len(rules) == len(set(rules))
    result = set(rules_of("railweave.live.check"))
    assert result - set(rules) == OF_WHOLE


OF_WHOLE = {
    "configuration-moved",
    "address-duplicate",
    "address-stray",
    "advertisements-rogue",
    "nic-address-stray",
    "prefix-originated-elsewhere",
    "device-silent",
    "answer-not-read",
    "not-seen",
    "host-name-differs",
    "daemon-not-running",
    "capture-device-unknown",
    "link-flaps",
    "colors-unequal",
    "rdma-retransmitted",
    "links-lost",
    "sessions-lost",
    "port-flapping",
    "session-flapping",
    "bfd-flapping",
    "prefixes-flapping",
}
"""Rules that are about a device as a whole, about many readings, or about counters of which a device may have none."""


def _colored(nos: str, device: str, change: Callable[[BgpPath], BgpPath | None]) -> list[Finding]:
    """What is found on a device whose first BGP path to the first example prefix is another, or gone."""
    subject, made, states = wanted("h100-rlb", nos)
    state = states[device]
    prefix = made[device].color_paths[0].prefix
    routes = tuple(
        replace(route, paths=tuple(path for path in (change(route.paths[0]), *route.paths[1:]) if path is not None))
        if route.prefix == prefix and route.paths
        else route
        for route in state.routes or ()
    )
    texts = whole(nos, replace(state, routes=routes))
    asked = {device: state_questions(subject.network, subject.configs[device])}
    living = NetworkStates(
        subject.network, {device: made[device]}, {device: read_state(device, nos, texts)}, questions=asked
    )
    return [finding for finding in explained(deviations(living)) if finding.severity == "error"]


@pytest.mark.parametrize("nos", [nos for nos in SYSTEMS if nos != "dell_sonic"])
def test_marks_of_path_colors_are_compared(nos: str) -> None:
    assert _colored(nos, "spine1", lambda path: path) == []
    other = "color:0:3" if nos == "junos" else "4200000001:1:3"
    [finding] = _colored(nos, "spine1", lambda path: replace(path, large_communities=(other,)))
    assert (finding.id, finding.where.partition(" ")[0]) == ("path-marks-differ", "spine1")
    assert f"has the communities {other}, the design has" in finding.what
    assert "fc00:1:1:1::/64 (green) of stripe1-leaf1 from stripe1-leaf1" in finding.what
    preferred = (
        (lambda path: replace(path, aigp=None))
        if nos == "junos"
        else (lambda path: replace(path, local_preference=100))
    )
    [finding] = _colored(nos, "spine1", preferred)
    assert finding.id == "path-marks-differ"
    assert (
        "AIGP none, the design has 0" if nos == "junos" else "local preference 100, the design has 200"
    ) in finding.what


@pytest.mark.parametrize("nos", [nos for nos in SYSTEMS if nos != "dell_sonic"])
def test_a_leaf_that_passes_on_prefixes_of_others_is_named(nos: str) -> None:
    _, made, _ = wanted("h100-rlb", nos)
    session = next(each.session for each in made["spine1"].sessions if each.session.peer == "stripe2-leaf1")
    found = _colored(nos, "spine1", lambda path: replace(path, peer=session.interface))
    assert {(finding.id, finding.what.partition(" ")[0]) for finding in found} == {
        ("path-stray", "stripe2-leaf1"),
        ("path-missing", "no"),
    }


@pytest.mark.parametrize("nos", ["frr", "eos"])
def test_a_switchs_own_path_is_not_from_a_neighbor(nos: str) -> None:
    """A gateway in a prefix of another leaf gives the leaf a path of its own; that is another finding."""
    own = BgpPath("::", best=True, as_path="Local" if nos == "frr" else "i")
    assert [finding.id for finding in _colored(nos, "spine1", lambda _: own)] == ["path-missing"]


def test_the_table_of_marks_is_that_of_the_source(tmp_path: Path) -> None:
    network = example("h100-rlb")
    folder = write_capture(tmp_path / "now", network, nos="junos")
    rows = api.check(network, folder).path_colors
    assert [(row["Prefix"], row["spine1"], row["spine2"]) for row in rows] == [
        ("fc00:1:1:1::/64 (green)", "color:0:1, AIGP 0", "color:0:2"),
        ("fc00:1:1:2::/64 (blue)", "color:0:1", "color:0:2, AIGP 0"),
        ("fc00:1:1:3::/64 (red)", "color:0:1", "color:0:2"),
        ("fc00:1:1:4::/64 (orange)", "color:0:1", "color:0:2"),
    ]
