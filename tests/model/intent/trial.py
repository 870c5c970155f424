"""What a fabric file comes to on an operating system: every switch's statements, servers' files, findings."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.outputs.folder.designing import design_file
from railweave.outputs.rendering import host
from railweave.outputs.rendering.host.cluster import cluster_files
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

MODELS = {"junos": "qfx5240-64od", "eos": "arista-7060x6-64pe", "frr": "qfx5240-64od"}
"""The switch model of every role by operating system; the models that others run on are like these."""
OTHER = "z9864f-on"


@dataclass(frozen=True, eq=False)
class Trial:
    """A design with every switch on one operating system."""

    network: Network
    configs: tuple[DeviceConfig, ...]

    @cached_property
    def emulated(self) -> tuple[DeviceConfig, ...]:
        """The FRR form of every switch."""
        return tuple(device_config(self.network, one.name, "frr") for one in self.configs)

    @cached_property
    def servers(self) -> list[dict[str, str]]:
        """The files of every server, and those that they share."""
        made = [host.files(host_config(self.network, one.name)) for one in self.network.servers]
        return [*made, cluster_files(self.network)]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is said of the design, and of what the system cannot express."""
        return (*self.network.findings, *(gap for one in self.configs for gap in system(one.nos).gaps(one)))


def same_statements(here: Iterable[DeviceConfig], there: Iterable[DeviceConfig]) -> bool:
    """Whether switches come to the same statements, one by one."""
    pairs = list(zip_longest(here, there))
    return all(one and other and (one == other or _statements(one) == _statements(other)) for one, other in pairs)


def _statements(config: DeviceConfig) -> list[str]:
    return system(config.nos).lines(config)


def trial(raw: dict[str, Any], nos: str) -> Trial:
    """The design of a fabric file with every switch on an operating system. Raises ``InputError``."""
    return _trial(_on(raw, nos))


@cache
def _trial(text: str) -> Trial:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fabric.yaml"
        file.write_text(text)
        network = design_file(file)[0]
    return Trial(network, tuple(device_config(network, one.name) for one in network.switches))


def _on(raw: dict[str, Any], nos: str) -> str:
    """The text of a fabric file (JSON is YAML) with a system's model for ``<switch>`` and its names of ports for ``<30:0>``."""
    result = copy.deepcopy(raw)
    for fabric in result["fabrics"].values():
        for role in ("leaf", "spine", "super_spine", "dci"):
            if role in fabric:
                fabric[role] = {"nos": nos, **fabric[role]}
    text = json.dumps(result, indent=1).replace("<switch>", MODELS.get(nos, OTHER))
    names = catalog().systems[nos]
    return re.sub(
        r"<(\d+)(?::(\d))?>",
        lambda found: names.name_of(int(found[1]), None if found[2] is None else int(found[2])),
        text,
    )


def place(raw: dict[str, Any], path: Iterable[str]) -> list[str | int] | None:
    """Where a path is in a fabric file: for ``*`` the first key or place; None where there is none."""
    at: Any = raw
    found: list[str | int] = []
    for word in path:
        key: str | int = word
        if word == "*":
            keys = range(len(cast("list[Any]", at))) if isinstance(at, list) else list(cast("dict[str, Any]", at or {}))
            if not keys:
                return None
            key = keys[0]
        found.append(key)
        at = at[key] if isinstance(at, list) else (at or {}).get(key, {})
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
