//! What arrives at a switch in a window, in order of time and port.

use super::batch::{Batch, place};
use super::{Switch, SwitchContext};
use crate::packet::Ps;

/// Up to how many ports with something under way are merged by looking for the first each time: three bits.
const FEW: usize = 8;

/// From how many packets under way to a port on it pays to look at a window port by port.
const MANY: usize = 4;

impl Switch {
    /// Receive what arrives before `end` at any port, in order of time and port. Returns when the next arrives.
    #[inline]
    pub(super) fn receive_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) -> Ps {
        // time and place of each port's first packet: the places are in the order of the ports
        let (mut next, mut count, mut heads, mut ports) = (Ps::MAX, 0, [Ps::MAX; FEW], [(0, 0); FEW]);
        let mut under_way = 0;
        for word in 0..self.active.len() {
            let mut bits = *context.wires.filled(self.node, word);
            while bits != 0 {
                let port = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let link = context.wires.other(self.first + port);
                let inbox = context.wires.under_way(link);
                let at = inbox.next();
                if at >= end {
                    next = next.min(at);
                    continue;
                }
                under_way += inbox.len();
                if count == FEW {
                    return self.receive_many(context, batch, begin, end);
                }
                heads[count] = (at - begin) << 3 | count as u64;
                ports[count] = (port as u32, link as u32);
                count += 1;
            }
        }
        if under_way >= MANY * count.max(1) {
            return self.receive_many(context, batch, begin, end);
        }
        loop {
            let least = heads.iter().take(count).fold(Ps::MAX, |least, &head| least.min(head));
            if least == Ps::MAX {
                break;
            }
            let place = least as usize % FEW;
            let (port, link) = (ports[place].0 as usize, ports[place].1 as usize);
            let inbox = context.wires.under_way(link);
            let packet = inbox.take();
            let at = inbox.next();
            if at < end {
                heads[place] = (at - begin) << 3 | place as u64;
            } else {
                next = next.min(at);
                heads[place] = Ps::MAX;
                if at == Ps::MAX {
                    *context.wires.filled(self.node, port / 64) &= !(1 << (port % 64));
                }
            }
            self.receive(context, &packet, port);
        }
        next
    }

    /// The same where many packets are under way.
    #[inline(never)]
    fn receive_many(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) -> Ps {
        let (next, ports) = self.gather(context, batch, end);
        if batch.packets.len() >= MANY * ports && self.is_calm(context, batch, end) {
            self.pass_all(context, batch, begin, end);
        } else {
            batch.sort(begin);
            for &key in &batch.order {
                let packet = &batch.packets[place(key)];
                self.receive(context, packet, usize::from(packet.ingress));
            }
        }
        next
    }

    /// Take what arrives before `end` off the wires. Returns when the next one after that does, and of how many ports
    /// something was taken.
    #[inline]
    fn gather(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, end: Ps) -> (Ps, usize) {
        batch.clear();
        let (mut next, mut ports) = (Ps::MAX, 0);
        for word in 0..self.active.len() {
            let mut bits = *context.wires.filled(self.node, word);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                let port = word * 64 + bit as usize;
                bits &= bits - 1;
                let inbox = context.wires.inbox(self.first + port);
                let mut at = inbox.next();
                if at < end {
                    at = inbox.take_before(end, |packet| batch.push(packet, port));
                    ports += 1;
                }
                next = next.min(at);
                if at == Ps::MAX {
                    *context.wires.filled(self.node, word) &= !(1 << bit);
                }
            }
        }
        (next, ports)
    }
}
