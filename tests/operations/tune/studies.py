"""Small studies that tests run."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import EXAMPLES

STUDY = """\
name: small
fabric: bed.yaml
goal:
  collectives:
    - {collective: all-to-all, size: 4M, tenant: tenant-3}
space:
  fabrics.backend.qos.classes.no-loss.ecn.min_fill: [1, 5, 20, 40, 70]
  hosts.job.qps_per_connection: [1, 4]
search: {trials: 6, start: 3, batch: 3}
seeds: 2
confirm: 3
"""


def study(folder: Path, text: str = STUDY, bed: str = "ecn") -> Path:
    """A study file with its fabric file beside it."""
    shutil.copy(EXAMPLES / "studies" / f"{bed}-bed.yaml", folder / "bed.yaml")
    path = folder / "small.yaml"
    path.write_text(text)
    return path
