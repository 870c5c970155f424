"""``railweave paths``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import RUNNING, Paths
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.routing.headers import Walk, Wire
    from railweave.analysis.routing.paths import LinkShare, QueuePairPath
    from railweave.model.config.addresses import Family


PINNED = {
    "links": "pinned",
    "switches": "pinned to its switches; parallel links between two of them share its packets",
    "": "not pinned",
}
"""The description of how a path is pinned: to links, to switches, or not at all."""


@dataclass(frozen=True, kw_only=True)
class PathsShown(Paths):
    """Options of ``railweave paths``."""

    headers: Annotated[
        bool,
        Opt(
            "Also show the packet headers on each link (addresses, tunnel, TTL, DSCP), the queue, where switches mark ECN, and the path of the congestion notification packets."
        ),
    ] = False
    family: Annotated[
        str | None,
        Opt("Address family of the GIDs if NICs have both (dual stack): 4 or 6. Default: the family that jobs use."),
    ] = None
    running: Annotated[Path | None, RUNNING] = None


@command(PathsShown)
def paths(options: PathsShown, *, as_json: bool, quiet: bool) -> None:
    """Show the path of each queue pair between two NICs: its GIDs (RDMA addresses), each link, and the share of its packets on the link. Exits 1 if a queue pair has no path."""
    from railweave.analysis.routing.headers import walk
    from railweave.analysis.routing.paths import ports_without_path, queue_pair_paths
    from railweave.api import routes
    from railweave.api import running as saved
    from railweave.model.network.status import absent_sentence

    wanted, src, dst = _family(options.family), options.src, options.dst
    with waiting(f"reading and designing {options.source}, and working out routes", quiet=quiet or as_json):
        network = options.network()
        configs = saved(network, options.running) if options.running is not None else None
        tables = routes(network, options.down, configs=configs)
        pair_paths = queue_pair_paths(network, tables, src, dst, options.qps, family=wanted)
        walks = [walk(network, tables, path, src, dst, configs) for path in pair_paths] if options.headers else []
    if as_json:
        more = [{"headers": walk.to_json()} for walk in walks] or [{}] * len(pair_paths)
        print_json([{**path.to_json(), **headers} for path, headers in zip(pair_paths, more, strict=True)])
    else:
        if sentence := absent_sentence(network):
            typer.echo(sentence)
        for port in ports_without_path(network, tables, src, dst, wanted):
            typer.echo(f"{port} has no path to {dst}: the NIC's other ports take its queue pairs (port failover)")
        for place, path in enumerate(pair_paths):
            _print(path, walks[place] if walks else None)
    if any(not path.hops for path in pair_paths):
        raise typer.Exit(1)


def _family(text: str | None) -> Family | None:
    """Return the address family that an option names; None if the option is not given. Raises ``InputError`` for other text."""
    from railweave.errors import InputError, Option, Problem

    families: dict[str | None, Family | None] = {None: None, "4": "ipv4", "6": "ipv6", "ipv4": "ipv4", "ipv6": "ipv6"}
    if text not in families:
        raise InputError([Problem(Option("--family"), f"{text!r} is no address family", "give 4 or 6")])
    return families[text]


def _print(path: QueuePairPath, walked: Walk | None) -> None:
    pinned = PINNED[path.pinned_to] if path.hops else "no path"
    typer.echo(f"qp {path.qp}  {path.color}  {path.src_gid} -> {path.dst_gid}  {pinned}")
    if walked is not None:
        for title, wires in (("data", walked.data), ("congestion notification (CNP), back", walked.cnp)):
            typer.echo(f"  {title}:" if wires else f"  {title}: no path")
            for wire in wires:
                _print_wire(wire)
        return
    for hop in path.hops:
        for line in _hop_lines(hop):
            typer.echo(f"    {line}")


_COPIES = {
    "inner to outer": "puts it into VXLAN, and copies the ECN bits of the inner header to the outer one",
    "outer to inner": "takes it out of VXLAN, and copies a mark of the outer header to the inner one",
}
_MARKS = {"ip": "the IP header", "inner": "the inner IP header", "outer": "the outer IP header"}


def _print_wire(wire: Wire) -> None:
    from railweave.analysis.routing.headers import ROCE_PORT, VXLAN_PORT
    from railweave.pages.table import Table, columns

    shared = f"  (one of {wire.of})" if wire.of > 1 else ""
    typer.echo(f"    {wire.sender} -> {wire.receiver}: {wire.link}{shared}")
    lines = [("Ethernet", f"{wire.eth_from} -> {wire.eth_to}")]
    around = wire.tunnel
    if around is not None:
        outer = f"{around.src} -> {around.dst}  TTL {around.ttl}  DSCP {wire.dscp}  UDP {VXLAN_PORT}"
        lines += [("outer IP", outer), ("VXLAN", f"VNI {around.vni}")]
        lines += [("inner Ethernet", f"{around.inner_from} -> {around.inner_to}")]
    name = "IP" if around is None else "inner IP"
    lines += [(name, f"{wire.src} -> {wire.dst}  TTL {wire.ttl}  DSCP {wire.dscp}  UDP {ROCE_PORT}")]
    if wire.queue is not None:
        waits = f"{wire.queue} ({wire.traffic_class})" if wire.traffic_class else f"priority {wire.queue} of the NIC"
        lines += [("queue", waits)]
    if wire.copies:
        lines += [("", f"{wire.sender} {_COPIES[wire.copies]}")]
    if wire.marks:
        lines += [("", f"where this queue is long, {wire.sender} marks {_MARKS[wire.marks]} (ECN: CE)")]
    for line in Table(columns("header", "value"), lines).to_text(" " * 8, head=False):
        typer.echo(line)


def _hop_lines(hop: tuple[LinkShare, ...]) -> Iterator[str]:
    """Yield the lines of a hop: a single link by its name, or parallel links together with the share of each."""
    from railweave.analysis.routing.paths import by_ends

    joined = by_ends(hop)
    if len(joined) > 1:
        yield f"one of {len(hop)}:"
    inner = "    " if len(joined) > 1 else ""
    for ends, links in joined.items():
        shares = " or ".join(dict.fromkeys(f"{link.share:.1%}" for link in links))
        if len(links) > 1:
            ports = ", ".join("--".join(end.partition(":")[2] for end in link.link.split("--")) for link in links)
            yield f"{inner}{ends}: {len(links)} parallel links, {shares} each: {ports}"
        else:
            yield f"{inner}{links[0].link}" + (f"  {shares}" if len(hop) > 1 else "")
