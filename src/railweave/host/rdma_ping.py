"""``rdma-ping``: find ``railweave-rdma-ping``, which is built with the net plugin, and become it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .failure import HostInputError

PROGRAM = "railweave-rdma-ping"
_INSTALLED = ("/usr/local/bin", "/usr/bin", "/opt/railweave/bin")


def find() -> Path:
    """The program: ``$RAILWEAVE_RDMA_PING``, on the PATH, where ``cmake --install`` puts it, or in a checkout's build folder.

    Raises HostInputError where it is in none of them.
    """
    named = os.environ.get("RAILWEAVE_RDMA_PING")
    if named:
        if not os.access(named, os.X_OK):
            raise HostInputError(f"RAILWEAVE_RDMA_PING={named}: there is no such program")
        return Path(named)
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    checkout = Path(__file__).resolve().parents[3] / "build" / "plugin"
    for folder in (*_INSTALLED, checkout):
        if os.access(Path(folder, PROGRAM), os.X_OK):
            return Path(folder, PROGRAM)
    raise HostInputError(
        f"{PROGRAM} is not on the PATH or in {', '.join(_INSTALLED)}: it is built and installed with the net plugin "
        "(make plugin; cmake --install build/plugin), or named in RAILWEAVE_RDMA_PING"
    )


def run(words: list[str]) -> int:
    """Become the program, with these words; comes back only with an error."""
    program = find()
    try:
        os.execv(program, [PROGRAM, *words])
    except OSError as error:
        raise HostInputError(f"{program}: cannot be run: {error.strerror}") from None
