"""Stay, and repair what is changed under us: a link that flapped took its routes with it, a network daemon its rules."""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable

from . import apply, readiness
from .failure import HostError, InterruptedRunError
from .kernel import command_line

if TYPE_CHECKING:
    from collections.abc import Generator

    from .host_file import HostFile

_SETTLE_S = 0.2
"""A change seldom comes alone: look when so long nothing more was said, so that a flap is one repair."""
_SETTLE_AT_MOST_S = 2.0
_LOOK_ANYWAY_S = 60.0
"""The kernel does not tell of every route it drops (IPv4, when a link goes down), and drops news when there is too much."""

_TRY_AGAIN_S = 3.0
"""After a repair that failed: often something else was still at it."""


def watch(plan: HostFile, places: apply.Places, lock: int, say: Callable[[str], None]) -> None:
    """Repair until KeyboardInterrupt; ``say`` gets a line for each repair, and for each NIC that goes or comes back."""
    blocked: dict[str, str] = {}
    trouble = ""
    while True:
        with _news() as news:  # listens before it looks: nothing is missed in between
            while True:
                try:
                    blocked = _report(plan, blocked, say)
                    done = apply.apply(plan, places, lock, blocked)
                    trouble = ""
                    if done:
                        lines = [command_line(one) for one in done.commands] or [f"{places.names} written"]
                        say("repaired: " + "; ".join(_few(lines)))
                except InterruptedRunError as error:
                    say(str(error))
                    raise KeyboardInterrupt from None
                except HostError as error:
                    if str(error) != trouble:
                        trouble = str(error)
                        say(f"not repaired: {trouble}")
                if not _settled(news, _TRY_AGAIN_S if trouble else _LOOK_ANYWAY_S):
                    break


def _report(plan: HostFile, before: dict[str, str], say: Callable[[str], None]) -> dict[str, str]:
    now = {one.netdev: one.blocked for one in readiness.read(plan) if one.blocked}
    for netdev in {**before, **now}:
        if before.get(netdev) != now.get(netdev):
            say(f"{netdev}: {now.get(netdev, 'is back')}")
    return now


def _few(lines: list[str]) -> list[str]:
    return lines if len(lines) <= 3 else [*lines[:2], f"{len(lines) - 2} more"]


@contextmanager
def _news() -> Generator[int, None, None]:
    """A descriptor on which the kernel's news of links, addresses, routes and rules can be read."""
    try:
        with subprocess.Popen(
            ["ip", "monitor", "link", "address", "route", "rule"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as monitor:
            try:
                assert monitor.stdout is not None  # noqa: S101 - PIPE
                yield monitor.stdout.fileno()
            finally:
                monitor.terminate()
    except FileNotFoundError:
        raise HostError("the ip command is not there: install iproute2") from None


def _settled(news: int, wait: float) -> bool:
    """Wait so long for news, and then until there is no more for a moment. False where the source has dried up."""
    end = time.monotonic() + wait
    while select.select([news], [], [], max(0.0, min(wait, end - time.monotonic())))[0]:
        if not os.read(news, 1 << 16):
            time.sleep(1)
            return False
        if wait != _SETTLE_S:  # the first
            wait, end = _SETTLE_S, time.monotonic() + _SETTLE_AT_MOST_S
    return True
