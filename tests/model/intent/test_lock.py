"""The lock: a name keeps its slot, whatever comes and goes around it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.errors import SpecError
from railweave.model.intent.lock import Lock, read_lock

POOL = "backend/stripes"
names = st.lists(st.sampled_from("abcdefghij"), unique=True)


def settled(lock: Lock, wanted: list[str]) -> tuple[dict[str, int], Lock]:
    """One build: slots of the names, and the lock as the next build reads it."""
    copy = lock.copy()
    return copy.allot(POOL, wanted), copy


@given(st.lists(names, min_size=1, max_size=8))
def test_a_slot_never_moves(history: list[list[str]]) -> None:
    lock, first = Lock(), dict[str, int]()
    for wanted in history:
        slots, lock = settled(lock, wanted)
        assert list(slots) == wanted
        for name, slot in slots.items():
            assert first.setdefault(name, slot) == slot


@given(st.lists(names, min_size=1, max_size=8))
def test_slots_are_unique_and_without_gaps(history: list[list[str]]) -> None:
    lock = Lock()
    for wanted in history:
        _, lock = settled(lock, wanted)
    assert sorted(lock.pools[POOL].values()) == list(range(1, len(set().union(*history)) + 1))


@given(names, names)
def test_compacting_frees_the_absent_only(before: list[str], after: list[str]) -> None:
    _, lock = settled(Lock(), before)
    slots, lock = settled(lock, after)
    lock.compacting = True
    _, refilled = settled(lock, [*after, "new"])
    assert {name: refilled.pools[POOL][name] for name in after} == slots
    assert refilled.pools[POOL]["new"] == min(set(range(1, len(after) + 2)) - set(slots.values()))


def test_a_freed_slot_is_kept_for_its_name() -> None:
    _, lock = settled(Lock(), ["a", "b", "c"])
    slots, lock = settled(lock, ["a", "c", "d"])
    assert slots == {"a": 1, "c": 3, "d": 4}
    assert settled(lock, ["a", "b", "c", "d"])[0] == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_compacting_drops_a_pool_nobody_asked_for() -> None:
    lock = Lock({POOL: {"a": 1}, "gone/stripes": {"x": 1}}, compacting=True)
    lock.allot(POOL, ["a"])
    assert lock.finished().pools == {POOL: {"a": 1}}


def test_compacting_leaves_a_shared_pool_to_the_end() -> None:
    lock = Lock({"management": {"gone": 1, "a": 2, "b": 3}}, compacting=True)
    assert lock.allot("management", ["a"], shared=True) == {"a": 2}
    assert lock.allot("management", ["b", "new"], shared=True) == {"b": 3, "new": 4}
    assert lock.finished().pools == {"management": {"a": 2, "b": 3, "new": 4}}


def test_pools_are_apart() -> None:
    lock = Lock()
    assert lock.allot("one", ["a", "b"]) == {"a": 1, "b": 2}
    assert lock.allot("two", ["b", "a"]) == {"b": 1, "a": 2}


def test_a_copy_is_independent() -> None:
    lock = Lock({POOL: {"a": 1}})
    lock.copy().allot(POOL, ["b"])
    assert lock == Lock({POOL: {"a": 1}})


@given(st.dictionaries(st.text(min_size=1, max_size=12), names, max_size=4))
def test_text_reads_back_the_same(pools: dict[str, list[str]]) -> None:
    lock = Lock()
    for pool, wanted in pools.items():
        lock.allot(pool, wanted)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.lock"
        file.write_text(lock.to_text(), encoding="utf-8")
        again = read_lock(file)
    assert again.pools == {pool: slots for pool, slots in lock.pools.items() if slots}
    assert again.to_text() == lock.to_text()


def test_text_lists_slots_in_order_a_name_a_line() -> None:
    text = Lock({"b": {"y": 2, "x": 1}, "a": {"z": 1}, "empty": {}}).to_text()
    assert text == (
        '{\n "railweave-lock": 1,\n "pools": {\n  "a": {\n   "z": 1\n  },\n  "b": {\n   "x": 1,\n   "y": 2\n  }\n }\n}\n'
    )


def test_no_lock_is_an_empty_one(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "none.lock") == Lock()


def _with(value: object) -> str:
    return json.dumps({"railweave-lock": 1, "pools": {POOL: {"a": value, "b": 2}}})


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "the lock is damaged: Expecting value"),
        ('{\n "railweave-lock": 1,\n', 3, "the lock is damaged: Expecting property name enclosed in double quotes"),
        ('{"railweave-lock": 1}\n<<<<<<<\n', 2, "the lock is damaged: Extra data"),
        ("[]", 1, "not a lock of this version"),
        ("{}", 1, "not a lock of this version"),
        ('{"railweave-lock": 2, "pools": {}}', 1, "not a lock of this version"),
        (_with(0), 0, f"{POOL}: 'a' has slot 0"),
        (_with(-3), 0, f"{POOL}: 'a' has slot -3"),
        (_with("1"), 0, f"{POOL}: 'a' has slot '1'"),
        (_with(1.5), 0, f"{POOL}: 'a' has slot 1.5"),
        (_with(None), 0, f"{POOL}: 'a' has slot None"),
        (_with(2), 0, f"{POOL}: 'a' and 'b' have the same slot 2"),
    ],
)
def test_a_damaged_lock_is_refused(tmp_path: Path, text: str, line: int, what: str) -> None:
    file = tmp_path / "a.lock"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        read_lock(file)
    (problem,) = caught.value.problems
    assert (problem.place.file, problem.place.line, problem.what) == (str(file), line, what)
    assert problem.fix.endswith(
        "restore it from version control; if you delete it, all numbers and addresses are assigned again"
    )
