"""No answer can be missing, empty or refused without notice: whatever question it is, on whatever device of every example and system.

The answers are those of switches and servers as designed. One is changed at a time, and the check must not be good and must
name the part that it did not see. ``NOTHING`` lists the questions about which this does not hold, with the reasons.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from railweave import api
from railweave.analysis.expect import Expected
from railweave.live.check import NetworkStates
from railweave.live.check.check import state_questions
from railweave.live.check.counting import compared, not_asked
from railweave.live.check.living import EVERYTHING
from railweave.live.check.subjects import SWITCH
from railweave.live.collect.plan import questions
from railweave.model.findings import Finding
from railweave.model.state.device_state import DeviceState
from railweave.model.state.host_state import HOST, read_host
from railweave.model.state.question import Question
from railweave.systems.reading import read_state
from tests.conftest import example
from tests.drawn import some
from tests.live.check.captures import answered_whole, whole, write_answers, write_capture
from tests.live.check.matrix import SYSTEMS, wanted
from tests.live.check.said.host import document
from tests.live.check.test_servers import servers

TRIED = ("h100-rlb", "multitenancy-lab", "evpn-functional")
"""The networks whose answers this test can make whole. Stand-ins of several fabrics and of some models lack answers yet."""
CASES = [(nos, name) for nos in SYSTEMS for name in TRIED]
WAYS: dict[str, str | None] = {
    "absent": None,
    "empty": "",
    "refused": "% Invalid input (privileged mode required)\n",
}
"""The ways in which an answer is missing, with the text in its place."""
OF_A_DEVICE = 5
"""How many questions of a device a day tries."""


class Nothing(NamedTuple):
    """A question whose answer may be missing: why, and on which devices (``where``; by default on all)."""

    why: str
    where: Callable[[Expected], bool] = lambda _: True


EXTRA = "only counters, peaks or names that nothing of the design is compared with"
OF_ANOTHER = "another answer has the same values"


def _no_tenants(expected: Expected) -> bool:
    return not expected.tenants


def _no_gateways(expected: Expected) -> bool:
    return not expected.gateways


def _no_advertisements(expected: Expected) -> bool:
    return all(gateway.advertisements is None for gateway in expected.gateways)


def _no_colors(expected: Expected) -> bool:
    return not expected.color_paths


def _no_addresses(expected: Expected) -> bool:
    return not expected.gateways and all(each.session.local_address is None for each in expected.sessions)


_TENANTS = Nothing("the device has no VRF of a tenant", _no_tenants)
_COLORS = Nothing("it is about path colors only, and none are expected here", _no_colors)
NOTHING: dict[tuple[str, str], Nothing] = {
    **{("eos", name): _TENANTS for name in ("vnis", "evpn-prefixes", "evpn-prefixes-ipv4")},
    **{
        (nos, "evpn-macs"): Nothing("MAC addresses of servers are not designed")
        for nos in ("eos", "sonic", "frr", "junos")
    },
    **{(nos, "path"): _COLORS for nos in ("eos", "sonic", "frr")},
    **{(nos, name): _TENANTS for nos in ("sonic", "frr") for name in ("vrfs", "vnis", "evpn-vnis", "evpn-prefixes")},
    **{
        ("eos", f"addresses-{family}"): Nothing(
            "no port here has a designed address; strangers there are then not seen", _no_addresses
        )
        for family in ("ipv4", "ipv6")
    },
    ("eos", "neighbors"): Nothing("only the neighbors of gateways are compared", _no_gateways),
    ("eos", "ntp"): Nothing("the design has no time servers", lambda expected: expected.clock is None),
    ("eos", "sessions"): Nothing("it says who changed the configuration, which is compared by itself"),
    **{("eos", f"static-{family}"): Nothing("whole tables have static routes too") for family in ("ipv4", "ipv6")},
    **{("junos", name): _TENANTS for name in ("vrfs", "instances", "evpn-prefixes")},
    **{("junos", name): Nothing(OF_ANOTHER) for name in ("bgp-discovered", "bgp-auto-discovered", "system", "queues")},
    **{
        ("junos", f"{protocol}-{family}"): Nothing("whole tables have these routes too")
        for protocol in ("static", "aggregate")
        for family in ("ipv4", "ipv6")
    },
    ("junos", "advertising"): Nothing("no gateway sends router advertisements", _no_advertisements),
    ("sonic", "ports-state"): Nothing(EXTRA),
    ("sonic", "watermarks"): Nothing(EXTRA),
}
"""By system and kind of question, the optional questions without which everything expected is still seen."""


def kind(question: str) -> str:
    """The name of a question without its VRF and prefix."""
    return question.partition("@")[0]


def kinds_of_devices(nos: str, name: str) -> list[str]:
    """One device of each kind of a network: those with the same role, the same kinds of questions and the same subjects are alike."""
    subject, made, _ = wanted(name, nos)
    roles = {switch.name: switch.role for switch in subject.network.switches}
    chosen: dict[object, str] = {}
    for device, config in subject.configs.items():
        asked = frozenset(kind(question.name) for question in questions(subject.network, config))
        subjects = frozenset(each.name for each in SWITCH if [*each.expected(made[device])])
        chosen.setdefault((roles[device], asked, subjects), device)
    return [*chosen.values()]


@cache
def healthy(nos: str, name: str, device: str) -> tuple[dict[str, str], DeviceState]:
    """Every answer of a device that is as designed, and its state as the reader reads it."""
    subject, _, states = wanted(name, nos)
    texts = answered_whole(nos, states[device], state_questions(subject.network, subject.configs[device]))
    return texts, read_state(device, nos, texts)


def errors(nos: str, name: str, device: str, texts: Mapping[str, str]) -> list[Finding]:
    """The errors about a device that gives these answers."""
    subject, made, _ = wanted(name, nos)
    living = NetworkStates(
        subject.network,
        {device: made[device]},
        {device: read_state(device, nos, texts)},
        {device: healthy(nos, name, device)[1]},
        questions={device: state_questions(subject.network, subject.configs[device])},
    )
    findings, _ = compared(living, not_asked([nos], EVERYTHING))
    return [finding for finding in findings if finding.severity == "error"]


def tried(nos: str, name: str, device: str, question: Question) -> list[str]:
    """What is wrong with the check of a device that does not answer one question."""
    _, made, _ = wanted(name, nos)
    nothing = NOTHING.get((nos, kind(question.name)))
    may = nothing is not None and nothing.where(made[device])
    texts, _ = healthy(nos, name, device)
    wrong: list[str] = []
    for way, text in WAYS.items():
        rest = {key: answer for key, answer in texts.items() if key != question.name}
        findings = errors(nos, name, device, rest if text is None else rest | {question.name: text})
        told = [f"{finding.id}: {finding.what}" for finding in findings]
        place = f"{nos} {name} {device} {question.name} {way}"
        if may and findings:
            wrong.append(f"{place}: NOTHING says that it may be missing, and it costs {told}")
        elif not may and not findings:
            wrong.append(f"{place}: good")
        elif not may and not any(
            finding.where == device and (finding.id == "not-seen" or question.name in finding.what)
            for finding in findings
        ):
            wrong.append(f"{place}: not named in {told}")
    return wrong


@pytest.mark.parametrize(("nos", "name"), CASES)
def test_no_answer_of_a_switch_can_be_missing(nos: str, name: str) -> None:
    subject, _, _ = wanted(name, nos)
    for device in kinds_of_devices(nos, name):
        asked = state_questions(subject.network, subject.configs[device])
        texts, state = healthy(nos, name, device)
        assert {question.name for question in asked} == texts.keys()
        assert (device, errors(nos, name, device, texts), state.notes) == (device, [], ())
        for question in some(asked, OF_A_DEVICE, f"{nos} {name} {device}"):
            assert tried(nos, name, device, question) == []


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_capture_without_an_answer_is_not_good(nos: str, tmp_path: Path) -> None:
    """The same with captures as files: questions of one device, with and without what ``collect`` records, and the whole summary."""
    subject, made, _ = wanted("multitenancy-lab", nos)
    device = next(device for device, expected in made.items() if expected.tenants)
    folder = write_capture(tmp_path / "now", subject.network, nos=nos)
    asked = questions(subject.network, subject.configs[device])
    known = state_questions(subject.network, subject.configs[device])
    write_answers(folder / device, answered_whole(nos, wanted("multitenancy-lab", nos)[2][device], known))
    before = shutil.copytree(folder, tmp_path / "before")  # some counters are compared with an earlier capture only
    assert api.check(subject.network, folder, since=before).good
    for question in some([each for each in asked if (nos, kind(each.name)) not in NOTHING], 1, f"capture {nos}"):
        answer = next(folder.glob(f"{device}/{question.name}.*"))
        text = answer.read_text()
        answer.unlink()
        absent = api.check(subject.network, folder, since=before)
        refused = {each: {"status": "answered"} for each in made} | {
            device: {"status": "partly", "failed": {question.name: "refused: it may not"}}
        }
        (folder / "meta.json").write_text(json.dumps({"devices": refused}))
        recorded = api.check(subject.network, folder, since=before)
        (folder / "meta.json").unlink()
        answer.write_text("")
        empty = api.check(subject.network, folder, since=before)
        answer.write_text(text)
        for result in (absent, recorded, empty):
            assert not result.good, question.name
            assert any(row["not_seen"] for row in result.subject_rows), question.name
            assert device in {finding.where for finding in result.findings if finding.id == "not-seen"}, question.name
        named = [finding.what for finding in recorded.findings if finding.severity != "info"]
        assert any(question.name in text for text in named), (question.name, named)


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_capture_without_any_configuration_is_not_good(nos: str, tmp_path: Path) -> None:
    subject, _, _ = wanted("multitenancy-lab", nos)
    folder = write_capture(tmp_path / "now", subject.network, nos=nos)
    for answer in folder.glob("*/configuration*"):
        answer.unlink()
    result = api.check(subject.network, folder)
    switches = [switch.name for switch in subject.network.switches]
    assert [(finding.id, finding.where) for finding in result.findings] == [("not-seen", name) for name in switches]
    assert all("running configurations" in finding.what for finding in result.findings)
    assert api.check(subject.network, folder, allow_unseen=["configurations"]).good


@pytest.mark.parametrize("name", ["h100-rlb", "multitenancy-lab", "two-planes"])
@pytest.mark.parametrize("way", WAYS)
def test_the_answer_of_a_server_cannot_be_missing(name: str, way: str) -> None:
    expected = servers(name)
    server = next(iter(expected.values()))
    texts = {HOST.name: json.dumps(document(server))} if WAYS[way] is None else {HOST.name: str(WAYS[way])}
    hosts = {} if way == "absent" else {server.device: read_host(server.device, texts)}
    living = NetworkStates(example(name), {}, {}, servers_expected={server.device: server}, hosts=hosts)
    findings, rows = compared(living, {})
    errors = [(finding.id, finding.where) for finding in findings if finding.severity == "error"]
    assert ("device-silent" if way == "absent" else "not-seen", server.device) in errors, findings
    assert way == "absent" or all(row.not_seen == row.expected for row in rows)


@pytest.mark.parametrize("nos", ["junos", "frr", "sonic"])
def test_static_routes_beside_numbers_of_routes_cannot_be_missing(nos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large tables only the numbers are asked, so static routes have answers of their own that count."""
    monkeypatch.setattr("railweave.analysis.expect.prefixes.MOST_ROUTES", 0)
    subject, made, states = wanted("h100-rlb", nos)
    read = read_state("spine1", nos, whole(nos, states["spine1"]))
    asked = state_questions(subject.network, subject.configs["spine1"])
    static = next(question.name for question in asked if question.name.startswith("static-ipv6"))
    assert not any(question.name.startswith("routes-") for question in asked)
    for names in ({question.name for question in asked}, {question.name for question in asked} - {static}):
        state = replace(read, answered=frozenset(names))
        living = NetworkStates(
            subject.network, {"spine1": made["spine1"]}, {"spine1": state}, questions={"spine1": asked}
        )
        _, rows = compared(living, not_asked([nos], EVERYTHING))
        [row] = [row for row in rows if row.subject == "static-routes"]
        assert (row.expected, row.not_seen) == (1, int(static not in names))
