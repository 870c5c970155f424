"""The names that users' scripts depend on: verbs and their options, fields of the fabric file, ids of findings.

``python -m docs.interface > docs/interface.txt`` records them at a release. Until the next release, CHANGELOG.md must name
each verb, option and field that was added, and every name that went away; a test compares (tests/docs/test_changelog.py).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
RECORD = DOCS / "interface.txt"


def interface(folder: Path = DOCS) -> list[str]:
    """Return the names, as the generated references below a folder have them, sorted."""
    names: set[str] = set()
    verb = ""
    for line in (folder / "cli.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#{3,4} railweave (.*)", line):
            verb = heading[1]
            names.add(f"verb {verb}")
        elif verb and (row := re.match(r"\| (`.*?)(?<!\\) \| ", line)):
            names |= {f"option {verb} {option}" for option in re.findall(r"`(--[a-z0-9-]+)`", row[1])}
    schema = json.loads((folder / "fabric.schema.json").read_text(encoding="utf-8"))
    for name, definition in {"Fabric file": schema, **schema["$defs"]}.items():
        names |= {f"field {name} {field}" for field in definition.get("properties", ())}
    findings = (folder / "findings.md").read_text(encoding="utf-8")
    return sorted(
        names | {f"finding {finding}" for finding in re.findall(r"^\| `([a-z0-9-]+)` \|", findings, re.MULTILINE)}
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(interface()) + "\n")
