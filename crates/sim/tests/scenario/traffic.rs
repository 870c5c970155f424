//! Queue pairs, and messages that wait for one another.

use railweave_sim::traffic::{Message, QueuePair, Traffic, Verb, Wait};

use super::draw::Draw;

/// The latest start, as for the input: 1000 seconds.
const LATEST: u64 = 1_000_000_000_000_000;

/// Some messages between so many hosts.
pub fn traffic(draw: &mut Draw<'_>, hosts: u64, mtu: u32) -> Traffic {
    let mut traffic = Traffic::default();
    for _ in 0..draw.within(1, 8) {
        let src = draw.within(0, hosts - 1);
        let dst = (src + draw.within(1, hosts - 1)) % hosts;
        let (src, dst) = (src as u32, dst as u32);
        traffic.pairs.push(QueuePair { src, dst, to: dst, back: src });
    }
    for number in 0..draw.within(1, 16) as u32 {
        let qp = draw.within(0, traffic.pairs.len() as u64 - 1) as u32;
        let mut after = Vec::new();
        if number > 0 && draw.once_in(3) {
            // messages before it only, so that none waits for itself
            let arrives = |one: &u32| {
                traffic.pairs[traffic.messages[*one as usize].qp as usize].dst == traffic.pairs[qp as usize].src
            };
            let least = draw.within(0, u64::from(number) - 1) as u32;
            let delay = if draw.once_in(2) { draw.within(0, 1 << 24) } else { 0 };
            after.extend((least..number).filter(arrives).take(3).map(|message| Wait { message, delay }));
        }
        let bytes = draw.extreme(0, 48 * u64::from(mtu));
        let start = if draw.once_in(4) { draw.extreme(0, LATEST) } else { draw.within(0, 1 << 24) };
        let verb = draw.one_of(&[Verb::Write, Verb::Send, Verb::WriteWithImmediate]);
        traffic.messages.push(Message { verb, qp, bytes, start, after: after.into() });
    }
    traffic
}
