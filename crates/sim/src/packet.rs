//! What travels on a link.

/// Time in picoseconds since the start.
pub type Ps = u64;

/// Preamble, start delimiter and inter-packet gap: what a frame takes on the wire beyond its own bytes (IEEE 802.3).
pub const GAP_BYTES: u64 = 20;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a queue pair.
    Data,
    /// Acknowledgement: `psn` is the first packet not received yet.
    Ack,
    /// Negative acknowledgement: `psn` is the packet that is missing.
    Nak,
    /// Congestion notification packet (RoCEv2 annex A17.9).
    Cnp,
    /// Priority flow control: `psn` 1 pauses class `class`, 0 resumes it (IEEE 802.1Qbb).
    Pfc,
}

/// The packet's transport can mark congestion (ECN-capable).
pub const ECT: u8 = 1;
/// Congestion experienced.
pub const CE: u8 = 2;
/// Last packet of its message.
pub const LAST: u8 = 4;
/// Sent before already.
pub const AGAIN: u8 = 8;
/// Inside a VXLAN tunnel.
pub const TUNNEL: u8 = 16;
/// Congestion experienced, in the tunnel's own header.
pub const OUTER_CE: u8 = 32;

/// A packet, 32 bytes: at 1024 hosts the bytes that a queued packet takes decide the speed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// When its last bit arrives at the node that has it.
    pub at: Ps,
    /// The queue pair it belongs to.
    pub qp: u32,
    /// Packet sequence number.
    pub psn: u32,
    /// The address it goes to.
    pub dst: u32,
    /// Frame length without the gap.
    pub bytes: u16,
    /// UDP source port, which hashes spread flows by.
    pub entropy: u16,
    /// The port of this node it came in by.
    pub ingress: u16,
    /// What it is.
    pub kind: Kind,
    /// `ECT`, `CE`, `LAST`, `AGAIN`.
    pub flags: u8,
    /// Traffic class: queue and PFC priority.
    pub class: u8,
}

const _: () = assert!(size_of::<Packet>() == 32);
