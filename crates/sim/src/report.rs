//! What a run counts.

use crate::packet::{Packet, Ps};

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Links crossed by data packets.
    pub data_hops: u64,
    /// Links crossed by any packet but PFC's.
    pub hops: u64,
    /// Packets that hosts made, PFC frames not counted: data, acknowledgements, notifications.
    pub sent: u64,
    /// Packets of these that reached a host.
    pub received: u64,
    /// Data packets that reached their host in order.
    pub delivered: u64,
    /// Data packets that reached their host out of order or twice, and were of no use.
    pub useless: u64,
    /// Packets dropped: their ingress port and class had its share of the buffer.
    pub dropped_ingress: u64,
    /// Packets dropped: their queue had its share of the buffer.
    pub dropped_egress: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Packets marked by switches.
    pub marked: u64,
    /// Congestion notification packets sent.
    pub cnps: u64,
    /// Pauses sent.
    pub pauses: u64,
    /// Sum of pause durations over all ports and classes.
    pub paused: Ps,
    /// Timeouts.
    pub timeouts: u64,
    /// Queue pairs that gave up after their retries.
    pub failed_queue_pairs: u64,
    /// Packets dropped because the cable they were to take is broken.
    pub dropped_down: u64,
    /// Packets lost on a wire: by chance, or because it broke under them.
    pub lost_on_wire: u64,
    /// Data packets dropped because the receive buffer of a slow host was full.
    pub dropped_receiver: u64,
    /// Packets dropped by the PFC watchdog.
    pub dropped_watchdog: u64,
    /// Times the PFC watchdog acted.
    pub watchdog_acts: u64,
    /// Packets without a route.
    pub unroutable: u64,
    /// The trace: a sum over all arrivals, whatever order nodes are looked at in.
    pub trace: u64,
}

/// Counters of one port, as a switch's own command shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Bytes sent, frames without the gap.
    pub tx_bytes: u64,
    /// Packets marked with congestion experienced.
    pub ecn_ce_packets: u64,
    /// Packets dropped that wanted to leave by this port.
    pub dropped_packets: u64,
    /// PFC pauses sent to the neighbor.
    pub pfc_tx: u64,
    /// PFC pauses received from the neighbor.
    pub pfc_rx: u64,
    /// For how long the neighbor paused at least one class.
    pub paused: Ps,
    /// Bytes that wait in its queues.
    pub queued_bytes: u64,
}

/// How far a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairState {
    /// Packets that arrived in order.
    pub delivered: u32,
    /// Whether something was sent that is not acknowledged.
    pub waits: bool,
}

impl Counters {
    /// A packet arrived at a port (counted over all nodes).
    #[inline]
    pub fn arrived(&mut self, packet: &Packet, port: usize) {
        self.trace = self.trace.wrapping_add(trace(packet, port));
    }
}

/// What the arrival of a packet at a port (counted over all nodes) adds to the trace.
#[inline]
pub fn trace(packet: &Packet, port: usize) -> u64 {
    let what = u64::from(packet.kind as u8) | u64::from(packet.flags) << 8;
    let x = (packet.at ^ (port as u64) << 44 ^ what << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ (u64::from(packet.qp) | u64::from(packet.psn) << 32);
    (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}
