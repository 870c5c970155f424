"""A device of a lab on this machine: commands in its network namespace. It is asked what SSH would ask."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from typing import TYPE_CHECKING

from railweave.reach.failure import MOST_BYTES, ReachError, complaint, decoded, told
from railweave.state.question import reads_only

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.state.question import Question


class Command:
    """``prefixes`` are the words before a command, by its first word; under the empty one those before any other."""

    def __init__(self, prefixes: Mapping[str, Sequence[str]], limit: float = 60) -> None:
        self._prefixes = prefixes
        self._limit = limit

    async def ask(self, question: Question) -> str:
        """What a command prints. Raises ``ReachError``."""
        words = question.asked.get("ssh", "")
        if not reads_only("ssh", words):
            raise ReachError("not asked", f"`{words}` is not known to read only")
        parts = shlex.split(words)
        argv = [*self._prefixes.get(parts[0], self._prefixes.get("", ())), *parts]
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, limit=MOST_BYTES
            )
        except OSError as error:
            raise ReachError("unreachable", f"`{argv[0]}` cannot be run: {error.strerror}") from None
        try:
            async with asyncio.timeout(self._limit):
                out, wrong = await process.communicate()
        except TimeoutError:
            raise ReachError("late", f"`{words}`: no answer within {self._limit:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        answer = decoded(out)
        refused = complaint(answer)
        # vtysh says of a daemon that is not running nothing but an error, and ends as if all were well.
        if refused or ((process.returncode or wrong.strip()) and not answer.strip()):
            why = refused or told(decoded(wrong)) or f"exit status {process.returncode}"
            raise ReachError("refused", f"`{words}`: {why}")
        return answer

    async def close(self) -> None:
        """Nothing is open between questions."""
