"""Run ``railweave host check`` on servers: copy program and plan to a temporary folder, run it, take the folder away."""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import asyncssh

from railweave.host import bundle
from railweave.reach.failure import MOST_BYTES, ReachError, told
from railweave.reach.ssh import closed, connected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.reach.target import Target

PROGRAM = "railweave-host.pyz"
PLAN = "host.json"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check said of one thing on one server (docs/checks.md)."""

    check: str
    of: str
    verdict: str
    seen: str
    wanted: str = ""
    origin: str = ""
    remedy: str = ""


@dataclass(slots=True)
class Answer:
    """What came of one server: its verdicts, or why there are none; ``seconds`` of the whole."""

    server: str
    address: str
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    fix: str = ""
    seconds: float = 0
    counters: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Task:
    """A server to look at: how it is reached, and the text of its ``host.json``."""

    target: Target
    plan: str


def check(
    tasks: Sequence[Task],
    *,
    only: Iterable[str] = (),
    sudo: bool = False,
    at_once: int = 32,
    done: Callable[[Answer], None],
) -> list[Answer]:
    """Check servers, so many at a time; in the order given. A server that does not answer is an answer with its reason.

    ``only``: ids or subjects of checks. ``sudo``: run it by ``sudo -n``, which must ask for no password. Nothing is changed on a
    server, and nothing is left there.
    """
    with TemporaryDirectory() as place:
        program = Path(place) / PROGRAM
        bundle.write(program)
        words = ["check", "--json", *(word for one in only for word in ("--only", one))]
        return asyncio.run(_all(tasks, program.read_bytes(), words, sudo=sudo, at_once=at_once, done=done))


async def _all(
    tasks: Sequence[Task], program: bytes, words: list[str], *, sudo: bool, at_once: int, done: Callable[[Answer], None]
) -> list[Answer]:
    free = asyncio.Semaphore(at_once)

    async def one(task: Task) -> Answer:
        async with free:
            answer = await _one(task, program, words, sudo=sudo)
            done(answer)
            return answer

    return list(await asyncio.gather(*(one(task) for task in tasks)))


async def _one(task: Task, program: bytes, words: list[str], *, sudo: bool) -> Answer:
    target = task.target
    answer, begun = Answer(target.name, target.way.address), monotonic()
    try:
        async with asyncio.timeout(target.connect_s + target.answer_s):
            connections = await connected(target)
            try:
                _take(answer, await _checked(connections[-1], task.plan, program, words, sudo=sudo))
            finally:
                await closed(connections)
    except ReachError as error:
        answer.error, answer.fix = error.what, error.fix
    except TimeoutError:
        answer.error = f"no answer within {target.connect_s + target.answer_s:g} s"
    except (OSError, asyncssh.Error) as error:
        answer.error = f"the connection ended: {told(str(error)) or type(error).__name__}"
    answer.seconds = round(monotonic() - begun, 2)
    return answer


async def _checked(
    connection: asyncssh.SSHClientConnection, plan: str, program: bytes, words: list[str], *, sudo: bool
) -> str:
    """What the program prints. Raises ``ReachError`` where it cannot be run."""
    folder = (await _run(connection, "mktemp -d -t railweave.XXXXXXXXXX")).strip()
    try:
        async with connection.start_sftp_client() as files:
            for name, content in ((PROGRAM, program), (PLAN, plan.encode())):
                async with files.open(f"{folder}/{name}", "wb") as out:
                    await out.write(content)
        line = shlex.join(["python3", f"{folder}/{PROGRAM}", *words, "--host-file", f"{folder}/{PLAN}"])
        return await _run(connection, f"sudo -n {line}" if sudo else line, good=(0, 1))
    finally:
        await _run(connection, f"rm -rf {shlex.quote(folder)}")


async def _run(connection: asyncssh.SSHClientConnection, line: str, good: tuple[int, ...] = (0,)) -> str:
    done = await connection.run(line, check=False, stdin=asyncssh.DEVNULL, encoding=None)
    out, wrong = (
        cast("bytes", one or b"")[:MOST_BYTES].decode("utf-8", "replace") for one in (done.stdout, done.stderr)
    )
    if done.exit_status not in good:
        reason = (wrong.strip() or out.strip() or f"exit status {done.exit_status}").splitlines()[-1]
        raise ReachError("refused", f"`{line.split(' ', maxsplit=1)[0]}`: {told(reason)}")
    return out


def _take(answer: Answer, text: str) -> None:
    """The verdicts of a printed document. Raises ``ReachError`` where it is none."""
    try:
        document = json.loads(text)
        answer.verdicts = tuple(
            Verdict(
                *(str(one.get(key, "")) for key in ("check", "of", "verdict", "seen", "wanted", "origin", "remedy"))
            )
            for one in document["results"]
        )
        answer.counters = dict(document.get("counters", {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ReachError("refused", "it did not print what `railweave host check --json` prints") from None
