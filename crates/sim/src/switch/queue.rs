//! Packets that come one by one: into a queue, or on at once.

use super::{Switch, SwitchContext};
use crate::buffer::Admission;
use crate::config::LANES;
use crate::packet::{ECT, Kind, Packet};

impl Switch {
    /// Receive a packet that came in by `from`.
    #[inline(always)]
    pub(super) fn receive(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, from: usize) {
        let now = packet.at;
        context.counters.arrived(packet, self.first + from);
        if self.next_sample.min(self.next_look) <= now {
            self.look_until(context, now);
        }
        if self.buffer.pausing > 0 {
            self.replay(context, now);
        }
        if packet.kind == Kind::Pfc {
            self.paused_by_neighbor(context, from, packet.class, packet.psn == 1, now);
            return;
        }
        context.counters.hops += 1;
        context.counters.data_hops += u64::from(packet.kind == Kind::Data);
        let Some(to) = self.port_of(context.fib, context.known, context.dlb, packet) else {
            context.counters.unroutable += 1;
            return;
        };
        if let Some(vxlan) = &context.config.vxlan {
            let packet = self.tunnel(vxlan, packet, from, to);
            self.forward(context, &packet, from, to);
            return;
        }
        if self.buffer.is_calm() {
            self.forward(context, packet, from, to);
            return;
        }
        let lane = usize::from(packet.class) % LANES;
        let goes = self.buffer.lets_pass(packet, &self.ports[from].lanes[lane]);
        if self.ports[to].next_start() <= now {
            self.settle(context, to, now);
        }
        let port = &mut self.ports[to];
        if goes && port.free <= now && !port.is_busy() && port.lanes[lane].bytes == 0 {
            // Nothing is before it and nobody is paused: it goes on at once, and holds nothing of the buffer.
            port.sent += u64::from(packet.bytes);
            port.free = context.wires.put(self.first + to, packet, from as u16, now);
            return;
        }
        self.queue(context, packet, from, to);
    }

    /// Put a packet that arrived into the queue it waits in, if it gets in.
    #[inline(never)]
    pub(super) fn queue(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, from: usize, to: usize) {
        let (now, lane) = (packet.at, usize::from(packet.class) % LANES);
        let port = &self.ports[to];
        if port.down {
            context.counters.dropped_down += 1;
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        if port.acting >> lane & 1 == 1 && context.config.watchdog.is_some_and(|watchdog| watchdog.drop) {
            context.counters.dropped_watchdog += 1;
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        self.settle(context, to, now);
        let sure = self.buffer.admit(packet) || self.buffer.is_calm() && self.makes_room(context, packet);
        let waiting = self.ports[to].lanes[lane].bytes;
        let ingress = &mut self.ports[from].lanes[lane];
        if sure || self.buffer.is_sure(context.config, packet, waiting, ingress) {
            self.buffer.take_sure(context.config, packet, ingress);
        } else if !self.take(context, packet, from, waiting) {
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        let marked = packet.flags & ECT != 0
            && waiting >= self.mark_from[lane]
            && self.late >> lane & 1 == 0
            && self.ecn[to]
            && self.marks(context, packet, waiting);
        let flags = packet.flags | if marked { self.mark(context, packet, to) } else { 0 };
        let port = &mut self.ports[to];
        if port.idle() {
            port.ready = now;
        }
        let queue = &mut port.lanes[lane];
        queue.bytes += u32::from(packet.bytes);
        let copy = queue.packets.push(packet);
        (copy.ingress, copy.flags) = (from as u16, flags);
        port.filled |= 1 << lane;
        port.refresh();
        if port.paused >> lane & 1 == 0 {
            self.active[to / 64] |= 1 << (to % 64);
        }
    }

    /// Decide on exact counts whether a packet gets in.
    #[cold]
    fn take(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, from: usize, waiting: u32) -> bool {
        let now = packet.at;
        self.settle_all(context, now);
        let ingress = &mut self.ports[from].lanes[usize::from(packet.class)];
        match self.buffer.take(context.config, packet, waiting, ingress, now) {
            Admission::Taken => return true,
            Admission::Pause => {
                context.counters.pauses += 1;
                self.pause(from, packet.class, true, now);
                return true;
            }
            Admission::IngressFull => context.counters.dropped_ingress += 1,
            Admission::EgressFull => context.counters.dropped_egress += 1,
        }
        false
    }
}
