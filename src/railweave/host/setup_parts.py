"""The building blocks of the steps of `setup`: the server to set up, the states and commands of steps, and packages of the distribution.

Source: Thor2 guide, sections 2.1, 2.2, 2.3 and 2.7 and chapter 8. A step only reads the machine; ``setup_run`` runs
the commands. Nothing is downloaded: the files come from the folder that ``--from`` names. ``setup_devices`` has the
parts for GPUs and NICs.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, cast

from .failure import HostInputError
from .machine import CannotTellError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .checks.server import Server
    from .machine import Machine

DONE, TO_DO, NOT_SEEN = "done", "to do", "not seen"

PREFIX = "/opt/railweave"
"""The folder of programs that are built from source, and of vendors' installers that `undo --setup` needs."""

IF_INSTALLED = '! command -v "$1" >/dev/null || exec "$@"'
_REMOVE_RPMS = 'set -- $(rpm -q --qf "%{NAME}\\n" "$@" | grep -v " "); [ $# = 0 ] || rpm -e "$@"'
ADD_DKMS = 'dkms status "$2" ${4:+-k "$4"} | grep -q "${4:+installed}" || dkms "$@"'
"""A shell command that runs ``dkms`` with its arguments, unless DKMS already has the module.

Its arguments are ``add NAME/VERSION``, or ``install NAME/VERSION -k KERNEL``.
"""


@dataclass(frozen=True)
class State:
    """The state of a step: ``word`` is ``done``, ``to do`` or ``not seen``, and ``text`` the reason.

    ``restart`` is True if only a restart is left to do.
    """

    word: str
    text: str
    restart: bool = False


@dataclass(frozen=True)
class Command:
    """A command as its words, and the folder in which it runs. If the folder is empty, the command can run in any folder."""

    words: tuple[str, ...]
    folder: str = ""

    def __str__(self) -> str:
        words = self.words
        if words[:2] == ("sh", "-c") and words[2] in {IF_INSTALLED, ADD_DKMS}:
            words = words[4:] if words[2] == IF_INSTALLED else ("dkms", *words[4:])
        elif words[:2] == ("sh", "-c") and words[2] == _REMOVE_RPMS:
            words = ("rpm", "-e", *words[4:])
        return f"{f'cd {shlex.quote(self.folder)} && ' if self.folder else ''}{' '.join(map(shlex.quote, words))}"


@dataclass(frozen=True)
class Bare:
    """The server to set up, its plan, and the folder of packages.

    - ``packages``: the folder that ``--from`` names, as commands see it (under chroot for an image); None without the option.
    - ``names``: the names of the files in this folder.
    - ``repositories``: True if distribution packages may come from the repositories that are configured on the server.
    - ``image``: True if the server is the root folder of an image, which has no hardware and does not run.
    """

    machine: Machine
    plan: Server
    packages: str | None
    names: tuple[str, ...]
    repositories: bool
    image: bool

    @property
    def family(self) -> str:
        """The package manager of the distribution: ``apt`` or ``rpm``. Raises HostInputError for an unsupported distribution."""
        release = self.release
        like = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
        if like & {"debian", "ubuntu"}:
            return "apt"
        if like & {"rhel", "fedora", "centos"}:
            return "rpm"
        raise HostInputError(
            f"setup knows Debian, Ubuntu and Red Hat with its rebuilds, not {release.get('PRETTY_NAME') or 'this system'}:"
            " install by the vendors' guides, then run `railweave host check`"
        )

    @property
    def release(self) -> Mapping[str, str]:
        """The fields of os-release."""
        lines = (self.machine.text("/etc/os-release") or "").splitlines()
        return {key: value.strip("\"'") for key, mark, value in (line.partition("=") for line in lines) if mark}

    @property
    def gpu_vendor(self) -> str:
        """The GPU vendor of the plan; empty without GPUs."""
        return self.plan.gpu_vendor

    @property
    def kernel(self) -> str:
        """The kernel that the design requires, else the running kernel; empty if neither is known."""
        wanted = str(self.plan.versions.get("kernel") or "")
        return wanted or ("" if self.image else self.machine.text("/proc/sys/kernel/osrelease") or "")

    def has_nic(self, driver: str) -> bool:
        """Return True if the plan has a NIC with this driver."""
        return any(nic.driver == driver for nic in self.plan.nics)

    def version(self, name: str) -> str:
        """Return the release of the software ``name`` that the design requires; empty if the design requires no release of it."""
        return self.versions("software").get(name, "")

    def versions(self, key: str) -> dict[str, str]:
        """Return the required versions of a group, by the name of the software, driver or NIC model.

        The groups are ``software``, ``nic_driver`` and ``nic_firmware``.
        """
        group = self.plan.versions.get(key)
        return (
            {str(name): str(text) for name, text in cast("dict[str, object]", group).items()}
            if isinstance(group, dict)
            else {}
        )

    def file(self, pattern: str) -> str:
        """Search the folder of packages for a file whose name matches ``pattern``, such as ``bcm_*.tar.gz``, and return the file's path.

        If no file matches, return the folder's path with the pattern. Raises HostInputError if several files match.
        """
        matching = self.matching(pattern)
        if len(matching) > 1:
            raise HostInputError(
                f"--from {self.packages}: {' and '.join(matching)} both match {pattern}: keep one of them there,"
                " or name the release under hosts.versions in the fabric file"
            )
        return f"{self.packages or 'DIR'}/{matching[0] if matching else pattern}"

    def matching(self, pattern: str) -> list[str]:
        """Return the names of files in the folder of packages that match a pattern."""
        return fnmatch.filter(self.names, pattern)


def _nothing(_: Bare) -> Sequence[Command]:
    return ()


def _no_files(_: Bare) -> Sequence[str]:
    return ()


def _nothing_left(_: Bare) -> str:
    return ""


def stays(part: str) -> Callable[[Bare], str]:
    """Return a function for the field ``left`` of a step. It returns ``part``, the description of what stays after `undo --setup`."""
    return lambda _: part


def _no_writes(_: Bare) -> Mapping[str, tuple[str, int]]:
    return {}


@dataclass(frozen=True)
class SetupStep:
    """A step of `setup`.

    - ``subject``: the software or setting of the step. ``source``: the document that requires it.
    - ``applies``: a function that returns True for servers that need the step.
    - ``state``: a function that returns the state on the machine.
    - ``commands``, ``inverse``: functions that return the commands to carry the step out, and to undo it. No inverse
      removes anything that the server had before.
    - ``left``: a function that describes what stays after `undo --setup`.
    - ``files``: names of the files needed, as their vendor names them; ``*`` matches any text.
    - ``writes``: the text and the mode of each file that the step writes before its commands run, by path.
    - ``restart``: ``at the end`` or ``at once`` (before the next step) if the server must restart; empty if not.
    - ``tried``: the systems on which the step has been run.
    """

    name: str
    subject: str
    source: str
    tried: str
    applies: Callable[[Bare], bool]
    state: Callable[[Bare], State]
    commands: Callable[[Bare], Sequence[Command]] = field(default=_nothing)
    inverse: Callable[[Bare], Sequence[Command]] = field(default=_nothing)
    files: Callable[[Bare], Sequence[str]] = field(default=_no_files)
    writes: Callable[[Bare], Mapping[str, tuple[str, int]]] = field(default=_no_writes)
    restart: str = ""
    left: Callable[[Bare], str] = _nothing_left


def state_of(step: SetupStep, bare: Bare) -> State:
    """Return the state of a step; ``not seen`` with the reason if a file or a command cannot be read. ``bare`` is the server to set up."""
    try:
        return step.state(bare)
    except CannotTellError as error:
        return State(NOT_SEEN, str(error))


def same_release(installed: str, wanted: str) -> bool:
    """Return True if an installed version is the wanted release, or continues it after a separator.

    For example, 2.27.3-1+cuda12.9 is the release 2.27.3.
    """
    return bool(re.match(re.escape(wanted) + r"(?![0-9A-Za-z])", installed)) if wanted else bool(installed)


def versioned(installed: str, wanted: str, subject: str) -> State:
    """Return ``done`` if a software is installed in the wanted release (any release if ``wanted`` is empty), else ``to do``.

    ``subject`` is the name of the software.
    """
    if installed and same_release(installed, wanted):
        return State(DONE, f"{subject} {installed}")
    return State(
        TO_DO, f"{f'{installed} is' if installed else 'nothing is'} installed, wanted: {wanted or 'any release'}"
    )


# Packages of the distribution.

_APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=600")
"""The command that installs packages. Without ``--no-remove``, ``-y`` would let apt remove the server's packages that conflict with new ones."""
_NO_SOURCES = ("-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=/dev/null")
"""Options that make apt ignore all repositories. apt's ``--no-download`` cannot be used: for files it fails (apt 2.6: "not absolute")."""

_APT = (
    "gcc g++ make dkms autoconf automake libtool flex pciutils ethtool libpci-dev libibumad-dev libibverbs-dev"
    " librdmacm-dev ibverbs-utils infiniband-diags"
)
_RPM = (
    "gcc gcc-c++ make dkms autoconf automake libtool flex pciutils ethtool pciutils-devel rdma-core-devel"
    " libibverbs-utils infiniband-diags"
)


def tool_packages(bare: Bare) -> list[str]:
    """Return the distribution's packages for builds, RDMA and checks, with the headers of the kernel. ``bare`` is the server to set up."""
    names: list[str] = [*(_APT if bare.family == "apt" else _RPM).split()]
    headers = f"{'linux-headers' if bare.family == 'apt' else 'kernel-devel'}-{bare.kernel}"
    return [*names, headers] if bare.kernel else names


def kernel_packages(bare: Bare) -> list[str]:
    """Return the packages of the wanted kernel, by the distribution's names. ``bare`` is the server to set up."""
    if bare.family == "rpm":
        return [f"kernel-{bare.kernel}"]
    names: list[str] = [f"linux-image-{bare.kernel}"]
    return [*names, f"linux-modules-extra-{bare.kernel}"] if bare.release.get("ID") == "ubuntu" else names


def _absent(bare: Bare, names: Sequence[str], version: str = "") -> list[str]:
    """Return the packages that are not installed, or not in the wanted release (any release if ``version`` is empty).

    ``bare`` is the server to set up.
    """
    installed = _package_versions(bare, names)
    return [name for name in names if not same_release(installed.get(name, ""), version)]


def _package_versions(bare: Bare, names: Sequence[str]) -> dict[str, str]:
    """Return the version of each installed package. Packages that are only partly installed are left out.

    ``bare`` is the server to set up.
    """
    if bare.family == "rpm":
        lines = bare.machine.run("rpm", "-q", *names).out.splitlines()  # one for each name, in their order
        versions = {name: line for name, line in zip(names, lines) if "is not installed" not in line}
        return {name: line[len(name) + 1 :] or line for name, line in versions.items()}
    form = "${Package} ${db:Status-Status} ${Version}\\n"
    rows = [line.split() for line in bare.machine.run("dpkg-query", "-W", "-f", form, *names).out.splitlines()]
    return {row[0]: row[2] for row in rows if len(row) == 3 and row[1] == "installed"}


def _package_file(bare: Bare, name: str, version: str = "") -> str:
    """Return a pattern of the file name of the distribution's package ``name``, such as ``libnccl2_2.27*.deb``.

    An empty ``version`` means any version. ``bare`` is the server to set up.
    """
    if bare.family == "apt":
        return f"{name}_{version}*.deb"
    return f"{name}-{version or '[0-9]'}*.rpm" if not name[-1].isdigit() and bare.kernel not in name else f"{name}*.rpm"


def _install(bare: Bare, names: Sequence[str], version: str = "") -> list[Command]:
    if not names:
        return _repaired(bare)
    if bare.repositories and not version:
        tool = _APT_INSTALL if bare.family == "apt" else ("dnf", "install", "-y")
        return [*_repaired(bare), Command((*tool, *names))]
    paths = {name: bare.file(_package_file(bare, name, version)) for name in names}
    if bare.family == "rpm":
        # An upgrade (-U) of a kernel package removes the kernels that the server has.
        beside = [path for name, path in paths.items() if re.match(r"kernel-(devel-)?\d", name)]
        others = [path for path in paths.values() if path not in beside]
        upgrade = ("rpm", "-Uvh", *(("--oldpackage",) if version else ()))
        return [
            *([Command(("rpm", "-ivh", *beside))] if beside else []),
            *([Command((*upgrade, *others))] if others else []),
        ]
    older = ("--allow-downgrades",) if version else ()
    return [*_repaired(bare), Command((*_APT_INSTALL, *_NO_SOURCES, *older, *paths.values()))]


def _repaired(bare: Bare) -> list[Command]:
    """Return the command that completes an interrupted dpkg; without it, apt refuses to work. ``bare`` is the server to set up."""
    if bare.family != "apt":
        return []
    half = bare.machine.run("dpkg", "--audit").out.strip() or bare.machine.names("/var/lib/dpkg/updates")
    return [Command(("dpkg", "--configure", "-a"))] if half else []


def _uninstall(bare: Bare, names: Sequence[str]) -> list[Command]:
    if not names:
        return []
    if bare.family == "rpm":
        return [Command(("sh", "-c", _REMOVE_RPMS, "sh", *names))]
    return [Command(("dpkg", "--remove", *names))]


def _any_version(_: Bare) -> str:
    return ""


def package_step(
    name: str,
    texts: tuple[str, str, str],
    applies: Callable[[Bare], bool],
    names: Callable[[Bare], list[str]],
    state: Callable[[Bare, list[str]], State],
    version: Callable[[Bare], str] = _any_version,
    restart: str = "",
) -> SetupStep:
    """Return a step that installs packages of the distribution.

    ``texts`` are the subject, the source, and the systems on which the step was tried. ``names`` returns the packages,
    ``version`` their required release, and ``state`` their state. The other parameters are fields of ``SetupStep``.
    """

    def wanted(bare: Bare) -> list[str]:
        # Never all names: those that the distribution brought in another version would be replaced.
        return _absent(bare, names(bare), version(bare))

    def replaced(bare: Bare) -> dict[str, str]:
        return _package_versions(bare, wanted(bare)) if version(bare) else {}

    def left(bare: Bare) -> str:
        had = ", ".join(f"{package} {number}" for package, number in replaced(bare).items())
        return f"{had}: the server had it before; the new release stays" if had else ""

    def files(bare: Bare) -> Sequence[str]:
        if bare.repositories and not version(bare):
            return ()
        return [_package_file(bare, package, version(bare)) for package in wanted(bare)]

    return SetupStep(
        name,
        *texts,
        applies,
        lambda bare: state(bare, names(bare)),
        lambda bare: _install(bare, wanted(bare), version(bare)),
        lambda bare: _uninstall(bare, [package for package in wanted(bare) if package not in replaced(bare)]),
        files,
        restart=restart,
        left=left,
    )


def installed_state(bare: Bare, names: list[str]) -> State:
    """Return ``done`` if all packages are installed, otherwise ``to do`` with the missing ones. ``bare`` is the server to set up."""
    absent = _absent(bare, names)
    if absent:
        return State(TO_DO, f"{len(absent)} of {len(names)} packages are not installed: {', '.join(absent)}")
    return State(DONE, f"{len(names)} packages")


def kernel_state(bare: Bare, names: list[str]) -> State:
    """Return ``done`` if the wanted kernel is installed and runs, otherwise ``to do``. In an image, an installed kernel need not run.

    ``bare`` is the server to set up.
    """
    absent = _absent(bare, names)
    if absent:
        return State(TO_DO, f"not installed: {', '.join(absent)}")
    running = bare.machine.text("/proc/sys/kernel/osrelease")
    if bare.image or running == bare.kernel:
        return State(DONE, bare.kernel)
    return State(TO_DO, f"{bare.kernel} is installed, {running} runs", restart=True)


def wanted_library(bare: Bare) -> str:
    """Return the version of NCCL or RCCL that the design requires; empty if none. ``bare`` is the server to set up."""
    return str(bare.plan.versions.get("collective_library") or "")


def wanted_driver(bare: Bare) -> str:
    """Return the version of the GPU driver that the design requires; empty if none. ``bare`` is the server to set up."""
    return str(bare.plan.versions.get("gpu_driver") or "")


def nccl_names(bare: Bare) -> list[str]:
    """Return the names of NCCL's packages. ``bare`` is the server to set up."""
    return ["libnccl2", "libnccl-dev"] if bare.family == "apt" else ["libnccl", "libnccl-devel"]


def released_state(version: Callable[[Bare], str]) -> Callable[[Bare, list[str]], State]:
    """Return a function that compares the installed packages with the release that ``version`` returns, and returns their state."""

    def state(bare: Bare, names: list[str]) -> State:
        installed = _package_versions(bare, names)
        worst = min((installed.get(name, "") for name in names), key=lambda text: same_release(text, version(bare)))
        return versioned(worst, version(bare), names[0])

    return state
