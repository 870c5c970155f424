"""Changes on EOS: configuration sessions by eAPI, committed with a timer (Arista EOS user manual, Configure Session).

A session is a snapshot. Its commit would overwrite changes that others made after the session was opened, so railweave opens
the session immediately before the commit. The timer continues if the connection ends. ``configure session NAME commit`` from any
login confirms the commit, and ``abort`` reverts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from railweave.reading import parse_json
from railweave.systems.transaction import ChangeRequest, Pending, RefusedError, Session, must_wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.tree import Command

PROTOCOL = "eapi"
_FILE = "eos.conf"
ATOMIC = True
FILES = {"configuration": _FILE}
WHOLE: Mapping[str, Command] = {}
_MOST_SECONDS = 24 * 3600 - 1
"""The maximum time in seconds that a commit waits for confirmation: one day (Arista EOS user manual, Configure Session)."""


async def running(session: Session) -> dict[str, str]:
    """Return the text of ``show running-config``, with its file name as the only key. ``session`` is the connection to the device."""
    return {_FILE: (await _run(session, ["show running-config"]))[-1]}


async def rehearse(session: Session, given: ChangeRequest) -> str:
    """Enter the lines of the change ``given`` into a configuration session, which checks each line, and abort that session.

    Return the differences that EOS shows for the configuration session. The parameter ``session`` is the connection to the device.
    """
    name = f"{given.label}-rehearsal"
    try:
        await _enter(session, name, given)
        return (await _run(session, [f"show session-config named {name} diffs"]))[-1]
    finally:
        await _abort(session, name)


async def commit(session: Session, given: ChangeRequest, seconds: int) -> None:
    """Commit the lines of the change ``given`` by a configuration session with a timer of ``seconds``.

    EOS reverts the change when the timer ends. Raises ``RefusedError`` if EOS refuses a line, or if a different configuration session waits
    for confirmation. The parameter ``session`` is the connection to the device.
    """
    if (waiting := await pending(session)) is not None:
        raise RefusedError(f"a session waits to be confirmed there already ({waiting.label})")
    try:
        await _enter(session, given.label, given)
        await _run(session, [f"configure session {given.label} commit timer {_clock(seconds)}"])
    except RefusedError:
        await _abort(session, given.label)
        raise


async def pending(session: Session) -> Pending | None:
    """Return the configuration session whose commit waits for confirmation, or None if there is none.

    EOS 4.32 and later answer differently from earlier releases. Both answers are understood. The parameter ``session`` is the connection to
    the device.
    """
    answer: object = parse_json(await session.execute("show configuration sessions detail", "json"))[-1]
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
    """Confirm the commit that waits, and save the configuration as the startup configuration.

    Raises ``RefusedError`` if the configuration session ``label`` does not wait for confirmation. The parameter ``session`` is the
    connection
    to the device.
    """
    must_wait(await pending(session), label)
    await _run(session, [f"configure session {label} commit", "write memory"])


async def revert(session: Session, label: str) -> None:
    """Abort the configuration session that waits for confirmation. EOS then reverts its commit.

    Raises ``RefusedError`` if the configuration session ``label`` does not wait for confirmation. The parameter ``session`` is the
    connection
    to the device.
    """
    must_wait(await pending(session), label)
    await _run(session, [f"configure session {label} abort"])


async def restore(session: Session, given: ChangeRequest) -> None:
    """Replace the whole configuration by ``given.before``, the configuration before the change, and save it.

    ``session`` is the connection to the device.
    """
    name = f"{given.label}-restore"
    lines = [f"configure session {name}", "rollback clean-config", *_typed(given.before[_FILE].splitlines()), "commit"]
    await _run(session, lines)
    await _run(session, ["write memory"])


async def clear(session: Session, label: str) -> None:
    """Abort the configuration session of a rehearsal if railweave left it open. ``label`` is the name of the change.

    The parameter ``session`` is the connection to the device.
    """
    await _abort(session, f"{label}-rehearsal")


async def _enter(session: Session, name: str, given: ChangeRequest) -> None:
    await _run(session, [f"configure session {name}", *_typed(given.commands[_FILE]), "end"])


def _typed(commands: Iterable[Command]) -> list[str]:
    """Return the lines to send. Empty lines and comments are left out."""
    return [
        line for command in commands for line in str(command).splitlines() if line.strip() and not line.startswith("!")
    ]


async def _abort(session: Session, name: str) -> None:
    await _run(session, [f"configure session {name} abort"])


async def _run(session: Session, lines: list[str]) -> list[str]:
    return cast("list[str]", parse_json(await session.execute("\n".join(lines))))


def _clock(seconds: int) -> str:
    seconds = min(seconds, _MOST_SECONDS)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
