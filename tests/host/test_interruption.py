"""Killed, interrupted or failed at every single step: an ``ip`` first on the PATH does it at the n-th, for all n.

A step is a call of ``ip``, or a line of its batch, so everything between two changes of the kernel is tried.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.plans import SOURCE, Tool, dump, in_place, small
from tests.netns import needs_root, server

pytestmark = needs_root

NIC = "gpu0_eth"
WRAPPER = """\
#!/bin/sh
# Counts steps in a file; at one of them it acts.
due() { n=$(($(cat {folder}/count) + 1)); echo $n > {folder}/count; [ $n = {at} ]; }
if [ "$2" = -batch ]; then
  while read -r line; do
    if due; then {act}; fi
    {ip} "$1" $line || { echo "Command failed -:1" >&2; exit 1; }
  done
else
  if due; then {act}; fi
  exec {ip} "$@"
fi
"""
ACTS = {
    "kill": ("kill -9 $PPID; exit 1", -9),
    "orphan": ("kill -9 $PPID; sleep 0.1", -9),
    "interrupt": ("kill -INT $PPID", 130),
    "terminate": ("kill -TERM $PPID", 130),
    "fail": ("exit 1", 1),
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
    return sorted(dump(tool.server)), tool.names.read_text(), tool.state.read_text() if tool.state.exists() else None


def at_step(tool: Tool, number: int, act: str) -> bool:
    """Apply with something happening at a step; gives whether that step was reached."""
    folder = tool.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "count").write_text("0\n")
    ip = shutil.which("ip")
    assert ip
    text = WRAPPER
    for key, value in {"folder": str(folder), "at": str(number), "act": ACTS[act][0], "ip": ip}.items():
        text = text.replace("{" + key + "}", value)
    wrapper = folder / "ip"
    wrapper.write_text(text)
    wrapper.chmod(stat.S_IRWXU)
    code, said = tool.ended("apply", path=folder)
    reached = int((folder / "count").read_text()) >= number
    assert code == (ACTS[act][1] if reached else 0), said
    return reached


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
    for number in itertools.count(1):
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
    plan = SECOND if second else FIRST
    for number in itertools.count(1):
        if second:
            tool.plan(FIRST)
            tool("apply")
            tool.plan(SECOND)
        if not at_step(tool, number, act):
            break
        if then == "apply":
            tool("apply")
            in_place(tool, plan)
        tool("undo")
        assert everything(tool) == before, f"killed at step {number}"
    assert number > (20 if second else 16)
