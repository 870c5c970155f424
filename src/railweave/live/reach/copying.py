"""Copy a file to a device by SFTP, over an SSH login. Only ``operations.deploy`` copies files, for upgrades."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncssh

from railweave.live.reach.failure import ReachError, told
from railweave.live.reach.ssh import closed, connected

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.live.reach.target import Target


async def copied(target: Target, file: Path, place: str) -> None:
    """Copy a file to a path on a device, unless a file of the same size exists there. Raises ``ReachError``."""
    connections = await connected(target)
    try:
        async with asyncio.timeout(target.answer_s), connections[-1].start_sftp_client() as sftp:
            size = file.stat().st_size
            if await sftp.exists(place) and await sftp.getsize(place) == size:
                return
            await sftp.put(str(file), place)
    except TimeoutError:
        raise ReachError("late", f"{place} was not copied within {target.answer_s:g} s") from None
    except (OSError, asyncssh.Error) as error:
        raise ReachError("lost", f"{place} was not copied: {told(str(error))}") from None
    finally:
        await closed(connections)
