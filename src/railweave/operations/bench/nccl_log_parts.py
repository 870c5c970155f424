"""A log of NCCL while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench import nccl_log as log

if TYPE_CHECKING:
    from railweave.operations.bench.nccl_log import RankSeen


@dataclass
class Parts:
    """What was read so far, with the names of ``NcclLog``; ``line`` and ``host`` are those of the message at hand."""

    line: int = 0
    host: str = ""
    library: Literal["NCCL", "RCCL", ""] = ""
    messages: int = 0
    versions: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    bootstrap: list[log.Interface] = field(default_factory=list[log.Interface])
    networks: list[log.Said] = field(default_factory=list[log.Said])
    plugins: list[log.Plugin] = field(default_factory=list[log.Plugin])
    devices: list[log.RdmaDevice] = field(default_factory=list[log.RdmaDevice])
    gpu_direct: list[log.GpuDirect] = field(default_factory=list[log.GpuDirect])
    channels: list[log.Channel] = field(default_factory=list[log.Channel])
    rings: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    ring_links: list[log.RingLink] = field(default_factory=list[log.RingLink])
    tree_links: list[log.TreeLink] = field(default_factory=list[log.TreeLink])
    ranks: dict[tuple[str, str, int], log.RankSeen] = field(default_factory=dict[tuple[str, str, int], log.RankSeen])
    counts: list[log.ChannelCounts] = field(default_factory=list[log.ChannelCounts])
    searches: list[log.Search] = field(default_factory=list[log.Search])
    choices: list[log.Choice] = field(default_factory=list[log.Choice])
    queue_pairs: list[log.QueuePair] = field(default_factory=list[log.QueuePair])
    plugin_paths: list[log.PluginPath] = field(default_factory=list[log.PluginPath])
    affinities: list[log.Affinity] = field(default_factory=list[log.Affinity])
    failed: list[log.FailedCompletion] = field(default_factory=list[log.FailedCompletion])
    calls: list[log.FailedCall] = field(default_factory=list[log.FailedCall])
    events: list[log.Said] = field(default_factory=list[log.Said])
    warnings: list[log.Said] = field(default_factory=list[log.Said])
    init_seconds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])

    def rank(self, seen: RankSeen) -> None:
        """Keep a rank of a communicator, joined with what an earlier line said of it."""
        key = seen.host, seen.communicator, seen.rank
        had = self.ranks.get(key)
        self.ranks[key] = (
            seen
            if had is None
            else replace(
                had,
                nodes=had.nodes if seen.nodes is None else seen.nodes,
                local_ranks=had.local_ranks if seen.local_ranks is None else seen.local_ranks,
                gpu=had.gpu if seen.gpu is None else seen.gpu,
            )
        )

    def whole(self, file: str) -> log.NcclLog:
        """The log as a value."""
        return log.NcclLog(
            file=file,
            library=self.library or ("NCCL" if self.messages else ""),
            versions=tuple(self.versions),
            variables=tuple(self.variables.items()),
            bootstrap=tuple(self.bootstrap),
            networks=tuple(self.networks),
            plugins=tuple(self.plugins),
            devices=tuple(self.devices),
            gpu_direct=tuple(self.gpu_direct),
            channels=tuple(self.channels),
            rings=tuple(sorted(self.rings.items())),
            ring_links=tuple(self.ring_links),
            tree_links=tuple(self.tree_links),
            ranks=tuple(self.ranks.values()),
            counts=tuple(self.counts),
            searches=tuple(self.searches),
            choices=tuple(self.choices),
            queue_pairs=tuple(self.queue_pairs),
            plugin_paths=tuple(self.plugin_paths),
            affinities=tuple(self.affinities),
            failed=tuple(self.failed),
            calls=tuple(self.calls),
            events=tuple(self.events),
            warnings=tuple(self.warnings),
            init_seconds=tuple(self.init_seconds),
            messages=self.messages,
        )
