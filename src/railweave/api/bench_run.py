"""A plan of benchmarks carried out."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.sources import network_of, path_of, silent
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.fleet.running import Answer
    from railweave.operations.bench.plan import Plan, PlannedRun
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.bench.running.summary import Carried
    from railweave.operations.store.records import Environment, Run

END_S = 20
"""For launchers to end that are told to, where something else ended their runs."""


def bench_run(
    plan: Plan | Path | str,
    store: Path | str,
    *,
    fabric: Network | Path | str | None = None,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    again: bool = False,
    failed: bool = False,
    launcher: Launcher = "mpirun",
    launch_on: str | None = None,
    ranks: str | None = None,
    mpi_script: Path | str | None = None,
    srun_options: Sequence[str] = (),
    perftest: str = "",
    nccl_tests: str = "",
    at_once: int = 256,
    timeout_s: float | None = None,
    host_check: bool = True,
    sudo: bool = False,
    outputs: Path | str | None = None,
    dry_run: bool = False,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    meanwhile: Callable[[], Awaitable[None]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Carried:
    """Carry out a plan, and keep what comes of each run as soon as it has ended (docs/bench.md).

    - ``plan``, ``store``: files of ``bench_plan`` and ``bench_import``; a store may be a ``postgresql://`` address.
    - ``fabric``: the network that was planned for, where it is not at the path that the plan names.
    - ``access``: how servers are reached: ``access.yaml`` (docs/collect.md); without it by their names.
    - ``only``: names of runs or parts; runs that need something to be set first are carried out only where they are named.
    - ``again``: also runs that the store has of this plan; ``failed``: those of them that failed.
    - ``launcher``, ``launch_on``: of collectives, ``mpirun`` or ``srun``, and the server it is started on; empty: this machine. Left out:
      ``mpirun`` on the first server of the run, ``srun`` on this machine.
    - ``ranks``: what starts each rank, in the place of ``railweave host env``; ``mpi_script``: a file in the place of the ``mpirun.sh`` that
      ``build`` writes; ``srun_options``: more words for ``srun``.
    - ``perftest``, ``nccl_tests``: folders of the programs on servers, where they are not on their path.
    - ``at_once``: runs at the same time, of those that may; ``timeout_s``: in the place of what the plan says of each run.
    - ``host_check``, ``sudo``: whether `railweave host check` runs on the servers before, and by ``sudo -n``.
    - ``outputs``: the folder for what programs print; beside the store, or beside the plan for PostgreSQL.
    - ``dry_run``: say what would be run; nothing is asked, nothing is written.
    - ``device``, ``hardware``: see ``load``. ``progress``: called with a few words on what is being done.
    - ``meanwhile``: goes on beside the runs, in the same event loop; what it raises ends them at once, and is raised.

    A run that fails, that is refused or that does not end is a result. Raises ``InputError`` where the design is not the one that was planned
    for, or for an argument that cannot be; ``SpecError`` for files that cannot be read; ``OutputError`` where a result cannot be kept.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.operations.bench.plan import Plan, read_plan
    from railweave.operations.bench.running.carrying import Keeper, Ways, carried_out, hosts_of, waiting
    from railweave.operations.bench.running.pair import RANKS, Launch
    from railweave.operations.bench.running.shells import HERE, Shells
    from railweave.operations.bench.running.summary import Carried, chosen, command
    from railweave.operations.store.store import opened

    say = progress or silent
    given = plan if isinstance(plan, Plan) else read_plan(plan)
    network = _designed(given, fabric, device, hardware)
    place = _outputs(plan, store, outputs)
    with in_force(network.catalog):
        scripts = _scripts(network, path_of(mpi_script))
        environment = _environment(network, given, fabric)
    on = launch_on if launch_on is not None or launcher == "mpirun" else HERE
    launch = Launch(launcher, on, scripts, ranks or RANKS, nccl_tests, tuple(srun_options))
    # A store that is not there yet is not made for a look at what would be done.
    looked = _had(store, given.digest, place, make=not dry_run)
    todo = chosen(given, looked, only=only, again=again, failed=failed)
    commands = tuple((one.name, command(one, launch, perftest)) for one in todo.runs)
    notes = tuple(waiting(todo.runs, at_once))
    if dry_run or not todo.runs:
        return Carried(given.digest, str(store), todo, commands=commands, notes=notes)
    ways = read_access(path_of(access))
    names = list(dict.fromkeys(host for one in todo.runs for host in hosts_of(one)))
    names += [one for one in [launch.on] if one and one not in names]
    targets = {name: ways.target(name, "server", "", name, ("ssh",)) for name in names}
    checked = _checked(network, ways, names, sudo=sudo, say=say) if host_check else {}
    count = [0]

    def done(run: PlannedRun, kept: Run) -> None:
        count[0] += 1
        say(f"{run.name}: {'failed' if kept.failures else 'done'} ({count[0]:,} of {len(todo.runs):,})")

    with opened(store, make=True) as there:
        keeper = Keeper(there, given.digest, place)
        work = carried_out(
            todo.runs,
            keeper,
            Shells(targets, ways.access.attempts),
            Ways(launch, perftest, at_once, timeout_s),
            environment,
            checked=checked,
            done=done,
        )
        kept = asyncio.run(work if meanwhile is None else _beside(work, meanwhile))
        return Carried(given.digest, there.where, todo, tuple(kept), commands, notes)


async def _beside(work: Coroutine[Any, Any, list[Run]], meanwhile: Callable[[], Awaitable[None]]) -> list[Run]:
    """What the runs come to, with something else beside them: it ends with them, and they end with what it raises."""

    async def watch() -> None:
        await meanwhile()

    runs, beside = asyncio.create_task(work), asyncio.create_task(watch())
    try:
        await asyncio.wait({runs, beside}, return_when=asyncio.FIRST_COMPLETED)
        if beside.done() and not runs.done():
            beside.result()
        return await runs
    finally:
        for one in (runs, beside):
            one.cancel()
        # Who waits for this may have a network to take back: a launcher that does not end is not waited for.
        ended, _ = await asyncio.wait({runs, beside}, timeout=END_S)
        for one in ended:
            if not one.cancelled():
                one.exception()


def _designed(
    plan: Plan, fabric: Network | Path | str | None, device: Sequence[str], hardware: Path | str | None
) -> Network:
    """The network that was planned for. Raises ``InputError`` where it is another one."""
    source = plan.fabric if fabric is None else fabric
    if not isinstance(source, Network) and not Path(source).exists():
        what = "there is no such fabric file, which the plan is of"
        raise InputError([Problem(Option("--fabric", str(source)), what, "name it by --fabric")])
    network = network_of(source, device, hardware)
    if hashlib.sha256(network.to_json()).hexdigest() != plan.design_digest:
        name = network.name if isinstance(source, Network) else str(source)
        what = "it is designed otherwise than when the plan was made"
        raise InputError([Problem(FileLine(name), what, "plan again: `railweave bench plan`")])
    return network


def _outputs(plan: Plan | Path | str, store: Path | str, outputs: Path | str | None) -> Path:
    """The folder for what programs print."""
    if outputs is not None:
        return Path(outputs)
    if not str(store).startswith(("postgresql://", "postgres://")):
        return Path(f"{store}.outputs")
    return Path(f"{plan}.outputs") if isinstance(plan, Path | str) else Path("bench.outputs")


def _had(store: Path | str, digest: str, place: Path, *, make: bool) -> dict[str, bool]:
    """Names of runs that the store has; of a file that is not there none, and a database gets its tables."""
    from railweave.operations.bench.running.carrying import Keeper
    from railweave.operations.store.store import opened

    database = str(store).startswith(("postgresql://", "postgres://"))
    if not database and not Path(store).exists():
        return {}
    with opened(store, make=make and database) as there:
        return Keeper(there, digest, place).had()


def _scripts(network: Network, own: Path | None) -> dict[str, str]:
    """``mpirun.sh`` by server, as ``build`` writes it, or a file of the user's own."""
    from railweave.outputs.rendering.host.cluster import cluster_files

    files = cluster_files(network)
    found: dict[str, str] = {}
    for name, text in files.items():
        if name.startswith("hostfile"):
            script = name.replace("hostfile.", "mpirun-") if name != "hostfile" else "mpirun"
            hosts = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
            found |= dict.fromkeys(hosts, files[f"{script}.sh"])
    if own is None:
        return found
    try:
        return dict.fromkeys(found, own.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError([Problem(Option("--mpi-script", str(own)), f"cannot be read: {reason}")]) from None


def _environment(network: Network, plan: Plan, fabric: Network | Path | str | None) -> Environment:
    """What holds for all runs: the design, variables of jobs, the plugin, what switches were last given."""
    from railweave.model.device.host import host_config
    from railweave.operations.deploy.journal import opened
    from railweave.operations.store.records import Environment, pairs

    variables: dict[str, str] = {}
    for server in network.servers:
        if server.name not in network.absent:
            config = host_config(network, server.name)
            jobs = [config.job, *(job for _, job in config.tenant_jobs)]
            variables = {one.name: one.value for job in jobs[:1] for one in job if not one.resolve}
            break
    found = Environment(
        variables=pairs(variables),
        plugin=variables.get("NCCL_NET_PLUGIN", ""),
        fabric=plan.fabric,
        design_digest=plan.design_digest,
    )
    path = Path(plan.fabric if fabric is None or isinstance(fabric, Network) else fabric)
    if not path.is_file():
        return found
    with opened(path) as journal:
        revisions = [one for one in journal.revisions() if one.state == "done"]
    return replace(found, switch_revision=f"{revisions[0].number} {revisions[0].label}" if revisions else "")


def _checked(
    network: Network, ways: AccessFile, names: Sequence[str], *, sudo: bool, say: Callable[[str], None]
) -> dict[str, object]:
    """What `railweave host check` says of each server: how many of each verdict, and what is not well; or why it does not answer."""
    from railweave.live.fleet.running import Task, check
    from railweave.model.device.host import host_config
    from railweave.outputs.rendering.host.host_json import host_json

    there = [name for name in names if name in {one.name for one in network.servers}]
    with in_force(network.catalog):
        texts = {name: host_json(host_config(network, name)) for name in there}
    tasks = [Task(ways.target(name, "server", "", name, ("ssh",)), text) for name, text in texts.items()]

    def done(answer: Answer) -> None:
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'}")

    return {one.server: _summed(one) for one in check(tasks, sudo=sudo, done=done)}


def _summed(answer: Answer) -> object:
    from collections import Counter

    if answer.error:
        return {"error": answer.error}
    bad = [
        f"{one.verdict}: {one.check} {one.of}: {one.seen}"
        for one in answer.verdicts
        if one.verdict in {"failed", "warning"}
    ]
    return {**Counter(one.verdict for one in answer.verdicts), "not well": bad}
