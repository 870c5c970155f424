"""The packet engine (crates/pysim)."""

from collections.abc import Sequence

def command(program: str, words: Sequence[str]) -> int:
    """Run the command ``railweave-sim``, calling itself ``program``; returns its exit code (docs/sim.md).

    Writes to standard output and standard error itself. Ctrl-C and SIGTERM end the run with its partial result and do
    not raise.
    """
