//! Departures, worked out ahead.
//!
//! Where packets are sure of their place in the buffer, a port sends what comes in order, and nothing but a packet of a
//! lane above changes that. So a packet is put on its wire when it comes, with the time at which it will have crossed it,
//! and what waits for its turn is at the end of the wire. It is taken back where anything needs to know what waits: when
//! the port is paused, when pools fill up, when the network changes, and at the end of a run.

use super::batch::{Batch, place};
use super::{Switch, SwitchContext};
use crate::config::LANES;
use crate::packet::{ECT, Packet, Ps};

/// For how long a packet may wait that is not marked, where marking begins at so many bytes.
pub(super) fn unmarked(mark_from: u32, ps_per_byte: u64) -> Ps {
    match mark_from {
        u32::MAX => Ps::MAX,
        // a frame takes longer than its bytes, for there is a gap; where that is less than a picosecond, they may not
        _ if ps_per_byte < 1 << 12 => 0,
        _ => u64::from(mark_from).saturating_mul(ps_per_byte) >> 16,
    }
}

impl Switch {
    /// Have a packet that came in by `from` leave by `to`, in its turn.
    #[inline(always)]
    pub(super) fn forward(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, from: usize, to: usize) {
        let port = &mut self.ports[to];
        let start = port.free.max(packet.at);
        let wait = start - packet.at;
        let last = packet.class == self.line || wait == 0;
        if wait >= port.plain || !last || !self.buffer.admit(packet) {
            self.forward_slowly(context, packet, from, to);
            return;
        }
        port.sent += u64::from(packet.bytes);
        port.free = context.wires.put(self.first + to, packet, from as u16, start);
    }

    /// The same where anything else is to be done.
    #[inline(never)]
    fn forward_slowly(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, from: usize, to: usize) {
        let (now, lane) = (packet.at, packet.class % LANES as u8);
        let calm = self.buffer.is_calm();
        if self.ports[to].is_busy() && calm && self.is_plain(to) {
            self.settle(context, to, Ps::MAX - 1);
        }
        let port = &self.ports[to];
        let wait = port.free.saturating_sub(now);
        let other = lane != self.line;
        let waits = port.is_busy() || port.stays || other && wait > 0 && self.above >> lane & 1 == 0;
        if waits || !calm || self.late >> lane & 1 == 1 {
            self.recall(context, to, now);
            self.queue(context, packet, from, to);
            return;
        }
        if !self.buffer.admit(packet) && !self.makes_room(context, packet) {
            self.queue(context, packet, from, to);
            return;
        }
        let port = &mut self.ports[to];
        if wait >= port.plain && !other {
            return self.forward_in_line(context, &Packet { ingress: from as u16, ..*packet }, to);
        }
        port.sent += u64::from(packet.bytes);
        let wire = self.first + to;
        port.free = if other && wait > 0 {
            port.line.0 += u32::from(port.deep);
            let above = self.above & !((1 << lane) - 1);
            context.wires.put_before(wire, packet, from as u16, port.free, above)
        } else {
            context.wires.put(wire, packet, from as u16, now + wait)
        };
    }

    /// Have a packet of the data's lane leave by a port in its turn, marked by what waits before it.
    #[inline]
    fn forward_in_line(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, to: usize) {
        let waiting = self.line(context, to, packet.at);
        let marked = packet.flags & ECT != 0
            && waiting >= self.mark_from[usize::from(self.line) % LANES]
            && self.marks_by_bytes(context.config, packet, waiting);
        let mark = if marked { self.mark_as(context.counters, packet, to) } else { 0 };
        let port = &mut self.ports[to];
        port.line = (port.line.0 + 1, port.line.1 + u32::from(packet.bytes));
        port.sent += u64::from(packet.bytes);
        let mut feed = context.wires.feed(self.first + to);
        port.free = feed.put_marked(packet, mark, port.free.max(packet.at));
        let begins = feed.begins;
        context.wires.expect(self.first + to, begins);
    }

    /// Packets of the data's lane, which all have room, leave by a port in their turn; `keys` are theirs in order.
    #[inline]
    pub(super) fn forward_all(
        &mut self,
        context: &mut SwitchContext<'_>,
        batch: &Batch,
        number: usize,
        mut keys: &[u64],
    ) {
        let port = &mut self.ports[number];
        let (mut free, mut sent) = (port.free, 0);
        let mut feed = context.wires.feed(self.first + number);
        while let [key, others @ ..] = keys {
            let packet = &batch.packets[place(*key)];
            let start = free.max(packet.at);
            if start - packet.at >= port.plain {
                break;
            }
            free = feed.put(packet, start);
            sent += u64::from(packet.bytes);
            keys = others;
        }
        let begins = feed.begins;
        if begins < Ps::MAX {
            context.wires.expect(self.first + number, begins);
        }
        port.free = free;
        port.sent += sent;
        self.buffer.admit_all(self.buffer.pool(self.line), sent);
        for &key in keys {
            let packet = &batch.packets[place(key)];
            if self.ports[number].deep {
                self.buffer.admit_all(self.buffer.pool(self.line), u64::from(packet.bytes));
                self.forward_in_line(context, packet, number);
            } else {
                self.forward(context, packet, usize::from(packet.ingress), number);
            }
        }
    }

    /// Whether what waits in a port's queues leaves in an order that later packets of the data's lane do not change.
    fn is_plain(&self, number: usize) -> bool {
        let port = &self.ports[number];
        let shared = port.filled & !(self.above | 1 << self.line);
        shared | port.filled & self.late | port.paused | port.acting == 0
            && port.control == 0
            && !port.down
            && !port.stays
    }

    /// The data bytes that wait for a port at `now`.
    #[inline]
    fn line(&mut self, context: &SwitchContext<'_>, number: usize, now: Ps) -> u32 {
        let (wire, line, port) = (self.first + number, self.line, &mut self.ports[number]);
        let data = |packet: &Packet| if packet.class == line { u32::from(packet.bytes) } else { 0 };
        if !port.deep || context.wires.leaves(wire, port.line.0 as usize).is_none() {
            let count = context.wires.ahead(wire, now);
            port.line = (count as u32, context.wires.last(wire, count).map(data).sum());
            port.deep = true;
            port.refresh();
            self.active[number / 64] |= 1 << (number % 64);
        }
        let (mut count, mut bytes) = port.line;
        while count > 0
            && let Some((packet, left)) = context.wires.leaves(wire, count as usize)
            && left <= now
        {
            count -= 1;
            bytes -= data(packet);
        }
        port.line = (count, bytes);
        bytes
    }

    /// Put on the wire what waits in queues and leaves in a known order.
    #[inline]
    pub(super) fn send_ahead(&mut self, context: &mut SwitchContext<'_>, now: Ps) {
        if !self.buffer.is_calm() {
            return;
        }
        for word in 0..self.active.len() {
            let mut bits = self.active[word];
            while bits != 0 {
                let number = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.ports[number].deep {
                    if self.line(context, number, now) < self.mark_from[usize::from(self.line)] / 2 {
                        self.be_shallow(number);
                    }
                } else if self.is_plain(number) {
                    self.settle(context, number, Ps::MAX - 1);
                }
            }
        }
    }

    fn be_shallow(&mut self, number: usize) {
        let port = &mut self.ports[number];
        port.deep = false;
        port.refresh();
        if port.idle() {
            self.active[number / 64] &= !(1 << (number % 64));
        }
    }

    /// Whether any port may send something after `now`.
    #[inline]
    pub(super) fn ports_send_after(&self, now: Ps) -> bool {
        now < Ps::MAX && self.ports.iter().any(|port| port.free > now)
    }

    /// Find room for a packet that does not fit where ports send ahead; where there is little, they stop.
    #[cold]
    pub(super) fn makes_room(&mut self, context: &mut SwitchContext<'_>, packet: &Packet) -> bool {
        let mut waiting = [0; 2];
        for number in (0..self.ports.len()).filter(|&number| !self.ports[number].stays) {
            let count = context.wires.ahead(self.first + number, packet.at);
            for packet in context.wires.last(self.first + number, count) {
                waiting[self.buffer.pool(packet.class)] += u64::from(packet.bytes);
            }
        }
        if !self.buffer.find_room(waiting) {
            self.recall_all(context, packet.at);
        }
        self.buffer.admit(packet)
    }

    /// Take back what would leave after `now`. Returns when the next departure is due.
    pub fn recall_all(&mut self, context: &mut SwitchContext<'_>, now: Ps) -> Ps {
        let mut next = Ps::MAX;
        for number in 0..self.ports.len() {
            self.recall(context, number, now);
            next = next.min(self.ports[number].next_start());
        }
        next
    }

    /// The same for one port.
    pub(super) fn recall(&mut self, context: &mut SwitchContext<'_>, number: usize, now: Ps) {
        if self.ports[number].deep {
            self.be_shallow(number);
        }
        if self.ports[number].free <= now || self.ports[number].stays {
            return;
        }
        let wire = self.first + number;
        let count = context.wires.ahead(wire, now);
        if count == 0 {
            return;
        }
        let config = context.config;
        context.wires.take_back(wire, count, |packet, start| {
            let lane = usize::from(packet.class) % LANES;
            self.buffer.take_sure(config, packet, &mut self.ports[usize::from(packet.ingress)].lanes[lane]);
            let port = &mut self.ports[number];
            port.free = if port.filled == 0 { start } else { port.free };
            port.filled |= 1 << lane;
            port.sent -= u64::from(packet.bytes);
            port.lanes[lane].bytes += u32::from(packet.bytes);
            port.lanes[lane].packets.push(packet);
        });
        self.ports[number].refresh();
        self.active[number / 64] |= 1 << (number % 64);
    }

    /// Packets leave a port one by one from now on. Nothing is sent ahead by it.
    pub fn stay(&mut self, number: usize) {
        self.ports[number].stays = true;
        self.ports[number].refresh();
    }
}
