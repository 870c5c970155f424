"""``python -m railweave``: the command line of the Python that runs it."""

from __future__ import annotations

from railweave.cli import main

if __name__ == "__main__":
    main()
