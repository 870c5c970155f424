"""docs/folder.md says the numbers that the code has."""

from __future__ import annotations

import pytest

from railweave import reading
from railweave.analysis.routing import paths
from railweave.design.shape import topology as extent
from railweave.host import files
from railweave.model.intent import base, fabric, inventory, lock, scenario, topology
from railweave.model.intent.reading import document
from railweave.operations.bench import runs
from railweave.prediction.collectives import program, queue_pairs
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "folder.md").read_text()


@pytest.mark.parametrize(
    ("row", "most"),
    [
        ("| a YAML file (fabric, scenario, secrets)", f"{document.MOST_BYTES >> 20} MiB"),
        ("| an inventory, a lock, a file of forwarding tables, a manifest", f"{reading.MOST_BYTES >> 20} MiB"),
        ("| `host.json` and the other files that `railweave host` reads", f"{files.MOST_BYTES >> 20} MiB"),
        ("| an output of a benchmark", f"{runs.MOST_BYTES >> 20} MiB"),
        ("| lists and maps in one another", str(reading.MOST_DEPTH)),
        ("host lists stand for", f"{reading.MOST_VALUES:,}"),
        ("overrides of switches", f"{base.MOST_NAMES:,}"),
        ("| fabrics of a file", str(fabric.MOST_FABRICS)),
        ("| switches of a fabric", f"{extent.MOST_SWITCHES:,}"),
        ("| links between the switches of a fabric", f"{extent.MOST_LINKS:,}"),
        ("| a name", f"{base.LONGEST} letters"),
        ("for a role and system", f"{topology.MOST_EXTRA:,} letters"),
        ("| slots of a lock", f"{lock.MOST_SLOTS:,}"),
        ("with repetitions", f"{scenario.MOST_COLLECTIVES:,}"),
        ("| `paths --qps`", f"{paths.MOST_QUEUE_PAIRS:,}"),
        ("| `sim --qps`", str(queue_pairs.MOST_QUEUE_PAIRS)),
        ("| `sim --size`", f"{program.MOST >> 50} PiB"),
        ("| mistakes that are listed for one file", str(document.MOST_REPORTED)),
    ],
)
def test_a_row(row: str, most: str) -> None:
    assert f"{row} | {most} |" in TEXT
    assert document.MOST_REPORTED == inventory.MOST_REPORTED
