"""Runs of ``railweave host`` on servers. The program and a file are copied to a temporary folder, which is removed after the run."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import asyncssh

from railweave.errors import InputError, Option, Problem
from railweave.host import files as host_files
from railweave.host.checks.outcome import VERDICTS
from railweave.live.reach.failure import ReachError, all_of, cause, decoded, safe_line
from railweave.live.reach.ssh import closed, connected
from railweave.model.device.host import host_config
from railweave.model.intent.base import expand
from railweave.reading import file_bytes, parse_json, read_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.reach.target import Target
    from railweave.model.device.host import HostConfig
    from railweave.model.network.model import Network

PROGRAM = "railweave-host.pyz"
PLAN = "host.json"
PROBING = "railweave_host.probing"
_FOLDER = "\0"
"""A placeholder for the temporary folder in the arguments of a command."""


class Machine(Protocol):
    """A server on which commands can be run and files can be written."""

    async def run(self, line: str) -> tuple[int, str, str]:
        """Run a line of shell, and return its exit status, output and error output."""
        ...

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files on the server: content by path."""
        ...


class _SshMachine:
    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self._connection = connection

    async def run(self, line: str) -> tuple[int, str, str]:
        process = await self._connection.create_process(line, stdin=asyncssh.DEVNULL, encoding=None)
        try:
            out, wrong = await all_of(process.stdout, process.stderr)
            await process.wait_closed()
        finally:
            process.close()
        return -1 if process.exit_status is None else process.exit_status, decoded(out), decoded(wrong)

    async def put(self, files: Mapping[str, bytes]) -> None:
        async with self._connection.start_sftp_client() as there:
            for path, content in files.items():
                async with there.open(path, "wb") as out:
                    await out.write(content)


@asynccontextmanager
async def by_ssh(target: Target) -> AsyncGenerator[Machine]:
    """Log in to a server by SSH, and yield it as a machine.

    Raises ``ReachError`` if the server cannot be reached or refuses the login.
    """
    connections = await connected(target)
    try:
        yield _SshMachine(connections[-1])
    finally:
        await closed(connections)


@dataclass(frozen=True)
class Fleet:
    """The servers of a network, as machines on which ``railweave host`` can run.

    - ``network``: the network of the servers; for a lab, the part that the lab runs.
    - ``targets``: the logins of the servers to query, by server name.
    - ``configs``: the configuration of each server; None means the designed configurations.
    - ``open_by``: the function that opens a server as a machine.
    - ``checks``: ids and subjects of the checks that can pass on these servers; empty means all.
    - ``rdma``: False if the servers cannot have RDMA devices.
    """

    network: Network
    targets: Mapping[str, Target]
    configs: Mapping[str, HostConfig] | None = None
    open_by: Callable[[Target], AbstractAsyncContextManager[Machine]] = by_ssh
    checks: tuple[str, ...] = ()
    rdma: bool = True

    def config(self, server: str) -> HostConfig:
        """Return the configuration of a server."""
        return host_config(self.network, server) if self.configs is None else self.configs[server]

    def task(self, server: str, content: str) -> Task:
        """Return the task of a server: its login, and the text ``content`` of the file to copy to it."""
        return Task(self.targets[server], content, self.open_by)


def fleet_of(network: Network, ways: AccessFile, hosts: str | None = None) -> Fleet:
    """Return servers of a network with the logins of access.yaml (``ways``).

    ``hosts`` selects servers as a list such as ``H100-[01-04]``; None selects all servers that are present. Raises ``InputError`` for an
    unknown server or an invalid list, ``SpecError`` if a key or password is missing.
    """
    targets = {name: ways.target(name, "server", "", name, ("ssh",)) for name in asked_servers(network, hosts)}
    ways.check_there(targets.values())
    return Fleet(network, targets)


_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?|[0-9a-fA-F:]*:[0-9a-fA-F:.]*[0-9a-fA-F]+(%[\w.-]+)?")
"""The form of a host name, an IPv4 address or an IPv6 address."""


def named_servers(hosts: str, ways: AccessFile) -> list[Task]:
    """Return the tasks for servers that belong to no design. ``ways`` has the logins of access.yaml.

    ``Task.content`` is empty, because such a server has no ``host.json`` to copy. ``hosts`` is a list such as ``H100-[01-04]``, or the path
    of a file with a name on each line. Raises ``InputError`` for an invalid list, ``SpecError`` if a key or password is missing.
    """
    file = Path(hosts)
    try:
        lines = read_text(file).splitlines() if file.is_file() else [hosts]
        words = [
            word for line in lines for word in re.split(r"[\s,]+(?![^\[]*\])", line.partition("#")[0].strip()) if word
        ]
        names = [name for word in words for name in expand(word)]
    except ValueError as error:
        raise InputError([Problem(Option("--generic", hosts), str(error), _HOSTS)]) from None
    if not names:
        raise InputError([Problem(Option("--generic", hosts), "it names no server", _HOSTS)])
    wrong = next((name for name in names if not _NAME.fullmatch(name) or name.isdigit()), None)
    if wrong is not None:
        fix = f"{_HOSTS}; users, ports and keys stand in the file of --access"
        raise InputError([Problem(Option("--generic", hosts), f"{wrong!r} is not the name of a server", fix)])
    targets = [ways.target(name, "server", "", name, ("ssh",)) for name in dict.fromkeys(names)]
    ways.check_there(targets)
    return [Task(target, "") for target in targets]


_HOSTS = "give names such as H100-[01-04],H200-01 or a file with a name on each line"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a check on a server, a NIC or a GPU (docs/checks.md).

    ``of`` is the NIC or GPU; empty for the server. ``seen`` and ``wanted`` are the observed and the required value, ``origin``
    is the source of the required value, and ``remedy`` the fix.
    """

    check: str
    of: str
    verdict: str
    seen: str
    wanted: str = ""
    origin: str = ""
    remedy: str = ""


@dataclass(slots=True)
class Answer:
    """The answer of one server: its verdicts or, in ``error``, the reason why there are none.

    - ``fix``: the advice for the error.
    - ``seconds``: the total time that the server needed.
    - ``counters``: the counters of the run, to compare later runs with.
    - ``facts``: the values in which servers of one kind should agree, by name.
    - ``addresses``: the addresses of each interface.
    - ``leaves``: the switch that each NIC is connected to.
    """

    server: str
    address: str
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    fix: str = ""
    seconds: float = 0
    counters: dict[str, Any] = field(default_factory=dict[str, Any])
    facts: dict[str, str] = field(default_factory=dict[str, str])
    addresses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    leaves: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Task:
    """A server to run a command on: its login, the text of the file to copy to it, and the function that opens the connection."""

    target: Target
    content: str
    open_by: Callable[[Target], AbstractAsyncContextManager[Machine]] = by_ssh


@dataclass(slots=True)
class Reply:
    """The reply of a server: its output or, in ``error``, the reason why there is none.

    ``fix`` is the advice for the error. ``seconds`` is the total time that the server needed.
    """

    server: str
    address: str
    text: str = ""
    error: str = ""
    fix: str = ""
    seconds: float = 0


def check(
    tasks: Sequence[Task],
    *,
    only: Iterable[str] = (),
    sudo: bool = False,
    at_once: int = 64,
    generic: bool = False,
    done: Callable[[Answer], None],
) -> list[Answer]:
    """Check servers, at most ``at_once`` at a time. Return the answers in the order of ``tasks``.

    - ``tasks``: the servers, each with its ``host.json``.
    - ``only``: ids or subjects of the checks to run; empty runs all.
    - ``sudo``: run the program by ``sudo -n``, which must not need a password.
    - ``generic``: check the servers without their ``host.json``.
    - ``done``: a function that is called with each answer.

    For a server that does not respond, the ``Answer`` has the reason in ``error``. Nothing is changed or left on a server.
    """
    words = [
        "python3",
        f"{_FOLDER}/{PROGRAM}",
        "check",
        "--json",
        *(word for name in only for word in ("--only", name)),
    ]
    words += ["--generic"] if generic else ["--host-file", f"{_FOLDER}/{PLAN}"]
    answers: dict[str, Answer] = {}
    kept: dict[Any, Any] = {}

    def came(reply: Reply) -> None:
        answer = answers[reply.server] = Answer(
            reply.server, reply.address, error=reply.error, fix=reply.fix, seconds=reply.seconds
        )
        if not answer.error:
            _take(answer, reply.text, kept)
            reply.text = ""
        done(answer)

    run(tasks, PLAN, words, sudo=sudo, at_once=at_once, done=came)
    return [answers[task.target.name] for task in tasks]


def probe(
    tasks: Sequence[Task], *, sudo: bool = False, at_once: int = 32, done: Callable[[Reply], None]
) -> list[Reply]:
    """Send probes from servers, at most ``at_once`` servers at a time. Return the replies in the order of ``tasks``.

    The file of a task has the probes of its server (``railweave.host.probing``).

    ``sudo`` runs the program by ``sudo -n``. ``done`` is called with each reply.
    """
    words = ["env", f"PYTHONPATH={_FOLDER}/{PROGRAM}", "python3", "-m", PROBING, f"{_FOLDER}/probes.json"]
    return run(tasks, "probes.json", words, sudo=sudo, at_once=at_once, done=done)


def run(
    tasks: Sequence[Task], name: str, words: Sequence[str], *, sudo: bool, at_once: int, done: Callable[[Reply], None]
) -> list[Reply]:
    """Copy ``railweave host`` to servers and run a command on each, at most ``at_once`` servers at a time.

    Return the replies in the order of ``tasks``.

    ``name`` is the file name under which the file of each task is stored on its server. ``words`` is the command line, with a placeholder
    for the temporary folder. If ``sudo`` is True, the command runs by ``sudo -n``. ``done`` is called with each reply.
    """
    with TemporaryDirectory() as place:
        program = Path(place) / PROGRAM
        host_files.write_program(program)
        files = {PROGRAM: file_bytes(program)}
        return asyncio.run(_all(tasks, files, name, words, sudo=sudo, at_once=at_once, done=done))


async def _all(
    tasks: Sequence[Task],
    files: Mapping[str, bytes],
    name: str,
    words: Sequence[str],
    *,
    sudo: bool,
    at_once: int,
    done: Callable[[Reply], None],
) -> list[Reply]:
    free = asyncio.Semaphore(at_once)

    async def run_task(task: Task) -> Reply:
        async with free:
            reply = await _one(task, {**files, name: task.content.encode()}, words, sudo=sudo)
            done(reply)
            return reply

    return list(await asyncio.gather(*(run_task(task) for task in tasks)))


async def _one(task: Task, files: Mapping[str, bytes], words: Sequence[str], *, sudo: bool) -> Reply:
    target = task.target
    reply, begun = Reply(target.name, target.way.address), monotonic()
    try:
        async with asyncio.timeout(target.connect_s + target.answer_s), task.open_by(target) as machine:
            reply.text = await _ran(machine, files, words, sudo=sudo)
    except ReachError as error:
        reply.error, reply.fix = error.what, error.fix
    except TimeoutError:
        reply.error = f"no answer within {target.connect_s + target.answer_s:g} s"
    except (OSError, asyncssh.Error) as error:
        reply.error = f"the connection ended: {safe_line(str(error)) or type(error).__name__}"
    except Exception as error:  # noqa: BLE001 - whatever one server does, the others are asked
        reply.error = f"the answer cannot be read: {cause(error)}"
    reply.seconds = round(monotonic() - begun, 2)
    return reply


async def _ran(machine: Machine, files: Mapping[str, bytes], words: Sequence[str], *, sudo: bool) -> str:
    """Copy files to a server, run the command line ``words`` there, and return its output. Exit status 1 is not an error.

    If ``sudo`` is True, the command runs by ``sudo -n``. Raises ``ReachError`` if the command cannot be run.
    """
    folder = (await _run(machine, "mktemp -d -t railweave.XXXXXXXXXX")).strip()
    try:
        await machine.put({f"{folder}/{name}": content for name, content in files.items()})
        line = shlex.join(word.replace(_FOLDER, folder) for word in words)
        text = await _run(machine, f"sudo -n {line}" if sudo else line, good=(0, 1))
    except BaseException:
        # A server whose time is over may hang: its folder gets one more second, and not another whole time.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_LEAVING_S):
                await _run(machine, f"rm -rf {shlex.quote(folder)}")
        raise
    await _run(machine, f"rm -rf {shlex.quote(folder)}")
    return text


_LEAVING_S = 1.0
"""The seconds for removing the temporary folder on a server that failed or exceeded its time."""


async def _run(machine: Machine, line: str, good: tuple[int, ...] = (0,)) -> str:
    status, out, wrong = await machine.run(line)
    if status not in good:
        reason = (wrong.strip() or out.strip() or f"exit status {status}").splitlines()[-1]
        raise ReachError("refused", f"`{line.split(' ', maxsplit=1)[0]}`: {safe_line(reason)}")
    return out


_KEYS = ("check", "of", "verdict", "seen", "wanted", "origin", "remedy")


def _take(answer: Answer, text: str, kept: dict[Any, Any]) -> None:
    """Read the verdicts in the program's JSON output ``text`` into ``answer``.

    If the output is invalid or has no verdicts, set the answer's error.

    ``kept`` has the verdicts and texts of earlier servers. Most servers have the same verdicts, so equal verdicts are kept in
    memory only once.
    """
    try:
        document = parse_json(text)
        verdicts: list[Verdict] = []
        for result in document["results"]:
            values = tuple(kept.setdefault(value, value) for value in (str(result.get(key, "")) for key in _KEYS))
            verdict = kept.get(values)
            if verdict is None:
                verdict = kept[values] = Verdict(*values)
            verdicts.append(verdict)
        answer.verdicts = tuple(verdicts)
        answer.counters = {
            nic: {kept.setdefault(name, name): count for name, count in counts.items()}
            for nic, counts in document.get("counters", {}).items()
        }
        answer.facts = {str(name): kept.setdefault(str(v), str(v)) for name, v in document.get("facts", {}).items()}
        answer.addresses = {
            str(name): [str(v) for v in values] for name, values in document.get("addresses", {}).items()
        }
        answer.leaves = {str(nic["netdev"]): str(nic["leaf"]) for nic in document.get("nics", [])}
    except (ValueError, KeyError, TypeError, AttributeError):
        answer.error = "it did not print what `railweave host check --json` prints"
        return
    strange = next(
        (verdict for verdict in answer.verdicts if verdict.verdict not in VERDICTS or not verdict.check), None
    )
    if not answer.verdicts:
        answer.error = "it checked nothing: its results are empty"
    elif strange is not None:
        answer.error = (
            f"it says {safe_line(strange.verdict)!r} of {safe_line(strange.check)!r}, which is no verdict of a check"
        )
    if answer.error:
        answer.verdicts = ()


def asked_servers(network: Network, hosts: str | None) -> list[str]:
    """Return the names of the selected servers, in the network's order. ``hosts`` selects servers as a list such as ``H100-[01-04]``.

    If ``hosts`` is None, all servers are selected that ``status:`` does not mark absent. Raises ``InputError`` for an
    unknown server or an invalid list.
    """
    names = [server.name for server in network.servers if server.name not in network.absent]
    if hosts is None:
        return names
    try:
        wanted = expand(hosts)
    except ValueError as error:
        raise InputError([Problem(Option("--hosts", hosts), str(error), "see docs/fabric-file.md")]) from None
    fix = "names are those of the fabric file; `status:` takes servers away"
    if unknown := [name for name in wanted if name not in names]:
        raise InputError([Problem(Option("--hosts", name), "there is no such server", fix) for name in unknown])
    return [name for name in names if name in set(wanted)]
