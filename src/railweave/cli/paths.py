"""``railweave paths``."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.options import DEVICE, RUNNING
from railweave.cli.output import print_json


def paths(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    src: str = typer.Option(..., help="Source NIC, as SERVER:NIC."),
    dst: str = typer.Option(..., help="Destination NIC, as SERVER:NIC."),
    qps: int = typer.Option(1, help="Queue pairs of the connection."),
    down: list[str] = typer.Option([], help="A link (leaf:port--spine:port) or device that is down; may be repeated."),
    running: Path | None = RUNNING,
    device: list[str] = DEVICE,
    as_json: bool = typer.Option(False, "--json", help="Print the paths as JSON."),
) -> None:
    """Show each queue pair's GIDs, and every link it crosses with its share. Exits 1 where one has no path."""
    from railweave.api import load
    from railweave.api import paths as find
    from railweave.api import running as saved

    network = load(fabric, device=device)
    configs = saved(network, running) if running is not None else None
    found = find(network, src, dst, qps, down, configs=configs)
    if as_json:
        print_json([path.to_json() for path in found])
    else:
        for path in found:
            pinned = "pinned" if path.pinned else "not pinned" if path.hops else "no path"
            typer.echo(f"qp {path.qp}  {path.color}  {path.src_gid} -> {path.dst_gid}  {pinned}")
            for hop in path.hops:
                if len(hop) == 1:
                    typer.echo(f"    {hop[0].link}")
                else:
                    typer.echo(f"    one of {len(hop)}:")
                    for one in hop:
                        typer.echo(f"        {one.link}  {one.share:.1%}")
    if any(not path.hops for path in found):
        raise typer.Exit(1)
