"""The FRR validator: ``vtysh -C -f FILE`` checks a configuration for unknown commands. It needs neither daemons nor root.

It checks spelling, value ranges, and the section of a command. It does not check references (FRR accepts an undefined
route-map), values inside free text, or relations between values.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.findings.registry import Rule
from railweave.model.findings.validators import Validator, ValidatorReport
from railweave.reading import file_text
from railweave.tool_roots import project_root, untrusted

if TYPE_CHECKING:
    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Files

NAME = "vtysh"
FILE = "frr.conf"
TIMEOUT_S = 60
AIGP_COMMAND = "bgp bestpath aigp"
"""A command that FRR supports from release 10 on. An older vtysh does not check files with this command."""

HOW_TO_GET = (
    "install FRR (apt install frr), or run `sudo make validators` in a checkout of railweave (which unpacks FRR there), or "
    "--frr-root DIR"
)

_REFUSED = re.compile(r"^line (\d+): (?:% )?(.*?)(?:\[\d+\])?: +(.*)$", re.MULTILINE)
"""The pattern of a message ``line N: % Unknown command[NODE]:  TEXT``. NODE is a number without a meaning outside vtysh."""
_PROBE = "route-map probe permit 10\n set aigp-metric 1\nexit\n"
_PROGRAMS = ("usr/bin/vtysh", "bin/vtysh")
_LOADERS = ("lib64/ld-linux*.so.*", "lib/ld-linux*.so.*", "lib/*/ld-linux*.so.*", "lib/ld-musl-*.so.*")
_LIBRARIES = (
    "usr/lib/*-linux-*/frr",
    "usr/lib/*-linux-*",
    "lib/*-linux-*",
    "usr/lib/frr",
    "usr/lib64/frr",
    "usr/lib",
    "usr/lib64",
)


REFUSED = Rule(
    "validator-vtysh",
    "error",
    "validator",
    "FRR's own parser rejects a line",
    "the daemon would not load it, and the router would run without it",
    "remove the line from `extra:` if it comes from there; otherwise report a bug of railweave",
)


@dataclass(frozen=True)
class Tool:
    """A vtysh that can be run: the command without its arguments, and a description of its origin."""

    command: tuple[str, ...]
    origin: str

    def refused(self, text: str) -> list[tuple[int, str]]:
        """Return (line number, message) for each line of a configuration that vtysh refuses.

        Raises ``OSError`` if vtysh cannot be run or fails for another reason, and ``subprocess.TimeoutExpired`` if it does
        not end.
        """
        with tempfile.TemporaryDirectory(prefix="railweave-vtysh-") as folder:
            (Path(folder) / "vtysh.conf").write_text("service integrated-vtysh-config\n", encoding="utf-8")
            path = Path(folder) / FILE
            path.write_text(text, encoding="utf-8")
            command = [*self.command, "--config_dir", folder, "-C", "-f", str(path)]
            done = subprocess.run(  # noqa: S603 - no shell; the tool is the user's own choice
                command,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        lines = [(int(number), f"{message}: {line}") for number, message, line in _REFUSED.findall(done.stderr)]
        if done.returncode and not lines:
            raise OSError((done.stderr or done.stdout).strip()[-300:] or f"exit status {done.returncode}")
        return lines


def in_root(root: Path) -> Tool | None:
    """Return the vtysh in an unpacked root folder, or None if the folder has no vtysh or no dynamic loader.

    The loader and the libraries of that folder run vtysh, so no chroot is needed.
    """
    program = next((path for name in _PROGRAMS if (path := root / name).exists()), None)
    loader = next((path for pattern in _LOADERS for path in sorted(root.glob(pattern))), None)
    if program is None or loader is None:
        return None
    libraries = [str(path.resolve()) for pattern in _LIBRARIES for path in sorted(root.glob(pattern)) if path.is_dir()]
    command = (str(loader.resolve()), "--library-path", ":".join(dict.fromkeys(libraries)), str(program.resolve()))
    return Tool(command, f"FRR {version}" if (version := packaged(root)) else f"FRR in {root}")


def packaged(root: Path) -> str:
    """Return the version of the Debian package frr in a root folder; empty if the package is not installed there."""
    status = root / "var/lib/dpkg/status"
    if not status.is_file():
        return ""
    match = re.search(r"^Package: frr\n(?:\S.*\n| .*\n)*?Version: (\S+)", file_text(status), re.MULTILINE)
    return match.group(1) if match else ""


def find(frr_root: Path | None) -> Tool | str:
    """Return the vtysh to use, or the reason why none was found.

    The vtysh in ``frr_root`` is used if ``frr_root`` is given, otherwise the system's, otherwise the checkout's (``make validators``).
    """
    if frr_root is None and (path := shutil.which("vtysh")):
        return Tool((path,), path)
    root = project_root("frr") if frr_root is None else frr_root
    if root is None:
        return f"vtysh was not found: {HOW_TO_GET}"
    for program in (root / name for name in _PROGRAMS):
        if program.exists() and (why := untrusted(root, program)):
            return f"not run: {why}"
    return in_root(root) or f"no vtysh and loader in {root}: {HOW_TO_GET}"


def validate(files: Files, frr_root: Path | None) -> ValidatorReport:
    """Check every ``frr.conf`` with vtysh and return the report. Each refused line is an error.

    ``frr_root`` is a root folder with a vtysh, or None to use an installed one (see ``find``).
    """
    texts = {device: named[FILE] for device, named in sorted(files.items()) if FILE in named}
    if not texts:
        return ValidatorReport(NAME, ran=False, reason=f"there is no {FILE} to validate")
    tool = find(frr_root)
    if isinstance(tool, str):
        return ValidatorReport(NAME, ran=False, reason=tool)
    try:
        modern = not tool.refused(_PROBE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return ValidatorReport(NAME, ran=False, reason=f"{tool.origin} does not run: {error}; {HOW_TO_GET}")
    known = texts if modern else {device: text for device, text in texts.items() if AIGP_COMMAND not in text}
    left_out = (
        f"; {counted(len(texts) - len(known), 'file')} with AIGP left out, FRR 10 reads AIGP: {HOW_TO_GET}"
        if len(known) < len(texts)
        else ""
    )
    reason = f"{tool.origin}, which {'knows' if modern else 'does not know'} AIGP{left_out}"
    if not known:
        return ValidatorReport(NAME, ran=False, reason=reason)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        per_device = list(pool.map(_validate_one, [tool] * len(known), known, known.values()))
    findings = [finding for each in per_device for finding in each]
    return ValidatorReport(NAME, ran=True, reason=reason, validated=len(known), findings=findings)


def _validate_one(tool: Tool, device: str, text: str) -> list[Finding]:
    file = f"devices/{device}/{FILE}"
    try:
        refused = tool.refused(text)
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = f"vtysh could not validate the file: {error}"
        return [REFUSED.finding(device, problem, why="the file was not validated", fix="", file=file)]
    return [
        REFUSED.finding(device, f"FRR refuses the line: {message}", file=file, line=number)
        for number, message in refused
    ]


VALIDATOR = Validator(NAME, FILE, "frr_root", lambda files, place, _most, _releases: validate(files, place))
