"""Files of a build folder that are not rendered from the design, by the digest in its manifest; and files of no build."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from railweave.analysis.checks.file_rules import DESIGN_EDITED, FILE_EDITED, FILE_MISSING, FILE_UNKNOWN, FILE_UNREADABLE
from railweave.manifest import HELD, MANIFEST, STAGING, Manifest, digest
from railweave.reading import MOST_BYTES
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

DESIGN = "design.json"
OTHERS = (DESIGN, "topology.svg", "report.html", "findings.json", "fabric.lock")
"""Files at the top of a build folder that are not rendered again to be compared."""
RUNBOOKS = "runbook"
LEFT_ALONE = (".git", STAGING)
"""How names at the top begin that are of no concern: of a repository, and of a build that runs or was killed."""


def content_of(folder: Path, name: str) -> bytes | None:
    """What stands in a file, no more than ``MOST_BYTES`` and one; None where there is none that can be opened."""
    try:
        file = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NONBLOCK)  # a pipe would keep who opens it waiting
    except OSError:
        return None
    with os.fdopen(file, "rb") as stream:
        return stream.read(MOST_BYTES + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""


def others(folder: Path, network: Network, manifest: Manifest, wrong: Sequence[str]) -> Iterator[Finding]:
    """Files for people and the manifest: one that is gone, or has not the digest that the build noted.

    ``wrong`` are files that stand as designed and have another digest in the manifest.
    """
    where = network.name
    if not manifest.files:
        if content_of(folder, MANIFEST) is None:
            yield FILE_MISSING.finding(where, f"{MANIFEST} is missing", file=MANIFEST)
        else:
            what = f"{MANIFEST} cannot be read as the list of what a build wrote"
            yield FILE_UNREADABLE.finding(where, what, file=MANIFEST)
    wrong = list(wrong)
    for name in [*OTHERS, *_runbooks(network)]:
        content, noted = content_of(folder, name), manifest.files.get(name)
        if content is None:
            yield FILE_MISSING.finding(where, f"{name} is missing", file=name)
        elif noted is None:
            wrong.append(name)
        elif noted != digest(content):
            rule = DESIGN_EDITED if name == DESIGN else FILE_EDITED
            yield rule.finding(where, f"{name} is not as the build wrote it", file=name)
    if manifest.files and wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        what = f"{MANIFEST} does not have the digest of {wrong[0]}{more}"
        yield FILE_EDITED.finding(where, what, file=MANIFEST)


def _runbooks(network: Network) -> list[str]:
    return [f"{RUNBOOKS}/{one.name}.md" for one in network.switches if system(one.nos).runbook is not None]


def foreign(folder: Path, network: Network, rendered: Collection[str]) -> Iterator[Finding]:
    """Files that no build of the design writes; a folder that has no others, once."""
    known = {MANIFEST, HELD, *OTHERS, *_runbooks(network), *rendered}
    folders = {"/".join(parts[:end]) for name in known for parts in [name.split("/")] for end in range(1, len(parts))}
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as inside:
            there = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in inside)
        for one, is_folder in there:
            name = f"{above}/{one}" if above else one
            if name in known or (not above and one.startswith(LEFT_ALONE)):
                continue
            if is_folder and name in folders:
                waiting.append(name)
                continue
            kind = "folder" if is_folder else "file"
            what = f"{name} is a {kind} that no build of this design writes"
            yield FILE_UNKNOWN.finding(name.split("/")[1] if above else network.name, what, file=name)
