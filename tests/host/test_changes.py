"""The arithmetic: what changes, and what the journal says of it, on values."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railweave.host import apply, changes, files
from railweave.host.entries import Route, Rule, planned_route, route_of, rule_of
from railweave.host.failure import HostError
from railweave.host.files import RT_TABLES_FILE
from railweave.host.host_file import HostFile, load
from railweave.host.journal import Journal
from railweave.host.journal import load as load_journal
from railweave.host.journal import save as save_journal
from railweave.host.kernel import Kernel
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


def done_quickly(kernel: Kernel, wanted: changes.Changes) -> Kernel:
    """As ``done``, for many commands."""
    entries = dict.fromkeys(kernel.entries)
    for verb, entry in wanted.commands:
        if verb == "add":
            entries[entry] = None
        else:
            del entries[entry]
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
    for names, known in ((True, RT_TABLES_FILE), (False, None)):
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


def test_a_rule_for_every_address_has_the_kernels_spelling() -> None:
    """The kernel shows ``from 0.0.0.0/0`` as ``from all``."""
    shown = rule_of(4, {"priority": 0, "src": "all", "table": "101", "protocol": "4"})
    planned = Rule(4, 0, "0.0.0.0/0", "", 101)
    assert shown.identity == planned.identity
    assert shown.does(planned)


def test_what_is_left_is_told_by_the_kernel(plan: HostFile) -> None:
    """Also what looks otherwise than it was planned; but not what others do elsewhere, or by their own protocol."""
    before = Kernel((), SYSTEM)
    wanted = changes.to_plan(plan, before, Journal(), None)
    [rule] = (one for _, one in wanted.commands if isinstance(one, Rule))
    odd = replace(rule, from_="", priority=7)
    learned = replace(planned_route(6, 10000, "fe80::/64", "gpu0_eth", ""), protocol="2")
    elsewhere = planned_route(6, 254, "fc00:7::/64", "gpu0_eth", "")
    now = Kernel((learned, elsewhere), (*SYSTEM[1:], odd))
    found = apply.after(wanted.commands, before, now)
    assert found == apply.Remains((odd,), ())
    assert found.lines == ["still there, to be removed: ip -6 rule del from all table 10000 priority 7"]
    kept = found.kept(Journal())
    assert changes.to_before(now, kept) == (("del", odd),)


def test_what_is_gone_is_told_by_the_kernel(plan: HostFile) -> None:
    """What could not be put back as it was is named, and nothing that says less is put in its place."""
    wanted = changes.to_plan(plan, Kernel((), SYSTEM), Journal(), None)
    theirs = planned_route(6, 10000, "fc00:8::/64", "gpu0_eth", "fe80::8")
    odd = route_of(6, {"dst": "fc00:9::/64", "dev": "gpu0_eth", "table": "10000", "nhid": 7, "metric": 5})
    narrow = Rule(6, 8, "fc00:1:1:1::/64", "", 4713, plain=False)
    found = apply.after(wanted.commands, Kernel((theirs, odd), (*SYSTEM, narrow)), Kernel((), SYSTEM))
    assert found == apply.Remains((), (narrow, theirs, odd))
    assert found.kept(Journal()) == Journal(replaced=(theirs,))


def test_a_journal_says_all_of_an_entry(tmp_path: Path) -> None:
    route = route_of(4, {"dst": "default", "gateway": "10.0.0.1", "dev": "x", "metric": 5, "prefsrc": "10.0.0.2"})
    odd = route_of(6, {"type": "blackhole", "dst": "fc00::/7", "dev": "lo", "nhid": 7, "protocol": "3"})
    rule = replace(SYSTEM[0], plain=False, protocol="2", priority=None)
    journal = Journal((route, rule), (odd,), tmp_path / "names", 'a "line"\n')
    save_journal(tmp_path / "state", journal)
    assert load_journal(tmp_path / "state") == journal


def test_a_journal_that_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 10)
    routes = tuple(planned_route(6, 10000, f"fc00:{number}::/64", "x", "") for number in range(20))
    with pytest.raises(HostError, match="the journal of so many routes and rules would be 0 MiB"):
        save_journal(tmp_path / "state", Journal(routes))
    assert not (tmp_path / "state").exists()
    save_journal(tmp_path / "state", Journal(routes[:2]))


@pytest.mark.slow
def test_the_work_grows_with_the_routes(tmp_path: Path) -> None:
    """Ten times the routes are about ten times the processor time, on every way; with a square in it, a hundred times."""

    def cost(count: int) -> float:
        document = small("a1", paths=1)
        to = [f"fd00:{number:x}::/64" for number in range(count)]
        document["routes"] += [{"table": 10000, "to": one, "dev": "a1", "via": "fc00:1:1:1::1"} for one in to]
        there = Kernel(tuple(planned_route(6, 10000, one, "a1", "fe80::1") for one in to), SYSTEM)
        plan = written(tmp_path, document)
        wanted = changes.to_plan(plan, there, Journal(), None)
        after = done_quickly(there, wanted)
        begin = time.process_time()
        changes.to_plan(plan, there, Journal(), None)
        assert len(changes.back(wanted, there, after)) == len(wanted.commands)
        assert len(apply.after(wanted.commands, there, after).more) == count + 3
        assert not changes.undone(plan, after)
        changes.to_plan(plan, there, wanted.after, wanted.names)
        assert len(changes.to_before(after, wanted.after)) == len(wanted.commands)
        return time.process_time() - begin

    assert min(cost(3000) for _ in range(2)) < 40 * min(cost(300) for _ in range(5))
