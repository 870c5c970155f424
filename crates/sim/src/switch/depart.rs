//! Departures, worked out late: see the module above.

use super::{Switch, SwitchContext};
use crate::config::LANES;
use crate::packet::{ECT, Kind, Packet, Ps};

impl Switch {
    /// Start everything that can start by `until` at every port. Returns when the next could.
    pub(super) fn settle_all(&mut self, context: &mut SwitchContext<'_>, until: Ps) -> Ps {
        if self.buffer.pausing > 0 {
            self.replay(context, until);
        }
        let mut next = Ps::MAX;
        for word in 0..self.active.len() {
            let mut bits = self.active[word];
            while bits != 0 {
                let port = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mut start = self.ports[port].next_start();
                if start <= until {
                    self.settle(context, port, until);
                    start = self.ports[port].next_start();
                }
                next = next.min(start);
            }
        }
        next
    }

    /// Start everything that can start by `until`, of all ports in order of time.
    #[cold]
    pub(super) fn replay(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        loop {
            let mut first = (Ps::MAX, 0);
            for word in 0..self.active.len() {
                let mut bits = self.active[word];
                while bits != 0 {
                    let port = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    first = first.min((self.ports[port].next_start(), port));
                }
            }
            if first.0 > until {
                return;
            }
            self.depart(context, first.1, first.0);
        }
    }

    #[inline]
    pub(super) fn settle(&mut self, context: &mut SwitchContext<'_>, port: usize, until: Ps) {
        while self.ports[port].free <= until {
            let start = self.ports[port].next_start();
            if start > until {
                return;
            }
            self.depart(context, port, start);
        }
    }

    /// Start one transmission.
    pub(super) fn depart(&mut self, context: &mut SwitchContext<'_>, number: usize, start: Ps) {
        let port = &mut self.ports[number];
        let mut left = 0;
        let mut packet = if port.control > 0 {
            port.control -= 1;
            port.refresh();
            self.rest[number].control.pop_front().expect("it is counted")
        } else {
            let eligible = port.filled & !port.paused;
            let strict = eligible & self.strict;
            let lane = if strict != 0 {
                7 - strict.leading_zeros() as usize
            } else if eligible & (eligible - 1) == 0 {
                eligible.trailing_zeros() as usize // a lone class waits for nobody
            } else {
                self.rest[number].round_robin(context.config, eligible, &port.lanes)
            };
            let queue = &mut port.lanes[lane % LANES];
            let packet = queue.packets.take();
            queue.bytes -= u32::from(packet.bytes);
            left = queue.bytes;
            if left == 0 {
                port.filled &= !(1 << lane);
                port.refresh();
            }
            packet
        };
        if port.idle() {
            self.active[number / 64] &= !(1 << (number % 64));
        }
        let late = packet.flags & ECT != 0 && self.late >> packet.class & 1 == 1;
        if late && self.ecn[number] && self.marks(context, &packet, left) {
            packet.flags |= self.mark(context, &packet, number);
        }
        self.transmit(context, number, &packet, start);
        if packet.kind != Kind::Pfc {
            self.release(context, &packet, start);
        }
    }

    /// Give back what a packet held of the buffer; resume its sender where that is due.
    #[inline]
    pub(super) fn release(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, now: Ps) {
        let ingress = &mut self.ports[usize::from(packet.ingress)].lanes[usize::from(packet.class) % LANES];
        if let Some(paused) = self.buffer.release(context.config, packet, ingress, now) {
            context.counters.paused += paused;
            self.pause(usize::from(packet.ingress), packet.class, false, now);
        }
    }
}
