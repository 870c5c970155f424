"""What may be wrong with a file of a build folder, whatever is in it."""

from __future__ import annotations

from railweave.findings.registry import Rule

FILE_MISSING = Rule(
    id="file-missing",
    severity="error",
    applies="folder",
    says="a file of a build folder is gone",
    why="the folder is not whole",
    fix="build it again",
)
FILE_UNREADABLE = Rule(
    id="file-unreadable",
    severity="error",
    applies="folder",
    says="a file of a build folder is empty, or cannot be read as what it is",
    why="a device or server that is given the file has nothing, or half of what was designed",
    fix="build it again",
)
FILE_EDITED = Rule(
    id="file-edited",
    severity="warning",
    applies="folder",
    says="a file of a build folder is not as it was written, and no value of it is read; info: it says the same in other words",
    why="no check sees the change; the next build overwrites it",
    fix="build again",
    sometimes="info",
)
FILE_UNKNOWN = Rule(
    id="file-unknown",
    severity="warning",
    applies="folder",
    says="a file of a build folder is none that a build of its design writes",
    why="nothing reads it, and no build replaces or removes it: it may be of a device that is gone, or meant for another name",
    fix="remove it, or keep it elsewhere",
)
DESIGN_EDITED = Rule(
    id="design-edited",
    severity="error",
    applies="folder",
    says="design.json is not as it was written",
    why="every other file of the folder is compared with it",
    fix="change the fabric file and build again",
)
