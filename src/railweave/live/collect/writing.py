"""A capture written whole or not at all: answers go to a folder beside it as they come, which takes its name at the end."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path  # noqa: TC003 - dataclasses read it
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, InputError, OutputError, Problem
from railweave.model.config.gate import redacted
from railweave.model.state.capture import META, is_collected
from railweave.writing import Folder, unguessable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from railweave.model.state.question import Question


class CaptureFolder:
    """The folder of a capture that is being made. Leaving it without ``finish`` leaves everything as it was."""

    def __init__(self, target: Path, *, redact: bool) -> None:
        self._target = target
        self._redact = redact
        self._staging = target.with_name(unguessable(target.name))

    def __enter__(self) -> Self:
        """Raises ``InputError`` where something else than an earlier capture stands there, ``OutputError`` where nothing can be written."""
        if self._target.is_symlink() or (self._target.exists() and not self._ours()):
            fix = "choose another folder, or empty it"
            raise InputError([Problem(FileLine(str(self._target)), "exists and is no capture that was collected", fix)])
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._staging.mkdir(mode=0o700)
            self._folder = Folder(self._staging)
        except OSError as error:
            raise OutputError(f"cannot write {self._target}: {error.strerror or error}") from error
        return self

    def _ours(self) -> bool:
        return self._target.is_dir() and (is_collected(self._target) or not any(self._target.iterdir()))

    def keep(self, device: str, question: Question, answer: str) -> None:
        """Store an answer; one that came before for the same question is replaced. Raises ``OutputError``."""
        text = redacted(answer) if self._redact else answer
        self._write(f"{device}/{question.file}", text)

    def _write(self, name: str, text: str) -> None:
        try:
            self._folder.remove(name)
            self._folder.create(name, text.encode("utf-8", "replace"), 0o600)
        except OSError as error:
            raise OutputError(f"cannot write {self._target}: {error.strerror or error}; nothing was changed") from error

    def finish(self, meta: Mapping[str, Any]) -> None:
        """Put the capture in its place. Raises ``OutputError``; what was there before is then as it was."""
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
