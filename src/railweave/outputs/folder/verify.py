"""Comparison of a build folder's files with the files that its design renders now, and all checks and validators of the network."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railweave.analysis.checks import located
from railweave.analysis.checks.checks import checks, config_differences, run_checks
from railweave.analysis.checks.devices import DeviceCheck, Texts, attributed, compare_devices, configurations, saved
from railweave.analysis.checks.servers.comparison import compared
from railweave.analysis.checks.servers.second import SECOND, changed_by, drop_in_folder
from railweave.analysis.checks.subject import Subject
from railweave.analysis.checks.validators import validate_all
from railweave.counting import counted
from railweave.errors import RenderError
from railweave.manifest import HELD, MANIFEST, STAGING, Manifest, digest, read_manifest
from railweave.model.config.secret_words import filled
from railweave.model.findings import Finding, by_severity, summed
from railweave.outputs.rendering.network import CONFIG_FILE, render_hosts, render_network
from railweave.outputs.rendering.tables import tables_of
from railweave.progress import silent
from railweave.reading import CONTROL, MOST_BYTES
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.analysis.checks.servers.entries import Difference
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings.validators import ValidatorReport
    from railweave.model.network.model import Network


DESIGN = "design.json"
OTHERS = (DESIGN, "topology.svg", "report.html", "findings.json", "fabric.lock")
"""The files at the top of a build folder that are not rendered again. Their digests are compared with the manifest."""
RUNBOOKS = "runbook"
LEFT_ALONE = (".git", STAGING)
"""The beginnings of names that are ignored at the top of a folder: files of Git, and files of builds that are running or were killed."""


def content_of(folder: Path, name: str) -> bytes | None:
    """Return a file's content, at most ``MOST_BYTES`` + 1 bytes.

    Return None if the file cannot be opened, and empty content if it is not a regular file.
    """
    try:
        file = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NONBLOCK)  # without O_NONBLOCK, opening a pipe would wait
    except OSError:
        return None
    with os.fdopen(file, "rb") as stream:
        return stream.read(MOST_BYTES + 1) if stat.S_ISREG(os.fstat(file).st_mode) else b""


def others(folder: Path, network: Network, manifest: Manifest, wrong: Sequence[str]) -> Iterator[Finding]:
    """Yield findings about the manifest, and about files that are missing or do not have their digest in the manifest.

    Only files that ``verify`` does not render again are examined, for example the report and the runbooks. ``wrong`` has the names of
    rendered files that are as designed but do not have their digest in the manifest.
    """
    where = network.name
    if not manifest.files:
        if content_of(folder, MANIFEST) is None:
            yield located.FILE_MISSING.finding(where, f"{MANIFEST} is missing", file=MANIFEST)
        else:
            message = f"{MANIFEST} cannot be read as the list of what a build wrote"
            yield located.FILE_UNREADABLE.finding(where, message, file=MANIFEST)
    wrong = list(wrong)
    for name in [*OTHERS, *_runbooks(network)]:
        content, noted = content_of(folder, name), manifest.files.get(name)
        if content is None:
            yield located.FILE_MISSING.finding(where, f"{name} is missing", file=name)
        elif noted is None:
            wrong.append(name)
        elif noted != digest(content):
            rule = located.DESIGN_EDITED if name == DESIGN else located.FILE_EDITED
            yield rule.finding(where, f"{name} was changed after the build wrote it", file=name)
    if manifest.files and wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        message = f"{MANIFEST} does not have the digest of {wrong[0]}{more}"
        yield located.FILE_EDITED.finding(where, message, file=MANIFEST)


def _runbooks(network: Network) -> list[str]:
    return [f"{RUNBOOKS}/{switch.name}.md" for switch in network.switches if system(switch.nos).runbook is not None]


def foreign(folder: Path, network: Network, rendered: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about files and folders that no build of the design writes. Such a folder gets one finding, not one per file.

    ``rendered`` has the designed files by path. A server may read a foreign file together with a designed file. Then there is a finding
    for each designed value that the foreign file changes.
    """
    known = {MANIFEST, HELD, *OTHERS, *_runbooks(network), *rendered}
    folders = {"/".join(parts[:end]) for name in known for parts in [name.split("/")] for end in range(1, len(parts))}
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as inside:
            there = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in inside)
        for entry_name, is_folder in there:
            name = f"{above}/{entry_name}" if above else entry_name
            if name in known or (not above and entry_name.startswith(LEFT_ALONE)):
                continue
            if is_folder and (name in folders or drop_in_folder(*_beside(name, rendered))):
                waiting.append(name)
                continue
            changes = [] if is_folder else _second(folder, name, rendered)
            yield from changes
            if changes:
                continue
            kind = "folder" if is_folder else "file"
            message = f"{name} is a {kind} that no build of this design writes"
            yield located.FILE_UNKNOWN.finding(name.split("/")[1] if above else network.name, message, file=name)


def _second(folder: Path, name: str, rendered: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each setting in the server's file ``name`` that contradicts a designed file of the same server.

    ``rendered`` has the designed files of all servers by path.
    """
    inner, designed = _beside(name, rendered)
    text = _text(content_of(folder, name)) if designed else ""
    changes = [] if isinstance(text, RenderError) else changed_by(inner, text, designed)
    return [
        SECOND.finding(name.split("/")[1], f"{name}: {change.what}", file=name, line=change.line) for change in changes
    ]


def _beside(name: str, rendered: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return (the path of a file inside its server's folder, the designed files of that folder by path inside the folder).

    ``rendered`` has the designed files of all servers. Both results are empty if the file is not in a server's folder.
    """
    top, _, rest = name.partition("/")
    host, _, inner = rest.partition("/")
    above = f"{top}/{host}/"
    if top != "hosts" or not inner:
        return "", {}
    return inner, {path.removeprefix(above): text for path, text in rendered.items() if path.startswith(above)}


FIXES = {
    "devices": "put the statement under `extra:` of the role, or build again",
    "hosts": "change it in the fabric file, under `hosts:` or `host_routing:`, or build again",
}
MOST_REPORTED = 40
"""The largest number of differences that are reported for one file."""


class FolderState(NamedTuple):
    """The files of a build folder: the text of each readable file, by path, and the findings about all files."""

    texts: dict[str, str]
    findings: list[Finding]


def standing(folder: Path, network: Network, rendered: Mapping[str, str], apart: Collection[str] = ()) -> FolderState:
    """Read the files of a folder and compare them with the design. Files in ``apart`` are read but not compared.

    ``rendered`` has the designed files of switches and servers, by path.
    """
    wanted = {**rendered, **{name: write(network) for name, write in tables_of(network).items()}}
    manifest = read_manifest(folder)
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    forged: list[str] = []
    for name, designed in wanted.items():
        content = content_of(folder, name)
        if content is not None and content == designed.encode():
            texts[name] = designed
            if manifest.files and manifest.files.get(name) != digest(content):
                forged.append(name)
            continue
        text = _text(content)
        if isinstance(text, RenderError):
            findings.append(_unreadable(network, name, text, missing=content is None))
            continue
        texts[name] = text
        if name in apart and b"\r\n" in (content or b"") and "\r\n" not in designed:
            message = f"lines of {name} end in CR LF: Linux programs take the CR for a part of the last word"
            findings.append(located.FILE_EDITED.finding(_owner(network, name), message, file=name, line=1))
        findings += () if name in apart else _of_file(network, name, designed, text)
    findings += others(folder, network, manifest, forged)
    findings += foreign(folder, network, wanted)
    return FolderState({name: text for name, text in texts.items() if name in rendered}, findings)


def _text(content: bytes | None) -> str | RenderError:
    """Return the text of a file, or an error with the reason why the file cannot be used. If ``content`` is None, the file is missing."""
    if content is None:
        return RenderError("it is missing")
    if len(content) > MOST_BYTES:
        return RenderError(f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return RenderError("it is not UTF-8 text", content.count(b"\n", 0, error.start) + 1)
    if not text.strip():
        return RenderError("it is empty", 1)
    control = CONTROL.search(text)
    if control is not None:
        return RenderError("there is a control character here", text.count("\n", 0, control.start()) + 1)
    return text


def _unreadable(network: Network, name: str, error: RenderError, *, missing: bool = False) -> Finding:
    where = _owner(network, name)
    if missing:
        return located.FILE_MISSING.finding(where, f"{name} is missing", file=name)
    return located.FILE_UNREADABLE.finding(where, f"{name} cannot be read: {error.what}", file=name, line=error.line)


def _of_file(network: Network, name: str, designed: str, actual: str) -> Iterator[Finding]:
    """Yield findings for the differences between the text ``actual`` of the file ``name`` and its text ``designed``."""
    kind, file = name.partition("/")[0], name.rpartition("/")[2]
    where = _owner(network, name)
    try:
        if name in located.KEYS:
            made = located.table_differences(name, designed, actual)
        elif kind == "hosts":
            made = compared(name, designed, actual)
        elif file == CONFIG_FILE:
            made = config_differences(designed, actual)
        else:
            yield from of_device(network, name, designed, actual)
            return
    except RenderError as error:
        yield _unreadable(network, name, error)
        return
    if made is None:
        yield _edited(where, name, _first_difference(designed, actual), FIXES.get(kind))
    elif not made:
        message = f"{name} differs from the designed file only in comments, blanks or order"
        line = _first_difference(designed, actual)
        why = "its values are as designed; the next build overwrites the file"
        yield located.FILE_EDITED.finding(where, message, severity="info", why=why, file=name, line=line)
    else:
        yield from _findings(where, name, made)


def _findings(where: str, name: str, made: list[Difference]) -> Iterator[Finding]:
    for difference in made[:MOST_REPORTED]:
        yield difference.rule.finding(where, difference.what, file=name, line=difference.line)
    if len(made) > MOST_REPORTED:
        further = made[MOST_REPORTED]
        yield further.rule.finding(
            where, f"{len(made) - MOST_REPORTED} more differences, from this line on", file=name, line=further.line
        )


def of_device(network: Network, name: str, designed: str, actual: str) -> Iterator[Finding]:
    """Yield a finding if the text ``actual`` of a switch's configuration file differs from the text ``designed``.

    The value of a secret in place of its reference does not count as a difference.
    """
    _, device, file = name.split("/")
    line = _first_difference(designed, actual)
    if not line:
        return
    runbook = system(network.switch(device).nos).runbook
    loaded = runbook.CONFIGURATION if runbook else file
    also = "" if file == loaded else f"; the file that its runbook loads is {loaded}"
    yield _edited(device, name, line, FIXES["devices"], also)


def _edited(where: str, name: str, line: int, fix: str | None = None, more: str = "") -> Finding:
    message = f"{name} is not what the design renders to, from line {line} on{more}"
    return located.FILE_EDITED.finding(where, message, fix=fix, file=name, line=line)


def _owner(network: Network, name: str) -> str:
    """Return the device or server to which a file belongs.

    For any other file, return the file's name or the network's name.
    """
    parts = name.split("/")
    if len(parts) > 2:
        return parts[1]
    return parts[-1] if parts[0] == "hosts" else network.name


def _first_difference(text: str, actual: str) -> int:
    """Return the number of the first line, counted from 1, in which ``actual`` differs from the designed ``text``, or 0 if only secrets differ."""
    wanted, lines = text.splitlines(), actual.splitlines()
    for number, (line, other) in enumerate(zip(wanted, lines, strict=False), 1):
        if line != other and not filled(line, other):
            return number
    return min(len(wanted), len(lines)) + 1 if len(wanted) != len(lines) else 0


@dataclass(frozen=True)
class Verified:
    """The result of ``verify``: the findings, errors first, and the checks and validators that ran."""

    findings: list[Finding]
    checks: list[str]
    """The ids of the checks that ran."""
    validators: list[ValidatorReport]
    """The result of each external validator, or the reason why it was skipped."""

    @property
    def good(self) -> bool:
        """True if no finding is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)


def verify(
    network: Network,
    *,
    folder: Path | None = None,
    running: Mapping[str, Texts] | None = None,
    configs: dict[str, DeviceConfig] | None = None,
    yang: Path | None = None,
    frr_root: Path | None = None,
    netplan_root: Path | None = None,
    sonic_yang: Path | None = None,
    every: bool = False,
    progress: Callable[[str], None] = silent,
) -> Verified:
    """Check a network and validate its files: the files in a build ``folder`` or, without a folder, the rendered files.

    If ``folder`` or ``running`` is given, the configurations of switches come from there instead of the design, and differences
    from the design are findings.

    - ``running``: texts of running devices, by device and by the path that findings show.
    - ``configs``: designed configurations to use instead of the network's own, for example a lab's.
    - ``yang`` and ``sonic_yang``: folders of the published YANG modules of Junos and of SONiC.
    - ``frr_root`` and ``netplan_root``: root folders with FRR and netplan installed.
    - ``every``: True to let slow validators read all files of a large network, and not only a sample.

    A validator that is not installed is reported as skipped, with the reason.
    """
    progress(f"rendering {counted(len(network.switches), 'switch', 'switches')}")
    subject = Subject.of(network) if configs is None else Subject(network, configs)
    rendered, gaps = render_network(network, subject.configs)
    rendered |= render_hosts(network)
    findings = [*network.findings, *gaps]
    stood: dict[str, DeviceCheck] = {}
    if folder is not None:
        progress("reading the files of the folder")
        texts = configurations(subject.configs)
        present, wrong = standing(folder, network, rendered, apart=texts)
        stood = compare_devices(subject.configs, rendered, _by_device(texts, present))
        findings += [*wrong, *beyond_statements(texts, rendered, present, stood)]
        rendered = present
    elif running is not None:
        progress("reading running configurations")
        stood = saved(subject.configs, running)
        findings += [
            located.NOT_CAPTURED.finding(name)
            for name in subject.configs
            if name not in stood and name not in network.absent
        ]
    subject = Subject(
        network, subject.configs | {name: stands.config for name, stands in stood.items() if stands.config}
    )
    findings += [finding for stands in stood.values() for finding in stands.findings]
    findings = summed([*findings, *attributed(run_checks(subject, progress=progress), stood)])
    by_device: dict[str, dict[str, str]] = {}
    for name, text in rendered.items():
        _, *device, file = name.split("/")
        by_device.setdefault("".join(device), {})[file] = text
    progress(f"validating {counted(len(rendered), 'file')}")
    validators = validate_all(
        by_device,
        {"yang": yang, "frr_root": frr_root, "netplan_root": netplan_root, "sonic_yang": sonic_yang},
        releases={switch.name: switch.release for switch in network.switches},
        every=every,
    )
    findings += [finding for validator in validators for finding in validator.findings]
    return Verified(by_severity(findings), list(checks()), validators)


_COMMENT = re.compile(r"\s*(?:[!#]|/\*|$)")


def beyond_statements(
    texts: Mapping[str, tuple[str, str]],
    designed: Mapping[str, str],
    present: Mapping[str, str],
    checked: Mapping[str, DeviceCheck],
) -> Iterator[Finding]:
    """Yield a finding for each configuration that has the designed statements, but differs in another line, such as ``exit``.

    Comments do not count. If such a line is too early or missing, the device may not load the lines after it, or may load
    them differently.

    All arguments but ``checked`` are by path. ``texts`` has (device, file name), ``designed`` the designed texts, ``present`` the actual
    texts. ``checked`` has each device's differences in statements.
    """
    for path, (device, _) in texts.items():
        if path not in present or any(finding.file == path for finding in checked[device].findings):
            continue
        line, words = _odd_line(designed[path], present[path])
        if line:
            message = (
                f"`{words}: it is not a statement, and the lines after it may be loaded differently, or not at all"
            )
            yield located.FILE_EDITED.finding(device, message, file=path, line=line)


def _odd_line(designed: str, actual: str) -> tuple[int, str]:
    """Return (number of the first line that only one of ``designed`` and ``actual`` has, message about this line).

    Returns (0, "") if all such lines are comments or secrets, or were only moved.
    """
    if designed == actual:
        return 0, ""
    old, new = ([line.strip() for line in text.splitlines()] for text in (designed, actual))
    lost, come = Counter(old), Counter(new)
    lost, come = lost - come, come - lost
    for number, line in enumerate(new, 1):
        if line in come and not _COMMENT.match(line) and not any(filled(other, line) for other in lost):
            return number, f"{line}` is not designed"
    for number, line in enumerate(old, 1):
        if line in lost and not _COMMENT.match(line) and not any(filled(line, other) for other in come):
            return min(number, len(new)), f"{line}` is missing"
    return 0, ""


def _by_device(
    texts: Mapping[str, tuple[str, str]], present: Mapping[str, str]
) -> dict[str, dict[str, tuple[str, str]]]:
    """Return (path, text) of each switch configuration in a folder, by device and file name.

    ``texts`` maps a path to (device, file name); ``present`` maps a path to the text of the file.
    """
    by_device: dict[str, dict[str, tuple[str, str]]] = {}
    for path, (device, file) in texts.items():
        if path in present:
            by_device.setdefault(device, {})[file] = (path, present[path])
    return by_device
