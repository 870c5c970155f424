"""The machine that is looked at: this server, or one that was recorded. Every check reads through here, and nothing else.

A recorded machine is a folder: ``root/`` holds the files of /sys, /proc and /etc that were read, ``commands/`` what commands
printed, and ``machine.json`` the rest (docs/checks.md).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from . import files
from .failure import HostInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

COMMAND_S = 4.0
"""The longest a command may take: a check of a server is to end within 5 s."""
_LONGEST_FILE = 4 << 20
_TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin"


class CannotTellError(Exception):
    """Something could not be looked at; the text says why: no permission, no such tool, an answer in an unknown form."""


@dataclass(frozen=True)
class Said:
    """What a command printed. ``missing``: it is not installed; ``code`` None: it did not end in time."""

    out: str
    err: str = ""
    code: int | None = 0
    missing: bool = False


class Machine:
    """Files and commands of a server; each is looked at once, so that all checks judge the same moment."""

    def __init__(self) -> None:
        self.texts: dict[str, str | None] = {}
        self.denied: dict[str, str] = {}
        self.listed: dict[str, list[str]] = {}
        self.reals: dict[str, str | None] = {}
        self.said: dict[tuple[str, ...], Said] = {}
        self._locks: dict[object, threading.Lock] = {}
        self._lock = threading.Lock()
        self.now = time.time()
        self.root_user = os.geteuid() == 0

    def text(self, path: str) -> str | None:
        """A file's text without the space around it; None where there is no such file. Raises CannotTellError."""
        self._once(self.texts, path, lambda: self._text(path))
        if path in self.denied:
            raise CannotTellError(f"{path}: {self.denied[path]}")
        return self.texts[path]

    def number(self, path: str) -> int | None:
        """A file's whole number; None where there is no such file, or none in it. Raises CannotTellError."""
        text = self.text(path) or ""
        try:
            return int(text.split()[0], 0)
        except (ValueError, IndexError):
            return None

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none where there is no such folder."""
        return self._once(self.listed, folder, lambda: self._names(folder))

    def real(self, path: str) -> str | None:
        """Where a path leads, with links followed; None where it leads nowhere."""
        return self._once(self.reals, path, lambda: self._real(path))

    def run(self, *words: str) -> Said:
        """What a command says, whether or not it failed. Raises CannotTellError where it is not there or did not end."""
        said = self._once(self.said, words, lambda: self._run(words))
        if said.missing:
            raise CannotTellError(f"{words[0]} is not installed")
        if said.code is None:
            raise CannotTellError(f"`{' '.join(words)}` did not end within {COMMAND_S:g} s")
        return said

    def output(self, *words: str) -> str:
        """What a command prints. Raises CannotTellError where it is not there, fails, or does not end."""
        said = self.run(*words)
        if said.code:
            reason = (said.err.strip() or said.out.strip() or f"exit code {said.code}").splitlines()[-1]
            root = "" if self.root_user else "; root may be needed"
            raise CannotTellError(f"`{' '.join(words)}`: {reason}{root}")
        return said.out

    def json(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """The JSON that a command prints; None where it prints nothing. Raises CannotTellError."""
        text = self.output(*words).strip()
        if not text:
            return None
        try:
            return files.parsed(text)
        except ValueError:
            raise CannotTellError(f"`{' '.join(words)}` printed no JSON") from None

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """The objects of the JSON list that a command prints; of one object, that. Raises CannotTellError."""
        return objects(self.json(*words))

    def has(self, tool: str) -> bool:
        """Whether a tool is installed."""
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

    def _run(self, words: tuple[str, ...]) -> Said:
        raise NotImplementedError


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a JSON list, or the one object; nothing else is in it."""
    found = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in found if isinstance(one, dict)]


class _Files(Machine):
    """A machine whose files stand under a folder."""

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
            return sorted(one.name for one in self._at(folder).iterdir())
        except OSError:
            return []

    def _real(self, path: str) -> str | None:
        there = self._at(path)
        if not there.exists():
            return None
        return "/" + os.path.relpath(os.path.realpath(there), os.path.realpath(self.root)).lstrip("./")


class ThisMachine(_Files):
    """The server that this runs on. Nothing is ever written."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self._path = os.environ.get("PATH", "") + ":" + _TOOLS

    def has(self, tool: str) -> bool:
        """Whether a tool is installed."""
        return any(os.access(Path(one) / tool, os.X_OK) for one in self._path.split(":") if one)

    def _run(self, words: tuple[str, ...]) -> Said:
        try:
            done = subprocess.run(
                words,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMMAND_S,
                env={**os.environ, "PATH": self._path, "LC_ALL": "C"},
            )
        except FileNotFoundError:
            return Said("", missing=True)
        except subprocess.TimeoutExpired:
            return Said("", code=None)
        except OSError as error:
            return Said("", os.strerror(error.errno or 0), 126)
        return Said(done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.returncode)


class RecordedMachine(_Files):
    """A machine as ``record`` has written it. Raises HostInputError where the folder holds none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "root")
        index = _index(folder / "machine.json")
        self.now = float(index.get("time", 0))
        self.root_user = bool(index.get("root", True))
        self.denied = {str(path): str(why) for path, why in dict(index.get("denied", {})).items()}
        self.texts = dict.fromkeys(self.denied)
        for line, one in dict(index.get("commands", {})).items():
            self.said[tuple(line.split(" "))] = _said(folder, one)

    def has(self, tool: str) -> bool:
        """Whether a tool was installed: something was asked of it."""
        return any(words[0] == tool and not said.missing for words, said in self.said.items())

    def _run(self, words: tuple[str, ...]) -> Said:
        del words
        return Said("", missing=True)  # what was not recorded was not there


def record(machine: Machine, folder: Path) -> None:
    """Write what was looked at to a folder, which is made. Raises HostError where it cannot be written."""
    root = folder / "root"
    for path, real in sorted(machine.reals.items()):  # links first: what is read lies behind them
        if real is not None:
            _link(root, path, real)
    for path, names in machine.listed.items():
        for name in names:
            there = root / path.lstrip("/") / name
            if not there.exists() and f"{path.rstrip('/')}/{name}" not in machine.texts:
                there.mkdir(parents=True)
    for path, text in machine.texts.items():
        if text is not None:
            files.write(root / path.lstrip("/"), text + "\n")
    commands: dict[str, Any] = {}
    for number, (words, said) in enumerate(sorted(machine.said.items()), 1):
        one: dict[str, Any] = {"code": said.code}
        if said.missing:
            one = {"missing": True}
        if said.out:
            one["file"] = f"{number:03}-{words[0]}.txt"
            files.write(folder / "commands" / one["file"], said.out)
        if said.err:
            one["stderr"] = said.err
        commands[" ".join(words)] = one
    index = {
        "schema": 1,
        "time": round(machine.now),
        "root": machine.root_user,
        "denied": machine.denied,
        "commands": commands,
    }
    files.write(folder / "machine.json", json.dumps(index, indent=1) + "\n")


def _link(root: Path, path: str, real: str) -> None:
    """Make ``path`` lead to ``real``, as it does on the machine."""
    link, to = root / path.lstrip("/"), root / real.lstrip("/")
    to.mkdir(parents=True, exist_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(os.path.relpath(to, os.path.realpath(link.parent)))


def _index(file: Path) -> dict[str, Any]:
    try:
        index = files.parsed(files.content(file))
    except OSError as error:
        raise HostInputError(f"{file}: cannot be read: {error.strerror}; `railweave host capture` writes it") from None
    except ValueError as error:
        raise HostInputError(f"{file}: not JSON: {error}") from None
    if [one.get("schema") for one in objects(index)] != [1]:
        raise HostInputError(f"{file}: not a recorded machine of schema 1")
    return objects(index)[0]


def _said(folder: Path, one: Mapping[str, Any]) -> Said:
    if one.get("missing"):
        return Said("", missing=True)
    out = ""
    if "file" in one:
        place = folder / "commands" / Path(str(one["file"])).name
        try:
            out = files.content(place)
        except (OSError, ValueError) as error:
            raise HostInputError(f"{place}: cannot be read: {error}") from None
    return Said(out, str(one.get("stderr", "")), one.get("code", 0))
