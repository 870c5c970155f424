"""The commands `check`, `capture` and `bundle`: check a server before a job, record it, and write an archive for support."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__, discovery, files, host_file, options, show
from .checks import counters
from .checks import server as running
from .checks.outcome import ALL, FAILED, NOT_APPLICABLE, NOT_SEEN, OK, VERDICTS, WARNING
from .checks.server import Counters, Server, server
from .failure import HostInputError
from .machine import CommandOutput, FileMachine, Machine, ThisMachine, objects

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from .checks.server import Result


class RecordedMachine(FileMachine):
    """A server read from a recording, the folder that ``record`` wrote. Raises HostInputError if the folder has no recording."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "root")
        index = _index(folder / "machine.json")
        self.now = float(index.get("time", 0))
        self.root_user = bool(index.get("root", True))
        self.denied = {str(path): str(why) for path, why in dict(index.get("denied", {})).items()}
        self.texts = dict.fromkeys(self.denied)
        for line, command in dict(index.get("commands", {})).items():
            self.said[tuple(line.split(" "))] = _said(folder, command)

    def has(self, tool: str) -> bool:
        """Return True if a tool was installed on the server: a command of the tool is in the recording and was found."""
        return any(words[0] == tool and not answer.missing for words, answer in self.said.items())

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        del words
        return CommandOutput("", missing=True)  # what was not recorded was not there


def record(machine: Machine, folder: Path) -> None:
    """Write to a new folder every file and command output that the checks have read through ``machine``.

    Raises HostError if the folder cannot be written.
    """
    root = folder / "root"
    for path, real in sorted(machine.reals.items()):  # links first: what is read lies behind them
        if real is not None:
            _link(root, path, real)
    for path, names in machine.listed.items():
        for name in names:
            there = root / path.lstrip("/") / name
            if not there.exists() and f"{path.rstrip('/')}/{name}" not in machine.texts:
                there.mkdir(parents=True)
    for path, text in machine.texts.items():
        if text is not None:
            files.write(root / path.lstrip("/"), text + "\n")
    commands: dict[str, Any] = {}
    for number, (words, answer) in enumerate(sorted(machine.said.items()), 1):
        command: dict[str, Any] = {"code": answer.code}
        if answer.missing:
            command = {"missing": True}
        if answer.out:
            command["file"] = f"{number:03}-{words[0]}.txt"
            files.write(folder / "commands" / command["file"], answer.out)
        if answer.err:
            command["stderr"] = answer.err
        commands[" ".join(words)] = command
    index = {
        "schema": 1,
        "time": round(machine.now),
        "root": machine.root_user,
        "denied": machine.denied,
        "commands": commands,
    }
    files.write(folder / "machine.json", json.dumps(index, indent=1) + "\n")


def _link(root: Path, path: str, real: str) -> None:
    """Create the symbolic link ``path`` below ``root``. ``real`` is its target on the recorded machine."""
    link, to = root / path.lstrip("/"), root / real.lstrip("/")
    to.mkdir(parents=True, exist_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(os.path.relpath(to, os.path.realpath(link.parent)))


def _index(file: Path) -> dict[str, Any]:
    try:
        index = files.parsed(files.content(file))
    except OSError as error:
        raise HostInputError(f"{file}: cannot be read: {error.strerror}; `railweave host capture` writes it") from None
    except ValueError as error:
        raise HostInputError(f"{file}: not JSON: {error}") from None
    if [content.get("schema") for content in objects(index)] != [1]:
        raise HostInputError(f"{file}: not a recorded machine of schema 1")
    return objects(index)[0]


def _said(folder: Path, command: Mapping[str, Any]) -> CommandOutput:
    if command.get("missing"):
        return CommandOutput("", missing=True)
    out = ""
    if "file" in command:
        place = folder / "commands" / Path(str(command["file"])).name
        try:
            out = files.content(place)
        except (OSError, ValueError) as error:
            raise HostInputError(f"{place}: cannot be read: {error}") from None
    return CommandOutput(out, str(command.get("stderr", "")), command.get("code", 0))


SCHEMA = 1
_POLL_S = 2.0


def check(asked: Namespace) -> int:
    """Check this server or a recorded one, as the command's arguments (``asked``) require. Print the results, and return the exit code."""
    if asked.list:
        print(listed(asked.json))
        return 0
    checks = running.chosen(asked.only)
    running.chosen(asked.allow_unseen, "--allow-unseen")  # refuses unknown names
    brief = asked.slurm or asked.nhc
    allowed = None if brief and not asked.strict else asked.allow_unseen
    earlier = _watched(asked) if asked.watch else _earlier(asked.since) if asked.since else None
    end = time.monotonic() + asked.wait
    while True:
        looked = looked_at(asked, earlier)
        results = running.run(looked, checks)
        left = end - time.monotonic()
        if asked.capture or left <= 0 or not running.exit_code(results, allowed):
            break
        time.sleep(min(_POLL_S, left))
    if brief:
        line = reason(results, strict=asked.strict)
        if not line and (missing := unseen(results)):
            print(f"railweave: {missing}", file=sys.stderr)
        if line:
            print(f"ERROR:  nhc:  Health check failed:  railweave:  {line}" if asked.nhc else f"railweave: {line}")
    elif asked.json:
        print(json.dumps(document(looked, results), indent=1))
    else:
        print(text(looked, results, everything=asked.all), end="")
    return running.exit_code(results, allowed)


def capture(asked: Namespace) -> int:
    """Run the checks to record, in a folder, the files and command outputs that they read. Return the exit code.

    ``asked`` holds the command's arguments, with the folder.
    """
    _must_be_new(asked.folder)
    looked = _recorded(asked, asked.folder)
    number = show.count(len(looked.machine.said), "command")
    if asked.json:
        print(json.dumps({"folder": str(asked.folder)}))
    else:
        print(f"{asked.folder}: {looked.plan.host} recorded, {number} asked; check it with --capture {asked.folder}")
    return 0


def support(asked: Namespace) -> int:
    """Write one archive for a support case, and return the exit code. ``asked`` holds the command's arguments."""
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there) / "machine"
        looked = _recorded(asked, folder)
        results = running.run(looked, running.chosen(()))
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", looked.plan.host)
        inside = {
            **{
                f"machine/{path.relative_to(folder).as_posix()}": path
                for path in sorted(folder.rglob("*"))
                if _plain(path)
            },
        }
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for path, file in inside.items():
                _add(archive, f"{name}/{path}", redacted(file.read_text(encoding="utf-8", errors="replace")))
            _add(archive, f"{name}/check.txt", redacted(text(looked, results, everything=True)))
            _add(archive, f"{name}/check.json", redacted(json.dumps(document(looked, results), indent=1)))
            journal = files.read(asked.state_file) if asked.state_file.exists() else None
            if journal:
                _add(archive, f"{name}/host.state.json", redacted(journal))
        files.write(asked.file, data.getvalue(), mode=0o600)
    if asked.json:
        print(json.dumps({"file": str(asked.file)}))
    else:
        print(
            f"{asked.file}: {len(inside)} file{'' if len(inside) == 1 else 's'}; words that look like secrets are taken out, names and addresses are not"
        )
    return 0


def _plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _add(archive: tarfile.TarFile, name: str, content: str) -> None:
    data = content.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(data), 0o600, int(time.time())
    archive.addfile(entry, io.BytesIO(data))


_SECRETS = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), "[taken out]"),
    (
        re.compile(
            r"(?i)\b([\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|credential)s?[\"']?\s*[=:]\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&\"']+)"
        ),
        r"\1[taken out]",
    ),
    (re.compile(r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"), r"\1[taken out]"),
    (re.compile(r"\b([a-z][a-z0-9+.-]*://[^\s:/@]+:)[^\s@/]+@"), r"\1[taken out]@"),
)


def redacted(content: str) -> str:
    """Return a text without apparent secrets: keys, passwords and tokens (found by their names), and credentials in URLs."""
    for pattern, by in _SECRETS:
        content = pattern.sub(by, content)
    return content


def _must_be_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise HostInputError(f"{folder}: there is something already; name a new folder")


def _recorded(asked: Namespace, folder: Path) -> Server:
    looked = looked_at(asked, None)
    undesigned = discovery.discovered(looked.machine)
    for server_form in (looked, undesigned):
        running.run(server_form, running.chosen(()))
        counters.known(server_form)
    discovery.facts(undesigned)
    record(looked.machine, folder)
    if not looked.generic:
        files.write(folder / "host.json", files.content(looked.plan.file))
    return looked


def _watched(asked: Namespace) -> Counters:
    """Read the counters of this server, wait for the time of ``--watch``, and return the counters as they were before the wait.

    ``asked`` holds the command's arguments. Raises HostInputError if the options cannot be combined, or if the counters of no NIC
    can be read.
    """
    if asked.since or asked.capture:
        other = "--since" if asked.since else "--capture"
        raise HostInputError(f"--watch takes its own first look at this server: leave out {other}")
    looked = looked_at(asked, None)
    before = Counters(looked.machine.now, counters.known(looked))
    if not before.nics:
        raise HostInputError("--watch: no counters of any NIC can be read; run it as root, or leave it out")
    time.sleep(asked.watch)
    return before


def looked_at(asked: Namespace, earlier: Counters | None) -> Server:
    """Return the server to check: this server, or the recorded server in the folder that an option of the command (``asked``) names.

    With ``--generic``, the server's own state sets the requirements, not ``host.json``. ``earlier`` has the
    counters of an earlier check, or is None. Raises HostError if ``host.json`` or the recording cannot be read.
    """
    folder = getattr(asked, "capture", None)
    machine: Machine = RecordedMachine(folder) if folder else ThisMachine(getattr(asked, "sysfs", options.SYSFS))
    if getattr(asked, "generic", False):
        return discovery.discovered(machine, earlier)
    file = asked.host_file
    if folder and file == options.HOST_FILE:
        file = folder / "host.json"
    if not file.exists() and hasattr(asked, "generic"):
        raise HostInputError(
            f"{file}: not there; put this server's host.json there (--host-file names another place), or look at the server without a design: --generic"
        )
    plan = host_file.load(file)
    return server(machine, plan, files.parsed(files.content(file)), earlier)


def _earlier(file: Path) -> Counters:
    """Return the counters in a file with the output of an earlier ``check --json``. Raises HostInputError if the file has none."""
    try:
        document = files.parsed(files.content(file))
        nics = {
            str(nic): {str(name): int(value) for name, value in readings.items()}
            for nic, readings in document["counters"].items()
        }
        return Counters(float(document["time"]), nics)
    except OSError as error:
        raise HostInputError(f"--since {file}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise HostInputError(f"--since {file}: is not what `railweave host check --json` printed earlier") from None


def document(looked: Server, results: list[Result]) -> dict[str, Any]:
    """Return the checked server (``looked``) and the results of its checks as a JSON object."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": looked.plan.host,
        "network": looked.plan.network,
        "time": round(looked.machine.now),
        "root": looked.machine.root_user,
        "generic": looked.generic,
        "facts": discovery.facts(looked),
        "addresses": discovery.addresses(looked.machine),
        "nics": [
            {
                "netdev": nic.netdev,
                "rdma": nic.rdma,
                "model": nic.model,
                "driver": nic.driver,
                "leaf": nic.leaf,
                "leaf_port": nic.leaf_port,
            }
            for nic in looked.nics
        ],
        "counts": running.counted(results),
        "results": [
            {
                "check": result.check.id,
                "of": result.outcome.of,
                "verdict": result.outcome.verdict,
                "seen": result.outcome.seen,
                "wanted": result.outcome.wanted,
                "origin": result.outcome.origin,
                "remedy": result.outcome.remedy,
            }
            for result in results
        ],
        "counters": counters.known(looked),
    }


def text(looked: Server, results: list[Result], *, everything: bool) -> str:
    """Return the results of checks as text: faults first, each with the required value and the fix.

    ``looked`` is the checked server. Equal results of several NICs are shown once. ``everything`` is True to show passed checks too.
    """
    count = running.counted(results)
    summary = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS if count.get(verdict))
    lines = [
        f"{looked.plan.host}: {show.count(len({result.check.id for result in results}), 'check')}: {summary or 'nothing to check'}"
    ]
    shown = (FAILED, WARNING, NOT_SEEN, *((NOT_APPLICABLE, OK) if everything else ()))
    for verdict in shown:
        for key, of in _alike(results, verdict).items():
            name, seen, wanted, origin, remedy = key
            where = f" {_names(of)}" if any(of) else ""
            if verdict in {FAILED, WARNING}:
                lines += ["", f"{verdict}: {name}{where}", f"  seen    {seen}", f"  wanted  {wanted} ({origin})"]
                lines += [f"  why     {ALL[name].why}", f"  do      {remedy}"]
            else:
                lines.append(f"{verdict}: {name}{where}: {seen}")
        if _alike(results, verdict) and verdict in shown[:-1]:
            lines.append("")
    notes = _not_asked(looked, results)
    lines += ["", *notes] if len(lines) > 1 and notes else notes
    if not looked.machine.root_user and count.get(NOT_SEEN):
        lines += ["", "Some things are shown to root only: sudo railweave host check sees them too."]
    while lines[-1] == "":
        lines.pop()
    return "\n".join(lines) + "\n"


def _not_asked(looked: Server, results: list[Result]) -> list[str]:
    """Return lines that name the checks that did not run, because they need a design or the counters of an earlier check.

    ``looked`` is the checked server, and ``results`` the results of the other checks.
    """
    lines: list[str] = []
    growth = [name.partition("-")[2] for name in counters.KNOWN if any(result.check.id == name for result in results)]
    if looked.earlier is None and growth:
        names = ", ".join(growth)
        lines.append(
            f"Not checked for want of an earlier look: growth of counters ({names}). --watch 60s takes both looks, --since FILE reads an earlier --json."
        )
    if looked.generic:
        subjects: dict[str, list[str]] = {}
        for entry in ALL.values():
            if entry.design:
                subjects.setdefault(entry.subject, []).append(entry.id)
        names = "; ".join(f"{subject}: {', '.join(ids)}" for subject, ids in subjects.items())
        number = sum(len(ids) for ids in subjects.values())
        lines += [
            "",
            f"A design (host.json) would add {number} checks: {names}. And it says what is right: without it NICs are compared with each other, and all of them may be wrong alike.",
        ]
    return lines


_THING = "\0"
"""The placeholder for the name of a NIC or GPU. With it, the remedies of different NICs can be compared."""


def _alike(results: list[Result], verdict: str) -> dict[tuple[str, str, str, str, str], list[str]]:
    """Return the results with this verdict, with equal results of several NICs or GPUs merged.

    Each key is (check, seen value, wanted value, origin of the wanted value, remedy). Its list has the names of the NICs or GPUs.
    """
    alike: dict[tuple[str, str, str, str, str], list[str]] = {}
    for result in results:
        o = result.outcome
        if o.verdict == verdict:
            origin = re.sub(r"nics\[\d+\]", "nics[]", o.origin)  # differs by NIC in its index alone
            key = (result.check.id, o.seen, o.wanted, origin, o.remedy.replace(o.of, _THING) if o.of else o.remedy)
            alike.setdefault(key, []).append(o.of)
    return {
        (
            name,
            seen,
            wanted,
            origin,
            remedy.replace(_THING, of[0]) + (" (the others alike)" if _THING in remedy and of[1:] else ""),
        ): of
        for (name, seen, wanted, origin, remedy), of in alike.items()
    }


def _names(of: list[str]) -> str:
    return f"{of[0]} and {len(of) - 1} more ({', '.join(of[1:])})" if len(of) > 3 else ", ".join(of)


def unseen(results: list[Result]) -> str:
    """Return a line for a scheduler's log with the checks whose values could not be read; empty if all could be read."""
    names = sorted({result.check.id for result in results if result.outcome.verdict == NOT_SEEN})
    return f"not seen: {', '.join(names)}"[:480] if names else ""


def reason(results: list[Result], *, strict: bool = False) -> str:
    """Return one line for a scheduler, with the first three failed checks and the number of further failed checks; empty if none failed.

    ``strict`` is True to include checks whose values could not be read.
    """
    bad = {FAILED, NOT_SEEN} if strict else {FAILED}
    wrong = [result for result in results if result.outcome.verdict in bad]
    reasons = [
        f"{result.check.id}{' ' + result.outcome.of if result.outcome.of else ''}: {result.outcome.seen}"
        for result in wrong[:3]
    ]
    more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
    return re.sub(r"\s+", " ", "; ".join(reasons) + more)[:480]


def listed(as_json: bool) -> str:
    """Return the list of all checks, each with its ID and its rule, as text or as JSON."""
    if as_json:
        keys = ("id", "subject", "what", "why", "how", "source", "root", "per_nic")
        return json.dumps([{key: getattr(entry, key) for key in keys} for entry in ALL.values()], indent=1)
    width = max(len(name) for name in ALL)
    return "\n".join(f"{entry.id:{width}}  {entry.what}" for entry in ALL.values())


VERBS = {"check": check, "capture": capture, "bundle": support}
