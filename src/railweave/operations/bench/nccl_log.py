"""The log of NCCL or RCCL with ``NCCL_DEBUG=INFO``, as typed Python objects.

Sources: NVIDIA/nccl ``src/init.cc``, ``bootstrap.cc``, ``transport/net.cc``, ``transport/p2p.cc``, ``transport/net_ib``, ``graph``,
``plugin``, of 2.8 to 2.30. Every object has its line number, counted from 1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench.messages import WORDS

if TYPE_CHECKING:
    from railweave.operations.bench.lines import Note

ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
"""The names of NCCL's protocols. Up to version 2.23, NCCL prints a protocol's index in this tuple instead of its name (nccl_common.h)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface that a host uses for the bootstrap, in which ranks find each other."""

    line: int
    host: str
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """An RDMA device in use: its index in NCCL's list, its port, and its link layer, ``RoCE`` or ``IB``."""

    line: int
    host: str
    index: int
    name: str
    port: int
    layer: str


@dataclass(frozen=True, slots=True)
class GpuDirect:
    """The GPUDirect RDMA state of a device. ``enabled`` is True if the device may access GPU memory."""

    line: int
    host: str
    device: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of NCCL. If ``loaded`` is False, NCCL searched for the plugin and did not find it; the plugin then has no version."""

    line: int
    host: str
    kind: str
    name: str
    version: str
    loaded: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """A connection of an NCCL channel, from rank ``source`` to rank ``target``.

    - ``connection``: the index of the connection in the channel.
    - ``transport``: the transport, such as ``NET``, ``P2P`` or SHM; ``through``: the mechanism, such as ``IB`` or IPC.
    - ``device``: the index of the NIC; None within a server.
    - ``gdr``: True if the connection uses GPUDirect RDMA; ``shared``: True if the log marks it as ``Shared``.
    - ``proxy``: with PXN, the rank whose NIC is used; otherwise None.
    """

    line: int
    host: str
    channel: int
    connection: int
    source: int
    target: int
    direction: Literal["send", "receive", ""]
    transport: str
    through: str
    device: int | None
    gdr: bool
    shared: bool
    proxy: int | None


@dataclass(frozen=True, slots=True)
class RingLink:
    """The neighbors of a rank in the ring of a channel: the rank ``before`` and the rank ``after``."""

    line: int
    channel: int
    before: int
    rank: int
    after: int


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A rank's place in the tree of a channel: its parent (-1 for the root) and its children."""

    line: int
    channel: int
    rank: int
    parent: int
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankSeen:
    """A rank of a communicator: its host and GPU, and the numbers of ranks and servers (``nodes``).

    ``nodes`` is None if the log does not state it.
    """

    line: int
    host: str
    communicator: str
    rank: int
    ranks: int
    nodes: int | None
    local_ranks: int | None
    gpu: int | None


@dataclass(frozen=True, slots=True)
class ChannelCounts:
    """The numbers of channels of a communicator: for collectives, for NVLS, for all point-to-point traffic, and per peer."""

    line: int
    collective: int
    nvls: int
    point_to_point: int
    per_peer: int


@dataclass(frozen=True, slots=True)
class Search:
    """The result of NCCL's topology search: the number of channels of a pattern, and the bandwidth per channel in 10^9 byte/s.

    - ``pattern``: 4 for a ring, and 1 to 3 for trees.
    - ``cross_nic`` and ``types``: the values that NCCL prints as ``crossNic`` and ``type``.
    - ``intra_gbytes_per_s`` and ``inter_gbytes_per_s``: the bandwidth inside a server and between servers.
    """

    line: int
    pattern: int
    cross_nic: int
    channels: int
    intra_gbytes_per_s: float
    inter_gbytes_per_s: float
    types: str


@dataclass(frozen=True, slots=True)
class Choice:
    """NCCL's choice for a collective: the algorithm, the protocol, and the first and last channel."""

    line: int
    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    first_channel: int | None
    last_channel: int | None


@dataclass(frozen=True, slots=True)
class QueuePair:
    """A queue pair at its creation. ``gid`` is given as an IP address; ``mtu`` is the number of the verbs enumeration (5 means 4096 bytes)."""

    line: int
    host: str
    device: int
    port: int
    gid_index: int
    gid: str
    mtu: int


@dataclass(frozen=True, slots=True)
class PluginPath:
    """A queue pair of railweave's NCCL plugin: its path color, and its source and target addresses."""

    line: int
    host: str
    queue_pair: int
    color: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Affinity:
    """The processors on which a rank may run, as a list or (up to NCCL 2.26) a hexadecimal mask.

    ``processors`` is empty if none of the ``allowed`` processors is in ``near_gpu``, the processors near the GPU.
    """

    line: int
    host: str
    gpu: int
    processors: str
    is_mask: bool
    near_gpu: str
    allowed: str


@dataclass(frozen=True, slots=True)
class FailedCompletion:
    """A work completion of an RDMA queue pair with an error.

    - ``status``: the number of ``enum ibv_wc_status``; 12 means that no retry was answered. None if the message has no
      readable status. The OFI plugin reports an error number instead (``error``).
    - ``error``: the error number (``errno.h``) of the OFI plugin.
    - ``vendor_error``: the error code of the RDMA device or, with the OFI plugin, of the libfabric provider.
    - ``text``: the message of the libfabric provider; empty without the OFI plugin.
    - ``local_gid``, ``remote_gid``: the GIDs as IP addresses; empty if the message has none.
    """

    line: int
    host: str
    peer: str
    status: int | None
    vendor_error: int | None
    local_gid: str
    remote_gid: str
    device: str
    error: int | None = None
    text: str = ""

    @property
    def description(self) -> str:
        """The completion as a line of text: its status or error number, and the message of the device or provider."""
        if self.status is not None:
            return f"completion with status {self.status} {self.device}".rstrip()
        if self.error is None:
            return f"completion with a status that cannot be read {self.device}".rstrip()
        words = f" ({WORDS[self.error]})" if self.error in WORDS else ""
        provider = "" if self.vendor_error is None else f", provider's code {self.vendor_error}"
        return f"completion with error {self.error}{words}{provider}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A failed call of the kernel, verbs or libfabric. ``error`` is the error number (``errno.h``), ``text`` the log message."""

    line: int
    host: str
    error: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A message that is kept as text, for example a warning."""

    line: int
    host: str
    text: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable that a process of NCCL reports, with its value."""

    line: int
    host: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NicSpeed:
    """The speed of an RDMA device in 10^9 bit/s, as NCCL read it."""

    line: int
    host: str
    device: str
    gbps: float


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of a GPU from a NIC. ``path`` is NCCL's text: a number, and its comparison with NCCL's limit.

    ``gdr`` is True if NCCL uses GPUDirect RDMA.
    """

    line: int
    host: str
    gpu: str
    nic: str
    path: str
    gdr: bool


@dataclass(frozen=True, slots=True)
class Source:
    """The process that printed a line. ``rank`` is None if the log does not show it."""

    host: str
    process: str
    gpu: str
    rank: int | None = None


@dataclass(frozen=True)
class NcclLog:
    """A log of one or more ranks.

    - ``versions``: (line, version) in the library's format, with the version of CUDA or ROCm.
    - ``variables``: (name, first reported value) of each environment variable.
    - ``settings`` and ``version_lines``: variables and versions with the host that reports them.
    - ``rings``: (channel, ranks of its ring in order). ``init_seconds``: (line, duration of an initialization).
    - ``communicators``: the ids (``commId``) of the communicators.
    - ``messages``: the number of NCCL's messages in the log.
    - ``sources``: (line number, process that printed the line) for each line with a fact or a warning.
    """

    file: str
    library: Literal["NCCL", "RCCL", ""]
    versions: tuple[tuple[int, str], ...]
    variables: tuple[tuple[str, str], ...]
    bootstrap: tuple[Interface, ...]
    networks: tuple[LogMessage, ...]
    plugins: tuple[Plugin, ...]
    devices: tuple[RdmaDevice, ...]
    gpu_direct: tuple[GpuDirect, ...]
    channels: tuple[Channel, ...]
    rings: tuple[tuple[int, tuple[int, ...]], ...]
    ring_links: tuple[RingLink, ...]
    tree_links: tuple[TreeLink, ...]
    ranks: tuple[RankSeen, ...]
    counts: tuple[ChannelCounts, ...]
    searches: tuple[Search, ...]
    choices: tuple[Choice, ...]
    queue_pairs: tuple[QueuePair, ...]
    plugin_paths: tuple[PluginPath, ...]
    affinities: tuple[Affinity, ...]
    failed: tuple[FailedCompletion, ...]
    calls: tuple[FailedCall, ...]
    events: tuple[LogMessage, ...]
    warnings: tuple[LogMessage, ...]
    init_seconds: tuple[tuple[int, float], ...]
    messages: int
    notes: tuple[Note, ...] = ()
    settings: tuple[Setting, ...] = ()
    version_lines: tuple[LogMessage, ...] = ()
    speeds: tuple[NicSpeed, ...] = ()
    distances: tuple[Distance, ...] = ()
    communicators: frozenset[str] = frozenset()
    sources: tuple[tuple[int, Source], ...] = ()

    @cached_property
    def _source_of_line(self) -> dict[int, Source]:
        return dict(self.sources)

    def rank_of(self, line: int) -> int | None:
        """Return the rank whose process printed a line, or None if the log does not show it."""
        source = self._source_of_line.get(line)
        return source.rank if source else None

    def host_of(self, line: int) -> str:
        """Return the host that printed a line, or an empty string if the log does not show it."""
        source = self._source_of_line.get(line)
        return source.host if source else ""

    @cached_property
    def processes(self) -> frozenset[tuple[str, str]]:
        """The processes that printed lines of the log, as (host, process number)."""
        return frozenset((source.host, source.process) for _, source in self.sources if source.process)

    def variable(self, name: str) -> str:
        """Return the value of a variable in the run; empty if the log does not report the variable."""
        return dict(self.variables).get(name, "")

    def variable_of(self, host: str, name: str) -> str:
        """Return the value of a variable on a host; empty if the host does not report the variable."""
        return next(
            (setting.value for setting in self.settings if setting.name == name and setting.host in {host, ""}), ""
        )

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, in the order of their lowest ranks.

        If the log has no ranks, they are in the order of the bootstrap lines.
        """
        by_rank = [rank.host for rank in sorted(self.ranks, key=lambda rank: rank.rank)]
        return tuple(
            dict.fromkeys(host for host in (by_rank or [interface.host for interface in self.bootstrap]) if host)
        )

    @property
    def nodes(self) -> int | None:
        """The number of servers in the largest communicator, as NCCL counted them; None if the log does not show the number."""
        return max((rank.nodes for rank in self.ranks if rank.nodes is not None), default=None)

    def ring_of(self, channel: int) -> tuple[int, ...]:
        """Return the ranks of a channel's ring in order, starting at rank 0.

        If no single line lists the ring, the order is derived from the lines that name the neighbors of one rank each. The result is empty
        if
        these lines do not close the ring.
        """
        for number, ranks in self.rings:
            if number == channel and ranks:
                return ranks
        after: dict[int, dict[int, int]] = defaultdict(dict)
        for link in self.ring_links:
            after[link.channel][link.rank] = link.after
        links, ring = after.get(channel, {}), [0]
        while ring[-1] in links and len(ring) <= len(links):
            following = links[ring[-1]]
            if following == 0:
                return tuple(ring)
            ring.append(following)
        return ()
