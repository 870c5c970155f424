"""``python -m railweave`` is the command ``railweave``, for a Python whose scripts are not on the PATH."""

from __future__ import annotations

import subprocess
import sys

from railweave import __version__


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "railweave"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert __version__ in version.stdout
    wrong = subprocess.run([*command, "no-such-verb"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
