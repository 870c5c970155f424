"""Checks that NIC counters have not grown since an earlier run: drops, retransmissions, waits for buffers, PFC pauses, ECN marks.

The absolute value of a counter shows little, because it also counts old events. Without an earlier run, some counters
are compared with the packets that the NIC has sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..machine import CannotTellError
from . import outcome
from .outcome import failed, not_applicable, of_nic, ok, warning
from .qos import qos_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic

_LINUX = "Linux, mlx5 counters; bnxt_re hw_counters"
_WRAP = 1 << 32
"""The value at which mlx5's queue-pair counters wrap: they have 32 bits (Linux, drivers/infiniband/hw/mlx5/counters.c)."""


class _Group(NamedTuple):
    """Counters with the same meaning: their names on mlx5 and on bnxt NICs.

    The counters come from the RDMA device or from ``ethtool -S``. In a name, ``{p}`` is replaced by each lossless priority (or by
    the priority of RDMA data if there is none), and ``{o}`` by every other priority.
    """

    mlx5: tuple[str, ...]
    bnxt: tuple[str, ...]

    def names(self, server: Server, nic: WantedNic) -> list[str]:
        """Return the names of these counters on a NIC, with priorities inserted.

        Without a design, the lossless priorities are those for which the NIC has PFC on. If no tool shows these
        priorities, counters of single priorities are left out.
        """
        data = nic.traffic.priority if nic.traffic else 0
        paused = nic.traffic.paused or {data} if nic.traffic else _pfc(server, nic)
        rest = [] if not nic.traffic and not paused else [priority for priority in range(8) if priority not in paused]
        return [
            counter.replace("{p}", str(priority)).replace("{o}", str(priority))
            for counter in (self.mlx5 if nic.mlx5 else self.bnxt)
            for priority in (rest if "{o}" in counter else sorted(paused) if "{p}" in counter else (data,))
        ]


def _pfc(server: Server, nic: WantedNic) -> frozenset[int]:
    try:
        return qos_of(server, nic).pause or frozenset()
    except CannotTellError:
        return frozenset()


def read(server: Server, nic: WantedNic) -> dict[str, int]:
    """Return all counters of a NIC by name, from its RDMA port and from ethtool. Raises CannotTellError if neither can be read."""
    return server.machine.once(("counters", nic.netdev), lambda: _read(server, nic))


def _port(nic: WantedNic) -> str:
    return f"/sys/class/infiniband/{nic.rdma}/ports/{nic.plan.rdma_port}"


def _read(server: Server, nic: WantedNic) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in ("counters", "hw_counters"):
        folder = f"{_port(nic)}/{kind}"
        for name in server.machine.names(folder):
            if name != "lifespan":
                value = server.machine.number(f"{folder}/{name}")
                if value is not None:
                    counts[name] = value
    try:
        counts.update(outcome.counters(server.machine, nic.netdev))
    except CannotTellError:
        if not counts:
            raise
    return counts


KNOWN: dict[str, _Group] = {}
"""The counter groups that checks use, by the ID of the check."""


def known(server: Server) -> dict[str, dict[str, int]]:
    """Return the counters that checks use, by NIC and counter name, for comparison in a later run.

    NICs whose counters cannot be read are left out.
    """
    counts: dict[str, dict[str, int]] = {}
    for nic in server.nics:
        names = {name for group in KNOWN.values() for name in group.names(server, nic)}
        try:
            counts[nic.netdev] = {name: value for name, value in read(server, nic).items() if name in names}
        except CannotTellError:
            continue
    return counts


def _grown(server: Server, nic: WantedNic, group: _Group) -> dict[str, int]:
    """Return the growth of each counter of a group since the earlier run. Raises CannotTellError if no counter of the group can be compared."""
    before = server.earlier.nics.get(nic.netdev) if server.earlier else None
    if before is None:
        raise CannotTellError("the earlier look has no counters of it")
    now = read(server, nic)
    names = group.names(server, nic)
    there = [name for name in names if name in now and name in before]
    if not there:
        raise CannotTellError("its driver counts none of: " + ", ".join(names))
    grown: dict[str, int] = {}
    for name in there:
        difference = now[name] - before[name]
        if difference < 0:  # wrapped, or begun again with the driver
            difference = difference + _WRAP if before[name] >= _WRAP // 2 and before[name] < _WRAP else now[name]
        grown[name] = difference
    return grown


def _rule(
    name: str, group: _Group, level: Callable[..., Outcome], *, rule: str, why: str, remedy: str, source: str = _LINUX
) -> None:
    """Register a check that no counter of a group has grown. ``name`` is the ID of the check.

    ``level`` makes the outcome if a counter has grown, for example ``failed`` or ``warning``. ``rule``, ``why``, ``remedy`` (the fix) and
    ``source`` are texts that describe the check to operators.
    """
    KNOWN[name] = group

    def unless(server: Server, nic: WantedNic) -> str:
        if not group.names(server, nic):
            return "railweave knows no such counter of this NIC family"
        return "needs --since and an earlier look" if server.earlier is None else ""

    def look(server: Server, nic: WantedNic) -> Iterator[Outcome]:
        grown = _grown(server, nic, group)
        if any(grown.values()):
            seen = ", ".join(f"{counter} +{count}" for counter, count in grown.items() if count)
            yield level(seen, "no growth", "the earlier look", remedy.format(leaf=nic.leaf, port=nic.leaf_port))
        else:
            yield ok("no growth")

    how = "/sys/class/infiniband/*/ports/*/hw_counters; ethtool -S NIC"
    of_nic(name, rule=rule, why=why, how=how, source=source, unless=unless)(look)


_rule(
    "counters-lossless-drops",
    _Group(
        ("rx_prio{p}_discards", "rx_prio{p}_buf_discard", "rx_prio{p}_cong_discard", "excessive_buffer_overrun_errors"),
        ("rx_roce_discards", "rx_roce_errors", "rx_discard_packets_cos{p}"),
    ),
    failed,
    rule="The NIC drops no packet of the lossless class.",
    why="PFC pauses the class so that it loses nothing; a drop means that a pause was ignored or came too late.",
    remedy="see qos-pfc and pcie-speed: the NIC receives packets faster than it can pass them to the server",
)
_rule(
    "counters-resends",
    _Group(
        ("out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "roce_adp_retrans", "roce_slow_restart"),
        ("oos_drop_count", "seq_err_naks_rcvd", "missing_resp", "to_retransmits"),
    ),
    failed,
    rule="No packet is sent again, and no packet arrives out of order.",
    why="Packets are lost or reordered on their path, and RDMA sends a whole window of packets again.",
    remedy="look for drops on {leaf} {port} and along the path: railweave check --since",
)
_rule(
    "counters-timeouts",
    _Group(("local_ack_timeout_err", "req_rnr_retries_exceeded"), ("max_retry_exceeded",)),
    failed,
    rule="No queue pair times out while it waits for an answer.",
    why="Each timeout costs tens of milliseconds; after the last retry, the job ends with status 12.",
    remedy="a path is down, or an MTU is too small: railweave host rdma-ping HOST",
)
_rule(
    "counters-receiver",
    _Group(("out_of_buffer", "rnr_nak_retry_err"), ("rnr_naks_rcvd", "rx_out_of_buffer")),
    warning,
    rule="Receivers are ready when data arrives.",
    why="The program at one end is slow: its CPU is busy, or its rank is bound to the other CPU socket.",
    remedy="see nic-numa, system-governor and the CPU binding of the ranks",
)
_rule(
    "counters-link-pause",
    _Group(("rx_pause_ctrl_phy", "tx_pause_ctrl_phy"), ("rx_pause_frames", "tx_pause_frames")),
    failed,
    rule="No pause of the whole link (IEEE 802.3x) is sent or received.",
    why="A link pause stops every traffic class; the design uses only PFC.",
    remedy="see qos-global-pause, here and on {leaf} {port}",
)
_rule(
    "counters-pause-sent",
    _Group(("tx_prio{p}_pause",), ("tx_pfc_ena_frames_pri{p}", "pfc_pri{p}_tx_transitions")),
    warning,
    rule="This server pauses no switch.",
    why="If a receiver is too slow (PCIe, IOMMU, CPU), the whole fabric waits for it.",
    remedy="see pcie-speed, pcie-width, iommu-mode, pcie-acs",
)
_rule(
    "counters-pause-received",
    _Group(("rx_prio{p}_pause",), ("rx_pfc_ena_frames_pri{p}",)),
    warning,
    rule="The fabric does not pause this server.",
    why="The leaf has no buffer left for the packets of this server: DCQCN should have slowed the server down earlier.",
    remedy="see qos-congestion-control here, and ECN and PFC of {leaf} {port}: railweave check --since",
)
_rule(
    "counters-pause-other",
    _Group(
        ("rx_prio{o}_pause", "tx_prio{o}_pause"),
        ("rx_pfc_ena_frames_pri{o}", "tx_pfc_ena_frames_pri{o}"),
    ),
    failed,
    rule="Only priorities of lossless classes are paused: RDMA data (unless it is lossy) and other lossless "
    "classes, for example storage.",
    why="One end of the link uses PFC on a priority that the design does not pause: traffic of this priority "
    "stops without any error message.",
    remedy="see qos-pfc, here and on {leaf} {port}",
)
_rule(
    "counters-pause-storm",
    _Group(
        ("tx_pause_storm_warning_events", "tx_pause_storm_error_events"),
        ("continuous_pause_events", "continuous_roce_pause_events"),
    ),
    failed,
    rule="The NIC has not paused its switch for so long that it counts as a PFC storm.",
    why="A hung server stops its leaf, and through the leaf other servers.",
    remedy="stop the job, read dmesg, restart the server",
)
_rule(
    "counters-link-errors",
    _Group(
        (
            "rx_pcs_symbol_err_phy",
            "rx_symbol_err_phy",
            "rx_crc_errors_phy",
            "link_down_events_phy",
            "symbol_error",
            "link_downed",
            "link_error_recovery",
            "local_link_integrity_errors",
            "port_rcv_errors",
        ),
        ("rx_pcs_symbol_err", "rx_fec_uncorrectable_blocks", "link_down_events"),
    ),
    failed,
    rule="The link has no errors after FEC, and does not go down.",
    why="Each error loses at least one packet.",
    remedy="clean or replace the cable to {leaf} {port}",
)
_rule(
    "counters-send-drops",
    _Group(("port_xmit_discards",), ("tx_roce_discards", "tx_discards")),
    failed,
    rule="The NIC drops no packet that it should send.",
    why="The packet is lost before it is on the cable: the port is down or paused for too long.",
    remedy="see link-carrier, counters-pause-received and qos-pfc",
)
_rule(
    "counters-completions",
    _Group(("resp_cqe_error", "req_cqe_error"), ("remote_access_err", "remote_op_err")),
    warning,
    rule="No work request ends with an error.",
    why="A queue pair that has an error is of no use until the job starts over.",
    remedy="which job ended? its log has the status: railweave bench triage LOG",
)
_rule(
    "counters-congestion-ignored",
    _Group(("rp_cnp_ignored",), ()),
    warning,
    rule="The NIC ignores no congestion notification.",
    why="The NIC does not slow down, because congestion control is off for this priority.",
    remedy="see qos-congestion-control",
)


_NOTIFICATION = _Group(
    ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled"),
    ("rx_ecn_marked_pkts", "tx_cnp_pkts", "rx_cnp_pkts"),
)
KNOWN["counters-notification"] = _NOTIFICATION


@of_nic(
    "counters-notification",
    rule="The server answers packets that switches have marked with congestion notifications.",
    why="Senders that get no notification do not slow down: only PFC limits the congestion.",
    how="/sys/class/infiniband/*/ports/*/hw_counters",
    source=_LINUX,
    unless=lambda server, _: "needs --since and an earlier look" if server.earlier is None else "",
)
def notification(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC answers ECN marks with congestion notification packets. Marks without drops are not a fault."""
    grown = _grown(server, nic, _NOTIFICATION)
    marked, sent, handled = _NOTIFICATION.names(server, nic)
    if marked not in grown or sent not in grown:
        raise CannotTellError(f"its driver does not count {marked} and {sent}")
    seen = ", ".join(f"{counter} +{grown[counter]}" for counter in (marked, sent, handled) if counter in grown)
    if grown[marked] and not grown[sent]:
        remedy = "see qos-congestion-control and qos-notification: the notification point is off"
        yield failed(seen, "notifications for marks", "the earlier look", remedy)
    else:
        yield ok(seen)


_SENT = ("port_xmit_packets", "tx_pkts")
"""The counters of packets that a port has sent, in mlx5 and in bnxt_re."""
_ENOUGH = 1_000_000
"""The smallest number of sent packets for which the share of errors is evaluated. With fewer packets, the share is meaningless."""


def _share(name: str, group: _Group, most: float, *, rule: str, why: str, remedy: str, source: str = _LINUX) -> None:
    """Register a check that the counters of a group are only a small fraction of all packets sent. ``name`` is the ID of the check.

    The check needs no counters of an earlier run. ``most`` is the largest accepted fraction. Counters of 32 bits may
    have wrapped, so the true fraction may be larger. ``rule``, ``why``, ``remedy`` (the fix) and ``source`` are texts that describe the
    check to operators.
    """

    def unless(server: Server, nic: WantedNic) -> str:
        return "" if group.names(server, nic) else "railweave knows no such counter of this NIC family"

    def look(server: Server, nic: WantedNic) -> Iterator[Outcome]:
        now = read(server, nic)
        sent = next((now[counter] for counter in _SENT if counter in now), None)
        there = {counter: now[counter] for counter in group.names(server, nic) if counter in now}
        if sent is None:
            raise CannotTellError(f"its driver counts no sent packets: {', '.join(_SENT)}")
        if not there:
            raise CannotTellError("its driver counts none of: " + ", ".join(group.names(server, nic)))
        total = sum(there.values())
        seen = ", ".join(f"{counter} {count}" for counter, count in there.items() if count) or "none"
        if sent < _ENOUGH:
            yield not_applicable(f"{seen}; {sent} packets sent, too few for a share")
        elif total > most * sent:
            words = f"{seen}: {total / sent:.1e} of {sent:.3g} packets sent"
            yield warning(words, f"at most {most:g}", source, remedy.format(leaf=nic.leaf, port=nic.leaf_port))
        else:
            yield ok(f"{total / sent:.1e} of {sent:.3g} packets sent")

    how = "/sys/class/infiniband/*/ports/*/{counters,hw_counters}"
    of_nic(name, rule=rule, why=why, how=how, source=source, unless=unless)(look)


_share(
    "share-resends",
    _Group(
        ("out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "roce_adp_retrans"),
        ("oos_drop_count", "seq_err_naks_rcvd", "missing_resp", "to_retransmits"),
    ),
    1e-6,
    rule="Since the counters began, at most one in a million packets was sent again or arrived out of order.",
    why="Each costs a whole window of packets. The path loses packets, though no job may run now.",
    remedy="look for drops on {leaf} {port} and along the path; is it still so? --watch 60s while a job runs",
)
_share(
    "share-timeouts",
    _Group(("local_ack_timeout_err",), ("max_retry_exceeded",)),
    1e-7,
    rule="Since the counters began, at most one in ten million packets was never acknowledged.",
    why="At 400 Gbit/s that is one wait of tens of milliseconds or more each second.",
    source="NVSentinel, NIC health monitor (local_ack_timeout_err above 1 each second), at 12 million packets a second",
    remedy="a path is dead, or an MTU is too small: railweave host rdma-ping HOST; see host-path-mtu",
)
_share(
    "share-receiver",
    _Group(("out_of_buffer", "rnr_nak_retry_err"), ("rnr_naks_rcvd", "rx_out_of_buffer")),
    1e-5,
    rule="Since the counters began, receivers were ready for all but one in 100,000 packets.",
    why="The program at one end is slow: its CPU is busy, or its rank is bound to the other CPU socket.",
    remedy="see nic-numa, system-governor and the CPU binding of the ranks",
)
_share(
    "share-completions",
    _Group(("resp_cqe_error",), ("remote_access_err", "remote_op_err")),
    1e-6,
    rule="Since the counters began, at most one in a million packets ended a work request with an error.",
    why="Jobs ended with errors on this NIC again and again.",
    remedy="their logs have the status: railweave bench triage LOG; look at {leaf} {port}",
)

_OLDEST_MS = 1000


@of_nic(
    "counters-lifespan",
    rule=f"The kernel reads the RDMA counters from the NIC again after {_OLDEST_MS} ms or less.",
    why="Counters that are older than the time between two looks seem not to grow, whatever happens.",
    how="/sys/class/infiniband/*/ports/*/hw_counters/lifespan",
    source="Linux, Documentation/ABI/stable/sysfs-class-infiniband (lifespan)",
)
def lifespan(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the age at which the kernel reads RDMA counters from the NIC again instead of showing the stored values."""
    kept = server.machine.number(f"{_port(nic)}/hw_counters/lifespan")
    if kept is None:
        raise CannotTellError("the kernel shows no lifespan of its counters")
    if kept > _OLDEST_MS:
        remedy = f"echo 10 | sudo tee {_port(nic)}/hw_counters/lifespan"
        yield warning(f"{kept} ms", f"{_OLDEST_MS} ms or less", "Linux, default 10 ms", remedy)
    else:
        yield ok(f"{kept} ms")
