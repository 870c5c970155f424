"""Where FRR comes from: a root folder that is made once and checked, shared with the vtysh judge; else the system's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.verify.judges.vtysh import packaged

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "10.3"
"""The release of FRR that root folders hold, and that everything about it was measured with (docs/lab.md)."""

OLDEST = (8, 4)
"""The oldest system FRR that path colors by local preference are known to work on (docs/path-colors.md)."""

OLDEST_AIGP = (10, 0)
"""The oldest that knows ``bgp bestpath aigp``."""

CACHE = Path("/var/cache/railweave/frr")
"""Where a root folder is made that nobody named."""

JUDGES = Path(".judges/frr")
"""Where ``make judges`` puts one."""

_BUILD = Path(__file__).with_name("frr-root.sh")
_DAEMONS = Path("usr/lib/frr")
DAEMONS = ("mgmtd", "zebra", "bgpd", "isisd", "bfdd")
"""The daemons of a router, in the order of starting. FRR has mgmtd from release 9.1 on; an older one does without."""

ROUTING = {"bgp": "bgpd", "isis": "isisd"}
"""Of these a router runs the one of its underlay's protocol."""


@dataclass(frozen=True)
class Frr:
    """An FRR that can be run: the folder that is its root, and its version. User and group are those of its daemons.

    ``protocols`` are those of the underlays that its routers run.
    """

    root: Path
    version: str
    user: int
    group: int
    protocols: frozenset[str] = frozenset(("bgp",))

    @property
    def daemons(self) -> tuple[str, ...]:
        """The daemons that a router needs."""
        idle = {daemon for protocol, daemon in ROUTING.items() if protocol not in self.protocols}
        return tuple(one for one in DAEMONS if one not in idle and (self.root / _DAEMONS / one).exists())

    @property
    def origin(self) -> str:
        """What it is, for people."""
        return f"FRR {self.version}" + ("" if self.root == Path("/") else f" in {self.root}")


def find(given: Path | None, *, aigp: bool, progress: Callable[[str], None]) -> Frr:
    """The FRR to use: the folder given, that of ``make judges``, the cached one (made now if it can be), the system's.

    Raises ``LabError`` with the one command that helps.
    """
    if given is not None:
        if not (given / _DAEMONS / "zebra").exists():
            raise LabError(f"there is no FRR in {given}: run `sudo make judges`, then give .judges/frr")
        return _checked(given.resolve(), aigp=aigp)
    for folder in (JUDGES, CACHE):
        if (folder / _DAEMONS / "zebra").exists():
            return _checked(folder.resolve(), aigp=aigp)
    system = (Path("/") / _DAEMONS / "zebra").exists()
    if shutil.which("mmdebstrap"):
        progress(f"making a root folder with FRR {VERSION} in {CACHE} (once)")
        done = subprocess.run(["bash", str(_BUILD), str(CACHE)], capture_output=True, text=True, check=False)  # noqa: S603, S607
        if (CACHE / _DAEMONS / "zebra").exists():
            return _checked(CACHE, aigp=aigp)
        if not system:
            raise LabError(f"no root folder with FRR could be made: {(done.stderr or done.stdout).strip()[-300:]}")
    if system:
        return _checked(Path("/"), aigp=aigp)
    raise LabError(
        "there is no FRR on this machine: run `sudo apt-get install -y mmdebstrap`, and the lab makes its own"
    )


def _checked(root: Path, *, aigp: bool) -> Frr:
    version = packaged(root) or _says(root)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if root != Path("/") and not version.startswith(VERSION):
        raise LabError(
            f"{root} holds FRR {version or 'of no known version'}, and the lab is made for {VERSION}: "
            f"remove the folder, and run `sudo make judges`"
        )
    least = OLDEST_AIGP if aigp else OLDEST
    if numbers < least:
        wanted = ".".join(map(str, least))
        why = " (the fabric file has `emulation: aigp`)" if aigp else ""
        raise LabError(
            f"FRR {version} is older than {wanted}{why}: run `sudo apt-get install -y mmdebstrap`, and the lab makes its own"
        )
    return Frr(root, version, *_ids(root))


def _says(root: Path) -> str:
    """What zebra says of its version; empty where it says nothing."""
    if root != Path("/"):
        return ""
    command = [str(root / _DAEMONS / "zebra"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r"version (\S+)", done.stdout)
    return found[1] if found else ""


def _ids(root: Path) -> tuple[int, int]:
    for line in (root / "etc/passwd").read_text(encoding="utf-8").splitlines():
        name, _, user, group = line.split(":")[:4]
        if name == "frr":
            return int(user), int(group)
    raise LabError(f"{root} has no user frr: remove the folder, and run `sudo make judges`")
