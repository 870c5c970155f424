//! What arrives at a switch in a window.

use crate::config::LANES;
use crate::packet::{Kind, Packet, Ps};

/// The lower bits of a key: a packet's place.
const PLACE_BITS: u32 = 28;
const PLACES: u64 = (1 << PLACE_BITS) - 1;

/// The longest window whose times fit above.
pub const LONGEST: Ps = 1 << (64 - PLACE_BITS);

/// The packets that arrive at a switch in a window. All switches use one after another, so that it stays in the cache.
#[derive(Debug, Default)]
pub struct Batch {
    /// Packets by port, those of a port in order of time.
    pub packets: Vec<Packet>,
    /// Their keys (time since the window's begin, and place) in order of time and port.
    pub order: Vec<u64>,
    /// What was counted on the way to the buckets.
    pub seen: Seen,
    /// What concerns each port of the switch; empty between windows.
    pub buckets: Vec<Bucket>,
}

/// What is counted of packets that are put into buckets.
#[derive(Debug, Default)]
pub struct Seen {
    /// Data packets.
    pub data: u64,
    /// PFC frames.
    pub pfc: u64,
    /// Packets without a route.
    pub unroutable: u64,
    /// Their part of the trace.
    pub trace: u64,
}

/// What concerns one port in a window: packets that leave by it, PFC frames that came in by it.
#[derive(Debug, Default)]
pub struct Bucket {
    /// Keys of packets.
    pub keys: Vec<u64>,
    /// Lanes of the packets, a bit each; bit 7 for PFC frames.
    pub kinds: u8,
    /// Frame bytes.
    pub bytes: u32,
}

impl Batch {
    /// Begin a window of a switch with so many ports.
    #[inline]
    pub fn clear(&mut self, ports: usize) {
        if self.buckets.len() < ports {
            self.buckets.resize_with(ports, Default::default);
        }
        self.packets.clear();
        self.seen = Seen::default();
    }

    /// Add a packet that came in by `port`.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, port: usize) {
        self.packets.push(*packet);
        if let Some(copy) = self.packets.last_mut() {
            copy.ingress = port as u16;
        }
    }

    /// Put a packet at a place into the bucket of the port that it concerns.
    #[inline(always)]
    pub fn assign(&mut self, packet: &Packet, place: usize, port: usize, begin: Ps) {
        let bucket = &mut self.buckets[port];
        bucket.keys.push(key(packet, place, begin));
        bucket.kinds |= 1 << packet.class | u8::from(packet.kind == Kind::Pfc) << 7;
        bucket.bytes += u32::from(packet.bytes);
    }

    /// Frame bytes by lane.
    pub fn bytes(&self) -> [u64; LANES] {
        let mut bytes = [0; LANES];
        for packet in &self.packets {
            bytes[usize::from(packet.class) % LANES] += u64::from(packet.bytes);
        }
        bytes
    }

    /// The same of what is in buckets, or more.
    #[inline]
    pub fn bytes_at_most(&self) -> [u64; LANES] {
        let mut bytes = [0; LANES];
        for bucket in &self.buckets {
            for (lane, bytes) in bytes.iter_mut().enumerate() {
                *bytes += u64::from(bucket.bytes) * u64::from(bucket.kinds >> lane & 1);
            }
        }
        bytes
    }

    /// Empty the buckets again.
    pub fn forget(&mut self) {
        for bucket in &mut self.buckets {
            bucket.keys.clear();
            (bucket.kinds, bucket.bytes) = (0, 0);
        }
    }

    /// Put keys in order of time and port into `order`.
    pub fn sort(&mut self, begin: Ps) {
        self.order.clear();
        self.order.extend(self.packets.iter().enumerate().map(|(place, packet)| key(packet, place, begin)));
        self.order.sort_unstable();
    }
}

/// The key of a packet at a place.
#[inline(always)]
pub fn key(packet: &Packet, place: usize, begin: Ps) -> u64 {
    (packet.at - begin) << PLACE_BITS | place as u64
}

/// The place in a key.
#[inline(always)]
pub fn place(key: u64) -> usize {
    (key & PLACES) as usize
}
