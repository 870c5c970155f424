"""The current files of servers, read before a change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from railweave.errors import RailweaveError
from railweave.live.fleet import transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from railweave.live.site.site import Site


def host_files(
    site: Site, names: Collection[str], done: Callable[[str, str], None]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the files of servers by server and name, and the error of each server that did not answer. Nothing is changed.

    ``done`` is called with each server and its result as text.
    """
    silent: dict[str, str] = {}

    async def ask(name: str, free: asyncio.Semaphore) -> tuple[str, dict[str, str]]:
        async with free:
            try:
                session = await site.open_to_change(name, transaction.PROTOCOL)
                try:
                    texts = await transaction.running(session)
                finally:
                    await session.close()
            except RailweaveError as error:
                silent[name] = str(error)
                texts = {}
            done(name, "no answer" if name in silent else "answered")
            return name, texts

    async def ask_all() -> list[tuple[str, dict[str, str]]]:
        free = asyncio.Semaphore(site.at_once)
        return await asyncio.gather(*(ask(name, free) for name in names))

    answers = dict(asyncio.run(ask_all()))
    return {name: texts for name, texts in answers.items() if name not in silent}, silent
