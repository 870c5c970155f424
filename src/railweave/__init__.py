"""railweave: one file describes a RoCEv2 GPU cluster network; design, render, prove and explain it.

Each step of the command line is also a function::

    import railweave

    network = railweave.load("examples/h100-rlb.yaml")  # design it (see railweave.design)
    railweave.build("examples/h100-rlb.yaml", "out")  # write everything
    print(railweave.diff("out", "examples/h100-rlb.yaml").lines())  # what a change of the file would change
    for finding in railweave.verify(network):
        ...
    for pair in railweave.paths(network, "H100-01:gpu0_eth", "H100-03:gpu0_eth", qps=4):
        ...
    print(railweave.simulate(network, "all-reduce", "1G", qps=4).to_text())

docs/api.md lists all functions, with their parameter and result types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave import lazy

if TYPE_CHECKING:
    from railweave.analysis.routing.paths import LinkShare, QueuePairPath
    from railweave.analysis.routing.table import Fib, Routes
    from railweave.api import build, diff, load, paths, routes, simulate, simulate_grid, simulate_training, verify
    from railweave.errors import (
        Argument,
        DesignError,
        FileLine,
        InputError,
        NetworkPart,
        Option,
        OutputError,
        Place,
        Problem,
        RailweaveError,
        RenderError,
        SpecError,
    )
    from railweave.model.findings import Finding
    from railweave.model.findings.validators import ValidatorReport
    from railweave.model.intent.lock import Lock
    from railweave.model.network.devices import Cable, Fabric, Nic, Server, Switch
    from railweave.model.network.model import Network
    from railweave.outputs.folder.differences import DeviceDiff, NetworkDiff
    from railweave.outputs.folder.steps import Built
    from railweave.outputs.folder.verify import Verified
    from railweave.prediction.simulation.engines.measured import Columns
    from railweave.prediction.simulation.grid import Grid
    from railweave.prediction.simulation.job_run import JobPrediction, JobStep
    from railweave.prediction.simulation.prediction import Prediction

__version__ = "0.2.0"
__all__ = [
    "Argument",
    "Built",
    "Cable",
    "Columns",
    "DesignError",
    "DeviceDiff",
    "Fabric",
    "Fib",
    "FileLine",
    "Finding",
    "Grid",
    "InputError",
    "JobPrediction",
    "JobStep",
    "LinkShare",
    "Lock",
    "Network",
    "NetworkDiff",
    "NetworkPart",
    "Nic",
    "Option",
    "OutputError",
    "Place",
    "Prediction",
    "Problem",
    "QueuePairPath",
    "RailweaveError",
    "RenderError",
    "Routes",
    "Server",
    "SpecError",
    "Switch",
    "ValidatorReport",
    "Verified",
    "build",
    "diff",
    "load",
    "paths",
    "routes",
    "simulate",
    "simulate_grid",
    "simulate_training",
    "verify",
]

if not TYPE_CHECKING:  # a type checker reads the imports above, and sees a name that is none of these
    _HOMES = {
        "railweave.outputs.folder.verify": ("Verified",),
        "railweave.model.network.devices": ("Cable", "Fabric", "Nic", "Server", "Switch"),
        "railweave.model.network.model": ("Network",),
        "railweave.errors": (
            "Argument",
            "FileLine",
            "NetworkPart",
            "Option",
            "Place",
            "Problem",
            *(name for name in __all__ if name.endswith("Error")),
        ),
        "railweave.model.findings": ("Finding",),
        "railweave.model.findings.validators": ("ValidatorReport",),
        "railweave.model.intent.lock": ("Lock",),
        "railweave.outputs.folder.differences": ("DeviceDiff", "NetworkDiff"),
        "railweave.outputs.folder.steps": ("Built",),
        "railweave.analysis.routing.paths": ("LinkShare", "QueuePairPath"),
        "railweave.analysis.routing.table": ("Fib", "Routes"),
        "railweave.prediction.simulation.collective": ("Prediction",),
        "railweave.prediction.simulation.grid": ("Grid",),
        "railweave.prediction.simulation.job_run": ("JobPrediction", "JobStep"),
        "railweave.prediction.simulation.engines.measured": ("Columns",),
    }

    _AT_HOME = {name for names in _HOMES.values() for name in names}
    __getattr__ = lazy.attributes(
        __name__, {**_HOMES, "railweave.api": tuple(name for name in __all__ if name not in _AT_HOME)}
    )

    def __dir__() -> list[str]:
        """Return the public names of this module and its double-underscore names, sorted. Imported submodules are left out."""
        return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
