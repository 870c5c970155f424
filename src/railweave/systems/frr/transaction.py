"""How FRRouting is changed: lines by ``vtysh``, and the way back by FRR's own ``frr-reload.py``.

FRR has no candidate and no confirmed commit (docs.frrouting.org, developer's guide, northbound: "proposed feature"). So the way back is armed
on the machine first: a timer that loads what was in force before. ``vtysh --dryrun`` reads every line beforehand: of a file with a
line that FRR does not know, ``frr-reload.py`` would make the removal of everything else (tools/frr-reload.py, load_from_file).
Until it is confirmed, ``/etc/frr/frr.conf`` is as before, and so is FRR after a restart of the machine.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from railweave.systems.transaction import Pending, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.config.tree import Command
    from railweave.systems.transaction import Given, Session

PROTOCOL = "ssh"
FOLDER = "/etc/frr/railweave"
"""Where a change and its way back are on the machine while it waits."""
_FILE = "frr.conf"
ATOMIC = False
FILES = {"configuration": _FILE}
WHOLE: Mapping[str, Command] = {}
_INTERFACE = re.compile(r"^interface .*", re.MULTILINE)
_COMPLAINT = re.compile(r"^line \d+: .*|^%.*", re.MULTILINE)

_BACK = """#!/bin/sh
# Written by railweave deploy: brings back what FRR ran before {label}, unless that was confirmed.
cd {folder} || exit 1
exec 9> lock && flock 9
[ -e armed ] || exit 0
PATH=/usr/lib/frr:$PATH
frr-reload.py --reload --log-level warning {folder}/before.conf > back.log 2>&1 && rm -f armed
"""
_ARM = """cd {folder} && now=$(date +%s) && echo $((now + {seconds})) > armed &&
if [ -d /run/systemd/system ]; then
  systemd-run --quiet --unit={label} --on-active={seconds} sh {folder}/back.sh
else
  setsid sh -c 'echo $$ > timer; sleep {seconds}; exec sh {folder}/back.sh {label}' > /dev/null 2>&1 < /dev/null &
fi"""
_DISARM = """if [ -d /run/systemd/system ]; then systemctl stop {label}.timer 2> /dev/null
elif grep -qs {label} /proc/$(cat timer)/cmdline; then kill -- -$(cat timer); fi; true"""
_CONFIRM = """cd {folder} && exec 9> lock && flock 9 &&
if [ -e armed ]; then vtysh -c 'write memory' && rm -f armed && {disarm}
else echo 'it is not waiting any more' >&2; exit 1; fi"""
_REVERT = "cd {folder} && sh back.sh && if [ -e armed ]; then cat back.log >&2; exit 1; fi && {disarm}"
_PENDING = (
    "for one in {root}/*/armed; do [ -e $one ] && "
    "echo $(basename $(dirname $one)) $(($(cat $one) - $(date +%s))); done; true"
)


def _lines(commands: Iterable[Command]) -> str:
    return "".join(f"{one}\n" for one in commands)


def _before(given: Given) -> str:
    """What ran before, with an empty section for each interface that the change brings.

    FRR keeps the section of an interface that is there, and ``frr-reload.py`` fails where it should take one away ("only inactive
    interfaces can be deleted").
    """
    text = given.before[_FILE]
    there = set(_INTERFACE.findall(text))
    new = [one for one in dict.fromkeys(_INTERFACE.findall(given.target[_FILE])) if one not in there]
    return text + "".join(f"{one}\nexit\n" for one in new)


async def _script(session: Session, text: str, given: str = "", **values: object) -> str:
    return await session.tell(f"sh -c {shlex.quote(text.format(**values))}", given)


async def _put(session: Session, label: str, name: str, text: str) -> None:
    await _script(
        session, "umask 077; mkdir -p {folder} && cat > {folder}/{name}", text, folder=f"{FOLDER}/{label}", name=name
    )


async def running(session: Session) -> dict[str, str]:
    """The lines that FRR runs, without the heading that no program of FRR reads again."""
    return {_FILE: await session.tell("vtysh -c 'show running-config no-header'")}


async def rehearse(session: Session, given: Given) -> str:
    """Let ``vtysh`` read every line of the change without carrying it out. The lines themselves are what changes."""
    lines = _lines(given.commands[_FILE])
    await _put(session, given.label, "rehearsed.conf", lines)
    try:
        await _tried(session, f"{FOLDER}/{given.label}/rehearsed.conf")
    finally:
        await clear(session, given.label)
    return lines


async def commit(session: Session, given: Given, seconds: int) -> None:
    """Arm the timer, then give FRR the lines, one after another. A line that it refuses brings back what was."""
    folder = f"{FOLDER}/{given.label}"
    await _put(session, given.label, "before.conf", _before(given))
    await _put(session, given.label, "change.conf", _lines(given.commands[_FILE]))
    await _put(session, given.label, "back.sh", _BACK.format(folder=folder, label=given.label))
    await _tried(session, f"{folder}/before.conf")
    await _script(session, _ARM, folder=folder, label=given.label, seconds=seconds)
    try:
        _raise_complaints(await _script(session, "vtysh --inputfile {folder}/change.conf 2>&1; true", folder=folder))
    except RefusedError:
        await revert(session, given.label)
        raise


async def _tried(session: Session, path: str) -> None:
    """Let ``vtysh`` read a file without carrying it out. Raises ``RefusedError`` with the lines that FRR does not know."""
    _raise_complaints(await _script(session, "vtysh --dryrun --inputfile {path} 2>&1; true", path=path))


def _raise_complaints(said: str) -> None:
    if complaints := _COMPLAINT.findall(said):
        raise RefusedError(f"FRR does not take it: {'; '.join(complaints[:3])}")


async def pending(session: Session) -> Pending | None:
    """The change whose way back is armed."""
    said = (await _script(session, _PENDING, root=FOLDER)).split()
    return Pending(said[0], int(said[1])) if len(said) > 1 else None


async def confirm(session: Session, label: str) -> None:
    """Write ``frr.conf`` and disarm. Raises ``RefusedError`` where it went back already."""
    folder = f"{FOLDER}/{label}"
    await _script(session, _CONFIRM, folder=folder, disarm=_DISARM.format(label=label))


async def revert(session: Session, label: str) -> None:
    """Load what was before, now."""
    folder = f"{FOLDER}/{label}"
    await _script(session, _REVERT, folder=folder, disarm=_DISARM.format(label=label))


async def restore(session: Session, given: Given) -> None:
    """Load ``before`` and keep it."""
    await _put(session, given.label, "before.conf", _before(given))
    path = f"{FOLDER}/{given.label}/before.conf"
    await _tried(session, path)
    await _script(session, "PATH=/usr/lib/frr:$PATH frr-reload.py --reload --log-level warning {path}", path=path)
    await session.tell("vtysh -c 'write memory'")


async def clear(session: Session, label: str) -> None:
    """Remove the files of a change that does not wait."""
    await _script(session, "[ -e {folder}/armed ] || rm -rf {folder}", folder=f"{FOLDER}/{label}")
