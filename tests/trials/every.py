"""Every case of the tests of which a day runs some: ``tests.drawn``."""

from __future__ import annotations

import os
import sys
from itertools import chain

import pytest

from tests.conftest import ROOT
from tests.drawn import GROUPS, KEPT


def files() -> list[str]:
    """The files with tests that are drawn: those of the tables, and those that draw cases of a list or a property themselves."""
    tests = ROOT / "tests"
    named = {f"tests/{name.partition('::')[0]}" for name in (*KEPT, *chain(*GROUPS.values()))}
    return sorted(
        named
        | {
            path.relative_to(ROOT).as_posix()
            for path in tests.rglob("test_*.py")
            if "from tests.drawn import" in path.read_text(encoding="utf-8")
        }
    )


def main(words: list[str]) -> int:
    """Run them, with pytest's own options where some are given."""
    os.environ["RAILWEAVE_EVERY"] = "1"
    return pytest.main(["-n", "auto", *words, *files()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
