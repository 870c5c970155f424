"""Files that an earlier commit wrote open today and give the same answers as then (README.md in the commit's folder)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from railweave.cli import main
from railweave.host import commands
from railweave.operations.deploy.journal import opened
from railweave.operations.deploy.plan import read_plan
from tests.host.machines import Written, healthy
from tests.host.test_checks import look
from tests.host.test_gids import slots, tree
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import changing

WRITTEN = Path(__file__).parent / "7958d393"
ADDED = "rules have been added; the test checks that none is missing"
SENTENCES = "sentences for people may be reworded; the test compares the rule, severity and place of each finding"
INSTALLED = "which validators run depends on the programs that the machine has"
UNTOLD = "since then a share is given only if the trials tell it from noise, which one seed of each combination cannot"
GROUPS = "runs of collectives are pairs and groups of servers too since then"
PREDICTED = "latencies of hops and notifications of congestion are predicted otherwise since then"
WHOLE = "the design sends whole messages over the queue pairs in turn since then, which no other number of them beats"
UNDER_A_STATEMENT = {"check": {"port-mtu-differs", "session-not-established"}}
"""By answer, the findings that are notes since then: the error is the statement of the running configuration that differs."""
OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "verify": {"/checks": ADDED, "/findings": SENTENCES, "/validators": INSTALLED},
    "check": {"/rules": ADDED, "/findings": SENTENCES},
    "drift": {"/findings": SENTENCES},
    "tune run": {
        "/knobs/0/importance": UNTOLD,
        "/meaning": SENTENCES,
        "/verdict": WHOLE,
        "/patch": WHOLE,
        **dict.fromkeys(("/own/samples/", "/own/values/", "/confirmed/", "/parts/"), PREDICTED),
    },
    "bench compare": {"/verdict": SENTENCES},
    "bench compare --predicted": {"/verdict": SENTENCES, "/pairs": GROUPS},
    "bench compare --predicted, a pair": {"/verdict": SENTENCES},
}
"""By answer, the values that may differ, and why."""
ON_SWITCHES_OR_SERVERS = {"deploy status", "host gids", "host env"}


@cache
def answers() -> dict[str, Any]:
    """The answers of that commit, by the name that the test gives them."""
    return json.loads((WRITTEN / "answers.json").read_text(encoding="utf-8"))


COMMANDS = [
    pytest.param(name, marks=pytest.mark.slow) if name == "tune run" else name  # it imports Optuna, and simulates
    for name, one in answers().items()
    if isinstance(one, dict) and "command" in one and name not in ON_SWITCHES_OR_SERVERS
]


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, which is the current folder."""
    folder = tmp_path / "cluster"
    shutil.copytree(WRITTEN, folder)
    monkeypatch.chdir(folder)
    return folder


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """The exit code of a command line, and its answer as JSON."""
    monkeypatch.setattr("sys.argv", ["railweave", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    assert printed.out, printed.err
    return stop.value.code, json.loads(printed.out)


def changes(then: Any, now: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Values that are missing or differ, by place. An object may have new keys, which readers ignore."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            yield from changes(value, now.get(key, "gone"), f"{at}/{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from changes(old, new, f"{at}/{number}")
    elif isinstance(then, float) and isinstance(now, float):
        if now != pytest.approx(then, rel=1e-9):
            yield at, then, now
    elif then != now:
        yield at, then, now


def found(answer: dict[str, Any], rules: set[str], notes: set[str]) -> list[tuple[str, str, str]]:
    """The findings of an answer that these rules make, without their sentences, and the severity of those that may be notes."""
    several = answer.get("findings", [])
    return sorted(
        (one["id"], "" if one["id"] in notes else one["severity"], one["where"])
        for one in several
        if one["id"] in rules
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_is_as_it_was(
    name: str, there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    then = answers()[name]
    code, now = call(monkeypatch, capsys, *then["command"])
    assert code == then["code"]
    if isinstance(now, dict):
        of_then, of_now = (set(one.get("checks", one.get("rules", []))) for one in (then["answer"], now))
        assert of_then <= of_now
        rules = of_then or {one["id"] for one in then["answer"].get("findings", [])}
        notes = UNDER_A_STATEMENT.get(name, set())
        assert found(now, rules, notes) == found(then["answer"], rules, notes)
    but = OTHERWISE.get(name, {})
    unlike = [one for one in changes(then["answer"], now) if not any(one[0].startswith(place) for place in but)]
    assert unlike == []


def test_the_lock_keeps_every_place(
    there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first build had only the second server: without the lock the servers would change places."""
    before = (there / "small.lock").read_bytes()
    code, _ = call(monkeypatch, capsys, "build", "small.yaml", "-o", "now", "--json")
    assert code == 0
    assert (there / "small.lock").read_bytes() == before
    code, now = call(monkeypatch, capsys, "diff", "build", "now", "--json")
    assert (code, now["equal"]) == (0, True)


def test_a_plan_is_read_whole(there: Path) -> None:
    """The plan is not applied: the design's digest covers the sentences of findings, so an apply is refused once one of them changes."""
    plan = read_plan(there / "plan.json")
    assert plan.digest == answers()["digest of plan.json"]
    assert list(changes(json.loads((there / "plan.json").read_text()), json.loads(json.dumps(plan.to_json())))) == []
    with opened(there / "small.yaml") as journal:
        assert journal.plan(1) == plan


def test_switches_of_the_journal_are_compared_and_brought_back(
    there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stand-in runs what the journal kept of the changed switch."""
    monkeypatch.setenv("READER", PASSWORD)
    kept = (there / "small.state/revisions/0002/spine1/after/junos.conf").read_text().splitlines()
    then = answers()["deploy status"]
    with changing(there / "small.yaml", {"spine1": kept}):
        code, now = call(monkeypatch, capsys, *then["command"])
        assert code == then["code"]
        assert list(changes(then["answer"], now)) == []
        words = ("rollback", "small.yaml", "2", "-o", "back.json", "--access", "access.yaml", "--json")
        code, back = call(monkeypatch, capsys, "deploy", *words)
    plan = json.loads((there / "plan.json").read_text())
    assert code == 0
    assert back["devices"]["spine1"]["commands"] == plan["devices"]["spine1"]["commands"]


@pytest.mark.parametrize("name", ["host gids", "host env"])
def test_a_server_finds_its_gids_and_environment(
    name: str, there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for nic in json.loads((there / "host.json").read_text())["nics"]:
        own = (one["prefix"].replace("::/64", "::a") for one in nic["addresses"])
        tree(there / "sys", {nic["rdma"]: slots("fe80::1", *own, netdev=nic["netdev"])})
    then = answers()[name]
    for variable in answers()["host env"]["answer"]:
        monkeypatch.delenv(variable, raising=False)
    assert commands.main(then["command"][1:]) == then["code"]
    assert list(changes(then["answer"], json.loads(capsys.readouterr().out))) == []


def test_a_server_is_checked(there: Path) -> None:
    """Checks have been added since; the earlier ones give the same verdicts on a server with one fault."""
    parts = healthy(json.loads((there / "host.json").read_text()))
    parts.files["/sys/class/net/gpu1_eth/mtu"] = "1500"
    now = {
        f"{one.check.id} {one.outcome.of}".strip(): one.outcome.verdict
        for one in look(there / "host.json", Written(parts))
    }
    then = {
        name: verdict for verdict, names in answers()["host check with MTU 1500 on gpu1_eth"].items() for name in names
    }
    assert {name: now.get(name) for name in then} == then
    assert [name for name, verdict in now.items() if verdict == "failed"] == [
        name for name, verdict in then.items() if verdict == "failed"
    ]
