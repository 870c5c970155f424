"""Tests of the locks, and of the tools that read them: the bill of materials, the audit, the provenance."""

from __future__ import annotations

import sys

from tests.conftest import ROOT

sys.path.append(str(ROOT / "tools"))  # the tools import each other by their names
