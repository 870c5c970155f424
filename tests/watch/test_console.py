"""The console's pages, what they are kept up to date by, and who may read them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from railweave.watch.app import app
from railweave.watch.watching import Watching
from tests.conftest import example
from tests.watch.traffic import filled, network_watched

Get = Callable[..., httpx.Response]
PAGES = ("/", "/anomalies", "/devices", "/path", "/rails", "/history", "/devices/stripe1-leaf1", "/devices/H100-01")
HERE = "http://127.0.0.1:8484"


def asked(application: Any, where: str, *, base: str = HERE, client: str = "127.0.0.1", method: str = "GET", **more: Any) -> httpx.Response:
    """The answer of an application to one request."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=application, client=(client, 40000))
        async with httpx.AsyncClient(transport=transport, base_url=base) as session:
            return await session.request(method, where, **more)

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def watching() -> Watching:
    return network_watched(example("h100-rlb"))


@pytest.fixture(scope="module")
def application(watching: Watching) -> Any:
    made = app(watching)
    asyncio.run(filled(watching))
    return made


@pytest.mark.parametrize("where", PAGES)
def test_pages(application: Any, where: str) -> None:
    answer = asked(application, where)
    assert answer.status_code == 200
