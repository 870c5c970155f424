"""RDMA probes: runs of ``railweave-rdma-ping`` between servers that have this program, and the result of each path."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any

import asyncssh

from railweave.live.fleet.probes import LeafPaths, Probe
from railweave.live.reach.failure import ReachError, all_of, cause, safe_line
from railweave.live.reach.ssh import closed, connected
from railweave.model.network.status import present
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.live.reach.target import Target
    from railweave.model.network.devices import Nic
    from railweave.model.network.model import Network

PORT = 18590
"""The first TCP port on which ``railweave-rdma-ping`` listens. If two servers have the same peer, the peer listens on two ports."""

COUNT = 20
"""The number of RDMA writes on each path."""

INTERVAL_MS = 10
"""The time between two writes on a path, in milliseconds."""

_WRITE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """A server and the peer that it sends RDMA writes to. ``port`` is the TCP port on which the peer listens."""

    server: str
    peer: str
    port: int


@dataclass(frozen=True, slots=True)
class PairOutput:
    """The result of a pair: the output of ``railweave-rdma-ping``, or in ``error`` the reason why there is none."""

    pair: Pair
    text: str = ""
    error: str = ""


def pairs(probes: Iterable[Probe], able: Mapping[str, str]) -> list[Pair]:
    """Return the pairs of servers to test: each server with its first peer on the same leaf, and its first peer on another leaf.

    The peers are those of the server's ``probes``. ``able`` has the file path of ``railweave-rdma-ping`` on each server; servers without
    the program are left out.
    """
    chosen: dict[tuple[str, bool], str] = {}
    for probe in probes:
        if probe.server in able and probe.peer in able:
            chosen.setdefault((probe.server, probe.leaf == probe.peer_leaf), probe.peer)
    listening: Counter[str] = Counter()
    planned_pairs: list[Pair] = []
    for server, peer in dict.fromkeys((server, peer) for (server, _), peer in chosen.items()):
        planned_pairs.append(Pair(server, peer, PORT + listening[peer]))
        listening[peer] += 1
    return planned_pairs


def ping(
    asked: Sequence[Pair],
    targets: Mapping[str, Target],
    able: Mapping[str, str],
    *,
    at_once: int,
    done: Callable[[PairOutput], None],
    count: int = COUNT,
    interval_ms: int = INTERVAL_MS,
) -> list[PairOutput]:
    """Run RDMA probes between pairs of servers, at most ``at_once`` pairs at a time. Return the outputs in the order of ``asked``, the pairs.

    - ``targets``: the login of each server.
    - ``able``: for each server, where ``railweave-rdma-ping`` is installed.
    - ``done``: a function that is called with each output.
    - ``count``, ``interval_ms``: for each network path between a pair, the number of RDMA writes, and the milliseconds between two writes.
    """

    async def everything() -> list[PairOutput]:
        free = asyncio.Semaphore(at_once)

        async def ping_pair(pair: Pair) -> PairOutput:
            async with free:
                output = await _asked(pair, targets, able, count, interval_ms)
                done(output)
                return output

        return list(await asyncio.gather(*(ping_pair(pair) for pair in asked)))

    return asyncio.run(everything())


async def _asked(
    pair: Pair, targets: Mapping[str, Target], able: Mapping[str, str], count: int, interval_ms: int
) -> PairOutput:
    opened: list[asyncssh.SSHClientConnection] = []
    target = targets[pair.peer]
    try:
        async with asyncio.timeout(target.connect_s + target.answer_s + count * interval_ms / 1000):
            there = await connected(target)
            opened += there
            here = await connected(targets[pair.server])
            opened += here
            # The other end lasts as long as this connection does: with it its standard input ends.
            line = (
                f"{shlex.quote(able[pair.peer])} --server --port {pair.port} & p=$!; cat > /dev/null; kill $p; wait $p"
            )
            async with there[-1].create_process(line) as listening:
                await listening.stdout.readline()
                words = [able[pair.server], pair.peer, "--port", str(pair.port), "--count", str(count)]
                words += ["--interval", str(interval_ms), "--json"]
                async with here[-1].create_process(shlex.join(words), stdin=asyncssh.DEVNULL, encoding=None) as asking:
                    read_of = await all_of(asking.stdout, asking.stderr)
                listening.stdin.write_eof()
        text, complaint = (output.decode("utf-8", "replace") for output in read_of)
        reason = complaint.strip().splitlines()
        return (
            PairOutput(pair, text)
            if text.strip()
            else PairOutput(pair, error=safe_line(reason[-1]) if reason else "it printed nothing")
        )
    except ReachError as error:
        return PairOutput(pair, error=error.what)
    except TimeoutError:
        return PairOutput(pair, error="no answer in time")
    except (OSError, asyncssh.Error) as error:
        return PairOutput(pair, error=f"the connection ended: {safe_line(str(error)) or type(error).__name__}")
    except Exception as error:  # noqa: BLE001 - whatever one pair does, the others are asked
        return PairOutput(pair, error=f"the answer cannot be read: {cause(error)}")
    finally:
        await closed(opened)


def read(network: Network, output: PairOutput) -> list[tuple[Probe, str]]:
    """Return (probe, error) for each path that was tried. The error is empty if the path works.

    Raises ``ValueError``, with the reason as its text, if no path was tried.
    """
    if output.error:
        raise ValueError(output.error)
    there = present(network)
    ways, ends = LeafPaths(there), _ends(there)
    try:
        rows = [_path(there, ways, ends, output.pair, row) for row in parse_json(output.text)]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it did not print what railweave-rdma-ping --json prints") from None
    if not rows:
        raise ValueError("it tried no path")
    return rows


def _ends(network: Network) -> dict[tuple[str, str], tuple[Nic, int | None]]:
    """Return (NIC, path color) by server and address."""
    return {
        (server.name, str(ip_address(address.address))): (nic, address.color)
        for server in network.servers
        for nic in server.nics
        for address in nic.addresses
    }


def _path(
    network: Network,
    ways: LeafPaths,
    ends: Mapping[tuple[str, str], tuple[Nic, int | None]],
    pair: Pair,
    row: Mapping[str, Any],
) -> tuple[Probe, str]:
    source, target = _address(row["local"]), _address(row["remote"])
    nic, color = ends[pair.server, source]
    far, _ = ends[pair.peer, target]
    fabric = network.fabric(nic.fabric)
    spines, pinned = ways.between(nic.leaf, far.leaf, color)
    probe = Probe(
        server=pair.server,
        nic=nic.netdev,
        source=source,
        peer=pair.peer,
        peer_nic=far.netdev,
        target=target,
        fabric=nic.fabric,
        color="" if color is None else fabric.color_name(color),
        bytes=_WRITE_BYTES,
        leaf=nic.leaf,
        peer_leaf=far.leaf,
        spines=spines,
        pinned=pinned,
    )
    if row["dead"]:
        return probe, str(row["reason"]) or "the path is dead"
    return probe, f"{row['lost']} of {row['sent']} writes lost" if row["lost"] else ""


def _address(text: object) -> str:
    """Return the IP address that a GID contains.

    An IPv4 address has the IPv4-mapped form in a GID (RFC 4291, section 2.5.5.2).
    """
    address = ip_address(str(text))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
