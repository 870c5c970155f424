"""A capture: a folder of what each device said, as it said it.

``DEVICE/QUESTION.json`` or ``.txt`` is the answer of one device to one question; ``configuration`` is the question for its running
configuration. ``meta.json`` may say when it was taken, of which design, and which versions run. Whatever saves
configurations makes such a folder: a file ``DEVICE.txt`` (``.conf``, ``.cfg``, ``.set``, ``.json``, ``.xml``) beside the folders is the
device's configuration, and so are the files that ``railweave build`` writes for it (docs/capture.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path  # noqa: TC003 - pydantic and dataclasses read it
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from railweave.errors import FileLine, InputError, Problem

META = "meta.json"
CONFIGURATION = "configuration"
_ANSWERS = (".json", ".txt")
_SAVED = (".txt", ".conf", ".cfg", ".set", ".json", ".xml")
_MOST_BYTES = 64 << 20
"""No configuration of a switch is longer; a file that is was not saved from one."""


class CaptureEntry(BaseModel):
    """The entry in ``meta.json`` for a device that ``railweave collect`` asked, with the outcome."""

    model_config = ConfigDict(extra="ignore")

    system: str = ""
    address: str = ""
    status: Literal["answered", "partly", "failed"] = "answered"
    error: str = ""
    """The reason that the device was not reached, or that the connection was lost."""
    kind: str = ""
    failed: dict[str, str] = {}
    """Questions that it did not answer, with the reason."""
    absent: list[str] = []
    """Questions that it does not know, and need not."""


class LabEntry(BaseModel):
    """The entry in ``meta.json`` for a lab whose devices were asked: its slice, and the timers that replace the designed ones."""

    model_config = ConfigDict(extra="ignore")

    slice: str = ""
    timers: dict[str, int] | None = None


class Meta(BaseModel):
    """``meta.json``: what is known of a capture as a whole. Nothing in it is required."""

    model_config = ConfigDict(extra="allow")

    schema_: Annotated[int, Field(alias="schema", ge=1, le=1)] = 1
    taken: datetime | None = None
    """When the first device was asked."""
    design: str = ""
    """Digest of the design (``design.json``) that it was taken for."""
    versions: dict[str, str] = {}
    """The version that each device runs."""
    redacted: bool | None = None
    """True if secrets were removed; None if not known."""
    devices: dict[str, CaptureEntry] = {}
    """The devices that were asked, those that did not answer too; empty of a capture that was made by hand."""
    lab: LabEntry | None = None
    """The lab of which this is a capture; None: of real devices."""


@dataclass(frozen=True)
class Capture:
    """A folder of answers. ``answers`` are files by device and question; ``saved`` are configurations by device and file name."""

    folder: Path
    meta: Meta
    answers: dict[str, dict[str, Path]]
    saved: dict[str, dict[str, Path]]

    @property
    def devices(self) -> list[str]:
        """The devices that said something, in alphabetical order."""
        return sorted({*self.answers, *self.saved})

    def configurations(self, device: str, files: tuple[str, ...]) -> dict[Path, str]:
        """The texts of a device's configuration, by their path: those of its answers, else saved ones.

        ``files`` are names that its system gives to configuration files; of saved ones they come before others. Empty:
        nothing was captured. Raises ``InputError`` for a file that is no text.
        """
        answers = self.answers.get(device, {})
        paths = [path for question, path in answers.items() if question.partition("-")[0] == CONFIGURATION]
        saved = self.saved.get(device, {})
        paths = (
            paths or [saved[name] for name in files if name in saved] or [saved[name] for name in saved if name == ""]
        )
        return {path: _text(path) for path in paths}

    def texts(self, device: str) -> dict[str, str]:
        """Return the answers of a device, by question. Marks replace bytes that are not text; files that are too long are left out."""
        contents: dict[str, str] = {}
        for question, path in self.answers.get(device, {}).items():
            try:
                if path.stat().st_size <= _MOST_BYTES:
                    contents[question] = path.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
            except OSError:
                continue
        return contents


def read_capture(folder: Path) -> Capture:
    """The capture in a folder. Raises ``InputError`` where there is none, or its ``meta.json`` is not one."""
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
    if not any(answers.values()) and not any(saved.values()):
        fix = "it should hold DEVICE/configuration.txt for each device, or DEVICE.txt"
        raise InputError([Problem(FileLine(str(folder)), "no device's answers are here", fix)])
    return Capture(folder, _meta(folder / META), answers, saved)


def is_collected(folder: Path) -> bool:
    """Return whether ``railweave collect`` wrote this folder, and so may replace it."""
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
            [Problem(FileLine(str(path)), message, "mend the file, or remove it: it is optional")]
        ) from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(
                [Problem(FileLine(str(path)), f"longer than {_MOST_BYTES >> 20} MiB", "it is no configuration")]
            )
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot be read: {error.strerror if isinstance(error, OSError) else 'it is no UTF-8 text'}"
        raise InputError([Problem(FileLine(str(path)), message, "save it from the device again")]) from None
