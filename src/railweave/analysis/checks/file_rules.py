"""Rules about a file of a build folder or of saved configurations, whatever is in it."""

from __future__ import annotations

from railweave.model.findings.registry import Rule

FILE_MISSING = Rule(
    id="file-missing",
    severity="error",
    applies="folder",
    says="a file of a build folder is missing",
    why="the folder is incomplete: whoever loads it loads a part of the design",
    fix="build it again",
)
FILE_UNREADABLE = Rule(
    id="file-unreadable",
    severity="error",
    applies="folder",
    says="a file of a build folder is empty, or not of its format",
    why="a device or server that loads the file gets nothing, or half of its configuration",
    fix="build it again",
)
FILE_EDITED = Rule(
    id="file-edited",
    severity="warning",
    applies="folder",
    says="a file of a build folder was changed after the build, and no check reads its values; an info where only comments, blanks or order changed",
    why="no check tells what the change does, and the next build overwrites it",
    fix="build again",
    sometimes="info",
)
FILE_UNKNOWN = Rule(
    id="file-unknown",
    severity="warning",
    applies="folder",
    says="a build folder holds a file that a build of its design does not write",
    why="nothing reads the file, and no build replaces or removes it: it may belong to a device that is gone, or have a wrong name",
    fix="remove it, or keep it elsewhere",
)
DESIGN_EDITED = Rule(
    id="design-edited",
    severity="error",
    applies="folder",
    says="design.json was changed after the build",
    why="every other file of the folder is compared with it",
    fix="change the fabric file and build again",
)
NOT_CAPTURED = Rule(
    id="not-captured",
    severity="warning",
    applies="folder",
    says="no configuration of the switch was saved",
    why="the designed one stands for it in all that is worked out",
    fix="save it, as DEVICE/configuration.txt",
)
