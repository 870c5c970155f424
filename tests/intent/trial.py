"""What a fabric file comes to on an operating system: every device's statements, servers' files, findings."""

from __future__ import annotations

import copy
import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.device.build import device_config
from railweave.device.host import host_config
from railweave.outputs.steps import design_file
from railweave.render.network import server_files
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.findings import Finding


@dataclass(frozen=True)
class Trial:
    """A design on one operating system."""

    statements: dict[str, list[str]]
    """Of every switch, by its name."""
    servers: dict[str, str]
    tables: str
    """The design without findings: cables, addresses, names."""
    findings: tuple[Finding, ...]


@cache
def trial(text: str, nos: str) -> Trial:
    """The design of a fabric file's text with every switch on an operating system."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fabric.yaml"
        file.write_text(text)
        network = design_file(file, device=[f":{nos}"])[0]
    configs = [device_config(network, one.name) for one in network.switches]
    gaps = [gap for one in configs for gap in system(nos).gaps(one)]
    hosts = [host_config(network, one.name) for one in network.servers]
    return Trial(
        {one.name: system(nos).lines(one) for one in configs},
        {path: content for one in hosts for path, content in server_files(one).items()},
        "",
        (*network.findings, *gaps),
    )


def place(raw: dict[str, Any], path: Iterable[str]) -> list[str | int] | None:
    """Where a path is in a fabric file: for ``*`` the first key or place; None where there is none."""
    at: Any = raw
    found: list[str | int] = []
    for word in path:
        if word == "*":
            keys = range(len(cast("list[Any]", at))) if isinstance(at, list) else list(cast("dict[str, Any]", at or {}))
            if not keys:
                return None
            word = keys[0]  # noqa: PLW2901 - the key that stands for it
        found.append(word)
        at = at[word] if isinstance(at, list) else (at or {}).get(word, {})
    return found


def with_value(raw: dict[str, Any], at: Iterable[str | int], value: object) -> dict[str, Any]:
    """A copy of a fabric file with a value at a place."""
    result = copy.deepcopy(raw)
    inner: Any = result
    *above, last = at
    for word in above:
        if isinstance(inner, dict) and inner.get(word) is None:
            inner[word] = {}
        inner = inner[word]
    inner[last] = value
    return result


def text_of(raw: dict[str, Any]) -> str:
    """A fabric file's text: JSON is YAML."""
    return json.dumps(raw, indent=1)
