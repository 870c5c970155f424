"""The report of NCCL or RCCL with ``NCCL_DEBUG=INFO``, as values: what the library did in the run.

Sources: NVIDIA/nccl ``src/init.cc``, ``bootstrap.cc``, ``transport/net.cc``, ``transport/p2p.cc``, ``transport/net_ib``, ``graph``,
``plugin``, of 2.8 to 2.30. Every value has the number of its line, 1 for the first.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench.errno_words import WORDS

if TYPE_CHECKING:
    from railweave.operations.bench.lines import Note

ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
"""The protocols by their numbers, which NCCL prints up to 2.23 (nccl_common.h)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface that ranks of a host find each other by (bootstrap)."""

    line: int
    host: str
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """An RDMA device in use: its place in NCCL's list, port, and ``RoCE`` or ``IB``."""

    line: int
    host: str
    index: int
    name: str
    port: int
    layer: str


@dataclass(frozen=True, slots=True)
class GpuDirect:
    """GPUDirect RDMA of a device. ``enabled``: the device may reach the memory of GPUs."""

    line: int
    host: str
    device: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin: ``loaded`` under its name and the version of its interface, or looked for in vain."""

    line: int
    host: str
    kind: str
    name: str
    version: str
    loaded: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """One connection of a channel. ``transport`` is ``NET``, ``P2P``, SHM and so on; ``through`` is its means (``IB``, IPC).

    - ``device``: the place of the NIC; None within a server.
    - ``gdr``: the connection uses GPUDirect RDMA.
    - ``proxy``: the rank whose NIC is used (PXN).
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
    """A rank's neighbours in the ring of a channel."""

    line: int
    channel: int
    before: int
    rank: int
    after: int


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A rank's place in the tree of a channel: its parent (-1: it is the root) and its children."""

    line: int
    channel: int
    rank: int
    parent: int
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankSeen:
    """A rank of a communicator: host, GPU, and how many ranks and servers there are. ``nodes`` is None where that is not said."""

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
    """Channels of a communicator: of collectives, NVLS, point-to-point in all and for each peer."""

    line: int
    collective: int
    nvls: int
    point_to_point: int
    per_peer: int


@dataclass(frozen=True, slots=True)
class Search:
    """The result of the topology search: channels of a pattern (4 ring, 1 to 3 trees), and bandwidth per channel in 10^9 byte/s."""

    line: int
    pattern: int
    cross_nic: int
    channels: int
    intra_gbytes_per_s: float
    inter_gbytes_per_s: float
    types: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The algorithm, protocol and channels of one collective. Channels are the first and the last that the collective used."""

    line: int
    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    first_channel: int | None
    last_channel: int | None


@dataclass(frozen=True, slots=True)
class QueuePair:
    """A queue pair as it was made: device, port, index of its GID, the GID as an address, MTU as verbs count it (5: 4096)."""

    line: int
    host: str
    device: int
    port: int
    gid_index: int
    gid: str
    mtu: int


@dataclass(frozen=True, slots=True)
class PluginPath:
    """A queue pair of railweave's plugin: its color and the addresses it goes between."""

    line: int
    host: str
    queue_pair: int
    color: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Affinity:
    """Processors of a rank, as a list or (up to 2.26) a mask in hexadecimal; empty where none is near the GPU and allowed."""

    line: int
    host: str
    gpu: int
    processors: str
    is_mask: bool
    near_gpu: str
    allowed: str


@dataclass(frozen=True, slots=True)
class FailedCompletion:
    """A completion with an error.

    - ``status``: the number of ``enum ibv_wc_status``; 12 is no answer to all retries. None if the message has none that can be read, and
      of the OFI plugin, whose messages have an error number (``errno.h``) in its place: ``error``.
    - ``vendor_error``: the code of the RDMA device, of the OFI plugin that of the libfabric provider; ``text``: its words.
    - GIDs are addresses, empty if the message has none.
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
    def says(self) -> str:
        """The completion for people: its status or error number, and the device or the provider's words."""
        if self.status is not None:
            return f"completion with status {self.status} {self.device}".rstrip()
        if self.error is None:
            return f"completion with a status that cannot be read {self.device}".rstrip()
        words = f" ({WORDS[self.error]})" if self.error in WORDS else ""
        provider = "" if self.vendor_error is None else f", provider's code {self.vendor_error}"
        return f"completion with error {self.error}{words}{provider}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call of the kernel, of verbs or of libfabric that failed, by its ``text``. ``error``: the error number (``errno.h``)."""

    line: int
    host: str
    error: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A warning, or another message that matters as it stands."""

    line: int
    host: str
    text: str


@dataclass(frozen=True, slots=True)
class NcclLog:
    """One log, of one rank or of many together. ``version`` is as the library writes it, with its CUDA or ROCm."""

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

    def variable(self, name: str) -> str:
        """A variable that was in force; empty where the log does not say so."""
        return dict(self.variables).get(name, "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts in the order of their first ranks; of a log without ranks, as they appear."""
        by_rank = [rank.host for rank in sorted(self.ranks, key=lambda rank: rank.rank)]
        return tuple(
            dict.fromkeys(host for host in (by_rank or [interface.host for interface in self.bootstrap]) if host)
        )

    @property
    def nodes(self) -> int | None:
        """Servers of the largest communicator, as NCCL counted them."""
        return max((rank.nodes for rank in self.ranks if rank.nodes is not None), default=None)

    def ring_of(self, channel: int) -> tuple[int, ...]:
        """The ranks of a channel's ring in order, from 0; pieced together from neighbours where no line has it whole.

        Empty where links are missing.
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
