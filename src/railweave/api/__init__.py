"""The steps of the command line as functions, called as ``railweave.load``, ``railweave.build`` and so on.

Functions that ``railweave`` does not export are called from this package, for example ``railweave.api.check``. A
``source`` is a fabric file, a ``build`` output folder, or a designed network. If a fabric file has an inventory and a
lock next to it, they are read too. Devices, NICs and links have their names in ``cabling.csv``. A function that
needs many other modules imports them when it is called.

Imports: ``model``, ``systems``, ``design``, ``analysis``, ``prediction``, ``outputs``, ``live``, ``operations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.lazy import attributes

if TYPE_CHECKING:
    from railweave.api.bench import (
        bench_check,
        bench_compare,
        bench_import,
        bench_plan,
        bench_report,
        bench_run,
        bench_triage,
    )
    from railweave.api.building import build, connection, diff, paths, routes, verify
    from railweave.api.exporting import export
    from railweave.api.living import check, collect, fill_inventory, fleet_check, fleet_mesh, questions_of, states
    from railweave.api.predicting import (
        simulate,
        simulate_grid,
        simulate_sizes,
        simulate_training,
        simulate_training_variants,
        simulate_variants,
    )
    from railweave.api.saved import adopt, drift, running
    from railweave.api.tuning import tune_diagnose, tune_headroom, tune_run, tune_watchdog
    from railweave.outputs.folder.sources import load, load_pair

__all__ = [
    "adopt",
    "bench_check",
    "bench_compare",
    "bench_import",
    "bench_plan",
    "bench_report",
    "bench_run",
    "bench_triage",
    "build",
    "check",
    "collect",
    "connection",
    "diff",
    "drift",
    "export",
    "fill_inventory",
    "fleet_check",
    "fleet_mesh",
    "load",
    "load_pair",
    "paths",
    "questions_of",
    "routes",
    "running",
    "simulate",
    "simulate_grid",
    "simulate_sizes",
    "simulate_training",
    "simulate_training_variants",
    "simulate_variants",
    "states",
    "tune_diagnose",
    "tune_headroom",
    "tune_run",
    "tune_watchdog",
    "verify",
]

if not TYPE_CHECKING:  # a type checker reads the imports above
    __getattr__ = attributes(
        __name__,
        {
            "railweave.api.bench": (
                "bench_check",
                "bench_compare",
                "bench_import",
                "bench_plan",
                "bench_report",
                "bench_triage",
                "bench_run",
            ),
            "railweave.api.building": ("build", "connection", "diff", "paths", "routes", "verify"),
            "railweave.api.exporting": ("export",),
            "railweave.api.living": (
                "check",
                "collect",
                "fill_inventory",
                "fleet_check",
                "fleet_mesh",
                "questions_of",
                "states",
            ),
            "railweave.api.predicting": (
                "simulate",
                "simulate_grid",
                "simulate_sizes",
                "simulate_training",
                "simulate_training_variants",
                "simulate_variants",
            ),
            "railweave.api.saved": ("adopt", "drift", "running"),
            "railweave.outputs.folder.sources": ("load", "load_pair"),
            "railweave.api.tuning": ("tune_diagnose", "tune_headroom", "tune_run", "tune_watchdog"),
        },
    )
