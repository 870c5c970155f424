//! What arrives at a switch in a window, in order of time and port.

use super::{Switch, SwitchContext};
use crate::packet::Ps;

/// Up to how many ports with something under way are merged by looking for the first each time: three bits.
const FEW: usize = 8;

impl Switch {
    /// Receive what arrives before `end` at any port, in order of time and port. Returns when the next arrives.
    #[inline]
    pub(super) fn receive_all(&mut self, context: &mut SwitchContext<'_>, begin: Ps, end: Ps) -> Ps {
        // time and place of each port's first packet: the places are in the order of the ports
        let (mut next, mut count, mut heads, mut ports) = (Ps::MAX, 0, [Ps::MAX; FEW], [(0, 0); FEW]);
        for word in 0..self.active.len() {
            let mut bits = *context.wires.filled(self.node, word);
            while bits != 0 {
                let port = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let link = context.wires.other(self.first + port);
                let at = context.wires.under_way(link).next();
                if at >= end {
                    next = next.min(at);
                } else if count == FEW {
                    return self.receive_sorted(context, begin, end);
                } else {
                    heads[count] = (at - begin) << 3 | count as u64;
                    ports[count] = (port as u32, link as u32);
                    count += 1;
                }
            }
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

    /// The same where many ports have something: sorting costs less than looking for the first again and again.
    #[cold]
    fn receive_sorted(&mut self, context: &mut SwitchContext<'_>, begin: Ps, end: Ps) -> Ps {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let next = self.gather(context, &mut order, begin, end);
        order.sort_unstable();
        for key in &order {
            let port = (key & 0xFFFF) as usize;
            let packet = context.wires.inbox(self.first + port).take();
            self.receive(context, &packet, port);
        }
        self.order = order;
        next
    }

    /// The arrivals before `end`, as time since `begin` and port. Returns when the next one after that is.
    #[inline]
    fn gather(&mut self, context: &mut SwitchContext<'_>, order: &mut Vec<u64>, begin: Ps, end: Ps) -> Ps {
        let mut next = Ps::MAX;
        for word in 0..self.active.len() {
            let mut bits = *context.wires.filled(self.node, word);
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                let port = word * 64 + bit;
                bits &= bits - 1;
                let inbox = context.wires.inbox(self.first + port);
                let mut place = 0;
                loop {
                    if place == inbox.len() {
                        *context.wires.filled(self.node, word) &= !(1 << bit);
                        break;
                    }
                    let at = inbox.get(place).at;
                    if at >= end {
                        next = next.min(at);
                        break;
                    }
                    order.push((at - begin) << 16 | port as u64);
                    place += 1;
                }
            }
        }
        next
    }
}
