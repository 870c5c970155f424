"""Validation of files with external tools: the netplan validator, and the function that runs all validators."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.model.findings.validators import MOST_VALIDATED, Validator, ValidatorReport, sample, sample_note
from railweave.systems import system, systems
from railweave.tool_roots import project_root, untrusted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.findings import Finding
    from railweave.model.findings.validators import Files


NAME = "netplan"
FILE = "netplan.yaml"
TIMEOUT_S = 60

HOW_TO_GET = "apt install netplan.io, or make validators in a checkout of railweave (which unpacks it there), or --netplan-root DIR"

REFUSED = Rule(
    id="validator-netplan",
    severity="error",
    applies="validator",
    fault="netplan rejects a netplan file",
    why="`netplan apply` would change nothing, so the server would keep its old network settings",
    fix="build the folder again if the file was edited; otherwise report this as a bug of railweave",
)

_GENERATORS = ("usr/libexec/netplan/generate", "usr/lib/netplan/generate", "lib/netplan/generate")
_ERROR = re.compile(r"netplan\.yaml:(\d+):(\d+): (.*)")
_VARYING = re.compile(r'"[^"]*"|\d+')


@dataclass(frozen=True)
class Tool:
    """An installed netplan generator, with the folders of its shared libraries."""

    program: Path
    libraries: tuple[Path, ...] = ()

    def generate(self, text: str, root: Path) -> list[tuple[int, str]]:
        """Generate the networkd files of a netplan file below ``root``. Return the refused lines as (line, message of netplan).

        Raises ``OSError`` if the generator cannot be run, or if it fails without refusing a line. Raises
        ``subprocess.TimeoutExpired`` if it does not finish in time.
        """
        folder = root / "etc/netplan"
        folder.mkdir(parents=True)
        file = folder / FILE
        file.touch(0o600)
        file.write_text(text, encoding="utf-8")
        search = ":".join(map(str, self.libraries))
        done = subprocess.run(  # noqa: S603 - no shell; the tool is the user's own choice
            [self.program, "--root-dir", str(root)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C", **({"LD_LIBRARY_PATH": search} if search else {})},
        )
        lines = [(int(line), f"{message} (column {column})") for line, column, message in _ERROR.findall(done.stderr)]
        if done.returncode and not lines:
            raise OSError((done.stderr or done.stdout).strip()[-300:] or f"exit status {done.returncode}")
        return lines


def find(root: Path | None) -> Tool | str:
    """Return the netplan generator, or the reason why no generator was found.

    The generator is taken from ``root``, a folder with an unpacked netplan, if given. Otherwise it is taken from the system, or else
    from the copy in railweave's source folder.
    """
    if root is not None:
        return _in_root(root)
    installed = next((path for name in _GENERATORS if (path := Path("/") / name).exists()), None)
    if installed is not None:
        return Tool(installed)
    unpacked = project_root(NAME)
    return _in_root(unpacked) if unpacked else f"netplan is not there: {HOW_TO_GET}"


def _in_root(root: Path) -> Tool | str:
    program = next((path.resolve() for name in _GENERATORS if (path := root / name).exists()), None)
    if program is None:
        return f"no netplan generator in {root}: {HOW_TO_GET}"
    if why := untrusted(root, program):
        return f"not run: {why}"
    libraries = sorted({path.parent.resolve() for path in root.glob("**/lib*.so.*")})
    return Tool(program, tuple(libraries))


def validate(files: Files, root: Path | None = None, most: int | None = MOST_VALIDATED) -> ValidatorReport:
    """Validate the file ``netplan.yaml`` of all servers, or of at most ``most`` servers if that is not None.

    Each line that netplan refuses is an error. ``files`` holds the files by server and by file name. ``root`` is a folder with an
    unpacked netplan (see ``find``).
    """
    texts = {host: named[FILE] for host, named in sorted(files.items()) if FILE in named}
    if not texts:
        return ValidatorReport(NAME, ran=False, reason=f"there is no {FILE} to validate")
    tool = find(root)
    if isinstance(tool, str):
        return ValidatorReport(NAME, ran=False, reason=tool)
    try:
        _refused(tool, "network: {version: 2}\n")
    except (OSError, subprocess.TimeoutExpired) as error:
        return ValidatorReport(NAME, ran=False, reason=f"{tool.program} does not run: {error}; {HOW_TO_GET}")
    chosen = sample(list(texts), lambda host: _VARYING.sub("#", texts[host]), most)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(_validate_one, [tool] * len(chosen), chosen, [texts[host] for host in chosen]))
    reason = str(tool.program) + sample_note(len(chosen), len(texts), "servers")
    findings = [finding for each in results for finding in each]
    return ValidatorReport(NAME, ran=True, reason=reason, validated=len(chosen), findings=findings)


def _refused(tool: Tool, text: str) -> list[tuple[int, str]]:
    with tempfile.TemporaryDirectory(prefix="railweave-netplan-") as folder:
        return tool.generate(text, Path(folder))


def _validate_one(tool: Tool, host: str, text: str) -> list[Finding]:
    file = f"hosts/{host}/{FILE}"
    try:
        refused = _refused(tool, text)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"netplan could not validate the file: {error}"
        return [REFUSED.finding(host, message, why="the file was not validated", fix="", file=file)]
    return [
        REFUSED.finding(host, f"netplan refuses the file: {refusal}", file=file, line=line) for line, refusal in refused
    ]


VALIDATOR = Validator(NAME, FILE, "netplan_root", lambda files, root, most, _: validate(files, root, most))


def validators() -> list[Validator]:
    """Return all validators: first those of each operating system, then the validator for servers."""
    return [*(validator for nos in systems() for validator in system(nos).validators), VALIDATOR]


def validate_all(
    files: Files,
    places: Mapping[str, Path | None] | None = None,
    *,
    releases: Mapping[str, str] | None = None,
    every: bool = False,
) -> list[ValidatorReport]:
    """Validate the files of all devices and servers with every validator, and return one report per validator.

    ``files`` holds the files by device or server and by file name. ``places`` holds the path of each validator's tool or data,
    by the name of its option (``frr_root``, ``yang``). If there are many files, slow validators read only a sample, unless
    ``every`` is True. ``releases`` has the software release of each device.
    """
    most = None if every else MOST_VALIDATED
    return [
        validator.run(files, (places or {}).get(validator.option), most, releases or {})
        for validator in validators()
        if validator.always or any(validator.file in file for file in files.values())
    ]
