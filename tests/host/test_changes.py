"""The arithmetic: what changes, and what the journal says of it, on values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railweave.host import changes
from railweave.host.entries import Route, Rule, planned_route, route_of, rule_of
from railweave.host.failure import HostError
from railweave.host.host_file import HostFile, load
from railweave.host.journal import Journal
from railweave.host.journal import load as load_journal
from railweave.host.journal import save as save_journal
from railweave.host.kernel import Kernel
from railweave.host.names import DEFAULT_FILE
from tests.host.plans import small

SYSTEM = tuple(
    Rule(family, priority, "", "", table)
    for family in (4, 6)
    for priority, table in ((0, 255), (32766, 254), (32767, 253))
)


@pytest.fixture
def plan(tmp_path: Path) -> HostFile:
    return written(tmp_path, small("gpu0_eth", paths=1))


def written(folder: Path, document: dict[str, Any]) -> HostFile:
    file = folder / "host.json"
    file.write_text(json.dumps(document))
    return load(file)


def done(kernel: Kernel, wanted: changes.Changes) -> Kernel:
    """The kernel after the commands."""
    entries = list(kernel.entries)
    for verb, entry in wanted.commands:
        if verb == "add":
            entries.append(entry)
        else:
            entries.remove(entry)
    routes = tuple(one for one in entries if isinstance(one, Route))
    return Kernel(routes, tuple(one for one in entries if isinstance(one, Rule)))


def test_first_and_again(plan: HostFile) -> None:
    wanted = changes.to_plan(plan, Kernel((), SYSTEM), Journal(), None)
    assert [" ".join(entry.words(verb)) for verb, entry in wanted.commands] == [
        "route add fc00:1:1:1::/64 dev gpu0_eth table 10000 proto 4",
        "route add default via fc00:1:1:1::1 dev gpu0_eth table 10000 proto 4",
        "rule add from fc00:1:1:1::/64 table 10000 priority 10000 protocol 4",
    ]
    assert wanted.during == wanted.after
    after = done(Kernel((), SYSTEM), wanted)
    again = changes.to_plan(plan, after, wanted.after, wanted.names)
    assert not again
    assert again.after == wanted.after
    assert len(changes.to_before(after, wanted.after)) == 3


def test_the_nics_that_are_not_ready_keep_what_they_have(plan: HostFile) -> None:
    wanted = changes.to_plan(plan, Kernel((), SYSTEM), Journal(), None)
    after = done(Kernel((), SYSTEM), wanted)
    assert not changes.to_plan(plan, after, wanted.after, wanted.names, {"gpu0_eth"})
    flushed = Kernel((), after.rules)
    assert not changes.to_plan(plan, flushed, wanted.after, wanted.names, {"gpu0_eth"})
    assert len(changes.to_plan(plan, flushed, wanted.after, wanted.names).commands) == 2


def test_a_journal_of_the_first_versions(tmp_path: Path) -> None:
    """It said whether the names were ours, and they were where iproute2 looks."""
    old = {"schema": 1, "boot": "", "added": [], "replaced": [], "names": True, "names_before": None}
    for names, known in ((True, DEFAULT_FILE), (False, None)):
        (tmp_path / "state").write_text(json.dumps(old | {"names": names}))
        assert load_journal(tmp_path / "state") == Journal(names=known)
    save_journal(tmp_path / "state", Journal(names=tmp_path / "here"))
    assert load_journal(tmp_path / "state").names == tmp_path / "here"


def test_who_displaces_us_later_was_not_there_before(plan: HostFile) -> None:
    wanted = changes.to_plan(plan, Kernel((), SYSTEM), Journal(), None)
    after = done(Kernel((), SYSTEM), wanted)
    intruder = replace(planned_route(6, 10000, "default", "gpu0_eth", "fe80::9"), protocol="16")
    routes = (after.routes[0], intruder)
    again = changes.to_plan(plan, Kernel(routes, after.rules), wanted.after, wanted.names)
    assert [verb for verb, _ in again.commands] == ["del", "add"]
    assert again.after == wanted.after


def test_a_priority_of_the_kernels_choice(tmp_path: Path) -> None:
    document = small("a1", "a2", paths=1)
    for rule in document["rules"]:
        del rule["priority"]
    wanted = changes.to_plan(written(tmp_path, document), Kernel((), SYSTEM), Journal(), None)
    assert [one.priority for _, one in wanted.commands if isinstance(one, Rule)] == [32765, 32764]


def test_what_cannot_be_put_back_is_refused(plan: HostFile) -> None:
    odd = route_of(6, {"dst": "default", "dev": "x", "table": "10000", "nhid": 7, "metric": 5})
    with pytest.raises(HostError, match=r"the route to default in table 10000 \(nhid\) conflicts"):
        changes.to_plan(plan, Kernel((odd,), SYSTEM), Journal(), None)


def test_host_bits_of_a_rule() -> None:
    """The kernel keeps them; to netplan and to us it is the same rule."""
    shown = rule_of(
        4, {"priority": 1, "src": "all", "dst": "1.1.101.14", "dstlen": 16, "table": "101", "protocol": "4"}
    )
    assert shown.does(Rule(4, 1, "", "1.1.0.0/16", 101))
    assert " ".join(shown.words("del")) == "rule del to 1.1.101.14/16 table 101 priority 1"


def test_a_large_plan_that_holds_changes_nothing(tmp_path: Path) -> None:
    """64 addresses per NIC, 512 tables."""
    plan = written(tmp_path, small(*(f"gpu{i}_eth" for i in range(8)), paths=64))
    wanted = changes.to_plan(plan, Kernel((), SYSTEM), Journal(), None)
    after = done(Kernel((), SYSTEM), wanted)
    assert not changes.to_plan(plan, after, wanted.after, wanted.names)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": 1}', '{"schema": 1, "names": 1, "names_before": 1, "boot": ""}']
)
def test_a_broken_journal(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(HostError, match="not a journal of railweave host; move it away"):
        load_journal(tmp_path / "state")
