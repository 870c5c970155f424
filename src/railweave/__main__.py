"""The entry point of ``python -m railweave``: it runs the command line with the current Python interpreter."""

from __future__ import annotations

from railweave.cli import main

if __name__ == "__main__":
    main()
