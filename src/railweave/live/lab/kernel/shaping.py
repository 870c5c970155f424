"""Slow and lossy links, by queueing disciplines at their interfaces (tc(8)), and links that are down.

The kernel must have the disciplines htb and tbf, and cls_bpf. netem is not used, because many kernels lack it.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import ip_batch
from railweave.live.lab.names import namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.live.lab.running import Running


def set_links(lab: Running, links: Iterable[str], state: str) -> None:
    """Set links ``up`` or ``down`` at one end, which is never a NIC.

    A NIC that is set down would lose its addresses from router advertisements.
    """
    by_space: dict[str, list[str]] = {}
    for link in links:
        device = lab.plan.network.cable(link).b.device
        interface = lab.plan.interface(device, link)
        by_space.setdefault(lab.plan.space(device, interface), []).append(f"link set {interface} {state}")
    for space, lines in by_space.items():
        ip_batch(lines, inside=namespace(lab.place.lab, space))


def links_of(lab: Running, device: str) -> list[str]:
    """Return every link of a switch or server."""
    return [cable.name for cable in lab.plan.network.cables_of(device)]


_BURST_BYTES = 20_000
"""The burst size of a slow link in bytes.

It is larger than a packet of the largest MTU, because the link would otherwise drop such packets.
"""

_QUEUE = "50ms"

FULL_BITS_PER_S = 400_000_000_000
"""The rate in bit/s of a link that will be slow, but is not yet.

The kernel drops packets while it exchanges the queueing discipline of an interface, but none while it changes the rate of the
discipline (tc-tbf(8)). A link that will be slow therefore gets this rate first.
"""

_MATCH = "6 0 0 4294967295"  # classic BPF: return -1, the class of the filter
_NO_MATCH = "6 0 0 0"
_ADVERTISEMENT = (
    "40 0 0 12",  # the frame's type
    "21 0 5 34525",  # IPv6
    "48 0 0 20",  # its next header
    "21 0 3 58",  # ICMPv6
    "48 0 0 54",  # its type
    "21 0 1 134",  # router advertisement (RFC 4861, section 4.2)
    _MATCH,
    _NO_MATCH,
)


def _losing(chance: float) -> tuple[str, ...]:
    random = 0xFFFFF000 + 56  # SKF_AD_OFF + SKF_AD_RANDOM (linux/filter.h)
    below = min(round(chance * (1 << 32)), (1 << 32) - 1)
    return (f"32 0 0 {random}", f"53 1 0 {below}", _MATCH, _NO_MATCH)


def slow(lab: Running, links: Iterable[str], bits_per_s: int) -> None:
    """Limit the rate of links in both directions. Raises ``LabError`` if the kernel lacks the queueing discipline.

    ``bits_per_s`` is the rate in bits per second.
    """
    for space, interface in _ends(lab, links):
        rate = f"rate {bits_per_s}bit burst {_BURST_BYTES} latency {_QUEUE}"
        _tc(lab, space, [f"qdisc replace dev {interface} root tbf {rate}"])


def lossy(lab: Running, links: Iterable[str], chance: float) -> None:
    """Drop packets of links in both directions, with a probability of ``chance``."""
    for space, interface in _ends(lab, links):
        _tc(lab, space, _dropping(interface, _losing(chance)))


def without_advertisements(lab: Running, device: str, link: str) -> None:
    """Drop the router advertisements that a leaf sends on a link, and no other packets."""
    interface = lab.plan.interface(device, link)
    _tc(lab, lab.plan.space(device, interface), _dropping(interface, _ADVERTISEMENT))


def clear(lab: Running, links: Iterable[str]) -> None:
    """Remove the queueing disciplines of links, so that they carry all packets at full rate again."""
    for space, interface in _ends(lab, links):
        _tc(lab, space, [f"qdisc del dev {interface} root"], must=False)


def _ends(lab: Running, links: Iterable[str]) -> Iterator[tuple[str, str]]:
    for link in links:
        cable = lab.plan.network.cable(link)
        for end in (cable.a, cable.b):
            interface = lab.plan.interface(end.device, link)
            yield lab.plan.space(end.device, interface), interface


def _dropping(interface: str, program: tuple[str, ...]) -> list[str]:
    """Return commands of ``tc`` that drop the packets that a BPF program matches.

    Matched packets are put into a class whose queue accepts none.
    """
    bytecode = ",".join([str(len(program)), *program]) + ","
    return [
        f"qdisc replace dev {interface} root handle 1: htb default 1",
        f"class replace dev {interface} parent 1: classid 1:1 htb rate 400gbit quantum 60000",
        f"class replace dev {interface} parent 1: classid 1:2 htb rate 400gbit quantum 60000",
        f"qdisc replace dev {interface} parent 1:2 handle 2: tbf rate 8bit burst 1 limit 1",
        f'filter replace dev {interface} parent 1: protocol all prio 1 bpf bytecode "{bytecode}" flowid 1:2',
    ]


def _tc(lab: Running, space: str, lines: list[str], *, must: bool = True) -> None:
    command = ["tc", "-n", namespace(lab.place.lab, space), "-batch", "-"]
    try:
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        raise LabError("the tc command is not there: install iproute2") from None
    if done.returncode and must:
        raise LabError(f"this kernel cannot shape traffic: tc: {done.stderr.strip()}")
