"""What a build says of secrets: references that stay in files, names without a value, and values that nothing uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network
    from railweave.outputs.folder.rendering import Rendered
    from railweave.outputs.folder.secrets_file import Secrets

SECRET_OPEN = Rule(
    id="secret-open",
    severity="info",
    applies="build",
    says="device files hold references in place of secrets",
    why="the files can be shared and committed, but not loaded as they are",
    fix="build with --secrets FILE (NAME: value, one a line) for files to load",
)
SECRET_MISSING = Rule(
    id="secret-missing",
    severity="error",
    applies="build",
    says="the file of --secrets has no value for a secret that device files hold",
    why="the files hold <secret:NAME> in its place: loaded as they are, switches take that text for the value",
)
SECRET_UNUSED = Rule(
    id="secret-unused",
    severity="warning",
    applies="build",
    says="the file of --secrets has a value that no device file holds",
    why="a name that is written otherwise than in the fabric file gives its secret no value",
)


def secret_findings(network: Network, made: Rendered, secrets: Secrets | None, fabric: Path) -> list[Finding]:
    """The findings of a build; ``secrets`` is None where it was given no file of them."""
    if secrets is not None:
        return [*_missing(made.open_names, secrets, fabric), *_unused(made.used_names, secrets)]
    if not made.open_secrets:
        return []
    what = f"{made.open_secrets} device files hold references such as <secret:NAME> in place of secrets"
    return [SECRET_OPEN.finding(network.name, what)]


def _missing(names: Collection[str], secrets: Secrets, fabric: Path) -> Iterator[Finding]:
    text = fabric.read_text(encoding="utf-8")
    for name in sorted(names):
        found = re.search(rf"secret:{re.escape(name)}(?![\w./:@-])", text)
        line = text.count("\n", 0, found.start()) + 1 if found else 0
        fix = f"write `{name}: VALUE` into the file of secrets{_nearest(name, secrets.keys() - names)}"
        what = f"the file of secrets has no {name!r}"
        yield SECRET_MISSING.finding(f"secret {name}", what, file=str(fabric), line=line, fix=fix)


def _unused(names: Collection[str], secrets: Secrets) -> Iterator[Finding]:
    for name in sorted(secrets.keys() - names):
        place = secrets.lines[name]
        fix = f"take it out, or correct its name{_nearest(name, names)}"
        what = f"no device file holds the secret {name!r}"
        yield SECRET_UNUSED.finding(f"secret {name}", what, file=place.file, line=place.line, fix=fix)


def _nearest(name: str, known: Collection[str]) -> str:
    close = nearest(name, sorted(known))
    return f" ({close!r} is the nearest name)" if close else ""
