//! From packets of a queue pair to its payload.

use crate::traffic::Traffic;

/// The messages of a queue pair, in the order in which they are sent.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    mtu: u64,
    /// By message: packets and payload before its end.
    ends: Vec<(u64, u64)>,
}

impl Payload {
    /// The queue pairs of some traffic, whose full packets have a payload of `mtu` bytes.
    pub fn of(traffic: &Traffic, mtu: u32) -> Vec<Self> {
        let mtu = u64::from(mtu);
        let mut all = vec![Payload { mtu, ends: Vec::new() }; traffic.pairs.len()];
        for message in &traffic.messages {
            let ends = &mut all[message.qp as usize].ends;
            let (packets, bytes) = ends.last().copied().unwrap_or((0, 0));
            ends.push((packets + message.bytes.div_ceil(mtu).max(1), bytes + message.bytes));
        }
        all
    }

    /// The payload of its first so many packets.
    pub fn bytes(&self, packets: u32) -> u64 {
        let whole = self.ends.partition_point(|end| end.0 <= u64::from(packets));
        let (before, bytes) = if whole == 0 { (0, 0) } else { self.ends[whole - 1] };
        bytes + (u64::from(packets) - before) * self.mtu
    }
}
