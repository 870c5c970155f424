"""Killed, interrupted or failed at every single step: an ``ip`` first on the PATH does it at the n-th, for all n.

A step is a call of ``ip``, or a line of its batch, so everything between two changes of the kernel is tried.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.drawn import every, some
from tests.host.plans import SOURCE, Tool, in_place, lines_of, small
from tests.netns import needs_root, server

pytestmark = [needs_root, pytest.mark.slow]

NIC = "gpu0_eth"
WRAPPER = """\
#!/bin/sh
# Counts steps in a file; at some of them it acts. In place of a batch, one real ip for each line.
due() { read -r n < {folder}/count; n=$((n + 1)); echo $n > {folder}/count; {acts}; }
if [ "$2" = -batch ]; then
  line=0 code=0
  while read -r words; do
    line=$((line + 1))
    due && {ip} "$1" $words && continue
    echo "Command failed -:$line" >&2
    [ "$4" = -force ] || exit 1
    code=1
  done
  exit $code
fi
due && exec {ip} "$@"
"""
ACTS = {
    "kill": ("kill -9 $PPID; exit 1", -9),
    "orphan": ("kill -9 $PPID; sleep 0.1", -9),
    "interrupt": ("kill -INT $PPID", 130),
    "terminate": ("kill -TERM $PPID", 130),
    "fail": ("false", 1),
}
"""What the wrapper does, and the exit code that must follow."""

FIRST = small(NIC)
SECOND = small(NIC, prefix="fc00:9:{nic}:{path}::/64")


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    """A server on which someone has left entries in the way, and one that is as planned."""
    with server([NIC]) as host:
        host.run(*f"ip -6 route add default via fe80::1 dev {NIC} table 10000 metric 5".split())
        host.run(*f"ip -6 route add default via fc00:1:1:2::1 dev {NIC} table 10001 onlink".split())
        host.run(*["ip", "-6", "rule", "add", "from", "fc00:1:1:1::/64", "table", "4711", "priority", "9000"])
        argv = host.argv(sys.executable, Path(__file__).with_name("forking.py"))
        env = {**os.environ, "PYTHONPATH": str(SOURCE)}
        with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
            yield prepared(Tool(host, tmp_path, forks=forks))


def prepared(tool: Tool) -> Tool:
    """With a names file of someone else's, too."""
    tool.names.parent.mkdir()
    tool.names.write_text("7 seven\n")
    tool.plan(FIRST)
    return tool


def everything(tool: Tool) -> tuple[list[str], str, str | None]:
    """What must be as before: the kernel's state, the names, the journal."""
    shown = [tool.batch("-N", family, lines="route show table all\nrule show\n") for family in ("-4", "-6")]
    return (
        sorted(lines_of("".join(shown))),
        tool.names.read_text(),
        tool.state.read_text() if tool.state.exists() else None,
    )


class First:
    """The first plan, applied: once by the program, and then again in one ``ip`` and two files, which is cheaper."""

    def __init__(self, tool: Tool) -> None:
        tool.plan(FIRST)
        self.tool = tool
        self.commands = json.loads(tool("plan", "--json"))["commands"]
        tool("apply")
        self.there = everything(tool)
        tool("undo")

    def __call__(self) -> None:
        """From before to applied."""
        for family in ("-4", "-6"):
            lines = [" ".join(words) + "\n" for _, of, *words in self.commands if of == family]
            self.tool.batch(family, lines="".join(lines))
        _, names, journal = self.there
        assert journal
        self.tool.names.write_text(names)
        self.tool.state.write_text(journal)
        assert everything(self.tool) == self.there
        self.tool.plan(FIRST)


def steps_of_day(first: int) -> Iterator[int]:
    """The steps at which something happens: all of them, or every third from one that the day draws."""
    return itertools.count(first) if every() else itertools.count(first + some(range(3), 1, "steps")[0], 3)


def once(number: int, act: str) -> str:
    """At this step."""
    return f"if [ $n = {number} ]; then {ACTS[act][0]}; fi"


def from_then_on(number: int) -> str:
    """Every change fails from this step on; what is there can be read."""
    return f'if [ $n -ge {number} ] && [ "$words" ]; then false; fi'


def with_acts(tool: Tool, acts: str, verb: str = "apply") -> tuple[int, str, int]:
    """Run a verb under the wrapper; gives its end, what it said, and how many steps there were."""
    folder = tool.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "count").write_text("0\n")
    ip = shutil.which("ip")
    assert ip
    text = WRAPPER
    for key, value in {"folder": str(folder), "acts": acts, "ip": ip}.items():
        text = text.replace("{" + key + "}", value)
    wrapper = folder / "ip"
    wrapper.write_text(text)
    wrapper.chmod(stat.S_IRWXU)
    code, said = tool.ended(verb, path=folder)
    return code, said, int((folder / "count").read_text())


def at_step(tool: Tool, number: int, act: str, verb: str = "apply") -> bool:
    """Run a verb with something happening at a step; gives whether that step was reached."""
    code, said, steps = with_acts(tool, once(number, act), verb)
    assert code == (ACTS[act][1] if steps >= number else 0), said
    return steps >= number


@pytest.mark.parametrize(
    ("act", "second"),
    [("interrupt", False), ("terminate", True), ("fail", True)],
    ids=["interrupt-first-plan", "terminate-second-plan", "fail-second-plan"],
)
def test_everything_is_put_back(tool: Tool, act: str, second: bool) -> None:
    if second:
        tool("apply")
        tool.plan(SECOND)
    before = everything(tool)
    for number in steps_of_day(1):
        if not at_step(tool, number, act):
            break
        assert everything(tool) == before, f"{act} at step {number}"
    assert number > (20 if second else 16)
    tool("undo")


@pytest.mark.parametrize(
    ("act", "second", "then"),
    [("kill", False, "undo"), ("kill", True, "undo"), ("kill", True, "apply"), ("orphan", False, "undo")],
    ids=["first-plan-undo", "second-plan-undo", "second-plan-apply", "ip-goes-on-undo"],
)
def test_after_a_kill(tool: Tool, act: str, second: bool, then: str) -> None:
    """``orphan``: what we had started goes on after us; undo waits for it."""
    before = everything(tool)
    first = First(tool)
    plan = SECOND if second else FIRST
    for number in steps_of_day(1):
        if second:
            first()
            tool.plan(SECOND)
        if not at_step(tool, number, act):
            break
        if then == "apply":
            tool("apply")
            in_place(tool, plan)
        tool("undo")
        assert everything(tool) == before, f"killed at step {number}"
    assert number > (20 if second else 16)


@pytest.mark.parametrize("then", ["undo", "apply"])
def test_after_a_kill_of_undo(tool: Tool, then: str) -> None:
    before = everything(tool)
    first = First(tool)
    for number in steps_of_day(4):  # the last of what is read first
        first()
        if not at_step(tool, number, "kill", "undo"):
            break
        if then == "apply":
            tool("apply")
            in_place(tool, FIRST)
        tool("undo")
        assert everything(tool) == before, f"killed at step {number}"
    assert everything(tool) == before
    assert number > 15


def test_after_a_kill_while_putting_back(tool: Tool) -> None:
    """The last change fails, and we are killed at each step of putting back the others."""
    before = everything(tool)
    first = First(tool)
    first()
    tool.plan(SECOND)
    changes = len(json.loads(tool("plan", "--json"))["commands"])
    last = 5 + changes  # after the links, and two tables of two families, were read
    for number in steps_of_day(last + 4):
        code, said, steps = with_acts(tool, f"{once(last, 'fail')} && {once(number, 'kill')}")
        if steps < number:
            break
        assert code == -9, said
        tool("undo")
        assert everything(tool) == before, f"killed at step {number}"
        first()
        tool.plan(SECOND)
    assert code == 1
    assert said.endswith("everything is as it was before\n")
    assert number > last + 12


@pytest.mark.parametrize("second", [False, True], ids=["first-plan", "second-plan"])
@pytest.mark.parametrize("verb", ["apply", "undo"])
def test_after_a_kill_at_a_file(tool: Tool, verb: str, second: bool) -> None:
    """Before and after each file is put in place: journal, names, journal."""
    before = everything(tool)
    first = First(tool)
    for number in itertools.count(1):
        if second or verb == "undo":
            first()
        if second:
            tool.plan(SECOND)
        code, said = replace(tool, kill_at_write=number).ended(verb)
        if code == 0:
            break
        assert code == -9, said
        if number % 2:
            tool("apply")
            in_place(tool, SECOND if second else FIRST)
        tool("undo")
        assert everything(tool) == before, f"killed at write {number}"
        tool.plan(FIRST)
    assert number > 3


def test_what_cannot_be_put_back_is_told(tool: Tool) -> None:
    """From some change on all fail, those that would put things back too: the kernel says what is left."""
    before = everything(tool)
    told = 0
    for number in steps_of_day(6):
        code, said, _ = with_acts(tool, from_then_on(number))
        if code == 0:
            break
        assert code == 1
        now = everything(tool)
        different = set(now[0]) ^ set(before[0])
        assert ("not everything is as it was before" in said) == bool(different), said
        assert ("; everything is as it was before" in said) == (not different), said
        named = re.findall(r"ip -[46] (?:route|rule) (?:add|del)", said.partition("as it was before (")[2])
        assert len(named) == len(different) + bool(different), said  # one more: the first that failed
        told += bool(different)
        assert bool(different) == tool.state.exists()
        tool("undo")
        assert everything(tool) == before, f"all failed from step {number}"
    assert told > (5 if every() else 1)


def test_undo_goes_as_far_as_it_can(tool: Tool) -> None:
    """Each change of undo fails once: all others are made, and the one that is left is told."""
    before = everything(tool)
    first = First(tool)
    for number in steps_of_day(5):
        first()
        code, said, _ = with_acts(tool, once(number, "fail"), "undo")
        if "not undone yet: " not in said:
            break
        assert code == 1
        [left] = said.split("not undone yet: ")[1:]
        assert left.count("ip -6") == 1, said
        assert len(set(everything(tool)[0]) ^ set(before[0])) == 1
        tool("undo")
        assert everything(tool) == before, f"failed at step {number}"
    assert number > 10
