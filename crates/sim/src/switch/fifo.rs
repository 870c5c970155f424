//! A port that packets of one lane pass in a window, first in, first out.

use super::batch::{Batch, place};
use super::{Switch, SwitchContext};
use crate::config::LANES;
use crate::packet::{ECT, Ps};

impl Switch {
    /// Packets of one lane pass a plain port. `keys` are theirs in order, `bytes` their frame bytes.
    #[inline(never)]
    pub(super) fn pass_lone(
        &mut self,
        context: &mut SwitchContext<'_>,
        batch: &mut Batch,
        number: usize,
        keys: &[u64],
        bytes: u32,
        end: Ps,
    ) {
        let Some(&key) = keys.first() else { return };
        let lane = usize::from(batch.packets[place(key)].class) % LANES;
        let port = &mut self.ports[number];
        let queue = &mut port.lanes[lane];
        let (mut free, before) = (port.free, port.sent);
        let mut waiting = queue.bytes;
        let may_mark = waiting + bytes > self.mark_from[lane];
        batch.leaving.clear();
        // what waits already
        let mut feed = context.wires.feed(self.first + number);
        if waiting > 0 {
            free = free.max(port.ready);
        }
        let mut stored = waiting;
        while stored > 0 && free < end {
            let packet = self.ports[number].lanes[lane].packets.take();
            if may_mark {
                batch.leaving.push((free, packet.bytes.into()));
            }
            let ingress = &mut self.ports[usize::from(packet.ingress)].lanes[lane];
            self.buffer.release(context.config, &packet, ingress, free);
            stored -= u32::from(packet.bytes);
            free = feed.put(&packet, free);
        }
        let mut ready = self.ports[number].ready;
        let mut left = 0;
        let mut keys = keys;
        if stored == 0 && !may_mark {
            while let [key, others @ ..] = keys {
                let packet = &batch.packets[place(*key)];
                let start = free.max(packet.at);
                if start >= end {
                    break;
                }
                free = feed.put(packet, start);
                keys = others;
            }
        }
        for &key in keys {
            let packet = &mut batch.packets[place(key)];
            let now = packet.at;
            if may_mark {
                while let Some(&(start, bytes)) = batch.leaving.get(left)
                    && start <= now
                {
                    waiting -= bytes;
                    left += 1;
                }
                if packet.flags & ECT != 0
                    && waiting >= self.mark_from[lane]
                    && self.marks_by_bytes(context.config, packet, waiting)
                {
                    packet.flags |= self.mark_as(context.counters, packet, number);
                }
                waiting += u32::from(packet.bytes);
            }
            let start = free.max(now);
            if stored == 0 && start < end {
                if may_mark {
                    batch.leaving.push((start, packet.bytes.into()));
                }
                free = feed.put(packet, start);
            } else {
                let ingress = &mut self.ports[usize::from(packet.ingress)].lanes[lane];
                self.buffer.take_sure(context.config, packet, ingress);
                if stored == 0 {
                    ready = now;
                }
                stored += u32::from(packet.bytes);
                self.ports[number].lanes[lane].packets.push(packet);
            }
        }
        let begins = feed.begins;
        if begins < Ps::MAX {
            context.wires.expect(self.first + number, begins);
        }
        let port = &mut self.ports[number];
        let queue = &mut port.lanes[lane];
        port.sent = before + u64::from(queue.bytes + bytes - stored);
        queue.bytes = stored;
        (port.free, port.ready) = (free, ready);
        self.fill(number, if stored > 0 { 1 << lane } else { 0 });
    }
}
