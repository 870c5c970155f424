"""The machine that checks read: this server, or a recorded server (``checking.RecordedMachine``). Checks read only through this module."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, TypeVar, cast

from . import files

T = TypeVar("T")

COMMAND_S = 4.0
"""The time limit for a command in seconds; the check of a server should end within 5 s."""
SYSFS = Path("/sys")
_LONGEST_FILE = 1 << 20  # below /proc/sys the kernel refuses to be asked for 4 MiB or more (proc_sysctl.c: ENOMEM)
TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin"


class CannotTellError(Exception):
    """An error that is raised if a value cannot be read. The text is the reason, such as no permission or a missing tool."""


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command.

    ``missing`` is True if the command is not installed. ``code`` is the exit code, or None if the command did not end in
    time.
    """

    out: str
    err: str = ""
    code: int | None = 0
    missing: bool = False


class Machine:
    """The files and commands of a server. Each file is read once and each command run once, so all checks see the same state."""

    def __init__(self) -> None:
        self.texts: dict[str, str | None] = {}
        self.denied: dict[str, str] = {}
        self.listed: dict[str, list[str]] = {}
        self.reals: dict[str, str | None] = {}
        self.said: dict[tuple[str, ...], CommandOutput] = {}
        self._made: dict[object, Any] = {}
        self._locks: dict[object, threading.Lock] = {}
        self._lock = threading.Lock()
        self.now = time.time()
        self.root_user = os.geteuid() == 0

    def text(self, path: str) -> str | None:
        """Return a file's text without blanks at both ends, or None if the file does not exist.

        Raises CannotTellError if the file exists and cannot be read.
        """
        self._once(self.texts, path, lambda: self._text(path))
        if path in self.denied:
            raise CannotTellError(f"{path}: {self.denied[path]}")
        return self.texts[path]

    def readable(self, path: str) -> str | None:
        """Return a file's text without blanks at both ends, or None if the file does not exist or cannot be read.

        Some sysfs files cannot be read while they have no value.
        """
        try:
            return self.text(path)
        except CannotTellError:
            return None

    def number(self, path: str) -> int | None:
        """Return the whole number in a file, or None if the file does not exist or holds no number.

        Raises CannotTellError if the file exists and cannot be read.
        """
        text = self.text(path) or ""
        try:
            return int(text.split()[0], 0)
        except (ValueError, IndexError):
            return None

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder; empty if the folder does not exist."""
        return self._once(self.listed, folder, lambda: self._names(folder))

    def real(self, path: str) -> str | None:
        """Return the path with all links resolved, or None if it does not exist."""
        return self._once(self.reals, path, lambda: self._real(path))

    def run(self, *words: str) -> CommandOutput:
        """Return the output of a command, even if the command failed.

        Raises CannotTellError if the command is not installed or did not end in time.
        """
        answer = self._once(self.said, words, lambda: self._run(words))
        if answer.missing:
            raise CannotTellError(f"{words[0]} is not installed")
        if answer.code is None:
            raise CannotTellError(f"`{' '.join(words)}` did not end within {COMMAND_S:g} s")
        return answer

    def output(self, *words: str) -> str:
        """Return the text that a command prints.

        Raises CannotTellError if the command is not installed, fails, or does not end in time.
        """
        answer = self.run(*words)
        if answer.code:
            reason = (answer.err.strip() or answer.out.strip() or f"exit code {answer.code}").splitlines()[-1]
            root = "" if self.root_user else "; root may be needed"
            raise CannotTellError(f"`{' '.join(words)}`: {reason}{root}")
        return answer.out

    def json(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON that a command prints, or None if it prints nothing.

        Raises CannotTellError if the command is not installed, fails, or prints no JSON.
        """

        def parsed() -> Any:  # noqa: ANN401 - JSON
            text = self.output(*words).strip()
            try:
                return files.parsed(text) if text else None
            except ValueError:
                raise CannotTellError(f"`{' '.join(words)}` printed no JSON") from None

        return self.once(("json", *words), parsed)

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """Return the objects in the JSON that a command prints; a single object becomes a list.

        Raises CannotTellError if the command is not installed, fails, or prints no JSON.
        """
        return objects(self.json(*words))

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the result of ``make``. It is called only once for each key, because several checks use the same result."""
        return self._once(self._made, key, make)

    def has(self, tool: str) -> bool:
        """Return True if a tool is installed."""
        raise NotImplementedError

    def _once(self, kept: dict[Any, T], key: Any, look: Callable[[], T]) -> T:  # noqa: ANN401 - a path, or words
        with self._lock:
            lock = self._locks.setdefault((id(kept), key), threading.Lock())
        with lock:
            if key not in kept:
                kept[key] = look()
            return kept[key]

    def _text(self, path: str) -> str | None:
        raise NotImplementedError

    def _names(self, folder: str) -> list[str]:
        raise NotImplementedError

    def _real(self, path: str) -> str | None:
        raise NotImplementedError

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        raise NotImplementedError


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a JSON list, or a single object as a list. Other values are dropped."""
    members = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", member) for member in members if isinstance(member, dict)]


class FileMachine(Machine):
    """A machine whose files are under a folder."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _text(self, path: str) -> str | None:
        try:
            with self._at(path).open("rb") as stream:
                return stream.read(_LONGEST_FILE).decode("utf-8", "replace").strip()
        except PermissionError:
            self.denied[path] = "only root may read it"
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            pass
        except OSError as error:  # the kernel's own way to say: no value now
            self.denied[path] = os.strerror(error.errno) if error.errno else str(error)
        return None

    def _names(self, folder: str) -> list[str]:
        try:
            return sorted(path.name for path in self._at(folder).iterdir())
        except OSError:
            return []

    def _real(self, path: str) -> str | None:
        there = self._at(path)
        if not there.exists():
            return None
        return "/" + os.path.relpath(os.path.realpath(there), os.path.realpath(self.root)).lstrip("./")


class ThisMachine(FileMachine):
    """The server on which this program runs. It is read and never changed. ``sysfs`` is a folder to read instead of /sys."""

    def __init__(self, sysfs: Path = SYSFS) -> None:
        super().__init__(Path("/"))
        self._sysfs = sysfs
        self._path = os.environ.get("PATH", "") + ":" + TOOLS

    def _at(self, path: str) -> Path:
        return self._sysfs / path[len("/sys/") :] if path.startswith("/sys/") else super()._at(path)

    def has(self, tool: str) -> bool:
        """Return True if a tool is installed."""
        return any(os.access(Path(word) / tool, os.X_OK) for word in self._path.split(":") if word)

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        return ran(words, self._path, COMMAND_S)


def ran(words: tuple[str, ...], path: str, seconds: float) -> CommandOutput:
    """Run a command that only reads, with the search path ``path`` and a time limit of ``seconds``, and return its output."""
    try:
        done = subprocess.run(
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "PATH": path, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return CommandOutput("", missing=True)
    except subprocess.TimeoutExpired:
        return CommandOutput("", code=None)
    except OSError as error:
        return CommandOutput("", os.strerror(error.errno or 0), 126)
    return CommandOutput(
        done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode
    )
