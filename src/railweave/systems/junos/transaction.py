"""Changes on Junos: NETCONF, the shared candidate configuration under its lock, and confirmed commits.

Times of ``commit-configuration`` are in minutes, those of ``<commit>`` in seconds (Juniper documentation,
commit-configuration). Junos refuses a confirmed commit on a private candidate, so the shared candidate is locked. Changes
that another login left in the candidate are discarded, because the commit would include them.

While a commit waits for confirmation, any other commit confirms it. Therefore a change is confirmed or reverted only if
it is the newest in the commit history.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from html import escape
from typing import TYPE_CHECKING

from railweave.systems.transaction import ChangeRequest, Pending, RefusedError, Session, must_wait

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from railweave.model.config.tree import Command

PROTOCOL = "netconf"
_FILE = "junos.conf"
ATOMIC = True
FILES = {"configuration": _FILE}
WHOLE: Mapping[str, Command] = {}
_COMMITTED = '<get-configuration database="committed" format="set"/>'
_COMPARE = '<get-configuration compare="rollback" rollback="0" format="text"/>'
_DISCARD = "<discard-changes/>"
_HISTORY = "<get-commit-information/>"
_LEAST_MINUTES, _MOST_MINUTES = 1, 65535
"""The limits of ``confirm-timeout`` in minutes (Juniper documentation, commit-configuration)."""
_ENTRY = re.compile(r"<commit-history\b.*?</commit-history>", re.DOTALL)
_WAITS = re.compile(r"commit confirmed, rollback in (\d+)\s*min")
_LABEL = re.compile(r"railweave-[\w.-]+")
_SECONDS = re.compile(r'<date-time\b[^>]*\bseconds="(\d+)"')
_NOW = re.compile(r'<current-time>.*?\bseconds="(\d+)"', re.DOTALL)


async def running(session: Session) -> dict[str, str]:
    """Return the committed configuration as ``set`` lines, with its file name as the only key.

    ``session`` is the connection to the device.
    """
    return {_FILE: await session.execute(_COMMITTED, "text")}


async def rehearse(session: Session, given: ChangeRequest) -> str:
    """Load the change ``given`` into the candidate, check the candidate, and discard it.

    Return the difference from the running configuration. Raises ``RefusedError`` if Junos refuses the change. ``session`` is the connection
    to the device.
    """
    async with _locked(session):
        await _load(session, given.commands[_FILE])
        difference = await session.execute(_COMPARE, "text")
        await session.execute("<commit-configuration><check/></commit-configuration>")
    return difference


async def commit(session: Session, given: ChangeRequest, seconds: int) -> None:
    """Make a confirmed commit, which Junos reverts after ``seconds``, rounded up to whole minutes.

    Raises ``RefusedError`` if another commit waits for confirmation, or if the device refuses the change. ``session`` is the connection to
    the device, ``given`` the change.
    """
    minutes = min(max(-(-seconds // 60), _LEAST_MINUTES), _MOST_MINUTES)
    if (waiting := await pending(session)) is not None:
        raise RefusedError(f"a commit waits to be confirmed there already ({waiting.label or 'not ours'})")
    async with _locked(session):
        await _load(session, given.commands[_FILE])
        times = f"<confirmed/><confirm-timeout>{minutes}</confirm-timeout>"
        await session.execute(f"<commit-configuration>{times}<log>{escape(given.label)}</log></commit-configuration>")


async def pending(session: Session) -> Pending | None:
    """Return the newest commit if it waits for confirmation, or None if it does not. ``session`` is the connection to the device."""
    match = _ENTRY.search(await session.execute(_HISTORY))
    waits = _WAITS.search(match[0]) if match else None
    if match is None or waits is None:
        return None
    label, begun = _LABEL.search(match[0]), _SECONDS.search(match[0])
    now = _NOW.search(await session.execute("<get-system-uptime-information/>"))
    left = int(begun[1]) + 60 * int(waits[1]) - int(now[1]) if begun and now else None
    return Pending(label[0] if label else "", left)


async def confirm(session: Session, label: str) -> None:
    """Commit again, which confirms the change. Raises ``RefusedError`` if this change does not wait for confirmation.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    must_wait(await pending(session), label)
    async with _locked(session):
        await session.execute(f"<commit-configuration><log>{escape(label)} confirmed</log></commit-configuration>")


async def revert(session: Session, label: str) -> None:
    """Commit the earlier configuration. Raises ``RefusedError`` if this change does not wait for confirmation.

    ``session`` is the connection to the device, ``label`` the name of the change.
    """
    must_wait(await pending(session), label)
    async with _locked(session):
        await session.execute('<load-configuration rollback="1"/>')
        await session.execute(f"<commit-configuration><log>{escape(label)} taken back</log></commit-configuration>")


async def restore(session: Session, given: ChangeRequest) -> None:
    """Replace the whole configuration by ``given.before``, the configuration before the change, and commit it.

    ``session`` is the connection to the device.
    """
    from railweave.systems.junos.read import parsed, printed

    text = printed("junos.conf", parsed(_FILE, given.before[_FILE]).nodes)
    async with _locked(session):
        await session.execute(
            '<load-configuration action="override" format="text">'
            f"<configuration-text>{escape(text)}</configuration-text></load-configuration>"
        )
        await session.execute(f"<commit-configuration><log>{escape(given.label)} restored</log></commit-configuration>")


async def clear(session: Session, label: str) -> None:
    """Do nothing: the lock ends with the session, and Junos keeps nothing else of a change. ``label`` is the name of the change."""
    del session, label


@asynccontextmanager
async def _locked(session: Session) -> AsyncGenerator[None]:
    """Lock the candidate configuration for this session, after discarding other logins' changes. At the end, discard all uncommitted changes."""
    try:
        await session.execute("<lock-configuration/>")
    except RefusedError as error:
        if "modified" not in str(error):
            raise
        await session.execute(_DISCARD)
        await session.execute("<lock-configuration/>")
    try:
        await session.execute(_DISCARD)
        yield
    except RefusedError:
        await _unlocked(session)
        raise
    await _unlocked(session)


async def _unlocked(session: Session) -> None:
    await session.execute(_DISCARD)
    await session.execute("<unlock-configuration/>")


async def _load(session: Session, commands: Iterable[Command]) -> None:
    lines = escape("".join(f"{command}\n" for command in commands))
    answer = await session.execute(
        '<load-configuration action="set" format="text">'
        f"<configuration-set>{lines}</configuration-set></load-configuration>"
    )
    if "<load-error-count>" in answer:
        raise RefusedError(f"it cannot load the change: {answer}")
