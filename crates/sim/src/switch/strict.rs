//! A port that packets of several lanes pass in a window: all but one lane are strict.

use super::batch::{Batch, place};
use super::{Switch, SwitchContext};
use crate::config::LANES;
use crate::packet::{ECT, Ps};

impl Switch {
    /// Packets of several lanes pass a plain port. `keys` are theirs in order.
    #[inline(never)]
    pub(super) fn pass_lanes(
        &mut self,
        context: &mut SwitchContext<'_>,
        batch: &mut Batch,
        number: usize,
        keys: &[u64],
        end: Ps,
    ) {
        let port = &self.ports[number];
        let (mut free, mut ready, mut filled) = (port.free, port.ready, port.filled);
        for (line, lane) in batch.lines.iter_mut().zip(&port.lanes) {
            line.keys.clear();
            (line.left, line.waiting) = (0, lane.bytes);
        }
        let mut sent = 0;
        let mut feed = context.wires.feed(self.first + number);
        let mut arrivals = keys.iter();
        loop {
            let arrival = arrivals.next().map(|&key| (key, place(key)));
            let now = arrival.map_or(end - 1, |(_, place)| batch.packets[place].at);
            while filled != 0 {
                let start = free.max(ready);
                if start > now {
                    break;
                }
                let strict = filled & self.strict;
                let lane =
                    if strict != 0 { 7 - strict.leading_zeros() as usize } else { filled.trailing_zeros() as usize };
                let line = &mut batch.lines[lane % LANES];
                let stored = &mut self.ports[number].lanes[lane % LANES].packets;
                let bytes = if stored.is_empty() {
                    let packet = &batch.packets[place(line.keys[line.left])];
                    line.left += 1;
                    free = feed.put(packet, start);
                    packet.bytes
                } else {
                    let packet = stored.take();
                    free = feed.put(&packet, start);
                    let ingress = &mut self.ports[usize::from(packet.ingress)].lanes[lane % LANES];
                    self.buffer.release(context.config, &packet, ingress, start);
                    packet.bytes
                };
                sent += u64::from(bytes);
                line.waiting -= u32::from(bytes);
                if line.waiting == 0 {
                    filled &= !(1 << lane);
                }
            }
            let Some((key, place)) = arrival else { break };
            let packet = &mut batch.packets[place];
            let lane = usize::from(packet.class) % LANES;
            let line = &mut batch.lines[lane];
            if packet.flags & ECT != 0
                && line.waiting >= self.mark_from[lane]
                && self.marks_by_bytes(context.config, packet, line.waiting)
            {
                packet.flags |= self.mark_as(context.counters, packet, number);
            }
            if filled == 0 {
                if free <= now {
                    free = feed.put(packet, now);
                    sent += u64::from(packet.bytes);
                    continue;
                }
                ready = now;
            }
            line.waiting += u32::from(packet.bytes);
            line.keys.push(key);
            filled |= 1 << lane;
        }
        let begins = feed.begins;
        if begins < Ps::MAX {
            context.wires.expect(self.first + number, begins);
        }
        for (lane, line) in batch.lines.iter().enumerate() {
            for &key in &line.keys[line.left..] {
                let packet = &batch.packets[place(key)];
                let ingress = &mut self.ports[usize::from(packet.ingress)].lanes[lane];
                self.buffer.take_sure(context.config, packet, ingress);
                self.ports[number].lanes[lane].packets.push(packet);
            }
            self.ports[number].lanes[lane].bytes = line.waiting;
        }
        let port = &mut self.ports[number];
        (port.free, port.ready) = (free, ready);
        port.sent += sent;
        self.fill(number, filled);
    }
}
