"""The names that users' scripts depend on: verbs and their options, fields of the fabric file, ids of findings.

``python -m docs.interface > docs/interface.txt`` records them at a release. Until the next release, CHANGELOG.md must name
each verb, option and field that was added, and every name that went away; a test compares (tests/docs/test_changelog.py).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from docs.cli_reference import verbs

DOCS = Path(__file__).parent
RECORD = DOCS / "interface.txt"


def interface() -> list[str]:
    """Return the names, as the parsers and the generated references have them, sorted."""
    names: set[str] = set()
    for verb in verbs():
        words = " ".join(verb.words)
        names.add(f"verb {words}")
        for spelled, _ in verb.options:
            names |= {f"option {words} {option}" for option in re.findall(r"`(--[a-z0-9-]+)`", spelled)}
    schema = json.loads((DOCS / "fabric.schema.json").read_text(encoding="utf-8"))
    for name, definition in {"Fabric file": schema, **schema["$defs"]}.items():
        names |= {f"field {name} {field}" for field in definition.get("properties", ())}
    findings = (DOCS / "findings.md").read_text(encoding="utf-8")
    return sorted(
        names | {f"finding {finding}" for finding in re.findall(r"^\| `([a-z0-9-]+)` \|", findings, re.MULTILINE)}
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(interface()) + "\n")
