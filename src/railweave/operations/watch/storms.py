"""PFC storms and their origins: pauses are followed hop by hop, from each paused port to the device that pauses it.

A port that receives PFC frames must stop sending. Its data fills the switch's buffer, and the switch pauses the ports
that feed it. So pauses spread against the direction of traffic, and the head of a storm is a device that pauses others
and is not paused itself. If the head is a server, its NIC does not accept traffic as fast as it arrives. If the head is
a switch, more traffic arrives for one of its ports than the port can send, because of an incast or a slow link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check.living import Deviation
from railweave.live.check.ports import without_unit
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Port

LEAST_PER_S = 10.0
"""The rate of PFC frames per second from which pauses count as a storm. Short bursts cause a few pauses by design."""

HEAD = Rule(
    "pfc-storm-head",
    "error",
    "living",
    "A device pauses its neighbors, and pauses spread from it through the network.",
    why="all traffic behind a paused port stops, including traffic that is not for the first device",
    fix=(
        "check the first device, not the paused ports: on a server, the NIC and PCIe bus; on a switch, the busiest port"
    ),
    asked=("qos.pfc.watchdog",),
)

Pauses = dict[tuple[str, str], float]
"""PFC frames received per second, by device and port."""


@dataclass(frozen=True, slots=True)
class Storm:
    """A PFC storm.

    - ``head``: the device that the pauses come from.
    - ``server``: True if the head is a server.
    - ``hops``: the paused ports, nearest first, each as device, port and PFC frames per second.
    """

    head: str
    server: bool
    hops: tuple[tuple[str, str, float], ...]


def storms(expected: Mapping[str, Expected], pauses: Mapping[tuple[str, str], float]) -> list[Storm]:
    """Return the present PFC storms, each with the device that causes it (its head) and the ports that are paused because of this device.

    ``expected`` has the designed state by device, with the far end of each port. ``pauses`` has the PFC frames received per second, by
    device and port.
    """
    ports = {(device, port.name): port for device, expectation in expected.items() for port in expectation.ports}
    paused = {at: rate for at, rate in pauses.items() if rate >= LEAST_PER_S and at in ports}
    by_device: dict[str, list[tuple[str, str]]] = {}
    for at in paused:
        by_device.setdefault(at[0], []).append(at)
    heads: dict[str, dict[tuple[str, str], int]] = {}
    for at in paused:
        for head in _heads(at, ports, by_device):
            heads.setdefault(head, {})
    for head, hops in heads.items():
        _behind(head, ports, by_device, hops)
    return [
        Storm(
            head,
            head not in expected,
            tuple((*at, paused[at]) for at in sorted(hops, key=lambda at: (hops[at], at))),
        )
        for head, hops in sorted(heads.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    ]


def _heads(
    at: tuple[str, str], ports: Mapping[tuple[str, str], Port], by_device: Mapping[str, list[tuple[str, str]]]
) -> set[str]:
    """Return the devices from which the pause of port ``at`` comes. If pauses form a circle, return its first device by name.

    ``ports`` has the far end of each port, and ``by_device`` the paused ports of each device. Ports are given as (device, port).
    """
    heads: set[str] = set()
    seen: set[str] = set()
    left = [ports[at].peer]
    while left:
        device = left.pop()
        if device in seen:
            continue
        seen.add(device)
        further = by_device.get(device, [])
        if further:
            left += [ports[place].peer for place in further]
        else:
            heads.add(device)
    return heads or {min(seen)}


def _behind(
    head: str,
    ports: Mapping[tuple[str, str], Port],
    by_device: Mapping[str, list[tuple[str, str]]],
    hops: dict[tuple[str, str], int],
) -> None:
    """Add to ``hops`` every port that is paused because of ``head``, with its distance from ``head`` in hops.

    ``ports`` has the far end of each port, and ``by_device`` the paused ports of each device. Ports are given as (device, port).
    """
    facing: dict[str, list[tuple[str, str]]] = {}
    for those in by_device.values():
        for at in those:
            facing.setdefault(ports[at].peer, []).append(at)
    left, distance = [head], 1
    while left:
        reached = [at for device in left for at in facing.get(device, ()) if at not in hops]
        hops.update(dict.fromkeys(reached, distance))
        left, distance = sorted({at[0] for at in reached}), distance + 1


def seen(expected: Mapping[str, Expected], pauses: Mapping[tuple[str, str], float]) -> Iterator[Deviation]:
    """Yield the storms as deviations from the design. ``expected`` and ``pauses`` are explained at ``storms``.

    Pauses on a single switch are not reported here. If they come from a server, the rule ``server-pauses`` reports them.
    """
    for storm in storms(expected, pauses):
        if len({device for device, _, _ in storm.hops}) < 2:
            continue
        device, port, rate = storm.hops[0]
        description = (
            f"{storm.head} is the head of a PFC storm: it pauses {device} {port} with {rate:,.0f} frames a second, and from there "
            f"{counted(len(storm.hops) - 1, 'more port')} of {counted(len({member for member, _, _ in storm.hops}), 'switch', 'switches')} stand"
        )
        way = ", ".join(f"{member} {name}" for member, name, _ in storm.hops[:6])
        because = next((queue.because for queue in expected[device].queues if queue.port == without_unit(port)), ())
        yield Deviation(HEAD, storm.head, f"{description}: {way}", because)
