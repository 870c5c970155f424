"""Reading of files up to a size limit, and atomic writing of files.

After a write, a file has either its old or its new content, even after a power failure. The module also writes this
program as one file that Python 3.9 or newer can run. The package runs without the rest of railweave, so it has its own
reader and writer.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import secrets
import stat
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .failure import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping


RT_TABLES_FILE = Path("/etc/iproute2/rt_tables.d/railweave.conf")

_LINE = re.compile(r"\s*(0x[0-9a-fA-F]+|\d+)\s+([^\s#]+)\s*(?:#.*)?")


def rt_tables_text(host: str, network: str, tables: Mapping[int, str]) -> str:
    """Return the text of the file that names routing tables, in iproute2's format.

    A comment with the server ``host`` and the ``network`` comes first, then a line with number and name for each table.
    """
    return (
        f"# {host} of {network}, written by railweave. Goes to {RT_TABLES_FILE}\n"
        "# Names of the routing tables for `ip`; routing itself goes by number and works without them.\n"
        + "".join(f"{number}\t{name}\n" for number, name in sorted(tables.items()))
    )


def rt_tables(text: str | None) -> set[tuple[int, str]]:
    """Return the (number, name) pairs that iproute2 reads from a file of routing table names; empty if ``text`` is None."""
    matches = [_LINE.fullmatch(line) for line in (text or "").splitlines()]
    return {(int(match[1], 16 if match[1].startswith("0x") else 10), match[2]) for match in matches if match}


MOST_BYTES = 16 << 20
"""The size limit for reading a file, in bytes: a thousand times the size of a typical server's file."""


def opened(file: Path) -> IO[bytes]:
    """Return a regular file, open for reading. Anything else is refused: a pipe could keep the reader waiting forever. Raises OSError."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "no regular file", str(file))
    return os.fdopen(handle, "rb")


def content(file: Path) -> str:
    """Return a file's text. Raises OSError if it cannot be read, and ValueError if it is not UTF-8 text or is longer than ``MOST_BYTES``."""
    with opened(file) as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"larger than {MOST_BYTES >> 20} MiB, the most that is read")
    return data.decode("utf-8")


def parsed(text: str) -> Any:  # noqa: ANN401 - JSON
    """Return the value of a JSON text. Raises ValueError if the text is not JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read(file: Path) -> str | None:
    """Return a file's text, or None if the file does not exist. Raises HostError if the file exists and cannot be read."""
    try:
        return content(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HostError(f"{file}: cannot be read: {error}") from None


def write(file: Path, text: str | bytes | None, mode: int = 0o666) -> None:
    """Replace a file's content, or remove the file if ``text`` is None. Raises HostError if the file cannot be written or removed.

    ``mode`` has the permission bits of the new file, from which the umask is subtracted.
    """
    staged = file.with_name(f".{file.name}.{secrets.token_hex(8)}")  # which nobody can have put a link at
    try:
        if text is None:
            file.unlink(missing_ok=True)
            if not file.parent.is_dir():
                return
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            _replace(file, staged, text.encode() if isinstance(text, str) else text, mode)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise HostError(f"{file}: cannot be written: {error.strerror}{_root_hint()}") from None


def _replace(file: Path, staged: Path, data: bytes, mode: int) -> None:
    """Replace a file or a link by ``data`` atomically, through the temporary file ``staged``.

    ``mode`` has the permission bits. Raises OSError if the file cannot be replaced.
    """
    try:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        staged.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            staged.unlink(missing_ok=True)
        raise


def _root_hint() -> str:
    return "" if os.geteuid() == 0 else " (root is needed)"


_TOP = "railweave_host"
_MAIN = f"""import sys

try:
    from {_TOP}.commands import main

    sys.exit(main())
except KeyboardInterrupt:  # while modules are loaded
    print("interrupted", file=sys.stderr)
    sys.exit(130)
"""
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file can say: same sources, same bytes


def write_program(file: Path) -> None:
    """Write this program as one file (zipapp), for servers on which nothing can be installed. Raises HostError if the file cannot be written."""
    sources, out = _sources(), io.BytesIO()
    out.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, wherever it is made
            archive.writestr(entry, sources[name])
    write(file, out.getvalue(), mode=0o777)


def _sources() -> dict[str, str]:
    """Return the source of every module of this package, by its path in the zipapp. Also works from within a zipapp."""
    here = Path(__file__).parent
    if here.is_dir():
        sources = {
            f"{_TOP}/{path.relative_to(here).as_posix()}": path.read_text(encoding="utf-8")
            for path in here.rglob("*.py")
        }
    else:
        with zipfile.ZipFile(here.parent) as archive:
            sources = {name: archive.read(name).decode("utf-8") for name in archive.namelist() if "/" in name}
    return {**sources, "__main__.py": _MAIN}
