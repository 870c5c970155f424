"""``railweave bench plan``: the runs that prove a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.operations.bench.plan import Memory

MEMORIES: dict[str, Memory] = {"host": "host", "cuda": "cuda", "rocm": "rocm"}


def plan(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    output: Path = typer.Option(..., "-o", "--output", help="The file of the plan, as JSON."),
    suite: str = typer.Option("quick", help="quick, acceptance, knobs, table12, table1.3 or fifty-km."),
    part: list[str] = typer.Option([], help="A part of the suite, as mesh; may be repeated; default: all."),
    hosts: str | None = typer.Option(
        None, help="Servers in the order of their ranks: A,B,C-[1-4]; the first N; or stripes-alternate. Default: all."
    ),
    memory: str | None = typer.Option(
        None, help="Where perftest's buffers lie: host, cuda or rocm; default: in the GPUs beside the NICs."
    ),
    on: str | None = typer.Option(
        None, "--fabric", help="The fabric that is proved, where there are several; else that of the GPUs' own NICs."
    ),
    predict: bool = typer.Option(True, "--predict/--no-predict", help="Whether to predict what each run should give."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Plan the runs of perftest and nccl-tests that prove a network, each with what it should give by the simulator.

    Pairs of NICs run in rounds in which no two share a NIC or a link. The plan is written whole or not at all.
    """
    from railweave.api.bench_plan import bench_plan
    from railweave.operations.bench.planning.table import plan_text
    from railweave.writing import write_file

    if memory is not None and memory not in MEMORIES:
        raise InputError([Problem(Option("--memory"), f"{memory!r} is no memory", f"give {', '.join(MEMORIES)}")])
    with telling(quiet=quiet or as_json) as say:
        found = bench_plan(
            fabric,
            suite,
            hosts=hosts,
            memory=None if memory is None else MEMORIES[memory],
            fabric=on,
            parts=part,
            predict=predict,
            device=device,
            hardware=hardware,
            progress=say,
        )
    write_file(output, found.to_json())
    if as_json:
        parts: dict[str, int] = {}
        for one in found.runs:
            parts[one.part] = parts.get(one.part, 0) + 1
        print_json(
            {
                "file": str(output),
                "suite": found.suite,
                "design_digest": found.design_digest,
                "digest": found.digest,
                "runs": len(found.runs),
                "parts": parts,
                "estimate_s": found.estimate_s,
                "notes": list(found.notes),
            }
        )
    else:
        typer.echo(plan_text(found))
        typer.echo(f"wrote {output}")
