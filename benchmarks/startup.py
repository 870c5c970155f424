"""How long ``import railweave`` and ``railweave --help`` take: each is to stay under 0.2 s of processor time.

Run with ``python -m benchmarks.startup``. Every run is a process of its own; the figure is the median, beside that of an interpreter
that does nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

RUNS = 9
MOST_S = 0.2
CASES = {
    "an empty interpreter": "pass",
    "import railweave": "import railweave",
    "railweave --help": "import sys; sys.argv = ['railweave', '--help']; from railweave.cli import main; main()",
}


def processor_s(statement: str) -> float:
    """Processor time of a process that runs a statement, the interpreter's own start included."""
    before = os.times()
    subprocess.run([sys.executable, "-c", statement], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print a line for each case."""
    for name, statement in CASES.items():
        median = statistics.median(processor_s(statement) for _ in range(RUNS))
        print(f"{name:22}  {median:.3f} s{'' if median < MOST_S else f', more than {MOST_S:g} s'}")


if __name__ == "__main__":
    main()
