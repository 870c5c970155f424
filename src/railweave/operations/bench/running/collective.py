"""A run of nccl-tests or rccl-tests: started by ``mpirun`` with the files that ``build`` writes, or by ``srun``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.live.reach.failure import ReachError
from railweave.operations.bench.running.pair import Came, wrong
from railweave.operations.bench.running.scripts import guarded
from railweave.operations.bench.running.shells import HERE
from railweave.operations.bench.running.words import nccl_tests_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.operations.bench.plan import NcclTests
    from railweave.operations.bench.running.shells import Shells

Launcher = Literal["mpirun", "srun"]

RANKS = "railweave host env"
"""What starts each rank, before ``-- PROGRAM``: it sets what only a server knows, as ``mpirun.sh`` of a build folder has it."""
START_S = 60
"""For MPI or Slurm to start ranks, beyond what the run may take."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How collectives are started.

    - ``launcher``; ``on``: the server that it is started on; empty: this machine; None: the first server of the run.
    - ``scripts``: text of ``mpirun.sh`` of the build folder, by server; ``ranks``: what starts each rank; ``folder``: where nccl-tests is.
    - ``options``: more words for ``srun``.
    """

    launcher: Launcher = "mpirun"
    on: str | None = None
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    ranks: str = RANKS
    folder: str = ""
    options: tuple[str, ...] = ()

    def place(self, test: NcclTests) -> str:
        """Where a run is started."""
        return test.hosts[0] if self.on is None else self.on


def started(test: NcclTests, launch: Launch, limit_s: float) -> str:
    """The script that starts the ranks, in the order of the plan: what it needs is in a temporary folder, which goes with it."""
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


async def launched(test: NcclTests, launch: Launch, shells: Shells, limit_s: float) -> Came:
    """Run a collective. Never raises but when it is cancelled, and then the launcher is ended, which ends its ranks."""
    came, place = Came(), launch.place(test)
    try:
        said = await shells.ran(place, started(test, launch, limit_s), limit_s + START_S)
    except ReachError as error:
        came.failures.append(f"{place}: {error.what}")
        return came
    came.text = said.text
    came.facts["started on"] = place or "this machine"
    if why := wrong(said, limit_s):
        came.failures.append(f"{launch.launcher}{f' on {place}' if place != HERE else ''}: {why}")
    return came


def shown(test: NcclTests, launch: Launch) -> str:
    """The command for people, as ``--dry-run`` prints it."""
    found = _line(test, launch).replace('"$f/hosts"', "HOSTS")
    return found.replace('"$f/mpirun.sh"', "mpirun.sh").replace('"$f/hostfile"', "HOSTFILE")
