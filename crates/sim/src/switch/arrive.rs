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
            let least = heads.iter().fold(Ps::MAX, |least, &head| least.min(head));
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
        batch.clear(self.ports.len());
        let calm = self.may_be_calm(context, end);
        // which port a packet concerns depends on what came before only where loads count
        let at_once = calm && self.capacity.is_empty() && context.config.vxlan.is_none();
        let SwitchContext { fib, known, dlb, wires, .. } = context;
        let (next, ports) = wires.take_before(self.node, self.first, self.ports.len(), end, |packet, port| {
            if at_once && let Some(to) = self.find_port(fib, known, dlb, &mut batch.seen, packet, port) {
                batch.assign(packet, batch.packets.len(), to, begin);
            }
            batch.push(packet, port);
        });
        let bytes = if at_once { batch.bytes_at_most() } else { batch.bytes() };
        if calm && batch.packets.len() >= MANY * ports && self.is_calm(context, batch, &bytes) {
            if !at_once {
                self.assign_all(context, batch, begin);
            }
            self.pass_all(context, batch, end);
        } else {
            if at_once {
                batch.forget();
            }
            batch.sort(begin);
            for &key in &batch.order {
                let packet = &batch.packets[place(key)];
                self.receive(context, packet, usize::from(packet.ingress));
            }
        }
        next
    }
}
