"""The writer of this program as a single file (zipapp) that Python 3.9 or newer can run, for servers on which nothing can be installed."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from . import files

_TOP = "railweave_host"
_MAIN = f"import sys\n\nfrom {_TOP}.commands import main\n\nsys.exit(main())\n"
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file can say: same sources, same bytes


def write(file: Path) -> None:
    """Write the zipapp. Raises HostError if the file cannot be written."""
    sources, out = _sources(), io.BytesIO()
    out.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, wherever it is made
            archive.writestr(entry, sources[name])
    files.write(file, out.getvalue(), mode=0o777)


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
