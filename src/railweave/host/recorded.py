"""A recorded machine: a folder that says of a server what ``machine`` looked at there.

``root/`` holds the files of /sys, /proc and /etc that were read, ``commands/`` what commands printed, and ``machine.json`` the
rest (docs/checks.md).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import files
from .failure import HostInputError
from .machine import FileMachine, Said, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .machine import Machine


class RecordedMachine(FileMachine):
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
