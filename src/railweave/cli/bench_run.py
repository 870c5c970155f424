"""``railweave bench run``: a plan carried out, each result kept as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.operations.bench.running.collective import Launcher

LAUNCHERS: dict[str, Launcher] = {"mpirun": "mpirun", "srun": "srun"}
HERE = "here"


def run(
    plan: Path = typer.Argument(..., help="The file of `railweave bench plan`."),
    store: str = typer.Option(
        ..., "--store", help="A file, made where it is not there, or postgresql://USER@HOST/NAME."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How servers are reached: access.yaml (docs/collect.md); by their names without it."
    ),
    only: list[str] = typer.Option(
        [],
        "--only",
        help="A run or a part of the plan, as mesh or 'pairs/*'; may be repeated. Runs that need something set first are left out unless named.",
    ),
    again: bool = typer.Option(False, "--again", help="Also runs that the store has of this plan."),
    failed: bool = typer.Option(False, "--failed", help="Also runs that the store has of this plan, if they failed."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be run; nothing is asked, nothing is written."
    ),
    launcher: str = typer.Option("mpirun", help="What starts collectives: mpirun or srun."),
    launch_on: str | None = typer.Option(
        None,
        "--launch-on",
        help="The server that it is started on, or here; default: mpirun on the first server of the run, srun here.",
    ),
    ranks: str | None = typer.Option(
        None, "--ranks", help="What starts each rank, before -- PROGRAM; default: railweave host env."
    ),
    mpi_script: Path | None = typer.Option(
        None, "--mpi-script", help="A script in the place of the mpirun.sh that `railweave build` writes."
    ),
    srun_option: list[str] = typer.Option(
        [], "--srun-option", help="A word for srun, as --partition=gpu; may be repeated."
    ),
    perftest: str = typer.Option("", "--perftest", help="The folder of perftest on servers; default: on their path."),
    nccl_tests: str = typer.Option(
        "", "--nccl-tests", help="The folder of nccl-tests or rccl-tests on servers; default: on their path."
    ),
    timeout: float | None = typer.Option(
        None, "--timeout", min=1, help="Seconds after which a run is ended; default: as planned."
    ),
    at_once: int = typer.Option(256, "--at-once", min=1, max=4096, help="Runs at the same time, of those that may be."),
    host_check: bool = typer.Option(
        True, "--host-check/--no-host-check", help="Whether `host check` runs on the servers before, and is kept."
    ),
    sudo: bool = typer.Option(
        False, "--sudo", help="`host check` as root by `sudo -n`, which must ask for no password."
    ),
    outputs: Path | None = typer.Option(
        None, "--outputs", help="The folder for what programs print; default: STORE.outputs."
    ),
    on: Path | None = typer.Option(
        None, "--fabric", help="Fabric file or build folder, where it is not where the plan says."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Carry out a plan: perftest between servers over SSH, collectives by mpirun or srun. Each result is kept as soon as it is there.

    A run that fails or does not end is a result too. Runs that the store has already are not repeated, so that the same command goes on where an
    interrupted one stopped. Nothing stays on a server. Exits 0, or 1 where a run failed.
    """
    from railweave.api.bench_run import bench_run

    if launcher not in LAUNCHERS:
        raise InputError([Problem(Option("--launcher"), f"{launcher!r} is none", f"give {' or '.join(LAUNCHERS)}")])
    with telling(quiet=quiet or as_json) as say:
        found = bench_run(
            plan,
            store,
            fabric=on,
            access=access,
            only=only,
            again=again,
            failed=failed,
            launcher=LAUNCHERS[launcher],
            launch_on="" if launch_on == HERE else launch_on,
            ranks=ranks,
            mpi_script=mpi_script,
            srun_options=srun_option,
            perftest=perftest,
            nccl_tests=nccl_tests,
            at_once=at_once,
            timeout_s=timeout,
            host_check=host_check,
            sudo=sudo,
            outputs=outputs,
            dry_run=dry_run,
            device=device,
            hardware=hardware,
            progress=say,
        )
    if as_json:
        print_json(found.to_json())
    elif dry_run:
        for name, line in found.commands:
            typer.echo(f"{name}\n    {line}")
        for note in found.notes:
            typer.echo(f"note: {note}")
        typer.echo(
            f"{len(found.commands):,} runs would be carried out; {len(found.chosen.had):,} are in the store already"
        )
    else:
        typer.echo(found.to_text())
    if not found.good:
        raise typer.Exit(1)
