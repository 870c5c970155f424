"""``collect``: a network, and how its devices are reached, to a capture of all they say."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from railweave.live.collect.asking import ask_all
from railweave.live.collect.writing import CaptureFolder
from railweave.live.reach.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.collect.asking import Open, Outcome
    from railweave.live.collect.plan import Asked
    from railweave.model.network.model import Network
    from railweave.model.state.capture import OfLab


@dataclass(frozen=True)
class Collected:
    """What came of it: a row per device, in the order in which they were asked, and where the capture is."""

    folder: Path
    outcomes: tuple[Outcome, ...]

    @property
    def complete(self) -> bool:
        """Whether every device answered all it was asked."""
        return all(one.status == "answered" for one in self.outcomes)

    def to_json(self) -> dict[str, object]:
        """The whole as the documented JSON object."""
        return {"capture": str(self.folder), "devices": {one.device: row(one) for one in self.outcomes}}


def row(one: Outcome) -> dict[str, Any]:
    """What ``meta.json`` says of a device."""
    found: dict[str, Any] = {
        "system": one.system,
        "address": one.address,
        "status": one.status,
        "asked": one.asked,
        "answered": one.answered,
        "seconds": one.seconds,
    }
    more: dict[str, Any] = {"error": one.error, "kind": one.kind, "failed": one.failed, "absent": one.absent}
    return found | {key: value for key, value in more.items() if value}


def collect(
    network: Network,
    devices: Sequence[Asked],
    access: AccessFile,
    folder: Path,
    *,
    redact: bool = True,
    progress: Callable[[str], None],
    open_by: Open = opened,
    lab: OfLab | None = None,
) -> Collected:
    """Ask devices and write what they say. Raises ``InputError`` and ``OutputError`` about the folder.

    A device that cannot be asked is a row of the result, and of ``meta.json``. ``lab``: they are those of a lab.
    """
    taken = datetime.now(UTC)
    finished: list[str] = []

    def done(outcome: Outcome) -> None:
        finished.append(outcome.device)
        progress(f"{outcome.device}: {outcome.status} ({len(finished)} of {len(devices)})")

    about = {
        "taken": taken.isoformat(timespec="seconds"),
        "design": hashlib.sha256(network.to_json()).hexdigest(),
        "redacted": redact,
        **({} if lab is None else {"lab": lab.model_dump()}),
    }
    limits = access.access
    outcomes = asyncio.run(
        captured(
            devices,
            folder,
            about,
            redact=redact,
            at_once=limits.at_once,
            attempts=limits.attempts,
            done=done,
            open_by=open_by,
        )
    )
    return Collected(folder, tuple(outcomes))


async def captured(
    devices: Sequence[Asked],
    folder: Path,
    about: Mapping[str, Any],
    *,
    redact: bool = True,
    at_once: int,
    attempts: int,
    done: Callable[[Outcome], None] = lambda _: None,
    open_by: Open = opened,
) -> list[Outcome]:
    """Ask devices into a new capture, whose ``meta.json`` says ``about``. Raises ``InputError`` and ``OutputError`` about the folder."""
    with CaptureFolder(folder, redact=redact) as capture:
        outcomes = await ask_all(devices, capture.keep, at_once=at_once, attempts=attempts, done=done, open_by=open_by)
        capture.finish({"schema": 1, **about, "devices": {one.device: row(one) for one in outcomes}})
    return outcomes
