"""Every case of the tests of which a day runs some: ``tests.drawn``."""

from __future__ import annotations

import os
import sys

import pytest

from tests.drawn import KEPT, PAGES


def main(words: list[str]) -> int:
    """Run them, with pytest's own options where some are given."""
    os.environ["RAILWEAVE_EVERY"] = "1"
    return pytest.main(
        [
            "-n",
            "auto",
            *words,
            *sorted({f"tests/{name.partition('::')[0]}" for name in (*KEPT, *PAGES, "live/lab/test_lab.py")}),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
