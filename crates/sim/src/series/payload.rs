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
        let payload = |qp| Payload { mtu: traffic.mtu(qp, mtu).into(), ends: Vec::new() };
        let mut all: Vec<Self> = (0..traffic.pairs.len() as u32).map(payload).collect();
        for message in &traffic.messages {
            let Payload { mtu, ends } = &mut all[message.qp as usize];
            let (packets, bytes) = ends.last().copied().unwrap_or((0, 0));
            ends.push((packets + message.bytes.div_ceil(*mtu).max(1), bytes + message.bytes));
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
