"""Commands about labs of a user who is not root (docs/lab.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_in_namespaces(words: Sequence[str]) -> int | None:
    """Run this program again in the namespaces of the user's labs, if its arguments ``words`` need them, and return its exit code.

    Return None if the caller must carry out the command itself. Raises ``LabError`` if this machine gives no such namespaces.
    """
    from railweave.live.lab import user_labs

    return user_labs.run(words, [sys.executable, *sys.orig_argv[1:]])
