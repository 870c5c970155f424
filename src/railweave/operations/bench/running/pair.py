"""A run of perftest: the end that listens, then the end that asks, each on its server."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError, told
from railweave.operations.bench.running.scripts import LISTENING, NO_GID, NO_PORT, SAYS, asking, serving
from railweave.operations.bench.running.words import perftest_words

if TYPE_CHECKING:
    from railweave.operations.bench.plan import Perftest
    from railweave.operations.bench.running.shells import Said, Shells

FIRST_PORT = 18600
"""The first TCP port that servers listen on; perftest's own is 18515."""
START_S = 30
"""Until the other end has to listen."""
END_S = 10
"""For the other end to end, once this one has."""
_WRONG = re.compile(r"\berror\b|fail|cannot|couldn't|unable|not found|denied|refused|no such", re.IGNORECASE)
LEFT = 30
"""Lines of an output that failed which are kept with the run; all of it is in the file."""


@dataclass(slots=True)
class Came:
    """What came of a run. ``text``: what was printed that has the result; ``more``: what else was, by the end of the file's name.

    ``failures``: why it failed; empty where it did not. ``facts``: what was found out on servers.
    """

    text: str = ""
    more: dict[str, str] = field(default_factory=dict[str, str])
    failures: list[str] = field(default_factory=list[str])
    facts: dict[str, str] = field(default_factory=dict[str, str])


async def measured(test: Perftest, shells: Shells, *, number: int, limit_s: float, folder: str = "") -> Came:
    """Measure between two NICs. Never raises but when it is cancelled, and then nothing is left running.

    ``number``: of the run in its round, by which the ports of its servers differ; ``limit_s``: when it is ended; ``folder``: where perftest
    is on servers. The asking end reaches the other by the name of its server, over whatever network that name leads to.
    """
    came, port = Came(), asyncio.get_running_loop().create_future()
    first = FIRST_PORT + number % 512 * 64
    serve = serving(
        test.server.address, test.server.device, perftest_words(test, test.server.gpu, folder), first=first,
        limit_s=limit_s + START_S,
    )  # fmt: skip

    def seen(line: str) -> None:
        if line.startswith(LISTENING) and not port.done():
            port.set_result(int(line.removeprefix(LISTENING)))

    listening = asyncio.create_task(shells.ran(test.server.host, serve, limit_s + 2 * START_S, seen))
    try:
        await asyncio.wait({listening, port}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if not port.done():
            await _did_not_listen(test, listening, came)
            return came
        ask = asking(
            test.client.address, test.client.device, perftest_words(test, test.client.gpu, folder),
            port=port.result(), peer=peer_of(test), limit_s=limit_s,
        )  # fmt: skip
        try:
            said = await shells.ran(test.client.host, ask, limit_s + START_S)
        except ReachError as error:
            came.failures.append(f"{test.client.host}: {error.what}")
        else:
            came.text, found = _apart(said.text)
            _found(came, "client", found)
            if why := wrong(said, limit_s):
                came.failures.append(f"{test.client.host}: {why}")
        await _ended(test, listening, came)
        return came
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def peer_of(test: Perftest) -> str:
    """What the asking end calls the other one."""
    return "127.0.0.1" if test.server.host == test.client.host else test.server.host


async def _did_not_listen(test: Perftest, listening: asyncio.Task[Said], came: Came) -> None:
    if not listening.done():
        came.failures.append(f"{test.server.host}: {test.program} does not listen within {START_S} s")
        return
    try:
        said = listening.result()
    except ReachError as error:
        came.failures.append(f"{test.server.host}: {error.what}")
        return
    text, found = _apart(said.text)
    _found(came, "server", found)
    came.more["server"] = text
    came.failures.append(f"{test.server.host}: {wrong(said, START_S) or 'it ended before anybody asked'}")


async def _ended(test: Perftest, listening: asyncio.Task[Said], came: Came) -> None:
    """What the other end printed; one that does not end by itself is ended."""
    done, _ = await asyncio.wait({listening}, timeout=0.5 if came.failures else END_S)
    if not done:
        return
    try:
        said = listening.result()
    except ReachError as error:
        came.failures.append(f"{test.server.host}: {error.what}")
        return
    text, found = _apart(said.text)
    _found(came, "server", found)
    came.more["server"] = text
    # A server whose client has its result may complain of how that left.
    if came.failures and (why := wrong(said, 0)):
        came.failures.append(f"{test.server.host}: {why}")


def _apart(text: str) -> tuple[str, list[str]]:
    """What programs printed, and what the script itself said."""
    lines = text.splitlines(keepends=True)
    own = [line.removeprefix(SAYS).strip() for line in lines if line.startswith(SAYS)]
    return "".join(line for line in lines if not line.startswith(SAYS)), own


def _found(came: Came, end: str, said: list[str]) -> None:
    for line in said:
        _, at, gid = line.partition(" is GID ")
        if at:
            came.facts[f"{end} GID"] = gid


def wrong(said: Said, limit_s: float) -> str:
    """Why a script failed; empty where it did not."""
    if said.lost:
        return said.lost
    if not said.status:
        return ""
    lines = [line for line in said.text.splitlines() if line.strip(" -\t")]
    # Launchers go on talking after what went wrong.
    telling = [line for line in lines if _WRONG.search(line)]
    last = told((telling or lines)[-1]) if lines else ""
    if said.status in {NO_GID, NO_PORT}:
        return last.removeprefix(SAYS)
    # ``timeout`` gives 124, or 137 where it had to kill; a program that somebody else killed gives 137 too.
    if said.status == 124 or (said.status == 137 and said.seconds >= limit_s):
        return f"it was ended after {limit_s:g} s"
    if said.status == 127:
        return last or "there is no such program"
    return f"exit status {said.status}{f': {last}' if last else ''}"
