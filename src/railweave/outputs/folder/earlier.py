"""What an earlier build left in the output folder, and which of it is on the disk as it was written.

A folder ``devices/NAME`` or ``hosts/NAME`` follows from what one device was rendered from, from the secrets, and from the
program; their digest is its key. ``manifest.json`` holds a stamp of key and files. Where the stamp is that of the key
wanted, and every file has its digest on the disk, rendering would write the same again.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.manifest import digest, read_manifest
from railweave.outputs.folder.write import by_folder, stamp
from railweave.outputs.rendering.network import CONFIG_FILE
from railweave.workers import spreading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


@dataclass(frozen=True)
class Earlier:
    """Digests by file of every device's folder and its stamp; ``whole`` are folders as written, with their open secrets."""

    files: dict[str, dict[str, str]]
    stamps: dict[str, str]
    whole: dict[str, int]

    def has(self, folder: str, key: str) -> bool:
        """Whether the files of a folder are there as rendering by this key gives them."""
        return folder in self.whole and self.stamps.get(folder) == stamp(key, self.files[folder])


@contextlib.contextmanager
def reading_earlier(out: Path) -> Generator[Callable[[], Earlier]]:
    """Read what an earlier build left, beside what the caller does meanwhile: what is given waits for the result."""
    manifest = read_manifest(out)
    files = by_folder(manifest.files)

    def open_secrets(folder: str) -> int | None:
        """How many files hold references to secrets; None where not every file is as it was written."""
        count = 0
        for name, value in files[folder].items():
            try:
                with open(f"{out}/{name}", "rb") as stream:  # noqa: PTH123 - pathlib takes a second more for 18,000
                    content = stream.read()
            except OSError:
                return None
            if digest(content) != value:
                return None
            count += OPEN in content and not name.endswith(f"/{CONFIG_FILE}")  # which never holds a secret
        return count

    folders = [one for one in files if one in manifest.rendered]
    with spreading(open_secrets, folders) as counts:
        yield lambda: Earlier(
            files,
            manifest.rendered,
            {one: count for one, count in zip(folders, counts(), strict=True) if count is not None},
        )


OPEN = b"<secret:"
"""What stands in a file for a secret that was not given."""
