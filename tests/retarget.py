"""The examples on other switches than their files name."""

from __future__ import annotations

from functools import cache

from railweave.build.steps import design_file
from railweave.design.network import Network
from tests.conftest import EXAMPLES


@cache
def retargeted(name: str, nos: str) -> Network:
    """An example with every role on an operating system, on a model like its own."""
    return design_file(EXAMPLES / f"{name}.yaml", device=[f":{nos}"])[0]
