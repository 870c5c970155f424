//! What arrives at a switch in a window, in order of time and port.

use super::batch::{Batch, place};
use super::{Switch, SwitchContext};
use crate::packet::Ps;

/// Up to how many ports with something under way are merged by looking for the first each time: three bits.
const FEW: usize = 8;

/// From how many packets a port in the window before on it pays to look at one port by port.
const MANY: usize = 4;

impl Switch {
    /// Receive what arrives before `end` at any port, in order of time and port. Returns when the next arrives.
    #[inline]
    pub(super) fn receive_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) -> Ps {
        if self.crowded {
            return self.receive_many(context, batch, begin, end);
        }
        // time and place of each port's first packet: the places are in the order of the ports
        let (mut next, mut count, mut heads, mut ports) = (Ps::MAX, 0, [Ps::MAX; FEW + 1], [(0, 0); FEW + 1]);
        for word in 0..self.active.len() {
            let mut bits = *context.wires.filled(self.node, word);
            while bits != 0 {
                if count == FEW {
                    return self.receive_many(context, batch, begin, end);
                }
                let port = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let link = context.wires.other(self.first + port);
                let at = context.wires.under_way(link).next();
                let late = u64::from(at < end).wrapping_sub(1);
                heads[count] = (at.wrapping_sub(begin)) << 3 | count as u64 | late;
                ports[count] = (port as u32, link as u32);
                next = next.min(at | !late);
                count += usize::from(at < end);
            }
        }
        heads[count] = Ps::MAX;
        let (mut left, mut packets) = (count, 0);
        while left > 0 {
            let mut least = heads[0].min(heads[1]).min(heads[2].min(heads[3]));
            if count > 4 {
                least = least.min(heads[4].min(heads[5]).min(heads[6].min(heads[7])));
            }
            let place = least as usize % FEW;
            let (port, link) = (ports[place].0 as usize, ports[place].1 as usize);
            let inbox = context.wires.under_way(link);
            let packet = inbox.take();
            let at = inbox.next();
            let late = u64::from(at < end).wrapping_sub(1);
            heads[place] = (at.wrapping_sub(begin)) << 3 | place as u64 | late;
            next = next.min(at | !late);
            left -= usize::from(at >= end);
            packets += 1;
            *context.wires.filled(self.node, port / 64) &= !(u64::from(at == Ps::MAX) << (port % 64));
            self.receive(context, &packet, port);
        }
        self.crowded = packets >= MANY * count.max(1);
        next
    }

    /// The same where many packets are under way.
    #[inline(never)]
    fn receive_many(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) -> Ps {
        batch.clear(self.ports.len());
        let calm = self.may_be_calm(end);
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
        self.crowded = batch.packets.len() >= MANY * ports.max(1);
        if calm && self.is_calm(context, batch, &bytes) {
            if !at_once {
                self.assign_all(context, batch, begin);
            }
            self.pass_all(context, batch);
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
