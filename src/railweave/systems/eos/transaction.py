"""Changes on EOS: configuration sessions by eAPI, committed with a timer (Arista EOS user manual, Configure Session).

A session is a snapshot: committing it overwrites changes that others made after it was opened, so it is opened
immediately before the commit. A timer continues when the connection ends. ``configure session NAME commit`` from any
login confirms the commit, and ``abort`` reverts it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from railweave.systems.transaction import Given, Pending, RefusedError, Session, must_wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.tree import Command

PROTOCOL = "eapi"
_FILE = "eos.conf"
ATOMIC = True
FILES = {"configuration": _FILE}
WHOLE: Mapping[str, Command] = {}
_MOST_SECONDS = 24 * 3600 - 1
"""The maximum time that a commit waits for confirmation: one day (Arista EOS user manual, Configure Session)."""


async def running(session: Session) -> dict[str, str]:
    """Return the text of ``show running-config``."""
    return {_FILE: (await _told(session, ["show running-config"]))[-1]}


async def rehearse(session: Session, given: Given) -> str:
    """Enter the lines into a configuration session, which checks each line. Return the difference, and abort the session."""
    name = f"{given.label}-rehearsal"
    try:
        await _enter(session, name, given)
        return (await _told(session, [f"show session-config named {name} diffs"]))[-1]
    finally:
        await _abort(session, name)


async def commit(session: Session, given: Given, seconds: int) -> None:
    """Enter the lines into a session with railweave's name and commit it with a timer of ``seconds``.

    Raises ``RefusedError`` if EOS refuses a line, or if another session waits for confirmation.
    """
    if (waiting := await pending(session)) is not None:
        raise RefusedError(f"a session waits to be confirmed there already ({waiting.label})")
    try:
        await _enter(session, given.label, given)
        await _told(session, [f"configure session {given.label} commit timer {_clock(seconds)}"])
    except RefusedError:
        await _abort(session, given.label)
        raise


async def pending(session: Session) -> Pending | None:
    """Return the session whose commit waits for confirmation, or None.

    Reads the answers of EOS 4.32 and later, and of earlier releases.
    """
    answer: object = json.loads(await session.tell("show configuration sessions detail", "json"))[-1]
    detail = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
    name = detail.get("commitTimerSessionName")
    if isinstance(name, str) and name:
        return Pending(name)
    sessions = detail.get("sessions")
    for name, entry in cast("dict[str, object]", sessions).items() if isinstance(sessions, dict) else ():
        if isinstance(entry, dict) and cast("dict[str, object]", entry).get("state") == "pendingCommitTimer":
            return Pending(name)
    return None


async def confirm(session: Session, label: str) -> None:
    """Commit the session that waits for confirmation, and save the configuration as the startup configuration.

    Raises ``RefusedError`` if the session ``label`` does not wait.
    """
    must_wait(await pending(session), label)
    await _told(session, [f"configure session {label} commit", "write memory"])


async def revert(session: Session, label: str) -> None:
    """Abort the session that waits for confirmation, which reverts its commit.

    Raises ``RefusedError`` if the session ``label`` does not wait.
    """
    must_wait(await pending(session), label)
    await _told(session, [f"configure session {label} abort"])


async def restore(session: Session, given: Given) -> None:
    """Replace the whole configuration by the earlier one in ``given``, and save it."""
    name = f"{given.label}-restore"
    lines = [f"configure session {name}", "rollback clean-config", *_typed(given.before[_FILE].splitlines()), "commit"]
    await _told(session, lines)
    await _told(session, ["write memory"])


async def clear(session: Session, label: str) -> None:
    """Abort a session of railweave that was left open."""
    await _abort(session, f"{label}-rehearsal")


async def _enter(session: Session, name: str, given: Given) -> None:
    await _told(session, [f"configure session {name}", *_typed(given.commands[_FILE]), "end"])


def _typed(commands: Iterable[Command]) -> list[str]:
    """Return the lines to send, without comments."""
    return [
        line for command in commands for line in str(command).splitlines() if line.strip() and not line.startswith("!")
    ]


async def _abort(session: Session, name: str) -> None:
    await _told(session, [f"configure session {name} abort"])


async def _told(session: Session, lines: list[str]) -> list[str]:
    return cast("list[str]", json.loads(await session.tell("\n".join(lines))))


def _clock(seconds: int) -> str:
    seconds = min(seconds, _MOST_SECONDS)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
