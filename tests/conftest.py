"""What many tests need: the example networks, and networks from a fabric file written in the test."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import settings

from railweave.design.network import Network
from railweave.intent.lock import Lock
from railweave.outputs.steps import design_file

# A slow machine is no failure, and a failure is the same on every machine.
settings.register_profile("railweave", deadline=None, derandomize=True)
settings.load_profile("railweave")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SMALL = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if not path.stem.startswith("scale-"))
"""Examples that are cheap enough to be built wherever a test likes."""


@cache
def example(name: str) -> Network:
    """The network of an example, designed with the lock beside it."""
    return design_file(EXAMPLES / f"{name}.yaml")[0]


def designed(folder: Path, text: str, lock: Lock | None = None, inventory: str = "") -> tuple[Network, Lock]:
    """The network of a fabric file given as text."""
    file = folder / "fabric.yaml"
    file.write_text(dedent(text))
    if inventory:
        (folder / "fabric.inventory.csv").write_text(inventory)
    return design_file(file, lock)


def frr_root() -> Path | None:
    """A root folder with FRR for the vtysh validator: RAILWEAVE_FRR_ROOT, or what `make validators` made."""
    given = os.environ.get("RAILWEAVE_FRR_ROOT")
    place = Path(given) if given else ROOT / ".validators" / "frr"
    return place if place.is_dir() else None


@pytest.fixture
def rlb() -> Network:
    return example("h100-rlb")
