"""A capture: a folder with the unmodified answers of devices.

``DEVICE/QUESTION.json`` or ``.txt`` holds one device's answer to one question. The answer to the question
``configuration`` is the running configuration. ``meta.json`` may give the time of the capture, the design, and the
versions of the devices.

Any tool that saves configurations can make such a folder. A file ``DEVICE.txt`` (``.conf``, ``.cfg``, ``.set``,
``.json``, ``.xml``) next to the device folders is that device's configuration. The files that ``railweave build``
writes are read as configurations too (docs/collect.md).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path  # noqa: TC003 - pydantic and dataclasses read it
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from railweave.errors import FileLine, InputError, Problem
from railweave.reading import file_text, more_values

META = "meta.json"
CONFIGURATION = "configuration"
_ANSWERS = (".json", ".txt")
_SAVED = (".txt", ".conf", ".cfg", ".set", ".json", ".xml")
_MOST_BYTES = 64 << 20
"""The largest size of an answer, in bytes. Larger files are ignored, because no switch has so long a configuration."""
_MOST_VALUES = 1_000_000
"""The largest number of values of a configuration in JSON. A SONiC switch with 512 ports has 50,000."""
MOST_OF_DEVICE = 128 << 20
"""The largest number of characters of all answers of a device. Answers beyond count as not seen."""


class CaptureEntry(BaseModel):
    """The entry in ``meta.json`` for a device that ``railweave collect`` queried.

    ``status`` is ``answered`` if the device answered all questions, ``partly`` if it answered some, and ``failed`` if none.
    ``kind`` is the kind of ``error``, such as ``unreachable`` or ``login``.
    """

    model_config = ConfigDict(extra="ignore")

    system: str = ""
    address: str = ""
    status: Literal["answered", "partly", "failed"] = "answered"
    error: str = ""
    """The reason why the device was not reached, or why the connection was lost."""
    kind: str = ""
    failed: dict[str, str] = {}
    """The reason of the failure for each question that the device failed to answer, by question."""
    absent: list[str] = []
    """The optional questions that the device does not support."""


class LabEntry(BaseModel):
    """The entry in ``meta.json`` for a capture of a lab.

    ``slice`` names the part of the network that the lab emulates. ``timers`` replace the timers of the design, by name, such as
    ``bfd_interval_ms``.
    """

    model_config = ConfigDict(extra="ignore")

    slice: str = ""
    timers: dict[str, int] | None = None


class Meta(BaseModel):
    """The contents of ``meta.json``: facts about a capture as a whole. Every field is optional."""

    model_config = ConfigDict(extra="allow")

    schema_: Annotated[int, Field(alias="schema", ge=1, le=1)] = 1
    taken: datetime | None = None
    """The time at which ``railweave collect`` asked the first device."""
    design: str = ""
    """The digest of the design (``design.json``) for which the capture was taken."""
    versions: dict[str, str] = {}
    """The version that each device runs."""
    redacted: bool | None = None
    """True if secrets were removed; None if not known."""
    devices: dict[str, CaptureEntry] = {}
    """The devices that were asked, including those that did not answer. Empty for a capture made by hand."""
    lab: LabEntry | None = None
    """The lab that was captured, or None for a capture of real devices."""


@dataclass(frozen=True)
class Capture:
    """A folder of answers.

    - ``answers``: the file of each answer, by device and question.
    - ``saved``: further configuration files, by device and file name.
    """

    folder: Path
    meta: Meta
    answers: dict[str, dict[str, Path]]
    saved: dict[str, dict[str, Path]]

    @property
    def devices(self) -> list[str]:
        """The devices for which the capture has files, in alphabetical order."""
        return sorted({*self.answers, *self.saved})

    def configurations(self, device: str, files: tuple[str, ...]) -> dict[Path, str]:
        """Return the texts of a device's configuration, by path, or an empty dictionary if the capture has none.

        Answers come first, then saved files named in ``files`` (the configuration files of the device's system), then other
        saved files. Raises ``InputError`` if a file is not text.
        """
        answers = self.answers.get(device, {})
        paths = [path for question, path in answers.items() if question.partition("-")[0] == CONFIGURATION]
        saved = self.saved.get(device, {})
        paths = (
            paths or [saved[name] for name in files if name in saved] or [saved[name] for name in saved if name == ""]
        )
        return {path: _text(path) for path in paths}

    def texts(self, device: str) -> dict[str, str]:
        """Return the answers of a device, by question. Bytes that are not text are replaced, and files that are too long are left out."""
        contents: dict[str, str] = {}
        left = MOST_OF_DEVICE
        for question, path in self.answers.get(device, {}).items():
            with contextlib.suppress(OSError):
                contents[question] = file_text(path, min(_MOST_BYTES, left), "replace", "utf-8-sig")
                left -= len(contents[question])
        return contents


def read_capture(folder: Path) -> Capture:
    """Return the capture in a folder. Raise ``InputError`` if there is no such folder or its ``meta.json`` is invalid."""
    if not folder.is_dir():
        fix = "name the folder that holds DEVICE/configuration.txt for each device"
        raise InputError([Problem(FileLine(str(folder)), "no such folder", fix)])
    if (folder / "devices").is_dir() and (folder / "design.json").is_file():
        folder = folder / "devices"  # a build folder: what its files say
    answers: dict[str, dict[str, Path]] = {}
    saved: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
            answers[path.name] = {file.stem: file for file in inside if file.suffix in _ANSWERS}
            saved[path.name] = {file.name: file for file in inside}
        elif path.suffix in _SAVED and path.name != META:
            saved.setdefault(path.stem, {})[""] = path
    meta = _meta(folder / META)
    if not any(answers.values()) and not any(saved.values()) and not meta.devices:
        fix = "the folder should contain DEVICE/configuration.txt for each device, or DEVICE.txt"
        raise InputError([Problem(FileLine(str(folder)), "the folder contains no answers of devices", fix)])
    return Capture(folder, meta, answers, saved)


def is_collected(folder: Path) -> bool:
    """Return True if ``railweave collect`` wrote this folder. Then ``railweave collect`` may replace the folder."""
    try:
        return bool(_meta(folder / META).devices)
    except InputError:
        return False


def _meta(path: Path) -> Meta:
    if not path.is_file():
        return Meta()
    try:
        return Meta.model_validate_json(_text(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{where}: {first['msg']}" if where else first["msg"]
        raise InputError(
            [Problem(FileLine(str(path)), message, "repair the file, or remove it: it is optional")]
        ) from None


def _text(path: Path) -> str:
    try:
        text = file_text(path, _MOST_BYTES, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot be read: {error.strerror if isinstance(error, OSError) else 'it is not UTF-8 text'}"
        raise InputError([Problem(FileLine(str(path)), message, "save the file from the device again")]) from None
    if text.lstrip()[:1] in {"{", "["} and more_values(text, _MOST_VALUES):
        message = f"more than {_MOST_VALUES:,} values, which no switch has"
        raise InputError([Problem(FileLine(str(path)), message, "save the file from the device again")])
    return text
