"""The function ``collect``, which queries the devices of a network and saves their answers as a capture."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import shutil
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - dataclasses read it
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from railweave.errors import FileLine, InputError, OutputError, Problem
from railweave.guard import removed_if_killed
from railweave.live.collect.queries import ask_all
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened
from railweave.model.config import gate
from railweave.model.state.capture import META, LabEntry, is_collected
from railweave.reading import file_text
from railweave.systems.redaction import kept_by_tables, names_of
from railweave.writing import Folder, unguessable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.collect.plan import CollectTarget
    from railweave.live.collect.queries import Open, Outcome
    from railweave.model.network.model import Network
    from railweave.model.state.question import Question


T = TypeVar("T")

MOST_OF_CAPTURE = 64 << 30
"""The largest number of characters of all answers of a capture."""
SHORT = 1 << 16
"""The length up to which the secrets of an answer are hidden at once. For a longer answer, other devices go on meanwhile."""
HIDING_S = 60.0
"""The seconds within which the secrets of an answer must be hidden."""


async def _in_time(work: Callable[[], T], length: int) -> T:
    """Return the result of ``work``, which hides the secrets of ``length`` characters. Raises ``ReachError`` after ``HIDING_S`` seconds.

    Long work is in a daemon thread of its own: nothing waits for it after the time limit, not even the end of the program.
    """
    if length <= SHORT:
        return work()
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def ended(value: T | None, error: Exception | None) -> None:
        if result.done():
            return
        if error is None:
            result.set_result(cast("T", value))
        else:
            result.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - it is raised where the result is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(ended, value, failure)

    threading.Thread(target=run, daemon=True).start()
    try:
        async with asyncio.timeout(HIDING_S):
            return await result
    except TimeoutError:
        raise ReachError("refused", f"its secrets could not be hidden within {HIDING_S:g} s") from None


class CaptureFolder:
    """The folder of a capture that is being written. The target folder stays unchanged until ``finish`` is called."""

    def __init__(self, target: Path, *, redact: bool) -> None:
        self._target = target
        self._redact = redact
        self._characters = 0
        self._of_device: dict[str, dict[str, int]] = {}
        self._staging = target.with_name(unguessable(target.name))
        self._guard = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Create a temporary folder for the capture.

        Raises ``InputError`` if the target exists and is not an earlier capture, ``OutputError`` if the folder cannot be written.
        """
        if self._target.is_symlink() or (self._target.exists() and not self._ours()):
            fix = "choose another folder, or empty it"
            raise InputError([Problem(FileLine(str(self._target)), "exists and is no capture that was collected", fix)])
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._guard.enter_context(removed_if_killed(self._staging))
            self._staging.mkdir(mode=0o700)
            self._folder = Folder(self._staging)
        except OSError as error:
            raise OutputError(f"cannot write {self._target}: {error.strerror or error}") from error
        return self

    def _ours(self) -> bool:
        return self._target.is_dir() and (is_collected(self._target) or not any(self._target.iterdir()))

    async def keep(self, device: str, question: Question, answer: str) -> None:
        """Store an answer to the query ``question``. An earlier answer to the same query is replaced.

        Raises ``OutputError`` if the answer cannot be written, and ``ReachError`` if its secrets cannot be hidden in time or the capture
        is full.
        """
        text = await _in_time(lambda: gate.redacted(answer), len(answer)) if self._redact else answer
        self._characters += len(text)
        if self._characters > MOST_OF_CAPTURE:
            raise ReachError("refused", f"the capture is larger than {MOST_OF_CAPTURE >> 30} GiB")
        self._write(f"{device}/{question.file}", text)
        self._of_device.setdefault(device, {})[question.file] = len(text)

    async def hide(self, device: str, nos: str, names: frozenset[str]) -> None:
        """Hide what no table knows in all answers of a device, which are complete now. ``names`` are those of the design.

        Answers from which nothing can be hidden in time are removed. Raises ``ReachError`` then, ``OutputError`` if nothing can be written.
        """
        lengths = self._of_device.pop(device, {})
        if not self._redact or not lengths:
            return
        folder = self._staging / device
        texts = {file: file_text(folder / file) for file in lengths}
        try:
            shown = await _in_time(lambda: kept_by_tables(texts, nos, names), sum(lengths.values()))
        except Exception:
            for file in lengths:
                self._folder.remove(f"{device}/{file}")
            raise
        for file, text in shown.items():
            if text != texts[file]:
                self._write(f"{device}/{file}", text)

    def _write(self, name: str, text: str) -> None:
        try:
            self._folder.remove(name)
            self._folder.create(name, text.encode("utf-8", "replace"), 0o600)
        except OSError as error:
            raise OutputError(f"cannot write {self._target}: {error.strerror or error}; nothing was changed") from error

    def finish(self, meta: Mapping[str, Any]) -> None:
        """Write ``meta`` as ``meta.json``, and move the finished capture to its target.

        Raises ``OutputError`` if that fails; an earlier capture is then unchanged.
        """
        self._write(META, json.dumps(meta, indent=1) + "\n")
        self._folder.__exit__()
        old = self._target.with_name(unguessable(self._target.name))
        try:
            if self._target.exists():
                self._target.rename(old)
            try:
                self._staging.rename(self._target)
            except OSError:
                if old.exists():
                    old.rename(self._target)
                raise
        except OSError as error:
            raise OutputError(f"cannot write {self._target}: {error.strerror or error}; nothing was changed") from error
        shutil.rmtree(old, ignore_errors=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._folder.__exit__()
        shutil.rmtree(self._staging, ignore_errors=True)
        self._guard.close()


@dataclass(frozen=True)
class CollectResult:
    """The result of a collection: the folder of the capture, and the outcome of each device in the order of querying."""

    folder: Path
    outcomes: tuple[Outcome, ...]

    @property
    def complete(self) -> bool:
        """True if every device answered all queries."""
        return all(outcome.status == "answered" for outcome in self.outcomes)

    def to_json(self) -> dict[str, object]:
        """Return a JSON object with the folder of the capture, and the outcome of each device by name (``row``)."""
        return {"capture": str(self.folder), "devices": {outcome.device: row(outcome) for outcome in self.outcomes}}


def row(outcome: Outcome) -> dict[str, Any]:
    """Return the object in ``meta.json`` for a device's ``outcome``: status, numbers of queries and answers, time, and errors."""
    fields: dict[str, Any] = {
        "system": outcome.system,
        "address": outcome.address,
        "status": outcome.status,
        "asked": outcome.asked,
        "answered": outcome.answered,
        "seconds": outcome.seconds,
    }
    more: dict[str, Any] = {
        "error": outcome.error,
        "kind": outcome.kind,
        "failed": outcome.failed,
        "absent": outcome.absent,
    }
    return fields | {key: value for key, value in more.items() if value}


def collect(
    network: Network,
    devices: Sequence[CollectTarget],
    access: AccessFile,
    folder: Path,
    *,
    redact: bool = True,
    progress: Callable[[str], None],
    open_by: Open = opened,
    lab: LabEntry | None = None,
) -> CollectResult:
    """Query devices, and write their answers as a capture into ``folder``. ``access`` has the limits of querying.

    The result and ``meta.json`` list every device, even devices that cannot be queried. If ``redact`` is True, secrets in the answers are
    hidden. ``open_by`` connects to a device. ``lab`` is the lab that the devices belong to, or None. Raises ``InputError`` if the folder
    contains anything but an earlier capture, and ``OutputError`` if it cannot be written.
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
            names=names_of(network),
        )
    )
    return CollectResult(folder, tuple(outcomes))


async def captured(
    devices: Sequence[CollectTarget],
    folder: Path,
    about: Mapping[str, Any],
    *,
    redact: bool = True,
    at_once: int,
    attempts: int,
    done: Callable[[Outcome], None] = lambda _: None,
    open_by: Open = opened,
    names: frozenset[str] | None = None,
) -> list[Outcome]:
    """Query devices, write their answers as a new capture, and return the outcomes.

    - ``about``: further keys for ``meta.json``.
    - ``redact``: True to hide secrets in the answers.
    - ``at_once``: the number of devices to query at the same time. ``attempts``: the largest number of attempts for each.
    - ``done``: a function that is called with each outcome. ``open_by``: a function that connects to a device.
    - ``names``: the names of the design. Then everything that no table knows is hidden as well (``systems.redaction``). None for captures
      that railweave itself reads at once and removes.

    Raises ``InputError`` if the folder contains anything but an earlier capture, and ``OutputError`` if it cannot be written.
    """
    with CaptureFolder(folder, redact=redact) as capture:

        async def complete(asked: CollectTarget) -> None:
            if names is not None:
                await capture.hide(asked.target.name, asked.system, names)

        outcomes = await ask_all(
            devices,
            capture.keep,
            at_once=at_once,
            attempts=attempts,
            done=done,
            open_by=open_by,
            complete=complete,
        )
        capture.finish({"schema": 1, **about, "devices": {outcome.device: row(outcome) for outcome in outcomes}})
    return outcomes
