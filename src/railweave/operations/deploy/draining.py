"""The command of the user's that a wave waits for before it takes servers from their jobs: a drain of the scheduler, most often."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.operations.deploy.waves import Wave


@dataclass(frozen=True)
class WaitFor:
    """A command for the shell, and how many seconds it may take."""

    command: str
    seconds: float

    async def __call__(self, number: int, wave: Wave) -> str:
        """Run it before a wave; why it was not good, or nothing. What it prints goes where this program's output goes.

        Its environment has ``RAILWEAVE_WAVE`` (the wave's number), ``RAILWEAVE_DEVICES`` and ``RAILWEAVE_SERVERS`` (names with commas between).
        """
        given = {
            "RAILWEAVE_WAVE": str(number),
            "RAILWEAVE_DEVICES": ",".join(wave.devices),
            "RAILWEAVE_SERVERS": ",".join(wave.servers),
        }
        child = await asyncio.create_subprocess_shell(
            self.command,
            stdin=asyncio.subprocess.DEVNULL,
            env={**os.environ, **given},
            start_new_session=True,
            stdout=2,
        )
        try:
            async with asyncio.timeout(self.seconds):
                status = await child.wait()
        except TimeoutError:
            return f"--wait-for did not end within {self.seconds:g} s"
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        return f"--wait-for ended with {status}" if status else ""
