"""The engines (crates/pysim; how they work: docs/engine.md)."""

from collections.abc import Mapping, Sequence
from typing import Final, NotRequired, TypedDict, final

import numpy as np
from numpy.typing import NDArray

HOST: Final[int]
SWITCH: Final[int]
"""Kinds of nodes."""

NO_GROUP: Final[int]
"""In ``group``: no route."""
ONE_PORT: Final[int]
"""In ``group``: set where it is one port of the switch; the rest is the port."""
HERE: Final[int]
"""In ``group``, where there is ``column``: the port of the address's host, where that is on the switch; else no route."""

ECMP: Final[int]
SPRAY: Final[int]
DLB: Final[int]
DLB_PER_PACKET: Final[int]
"""How next-hop groups share packets, as ``--lb`` has it."""

WRITE: Final[int]
WRITE_WITH_IMMEDIATE: Final[int]
SEND: Final[int]
"""Verbs of messages."""

LINK_DOWN: Final[int]
LINK_UP: Final[int]
NODE_DOWN: Final[int]
NODE_UP: Final[int]
RATE: Final[int]
LOSS: Final[int]
STORM: Final[int]
RECEIVE: Final[int]
ROUTE: Final[int]
"""Changes, see ``PacketEngine``."""

def command(program: str, words: Sequence[str]) -> int:
    """Run the command ``railweave-sim``, calling itself ``program``; returns its exit code (docs/engine.md).

    Writes to standard output and standard error itself. Ctrl-C and SIGTERM end the run with its partial result and do
    not raise.
    """

class PortSeries(TypedDict):
    """What ports did: a row for each interval, and each port with something to say (docs/engine.md, Series)."""

    time_ps: NDArray[np.uint64]
    """When the interval ends: a multiple of ``every_ps``, or the moment at which ``series`` was called."""
    port: NDArray[np.uint32]
    """The port, counted over all nodes."""
    tx_bytes: NDArray[np.uint64]
    utilisation: NDArray[np.float64]
    queued_bytes: NDArray[np.uint64]
    ecn_ce_packets: NDArray[np.uint64]
    dropped_packets: NDArray[np.uint64]
    pfc_tx: NDArray[np.uint64]
    pfc_rx: NDArray[np.uint64]
    paused_ps: NDArray[np.uint64]

QueueSeries = TypedDict(
    "QueueSeries",
    {
        "time_ps": NDArray[np.uint64],
        "port": NDArray[np.uint32],
        "class": NDArray[np.uint8],
        "queued_bytes": NDArray[np.uint64],
    },
)
"""What queues of switches hold: a row for each time, and each queue that is not empty."""

class QueuePairSeries(TypedDict):
    """What queue pairs did: a row for each interval, and each queue pair with something under way."""

    time_ps: NDArray[np.uint64]
    queue_pair: NDArray[np.uint32]
    """The queue pair, as its row in ``queue_pairs``."""
    delivered_bytes: NDArray[np.uint64]
    """Payload that arrived in order."""
    rate_mbps: NDArray[np.float64]
    """What congestion control lets its sender send at, at the end of the interval, 10^6 bit/s."""

class Series(TypedDict):
    """Series of a run, those that were wanted. All columns of one are as long, and its rows are in order of time."""

    end_ps: int
    """Up to when they go: now, or where they reached their most rows, 10,000,000."""
    ports: NotRequired[PortSeries]
    queues: NotRequired[QueueSeries]
    queue_pairs: NotRequired[QueuePairSeries]

@final
class PacketEngine:
    """A network and the traffic on it.

    Nodes count from 0, hosts among the hosts. The ports of a node are in the order of its cables; where they are
    counted over all nodes, those of node 0 come first. Arrays are C-contiguous, of exactly the types below.
    """

    def __init__(
        self,
        *,
        kinds: NDArray[np.uint8],
        cables: NDArray[np.uint64],
        group: NDArray[np.uint32],
        groups: NDArray[np.uint32],
        members: NDArray[np.uint16],
        queue_pairs: NDArray[np.uint32],
        messages: NDArray[np.uint64],
        after_start: NDArray[np.uint64] | None = None,
        after: NDArray[np.uint32] | None = None,
        after_delay_ps: NDArray[np.uint64] | None = None,
        after_of: NDArray[np.uint32] | None = None,
        limits: NDArray[np.uint32] | None = None,
        changes: NDArray[np.uint64] | None = None,
        dcqcn: str | None = "connectx",
        parameters: Mapping[str, str] | None = None,
        profiles: Sequence[Mapping[str, str]] = (),
        profile: NDArray[np.uint16] | None = None,
        without_pfc: NDArray[np.uint32] | None = None,
        without_ecn: NDArray[np.uint32] | None = None,
    ) -> None:
        """An engine at time 0. Raises ``ValueError`` where an argument is wrong, with what would be right.

        Arrays are copied. Other threads run while they are looked at, and signals end it as they end ``run``.

        Where ``parameters`` or ``profiles`` are, the exception has the name as ``parameter``: empty where it is of several together.

        - ``kinds``: ``HOST`` or ``SWITCH`` by node. A host has one port.
        - ``cables``: rows of a, b (nodes), rate_mbps (10^6 bit/s), delay_ps.
        - ``group``: a row for each switch, in the order of nodes, and a column for each address: a group,
          ``ONE_PORT | port``, or ``NO_GROUP``. Ports are counted from the switch's first.
        - ``groups``: rows of start, len, balance: a group is ``members[start : start + len]``.
        - ``members``: ports, counted from the switch's first.
        - ``queue_pairs``: rows of src, dst (hosts), to (address of its data), back (address of its acknowledgements).
          An address is one host's, and no switch forwards it to another host; packets to different addresses of a host
          can take different paths.
        - ``messages``: rows of qp, bytes, start_ps, verb. Those of a queue pair are sent in this order.
        - ``after_start``, ``after``: message m waits for all of ``after[after_start[m] : after_start[m + 1]]``; its
          start_ps then counts from when the last of them arrived, each ``after_delay_ps`` (as long as ``after``) later.
          Where one arrives at another host than m leaves from (a NIC of the same server), its delay and start_ps are
          together at least what the shortest cable takes. No message waits for itself.
        - ``after_of``: where messages share lists (the parts of one message of NCCL do), the list of each; message m then
          waits for list ``after_of[m]`` in place of list m. Memory and time of neighbors with the same list are those of one.
        - ``limits``: a row of mtu, rate_mbps for each queue pair: payload of its full packets (0: ``host.mtu``), and the rate
          on the wire, 10^6 bit/s, that it never exceeds (0: its port's). Those that have a rate are traffic of others: their
          messages do not take the time of the NIC's proxy (``host.post-cost``).
        - ``changes``: rows of at_ps, change, place, x, y; what a change does not use is 0.
          ``LINK_DOWN``, ``LINK_UP``: place is a port of the cable, counted over all nodes (so for all changes but those of
          nodes). ``NODE_DOWN``, ``NODE_UP``: a node. ``RATE``: x the cable's rate, 10^6 bit/s. ``LOSS``: x the chance that
          a packet sent by the port is lost, in 1/2^32. ``STORM``: the host behind the port pauses class x (y 1) or stops
          doing so (y 0). ``RECEIVE``: the host behind the port takes data at x 10^6 bit/s; 0: as it comes. ``ROUTE``:
          switch place forwards address x by y, as in ``group``.
        - ``dcqcn``: its parameter set, ``connectx``, ``hpcc`` or ``dcqcn-p``; None: no congestion control.
        - ``parameters``: names and values as ``--set`` takes them, in this order.
        - ``profiles``, ``profile``: switch n has ``profiles[profile[n]]`` besides.
        - ``without_pfc``, ``without_ecn``: ports of switches, counted over all nodes. The first neither pause their neighbors
          nor listen to them: what comes in by them in a lossless class takes from the lossy pool, and is dropped when it does
          not fit. The second mark nothing.
        """

    def run(self, until_ps: int) -> None:
        """Run up to a moment, or until nothing happens any more. May be called again, with the same or a later moment.

        Other threads run meanwhile. In the main thread a signal ends the run within a moment with what its handler raises
        (``KeyboardInterrupt`` for Ctrl-C); the engine can then run on from ``now_ps``. The result does not depend on where a
        run was cut.
        """

    def sample_every(
        self,
        every_ps: int,
        *,
        ports: bool = True,
        queues: bool = True,
        queue_pairs: bool = True,
        of_ports: NDArray[np.uint32] | None = None,
    ) -> None:
        """Collect series from now on, of intervals of this length (10^3 to 10^15 ps); see ``series``.

        Said before the first run, or ``ValueError`` is raised; said again, it replaces what was said before. ``of_ports``:
        ``ports`` and ``queues`` are of these ports only, counted over all nodes. Collecting does not change the result.
        """

    def series(self) -> Series:
        """The series since the last call, or since the beginning, up to now; the engine keeps nothing of them.

        Raises ``ValueError`` where nothing is collected.
        """

    @property
    def setup_steps(self) -> int:
        """Steps that setting it up took: what its loops over messages, waits, queue pairs and tables looked at. Always the same for the same arguments."""

    @property
    def now_ps(self) -> int:
        """Up to when it was run."""

    @property
    def next_ps(self) -> int | None:
        """When the next thing happens; None: nothing does any more."""

    @property
    def arrived(self) -> int:
        """How many messages arrived."""

    def arrivals(self) -> NDArray[np.uint64]:
        """When each message had arrived whole, ps; 2^64 - 1: not yet."""

    def counters(self) -> dict[str, int]:
        """What was counted so far, with the names of ``railweave sim --json``.

        Drops are ``dropped_`` and the reason, times are in ps, and ``trace_checksum`` is a number.
        """

    def port_counters(self) -> dict[str, NDArray[np.uint64]]:
        """What each port counted so far, ports counted over all nodes.

        ``tx_bytes`` (without gaps), ``ecn_ce_packets``, ``dropped_packets``, ``pfc_tx`` and ``pfc_rx`` (pauses),
        ``paused_ps`` (at least one class paused by the neighbor), ``queued_bytes`` (waiting now).
        """

@final
class FlowEngine:
    """The same network and traffic as flows: max-min fair rates over the packet engine's paths, for what is too large for it.

    Arguments and numbers are ``PacketEngine``'s, and ``column``. It knows no queue, marking, pause, loss or timeout.
    """

    def __init__(
        self,
        *,
        kinds: NDArray[np.uint8],
        cables: NDArray[np.uint64],
        group: NDArray[np.uint32],
        groups: NDArray[np.uint32],
        members: NDArray[np.uint16],
        queue_pairs: NDArray[np.uint32],
        messages: NDArray[np.uint64],
        column: NDArray[np.uint32] | None = None,
        after_start: NDArray[np.uint64] | None = None,
        after: NDArray[np.uint32] | None = None,
        after_delay_ps: NDArray[np.uint64] | None = None,
        after_of: NDArray[np.uint32] | None = None,
        changes: NDArray[np.uint64] | None = None,
        dcqcn: str | None = "connectx",
        parameters: Mapping[str, str] | None = None,
        profiles: Sequence[Mapping[str, str]] = (),
        profile: NDArray[np.uint16] | None = None,
        without_pfc: NDArray[np.uint32] | None = None,
        without_ecn: NDArray[np.uint32] | None = None,
        efficiency: float = 1.0,
        tolerance: float = 0.01,
        fold: bool = True,
    ) -> None:
        """An engine at time 0. Raises ``ValueError`` as ``PacketEngine``, and where ``changes`` has ``LOSS`` or ``STORM``.

        ``column``: the column of ``group`` by which each address is forwarded (left out: its own), so that those that switches
        forward alike take memory once; ``HERE`` tells them apart at the switch they are on. ``ROUTE`` is then of a column.
        Parameters that say what a message takes on the wire count, ``host.window`` and ``host.post-cost`` too; those of
        queues and of congestion control have no effect, nor have ``without_pfc`` and ``without_ecn``. ``efficiency``: what part of a link's rate flows get. ``tolerance``:
        rates follow the beginning or end of a message after this part of its duration at the latest; 0: at once.
        ``fold``: whether what behaves the same is simulated once, which changes nothing but speed.
        """

    def run(self, until_ps: int) -> None:
        """Run up to a moment, or until nothing happens any more; see ``PacketEngine.run``."""

    @property
    def setup_steps(self) -> int:
        """Steps that setting it up took: what its loops over messages, waits, queue pairs and tables looked at. Always the same for the same arguments."""

    @property
    def now_ps(self) -> int:
        """Up to when it was run."""

    @property
    def next_ps(self) -> int | None:
        """When the next thing happens; None: nothing does any more."""

    @property
    def classes(self) -> tuple[int, int]:
        """How many queue pairs and messages are simulated: of those that behave the same, one."""

    @property
    def arrived(self) -> int:
        """How many messages arrived."""

    def arrivals(self) -> NDArray[np.uint64]:
        """When each message had arrived whole, ps; 2^64 - 1: not yet."""

    def link_bytes(self) -> NDArray[np.float64]:
        """What each port sent so far, with gaps, without acknowledgements; ports counted over all nodes."""

    def bottlenecks(self) -> list[tuple[str, int | None, int]]:
        """What kept queue pairs from sending faster, and for how long, ps, summed over queue pairs; the longest first.

        ``link`` comes with its port, ``window`` and ``post`` (the proxy) with None.
        """
