"""PFC headroom of one port, calculated from the physics of its link and the cell size of its switch.

The arithmetic is that of SONiC's buffer manager (sonic-net/sonic-swss, ``cfgmgr/buffer_headroom_mellanox.lua``). It
adds:

- the bytes on the cable, in both directions;
- the bytes that the peer sends until it stops (IEEE 802.3, 31B.3.7);
- the bytes in the switch's own pipeline;
- one packet at each end whose transmission has just started.

A port has two figures. Its *need* counts packets of the MTU's size; the pool of a switch holds the needs of all ports at once. Its
*limit* is the most that the port may take from that pool (``xoff`` in SONiC, ``ingress headroom`` in EOS). The limit is larger,
because the smallest packets fill a cell each, or because the platform's table is larger.

The sum is rounded up to whole cells. With 64-byte packets, the result grows with cable length exactly as in Broadcom's
tables for SONiC. Such a packet takes 84 bytes on the wire and occupies one cell of 254 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.catalog.models import Catalog

GAP_BYTES = 20
"""Bytes of preamble and inter-packet gap per packet (IEEE 802.3, 4.2.3.2 and 4.4.2).

They are on the wire but never in a buffer.
"""
SMALLEST_BYTES = 64
"""The size of the smallest Ethernet frame in bytes (IEEE 802.3, 4.2.3.3)."""


@dataclass(frozen=True)
class PortHeadroom:
    """The headroom that one port needs for one priority after the port sends PFC XOFF.

    - ``response_bytes``, ``pipeline_bytes``: bytes that arrive at line rate during the peer's response and the switch's pipeline delay.
    - ``table_bytes``: the value of the platform's own table for this speed and length; None if no table is public.
    """

    speed_gbps: int
    length_m: float
    mtu_bytes: int
    cell_bytes: int
    response_bytes: float
    pipeline_bytes: float
    table_bytes: int | None
    metre_bytes: float
    """Bytes on the wire that each extra metre of cable adds."""

    @property
    def flight_bytes(self) -> float:
        """Bytes that the cable holds in both directions."""
        return self.metre_bytes * self.length_m

    @property
    def wire_bytes(self) -> float:
        """Bytes that arrive at line rate after XOFF is sent, until the peer is silent.

        They are the bytes on the cable, those during the peer's response, and those during the pipeline delay.
        """
        return self.flight_bytes + self.response_bytes + self.pipeline_bytes

    @property
    def packet_bytes(self) -> int:
        """Bytes of buffer that an MTU-sized packet occupies, in whole cells."""
        return -(-self.mtu_bytes // self.cell_bytes) * self.cell_bytes

    @property
    def per_metre(self) -> float:
        """Bytes of buffer that each extra metre of cable adds to ``need_bytes``."""
        return self.metre_bytes * self.packet_bytes / (self.mtu_bytes + GAP_BYTES)

    @cached_property
    def need_bytes(self) -> int:
        """Bytes of buffer needed if all arriving packets have the size of the MTU.

        A headroom pool must hold the sum of this value over all its ports.
        """
        filled = self.wire_bytes * self.packet_bytes / (self.mtu_bytes + GAP_BYTES)
        return round(filled) + 2 * self.packet_bytes

    @property
    def smallest_bytes(self) -> int:
        """Bytes of buffer needed if only 64-byte packets arrive. Each packet occupies whole cells.

        Two delays are included. Small packets arrive while the switch finishes sending an MTU-sized packet, because only then can it send
        XOFF. When XOFF arrives, the peer still finishes the packet that it is sending, which may have the size of the MTU.
        """
        wire = self.wire_bytes + self.mtu_bytes + GAP_BYTES
        cells = -(-self.cells_of_smallest * wire // (SMALLEST_BYTES + GAP_BYTES))
        return int(cells) * self.cell_bytes + self.packet_bytes

    @property
    def cells_of_smallest(self) -> int:
        """The number of cells that a packet of 64 bytes occupies."""
        return -(-SMALLEST_BYTES // self.cell_bytes)

    @cached_property
    def limit_bytes(self) -> int:
        """The headroom limit of the port in bytes: the largest of both calculated needs and the platform table's value."""
        need = (
            -(-self.need_bytes // self.cell_bytes) * self.cell_bytes
        )  # more than small packets, if a cell holds just one
        return max(need, self.smallest_bytes, self.table_bytes or 0)

    @property
    def words(self) -> str:
        """The calculation as a sentence, for reports."""
        cells = self.packet_bytes // self.cell_bytes
        table = "" if self.table_bytes is None else f", {self.table_bytes:,} by the platform's table"
        return (
            f"{self.need_bytes:,} bytes each = cable {self.flight_bytes:,.0f} + peer {self.response_bytes:,.0f} + pipeline "
            f"{self.pipeline_bytes:,.0f} bytes of wire, in packets of {self.mtu_bytes} ({cells} cells of {self.cell_bytes}), and two packets; "
            f"limit in the configuration {self.limit_bytes:,}: {self.smallest_bytes:,} in packets of {SMALLEST_BYTES}{table}"
        )


def port_headroom(
    catalog: Catalog, model: SwitchModel, length_m: float, speed_gbps: int, mtu_bytes: int
) -> PortHeadroom:
    """Return the headroom of a port of a switch model.

    It is calculated from the speed, cable length and MTU, and from the chip's cell size, pipeline delay and public
    headroom table.
    """
    physics, buffer = catalog.physics, model.buffer
    per_s = speed_gbps * 1e9 / 8
    metre = 2 * per_s / (physics.velocity_factor * physics.light_m_per_s)
    pipeline_ns = physics.pipeline_ns if buffer.pipeline_ns is None else buffer.pipeline_ns
    table = buffer.headroom.at(speed_gbps, length_m) if buffer.headroom else None
    return PortHeadroom(
        speed_gbps=speed_gbps,
        length_m=length_m,
        mtu_bytes=mtu_bytes,
        cell_bytes=buffer.cell_bytes,
        response_bytes=physics.response_bytes(speed_gbps),
        pipeline_bytes=pipeline_ns * per_s / 1e9,
        table_bytes=None if table is None else -(-table // buffer.cell_bytes) * buffer.cell_bytes,
        metre_bytes=metre,
    )
