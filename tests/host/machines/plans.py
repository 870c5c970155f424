"""The ``host.json`` files that machines are written for: servers of the examples, by kind."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from railweave import api
from railweave.host.files import content, parsed
from railweave.model.device.host import host_config, host_configs
from railweave.outputs.rendering.host.host_json import host_json

EXAMPLES = Path(__file__).parents[3] / "src" / "railweave" / "_examples"
PLANS = ("h100-rlb", "mi300x-leaf-24", "evpn-gpu-isolation", "aidc-three-fabrics", "gb300-racks")


@cache
def _text(example: str) -> str:
    network = api.load(EXAMPLES / f"{example}.yaml")
    return host_json(host_config(network, next(iter(host_configs(network)))))


def plan(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The first server of an example: its ``host.json`` written to a folder, and as it reads."""
    file = folder / "host.json"
    file.write_text(_text(name))
    return file, parsed(content(file))
