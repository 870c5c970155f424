"""Execution of a single run: perftest (the server end first, then the client end), or nccl-tests and rccl-tests."""

from __future__ import annotations

import asyncio
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from railweave.errors import InputError, Option, Problem
from railweave.live.reach.failure import ReachError, safe_line
from railweave.operations.bench.plan import PROGRAMS
from railweave.operations.bench.running.scripts import (
    LISTENING,
    NO_GID,
    NO_PORT,
    SCRIPT_PREFIX,
    client_script,
    guarded,
    server_script,
)
from railweave.operations.bench.running.shells import HERE, ScriptOutput, Shells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.operations.bench.plan import NcclTests, Perftest


def perftest_words(test: Perftest, gpu: int | None, folder: str = "") -> list[str]:
    """Return the command line of one end of the run ``test``, without device, GID and port, which the script finds on the server.

    ``folder`` is the folder of the program; empty to find the program through PATH. ``gpu`` is the number of this end's GPU
    in the order of PCI slots. CUDA uses this order only if ``CUDA_DEVICE_ORDER`` is set; HIP always does.
    """
    words = ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"] if test.memory == "cuda" and gpu is not None else []
    words += [_in(folder, test.program), "-F", "--report_gbits", "-q", str(test.qps)]
    if test.size_bytes is None:
        words.append("-a")
    else:
        words += ["-s", str(test.size_bytes)]
    if test.seconds is not None:
        words += ["-D", str(test.seconds)]
    if test.both_ways:
        words.append("-b")
    if test.memory != "host" and gpu is not None:
        words.append(f"--use_{test.memory}={gpu}")
    return words


def nccl_tests_words(test: NcclTests, folder: str = "") -> list[str]:
    """Return the command line of a collective, including the environment variables that the run sets.

    The test checks its results (``-c 1``); the check is not part of the measured time.
    """
    words = ["env", *(f"{name}={text}" for name, text in test.variables)] if test.variables else []
    words.append(_in(folder, PROGRAMS[test.collective]))
    words += ["-b", str(test.first_bytes), "-e", str(test.last_bytes)]
    if test.last_bytes > test.first_bytes:
        words += ["-f", str(test.factor)]
    return [*words, "-g", str(test.gpus), "-c", "1"]


def _in(folder: str, program: str) -> str:
    return f"{folder.rstrip('/')}/{program}" if folder else program


FIRST_PORT = 18600
"""The first TCP port that perftest servers listen on. The default of perftest is 18515."""
START_S = 30
"""The seconds within which the server end of a perftest must begin to listen."""
END_S = 10
"""The seconds within which the second end of a perftest must exit after the first end has exited."""
_WRONG = re.compile(r"\berror\b|fail|cannot|couldn't|unable|not found|denied|refused|no such", re.IGNORECASE)
LEFT = 30
"""The number of output lines stored with a failed run. The output file has the whole output."""


@dataclass(slots=True)
class RunResult:
    """The result of a run.

    - ``text``: the output that has the result; ``more``: all other output, by file name suffix such as ``server``.
    - ``failures``: the reasons why the run failed; empty if it succeeded.
    - ``facts``: values found on the servers, by name, such as ``server GID``.
    """

    text: str = ""
    more: dict[str, str] = field(default_factory=dict[str, str])
    failures: list[str] = field(default_factory=list[str])
    facts: dict[str, str] = field(default_factory=dict[str, str])


async def measured(test: Perftest, shells: Shells, *, number: int, limit_s: float, folder: str = "") -> RunResult:
    """Run the perftest ``test`` between two NICs. A failure is part of the result. A cancellation stops both ends and is raised.

    - ``shells``: the connections to the servers.
    - ``number``: the number of the run in its round. It determines the ports that the server end tries.
    - ``limit_s``: the time limit; ``folder``: the location of perftest on servers.

    The client connects by the name of the server, over whichever network that name resolves to.
    """
    came, port = RunResult(), asyncio.get_running_loop().create_future()
    first = FIRST_PORT + number % 512 * 64
    serve = server_script(
        test.server.address, test.server.device, perftest_words(test, test.server.gpu, folder), first=first,
        limit_s=limit_s + START_S,
    )  # fmt: skip

    def seen(line: str) -> None:
        number = line.removeprefix(LISTENING)
        if line.startswith(LISTENING) and not port.done() and re.fullmatch(r"[0-9]{1,5}", number):
            port.set_result(int(number))

    listening = asyncio.create_task(shells.ran(test.server.host, serve, limit_s + 2 * START_S, seen))
    try:
        await asyncio.wait({listening, port}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if not port.done():
            await _did_not_listen(test, listening, came)
            return came
        ask = client_script(
            test.client.address, test.client.device, perftest_words(test, test.client.gpu, folder),
            port=port.result(), peer=peer_of(test), limit_s=limit_s,
        )  # fmt: skip
        try:
            outcome = await shells.ran(test.client.host, ask, limit_s + START_S)
        except ReachError as error:
            came.failures.append(f"{test.client.host}: {error.what}")
        else:
            came.text, script_lines = _apart(outcome.text)
            _found(came, "client", script_lines)
            if why := wrong(outcome, limit_s):
                came.failures.append(f"{test.client.host}: {why}")
        await _ended(test, listening, came)
        return came
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def peer_of(test: Perftest) -> str:
    """Return the host name of the server end that the client connects to; ``127.0.0.1`` if both ends are on one server."""
    return "127.0.0.1" if test.server.host == test.client.host else test.server.host


async def _did_not_listen(test: Perftest, listening: asyncio.Task[ScriptOutput], came: RunResult) -> None:
    if not listening.done():
        came.failures.append(f"{test.server.host}: {test.program} does not listen within {START_S} s")
        return
    try:
        outcome = listening.result()
    except ReachError as error:
        came.failures.append(f"{test.server.host}: {error.what}")
        return
    text, script_lines = _apart(outcome.text)
    _found(came, "server", script_lines)
    came.more["server"] = text
    came.failures.append(f"{test.server.host}: {wrong(outcome, START_S) or 'it ended before anybody asked'}")


async def _ended(test: Perftest, listening: asyncio.Task[ScriptOutput], came: RunResult) -> None:
    """Wait for the server end of the perftest ``test``, and add its output to the result ``came``.

    ``listening`` runs the server end. If it does not end in time, the caller stops it.
    """
    done, _ = await asyncio.wait({listening}, timeout=0.5 if came.failures else END_S)
    if not done:
        return
    try:
        outcome = listening.result()
    except ReachError as error:
        came.failures.append(f"{test.server.host}: {error.what}")
        return
    text, script_lines = _apart(outcome.text)
    _found(came, "server", script_lines)
    came.more["server"] = text
    # A server whose client has its result may complain of how that left.
    if came.failures and (why := wrong(outcome, 0)):
        came.failures.append(f"{test.server.host}: {why}")


def _apart(text: str) -> tuple[str, list[str]]:
    """Return (the output of a program, the lines that the script itself printed, without their prefix)."""
    lines = text.splitlines(keepends=True)
    script_lines = [line.removeprefix(SCRIPT_PREFIX).strip() for line in lines if line.startswith(SCRIPT_PREFIX)]
    return "".join(line for line in lines if not line.startswith(SCRIPT_PREFIX)), script_lines


def _found(came: RunResult, end: str, script_lines: list[str]) -> None:
    for line in script_lines:
        _, at, gid = line.partition(" is GID ")
        if at:
            came.facts[f"{end} GID"] = gid


def wrong(outcome: ScriptOutput, limit_s: float) -> str:
    """Return the reason why a script failed, from its output and exit status; empty if it succeeded.

    ``limit_s`` is the script's time limit. The reason names the limit if the script was ended because of it.
    """
    if outcome.lost:
        return outcome.lost
    if not outcome.status:
        return ""
    lines = [line for line in outcome.text.splitlines() if line.strip(" -\t")]
    # Launchers go on talking after what went wrong.
    telling = [line for line in lines if _WRONG.search(line)]
    last = safe_line((telling or lines)[-1]) if lines else ""
    if outcome.status in {NO_GID, NO_PORT}:
        return last.removeprefix(SCRIPT_PREFIX)
    # ``timeout`` gives 124, or 137 where it had to kill; a program that somebody else killed gives 137 too.
    if outcome.status == 124 or (outcome.status == 137 and outcome.seconds >= limit_s):
        return f"it was ended after {limit_s:g} s"
    if outcome.status == 127:
        return last or "there is no such program"
    return f"exit status {outcome.status}{f': {last}' if last else ''}"


Launcher = Literal["mpirun", "srun"]

RANKS = "railweave host env"
"""The program that starts each rank. The command line of the rank's own program follows after ``--``.

Like ``mpirun.sh``, it first sets the variables whose values differ by server.
"""
RANKS_START_S = 60
"""The seconds that MPI or Slurm may need to start the ranks, in addition to the run's time limit."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings for starting collectives.

    - ``launcher``: the program that starts the ranks.
    - ``on``: the server where the launcher is started; empty for this machine, None for the first server of the run.
    - ``scripts``: the text of ``mpirun.sh`` from the build folder, by server.
    - ``ranks``: the program that starts each rank; ``folder``: the folder of nccl-tests.
    - ``options``: further arguments for ``srun``.
    """

    launcher: Launcher = "mpirun"
    on: str | None = None
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    ranks: str = RANKS
    folder: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``InputError`` for an unknown launcher."""
        if self.launcher not in get_args(Launcher):
            fix = f"give {' or '.join(get_args(Launcher))}"
            raise InputError([Problem(Option("--launcher"), f"{self.launcher!r} is none", fix)])

    def place(self, test: NcclTests) -> str:
        """Return the name of the server where the launcher of a run is started; empty for this machine."""
        return test.hosts[0] if self.on is None else self.on


def started(test: NcclTests, launch: Launch, limit_s: float) -> str:
    """Return the script that runs the collective ``test`` with its launcher, for at most ``limit_s`` seconds. Ranks have the order of the plan.

    The script creates its files in a temporary folder, which it deletes at its end.
    """
    if launch.launcher == "mpirun":
        files = {"hostfile": "".join(f"{host} slots={test.per_host * test.gpus}\n" for host in test.hosts)}
        files["mpirun.sh"] = launch.scripts.get(test.hosts[0], "")
    else:
        files = {"hosts": "".join(f"{host}\n" * test.per_host for host in test.hosts)}
    made = "f=$(mktemp -d -t railweave.XXXXXXXXXX) || exit\ntrap 'rm -rf \"$f\"' EXIT\n"
    for name, text in files.items():
        made += f'printf %s {shlex.quote(text)} > "$f/{name}"\n'
    return guarded(_line(test, launch), limit_s, made)


def _line(test: NcclTests, launch: Launch) -> str:
    program = nccl_tests_words(test, launch.folder)
    if launch.launcher == "mpirun":
        words = ["--per-host", str(test.per_host), "--launcher", launch.ranks, "--", *program]
        return f'bash "$f/mpirun.sh" --hostfile "$f/hostfile" {shlex.join(words)}'
    count = len(test.hosts)
    words = ["srun", f"--nodes={count}", f"--ntasks={count * test.per_host}", "--distribution=arbitrary"]
    words += ["--kill-on-bad-exit=1", *launch.options, *shlex.split(launch.ranks), "--", *program]
    return f'env SLURM_HOSTFILE="$f/hosts" {shlex.join(words)}'


async def launched(test: NcclTests, launch: Launch, shells: Shells, limit_s: float) -> RunResult:
    """Run the collective ``test`` for at most ``limit_s`` seconds, and return its result. A failure is part of the result.

    ``shells`` has the connections to the servers. A cancellation stops the launcher with its ranks and is raised.
    """
    came, place = RunResult(), launch.place(test)
    try:
        outcome = await shells.ran(place, started(test, launch, limit_s), limit_s + RANKS_START_S)
    except ReachError as error:
        came.failures.append(f"{place}: {error.what}")
        return came
    came.text = outcome.text
    came.facts["started on"] = place or "this machine"
    if why := wrong(outcome, limit_s):
        came.failures.append(f"{launch.launcher}{f' on {place}' if place != HERE else ''}: {why}")
    return came


def shown(test: NcclTests, launch: Launch) -> str:
    """Return the shell command that starts the collective ``test``, with placeholders for its files, as ``--dry-run`` prints it."""
    command = _line(test, launch).replace('"$f/hosts"', "HOSTS")
    return command.replace('"$f/mpirun.sh"', "mpirun.sh").replace('"$f/hostfile"', "HOSTFILE")
