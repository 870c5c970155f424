"""The command line: one module per verb, without logic of its own. Large dependencies are imported only when a verb runs.

Imports: ``host``, ``pages``, ``api``.
"""

from __future__ import annotations

import gc
import signal
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 errors found, 2 wrong usage or input, 130 interrupted (by typer)."""
    gc.set_threshold(
        200_000, 50, 50
    )  # what is imported and designed stays, and searching it again and again costs a tenth
    from railweave.cli.app import app_for
    from railweave.cli.failures import run
    from railweave.host import terminal

    terminal.protect()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: with everything cleaned up
    try:
        sys.exit(run(app_for(sys.argv[1:]), sys.argv[1:]))
    finally:
        gc.freeze()  # the interpreter need not search a million objects for garbage on its way out
