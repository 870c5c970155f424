"""The runs of a plan: select them, execute them with a network's files, and report the results."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.live.collect.access_file import read_access
from railweave.live.fleet.running import Task, check
from railweave.model.catalog import in_force
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.operations.bench.plan import Perftest, Plan, PlannedRun
from railweave.operations.bench.running.carrying import (
    PLANNED,
    ResultWriter,
    RunOptions,
    carried_out,
    hosts_of,
    waiting,
)
from railweave.operations.bench.running.pair import Launch, peer_of, perftest_words, shown
from railweave.operations.bench.running.shells import Shells
from railweave.operations.deploy import journal
from railweave.operations.store.records import Environment, pairs
from railweave.operations.store.store import is_database, opened
from railweave.outputs.folder.sources import network_of
from railweave.outputs.rendering.host.cluster import cluster_files
from railweave.outputs.rendering.host.host_json import host_json
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.fleet.running import Answer
    from railweave.operations.store.records import Run


@dataclass(frozen=True, slots=True)
class RunSelection:
    """A selection of a plan's runs.

    - ``runs``: the runs to execute.
    - ``had``: runs that are left out because they are already in the store.
    - ``needing``: runs that are left out because a setting must be changed first and the runs were not selected by
      name.
    """

    runs: tuple[PlannedRun, ...]
    had: tuple[PlannedRun, ...] = ()
    needing: tuple[PlannedRun, ...] = ()


def chosen(
    plan: Plan, had: Mapping[str, bool], *, only: Sequence[str] = (), again: bool = False, failed: bool = False
) -> RunSelection:
    """Return the selected runs of a plan, in the order of the plan.

    - ``had``: the runs in the store, by name; True if the latest attempt failed.
    - ``only``: names of runs or parts, with ``*`` for any text. Default: all runs that need no setting to be changed
      first.
    - ``again``: also select runs that are in the store. ``failed``: also select runs that are in the store as failed.

    Raises ``InputError`` for a name that the plan does not have.
    """
    for name in only:
        if not any(_named(run, name) for run in plan.runs):
            parts = ", ".join(dict.fromkeys(run.part for run in plan.runs))
            fix = f"give the name of a run, or a part: {parts}"
            raise InputError([Problem(Option("--only", name), "the plan has no such run", fix)])
    wanted = [run for run in plan.runs if not only or any(_named(run, name) for name in only)]
    needing = [] if only else [run for run in wanted if run.needs]
    ready = [run for run in wanted if only or not run.needs]
    there = [run for run in ready if run.name in had and not (again or (failed and had[run.name]))]
    names = {run.name for run in there}
    return RunSelection(tuple(run for run in ready if run.name not in names), tuple(there), tuple(needing))


def _named(run: PlannedRun, name: str) -> bool:
    return name in {run.part, run.name} or fnmatchcase(run.name, name)


@dataclass(frozen=True)
class RunSummary:
    """A summary of the executed runs.

    - ``plan``: the digest of the plan. ``store``: the name of the store.
    - ``chosen``: the selected runs.
    - ``runs``: the results, as stored.
    - ``commands``: (name of a run, command that starts the run) of each selected run.
    """

    plan: str
    store: str
    chosen: RunSelection
    runs: tuple[Run, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if no run failed."""
        return not any(run.failures for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that `railweave bench run --json` prints."""
        return {
            "plan": self.plan,
            "store": self.store,
            "planned": [run.name for run in self.chosen.runs],
            "had": [run.name for run in self.chosen.had],
            "needing": {run.name: run.needs for run in self.chosen.needing},
            "commands": dict(self.commands),
            "notes": list(self.notes),
            "runs": [
                {
                    "name": name_of(run),
                    "id": run.id,
                    "failures": list(run.failures),
                    "samples": len(run.samples),
                    "file": run.file,
                }
                for run in self.runs
            ],
        }

    def to_text(self) -> str:
        """Return a text that lists the failed runs, the notes and the runs that were left out."""
        lines: list[str] = []
        for run in self.runs:
            if run.failures:
                lines.append(f"failed: {name_of(run)} ({run.id})")
                lines += [f"    {why}" for why in run.failures]
        lines += [f"note: {note}" for note in self.notes]
        if self.chosen.needing:
            needs = dict.fromkeys(run.needs for run in self.chosen.needing)
            left = counted(len(self.chosen.needing), "run")
            lines.append(f"left out: {left} that need something to be set first; name them by --only once it is:")
            lines += [f"    {need}" for need in needs]
        failed = sum(bool(run.failures) for run in self.runs)
        had = f"; {len(self.chosen.had):,} were there already" if self.chosen.had else ""
        lines.append(f"{counted(len(self.runs), 'run')} kept in {self.store}, {failed or 'none'} of them failed{had}")
        return "\n".join(lines)


def name_of(run: Run) -> str:
    """Return the name that a stored run has in its plan. Without a plan, return the run's title."""
    return dict(run.settings).get(PLANNED, run.title)


def command(run: PlannedRun, launch: Launch, perftest: str = "") -> str:
    """Return the server and the command of a run, such as ``h100-01: ib_write_bw … -d DEVICE``.

    For perftest, the result is the client's command, with placeholders for values that are found on the client's
    server. ``launch`` has the settings for starting collectives, and ``perftest`` is the folder of perftest.
    """
    test = run.test
    if isinstance(test, Perftest):
        words = perftest_words(test, test.client.gpu, perftest)
        return f"{test.client.host}: {' '.join(words)} -d DEVICE -x GID({test.client.address}) -p PORT {peer_of(test)}"
    place = launch.place(test)
    return f"{place or 'this machine'}: {shown(test, launch)}"


END_S = 20
"""The seconds within which launchers must exit after their runs have been stopped."""


@dataclass(frozen=True)
class PlanRun:
    """A plan to carry out.

    - ``outputs``: the folder for the output of programs; ``environment``: the facts common to all runs.
    - ``only``, ``again``, ``failed``: the options that select runs (see ``chosen``).
    """

    plan: Plan
    network: Network
    store: Path | str
    outputs: Path
    environment: Environment
    only: Sequence[str] = ()
    again: bool = False
    failed: bool = False


def run_plan(
    asked: PlanRun,
    how: RunOptions,
    access: Path | None,
    *,
    dry_run: bool,
    host_check: bool,
    sudo: bool,
    meanwhile: Callable[[], Awaitable[None]] | None,
    say: Callable[[str], None],
) -> RunSummary:
    """Execute the chosen runs of a plan, and store the result of each as soon as it ends.

    - ``asked``: the plan, and the selection of its runs.
    - ``how``: the options of execution. ``access``: the path of access.yaml, or None for the defaults.
    - ``dry_run``: execute nothing; return a summary with the commands.
    - ``host_check``: run ``railweave host check`` on each server first. If ``sudo`` is True, this check runs as root.
    - ``meanwhile``: a function that runs at the same time. If it fails, all runs stop and its error is raised.
    - ``say``: a function that receives progress lines.
    """
    digest, launch = asked.plan.digest, how.launch
    # A store that is not there yet is not made for a look at what would be done.
    looked = _had(asked.store, digest, asked.outputs, make=not dry_run)
    todo = chosen(asked.plan, looked, only=asked.only, again=asked.again, failed=asked.failed)
    commands = tuple((run.name, command(run, launch, how.perftest)) for run in todo.runs)
    notes = tuple(waiting(todo.runs, how.at_once))
    if dry_run or not todo.runs:
        return RunSummary(digest, str(asked.store), todo, commands=commands, notes=notes)
    ways = read_access(access)
    names = list(dict.fromkeys(host for run in todo.runs for host in hosts_of(run)))
    names += [host for host in [launch.on] if host and host not in names]
    targets = {name: ways.target(name, "server", "", name, ("ssh",)) for name in names}
    checked = _checked(asked.network, ways, names, sudo=sudo, say=say) if host_check else {}
    count = [0]

    def done(run: PlannedRun, kept: Run) -> None:
        count[0] += 1
        say(f"{run.name}: {'failed' if kept.failures else 'done'} ({count[0]:,} of {len(todo.runs):,})")

    with opened(asked.store, make=True) as there:
        keeper = ResultWriter(there, digest, asked.outputs)
        shells = Shells(targets, ways.access.attempts)
        work = carried_out(todo.runs, keeper, shells, how, asked.environment, checked=checked, done=done)
        kept = asyncio.run(work if meanwhile is None else _meanwhile(work, meanwhile))
        return RunSummary(digest, there.where, todo, tuple(kept), commands, notes)


async def _meanwhile(work: Coroutine[Any, Any, list[Run]], meanwhile: Callable[[], Awaitable[None]]) -> list[Run]:
    """Execute runs (``work``) while the function ``meanwhile`` runs, and return the runs.

    The function is cancelled when the runs have ended. If the function fails, the runs are cancelled.
    """

    async def watch() -> None:
        await meanwhile()

    runs, beside = asyncio.create_task(work), asyncio.create_task(watch())
    try:
        await asyncio.wait({runs, beside}, return_when=asyncio.FIRST_COMPLETED)
        if beside.done() and not runs.done():
            beside.result()
        return await runs
    finally:
        for task in (runs, beside):
            task.cancel()
        # Who waits for this may have a network to take back: a launcher that does not end is not waited for.
        ended, _ = await asyncio.wait({runs, beside}, timeout=END_S)
        for task in ended:
            if not task.cancelled():
                task.exception()


def planned_network(
    plan: Plan, fabric: Network | Path | str | None, device: Sequence[str], hardware: Path | str | None
) -> Network:
    """Return the planned network. Raises ``InputError`` if its design has changed since the plan was made.

    ``fabric`` replaces the fabric file that the plan names. ``device`` has switch models and systems that replace those of the file,
    and ``hardware`` is a folder of hardware files.
    """
    source = plan.fabric if fabric is None else fabric
    if not isinstance(source, Network) and not Path(source).exists():
        message = "there is no such fabric file, which the plan is of"
        raise InputError([Problem(Option("--fabric", str(source)), message, "name it by --fabric")])
    network = network_of(source, device, hardware)
    if hashlib.sha256(network.to_json()).hexdigest() != plan.design_digest:
        name = network.name if isinstance(source, Network) else str(source)
        message = "its design has changed since the plan was made"
        raise InputError([Problem(FileLine(name), message, "plan again: `railweave bench plan`")])
    return network


def outputs_of(plan: Plan | Path | str, store: Path | str, outputs: Path | str | None) -> Path:
    """Return the folder for the output of programs: ``outputs`` if given, or else ``STORE.outputs`` next to the store.

    If the store is a database, the folder is next to the plan, or ``bench.outputs``.
    """
    if outputs is not None:
        return Path(outputs)
    if not is_database(store):
        return Path(f"{store}.outputs")
    return Path(f"{plan}.outputs") if isinstance(plan, Path | str) else Path("bench.outputs")


def _had(store: Path | str, digest: str, place: Path, *, make: bool) -> dict[str, bool]:
    """Return the plan's runs that the store has, by name; True if the latest attempt failed. Empty if the store does not exist.

    ``digest`` is the plan's digest, and ``place`` the folder for outputs. If ``make`` is True, missing tables of a database
    are created.
    """
    database = is_database(store)
    if not database and not Path(store).exists():
        return {}
    with opened(store, make=make and database) as there:
        return ResultWriter(there, digest, place).had()


def scripts_of(network: Network, own_script: Path | None) -> dict[str, str]:
    """Return the text of ``mpirun.sh`` by server: the script that ``build`` writes, or the user's own file ``own_script``."""
    files = cluster_files(network)
    scripts: dict[str, str] = {}
    for name, text in files.items():
        if name.startswith("hostfile"):
            script = name.replace("hostfile.", "mpirun-") if name != "hostfile" else "mpirun"
            hosts = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
            scripts |= dict.fromkeys(hosts, files[f"{script}.sh"])
    if own_script is None:
        return scripts
    try:
        return dict.fromkeys(scripts, file_text(own_script))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError([Problem(Option("--mpi-script", str(own_script)), f"cannot be read: {reason}")]) from None


def environment_of(network: Network, plan: Plan, fabric: Network | Path | str | None) -> Environment:
    """Return the facts common to all runs: the design, the job's variables, NCCL's network plugin, and the last revision of the switches' configurations."""
    variables: dict[str, str] = {}
    for server in network.servers:
        if server.name not in network.absent:
            config = host_config(network, server.name)
            jobs = [config.job, *(job for _, job in config.tenant_jobs)]
            variables = {variable.name: variable.value for job in jobs[:1] for variable in job if not variable.resolve}
            break
    environment = Environment(
        variables=pairs(variables),
        plugin=variables.get("NCCL_NET_PLUGIN", ""),
        fabric=plan.fabric,
        design_digest=plan.design_digest,
    )
    path = Path(plan.fabric if fabric is None or isinstance(fabric, Network) else fabric)
    if not path.is_file():
        return environment
    with journal.opened(path) as rows:
        revisions = [revision for revision in rows.revisions() if revision.state == "done"]
    return replace(environment, switch_revision=f"{revisions[0].number} {revisions[0].label}" if revisions else "")


def _checked(
    network: Network, ways: AccessFile, names: Sequence[str], *, sudo: bool, say: Callable[[str], None]
) -> dict[str, object]:
    """Run `railweave host check` on the servers ``names``, as root if ``sudo`` is True.

    Return, by server, the number of checks for each verdict, and the warnings and failures. For a server that does not answer, the
    result is the reason. ``ways`` has the logins of servers.
    """
    there = [name for name in names if name in {server.name for server in network.servers}]
    with in_force(network.catalog):
        texts = {name: host_json(host_config(network, name)) for name in there}
    tasks = [Task(ways.target(name, "server", "", name, ("ssh",)), text) for name, text in texts.items()]

    def done(answer: Answer) -> None:
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'}")

    return {answer.server: _summed(answer) for answer in check(tasks, sudo=sudo, done=done)}


def _summed(answer: Answer) -> object:
    if answer.error:
        return {"error": answer.error}
    bad = [
        f"{verdict.verdict}: {verdict.check} {verdict.of}: {verdict.seen}"
        for verdict in answer.verdicts
        if verdict.verdict in {"failed", "warning"}
    ]
    return {**Counter(verdict.verdict for verdict in answer.verdicts), "not well": bad}
