"""railweave: one file describes a RoCEv2 GPU cluster network; design, render, prove and explain it.

The steps of the command line are these functions::

    import railweave

    network = railweave.load("examples/h100-rlb.yaml")  # design it (see railweave.design)
    railweave.build("examples/h100-rlb.yaml", "out")  # write everything
    for finding in railweave.verify(network):
        ...
    for pair in railweave.paths(network, "H100-01:gpu0_eth", "H100-03:gpu0_eth", qps=4):
        ...
    print(railweave.simulate(network, "all-reduce", "1G", qps=4).to_text())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.api import build, load, paths, routes, simulate, verify
    from railweave.errors import DesignError, InputError, OutputError, RailweaveError, SpecError

__version__ = "0.1.0"
__all__ = [
    "DesignError",
    "InputError",
    "OutputError",
    "RailweaveError",
    "SpecError",
    "build",
    "load",
    "paths",
    "routes",
    "simulate",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import the public functions on first use: ``import railweave`` itself stays cheap."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'railweave' has no attribute {name!r}")
    module = "railweave.errors" if name.endswith("Error") else "railweave.api"
    return getattr(importlib.import_module(module), name)
