"""``railweave paths``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.options import DEVICE, RUNNING
from railweave.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.routing.paths import LinkShare


PINNED = {
    "links": "pinned",
    "switches": "pinned to its switches; parallel links between two of them share its packets",
    "": "not pinned",
}
"""How far a path is held, in words."""


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
    from railweave.network.status import absent_sentence

    network = load(fabric, device=device)
    configs = saved(network, running) if running is not None else None
    found = find(network, src, dst, qps, down, configs=configs)
    if as_json:
        print_json([path.to_json() for path in found])
    else:
        if said := absent_sentence(network):
            typer.echo(said)
        for path in found:
            pinned = PINNED[path.pinned_to] if path.hops else "no path"
            typer.echo(f"qp {path.qp}  {path.color}  {path.src_gid} -> {path.dst_gid}  {pinned}")
            for hop in path.hops:
                for line in _hop_lines(hop):
                    typer.echo(f"    {line}")
    if any(not path.hops for path in found):
        raise typer.Exit(1)


def _hop_lines(hop: tuple[LinkShare, ...]) -> Iterator[str]:
    """A hop as lines: a single link by its name, parallel links together with the share of each."""
    from railweave.routing.paths import by_ends

    joined = by_ends(hop)
    if len(joined) > 1:
        yield f"one of {len(hop)}:"
    inner = "    " if len(joined) > 1 else ""
    for ends, links in joined.items():
        shares = " or ".join(dict.fromkeys(f"{one.share:.1%}" for one in links))
        if len(links) > 1:
            ports = ", ".join("--".join(end.partition(":")[2] for end in one.link.split("--")) for one in links)
            yield f"{inner}{ends}: {len(links)} parallel links, {shares} each: {ports}"
        else:
            yield f"{inner}{links[0].link}" + (f"  {shares}" if len(hop) > 1 else "")
