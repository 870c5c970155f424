"""The FRR that a lab runs: the system's FRR, or FRR in a root folder.

The root folder is created once. The validator that checks ``frr.conf`` with vtysh uses it, too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel import tunnels
from railweave.live.lab.kernel.namespace import has_user
from railweave.reading import file_text
from railweave.systems.frr.validator import packaged
from railweave.tool_roots import INSIDE, project_root, untrusted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.model.device.model import DeviceConfig

VERSION = "10.3"
"""The FRR release in root folders. All measurements of FRR were made with this release (docs/lab.md)."""

CACHE = Path("/var/cache/railweave")
"""The folder in which root folders are created if the user names none."""


@dataclass(frozen=True)
class FrrRequirement:
    """The FRR release that a network requires: the oldest suitable release, and the reason in a sentence.

    ``suite`` is the Debian suite that has this release. ``folder`` is the name of the root folder for it.
    """

    oldest: tuple[int, int]
    why: str = ""
    suite: str = "trixie"
    folder: str = "frr"


OLDEST = (10, 3)
"""The oldest FRR release that a lab accepts. Older releases lack commands that `lab test` needs: 8.4 has no ``show bgp … detail json``."""

PLAIN = FrrRequirement(OLDEST)
"""The requirement of a network that needs no special features of FRR."""

AIGP = FrrRequirement(OLDEST, "the fabric file has `emulation: aigp`")
"""The requirement of a network with emulated AIGP. FRR has ``bgp bestpath aigp`` since release 10.0."""

TENANTS = FrrRequirement(OLDEST, "tenants' VRFs are network namespaces")
"""The requirement of a network with tenants. Their VRFs were tested with this release."""

IPV6_TUNNELS = FrrRequirement((10, 6), "tunnels end on IPv6 addresses", "forky", "frr-forky")
"""The requirement of tunnels over IPv6.

FRR 10.6 is the first release with IPv6 VTEPs (FRR's pull request 19498). An older zebra ignores the tunnel's IPv6
address.
"""

BUILD = Path(__file__).with_name("frr-root.sh")
"""The script that creates a root folder with FRR and lldpd. Its arguments are the folder and the Debian suite."""

_DAEMONS = Path("usr/lib/frr")
DAEMONS = ("mgmtd", "zebra", "bgpd", "isisd", "bfdd")
"""The daemons of a router, in the order in which they start. FRR has mgmtd from release 9.1 on; older releases do not need it."""

ROUTING = {"bgp": "bgpd", "isis": "isisd"}
"""The routing daemon of each underlay protocol. A router runs only the daemons of the protocols that are in use."""


@dataclass(frozen=True)
class Frr:
    """An FRR installation: its root folder, its version, and the user and group ids of its daemons.

    ``protocols`` are the underlay protocols that the routers run.
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
        return tuple(daemon for daemon in DAEMONS if daemon not in idle and (self.root / _DAEMONS / daemon).exists())

    @property
    def origin(self) -> str:
        """The version of FRR as ``FRR 10.3``, followed by its root folder if that is not `/`."""
        return f"FRR {self.version}" + ("" if self.root == Path("/") else f" in {self.root}")


def need(configs: Iterable[DeviceConfig]) -> FrrRequirement:
    """Return the FRR release that these switches require."""
    requirement = PLAIN
    for config in configs:
        end = tunnels.endpoint(config)
        if config.vrfs and end and end.family == "ipv6":
            return IPV6_TUNNELS
        if config.vrfs:
            requirement = TENANTS
        elif config.bgp is not None and config.bgp.compare_aigp:
            requirement = AIGP
    return requirement


def find(given: Path | None, wanted: FrrRequirement, announce: Callable[[str], None]) -> Frr:
    """Return the FRR in the folder ``given`` or, if ``given`` is None, the first suitable FRR.

    If ``given`` is None, these places are tried in order:

    - the checkout's folder (``make validators``)
    - the cached folder, which is created now if possible
    - the system

    ``wanted`` is the release that the network requires. ``announce`` is called before anything is downloaded. Raises ``LabError`` if there
    is no suitable FRR, with the command that installs one.
    """
    if given is not None:
        if not (given / _DAEMONS / "zebra").exists():
            raise LabError(f"there is no FRR in {given}: run `sudo make validators`, then give .validators/frr")
        return _checked(given.resolve(), wanted, "give no --frr-root: the lab then finds or makes its own")
    cache = CACHE / wanted.folder
    for folder in (project_root(wanted.folder), cache):
        if folder is not None and (folder / _DAEMONS / "zebra").exists():
            return _checked(folder.resolve(), wanted)
    system = (Path("/") / _DAEMONS / "zebra").exists()
    if os.environ.get(INSIDE) and not system:
        raise LabError(
            f"there is no FRR on this machine, and to create its root folder needs root: run `sudo bash {BUILD} {cache} {wanted.suite}` once"
        )
    if shutil.which("mmdebstrap") and not os.environ.get(INSIDE):
        release = ".".join(map(str, wanted.oldest))
        there = (
            f"the system's FRR {_reported_version(Path('/'))} stays as it is"
            if system
            else "there is none on this machine"
        )
        announce(
            f"fetching FRR {release} or newer, once: packages of Debian {wanted.suite} from this machine's mirror, about 100 MB with lldpd, into {cache} "
            f"({there}; --frr-root DIR takes another)"
        )
        command = ["bash", str(BUILD), str(cache), wanted.suite]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if (cache / _DAEMONS / "zebra").exists():
            return _checked(cache, wanted)
        if not system:
            raise LabError(f"no root folder with FRR could be made: {(done.stderr or done.stdout).strip()[-300:]}")
    if system:
        return _checked(Path("/"), wanted)
    raise LabError(
        "there is no FRR on this machine: run `sudo apt-get install -y mmdebstrap`, and the lab makes its own"
    )


def check_owner(named: Sequence[Path]) -> None:
    """Raise ``LabError`` if a root folder from which a lab may run FRR is not trusted.

    This is called before the namespaces of a user's labs are entered, because all other users look the same in them. ``named`` are
    the folders that the user named; if there are none, the folders that ``find`` tries are checked.
    """
    needs = (PLAIN, IPV6_TUNNELS)
    tried = [*(project_root(need.folder) for need in needs), *(CACHE / need.folder for need in needs)]
    for root in named or filter(None, tried):
        zebra = root / _DAEMONS / "zebra"
        if root.resolve() != Path("/") and zebra.exists() and (why := untrusted(root, zebra)):
            raise LabError(f"nothing is run from this root folder with FRR: {why}")


def given(root: Path) -> Frr:
    """Return the FRR in a root folder. Raises ``LabError`` if the folder has no FRR, or a release that a lab does not accept."""
    if not (root / _DAEMONS / "zebra").exists():
        raise LabError(f"there is no FRR in {root}: run `sudo make validators`, then give .validators/frr-forky")
    anything = FrrRequirement(OLDEST, suite="any")
    return _checked(root.resolve(), anything, "give another folder")


def known(root: Path, version: str) -> Frr:
    """Return the FRR, of the recorded ``version``, with which a lab was started. Raises ``LabError`` if its root folder has no user ``frr``."""
    return Frr(root, version, *_ids(root))


def _checked(
    root: Path, wanted: FrrRequirement, instead: str = "remove the folder: the lab then makes it again"
) -> Frr:
    """Return the FRR of a root folder, or of the system.

    Raises ``LabError`` if the folder is not trusted, or if its release does not suit the requirement ``wanted``. ``instead`` is the advice
    in the error.
    """
    if root != Path("/") and (why := untrusted(root, root / _DAEMONS / "zebra")):
        raise LabError(f"nothing is run from this root folder with FRR: {why}")
    version = packaged(root) or _reported_version(root)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if root != Path("/") and wanted.suite == PLAIN.suite and not version.startswith(VERSION):
        raise LabError(
            f"{root} holds FRR {version or 'of no known version'}, and the lab is made for {VERSION}: {instead}"
        )
    if numbers < wanted.oldest:
        least = ".".join(map(str, wanted.oldest)) + (f" ({wanted.why})" if wanted.why else "")
        how = "run `sudo apt-get install -y mmdebstrap`, and the lab makes its own" if root == Path("/") else instead
        raise LabError(f"FRR {version} is older than {least}: {how}")
    return Frr(root, version, *_ids(root))


def _reported_version(root: Path) -> str:
    """Return the version that zebra reports; empty if it reports none.

    No program from a root folder is run here. For any folder other than `/`, the result is therefore empty.
    """
    if root != Path("/"):
        return ""
    command = [str(root / _DAEMONS / "zebra"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    match = re.search(r"version (\S+)", done.stdout)
    return match[1] if match else ""


def _ids(root: Path) -> tuple[int, int]:
    """Return the ids of the user and group ``frr`` of a root folder, or those of root if this namespace has no such ids."""
    for line in file_text(root / "etc/passwd").splitlines():
        name, _, user, group = line.split(":")[:4]
        if name == "frr":
            return (int(user), int(group)) if has_user(int(user), int(group)) else (0, 0)
    raise LabError(f"{root} has no user frr: remove the folder, and run `sudo make validators`")
