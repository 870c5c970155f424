//! Packets that will leave: they are at the end of a wire, in order.

use super::{Link, Wires};
use crate::packet::{Packet, Ps};
use crate::topology::serialization;

impl Link {
    /// When a packet on it left, or will.
    #[inline]
    fn left(&self, packet: &Packet) -> Ps {
        packet.at - self.delay - serialization(packet.bytes, self.ps_per_byte)
    }
}

impl Wires {
    /// Put a packet on the wire before those that leave after it came, but for those of lanes in `above`. The port is free at
    /// `free` without it; returns when it is with it.
    pub fn put_before(&mut self, port: usize, packet: &Packet, ingress: u16, free: Ps, above: u8) -> Ps {
        let mut behind = self.ahead(port, packet.at);
        let link = &mut self.links[port];
        let mut start = free;
        while behind > 0 {
            let first = link.under_way.get(link.under_way.len() - behind);
            if above >> first.class & 1 == 0 {
                start = link.left(first);
                break;
            }
            behind -= 1;
        }
        let takes = serialization(packet.bytes, link.ps_per_byte);
        let at = start + takes + link.delay;
        link.bytes += u64::from(packet.bytes);
        let copy = link.under_way.insert(packet, behind, |packet| packet.at += takes);
        (copy.at, copy.ingress) = (at, ingress);
        self.expect(port, at);
        free + takes
    }

    /// How many packets leave a port after `now`: they are the last on its wire.
    pub fn ahead(&self, port: usize, now: Ps) -> usize {
        let link = &self.links[port];
        let (mut gone, mut end) = (0, link.under_way.len());
        while gone < end {
            let middle = (gone + end) / 2;
            if link.left(link.under_way.get(middle)) <= now { gone = middle + 1 } else { end = middle }
        }
        link.under_way.len() - end
    }

    /// The last packets that were put on a port's wire, so many, in order.
    pub fn last(&self, port: usize, count: usize) -> impl Iterator<Item = &Packet> {
        let ring = &self.links[port].under_way;
        (ring.len() - count..ring.len()).map(|place| ring.get(place))
    }

    /// When a packet of a port, `back` from the last, leaves; None: it is not under way any more.
    #[inline]
    pub fn leaves(&self, port: usize, back: usize) -> Option<(&Packet, Ps)> {
        let link = &self.links[port];
        let place = link.under_way.len().checked_sub(back)?;
        let packet = link.under_way.get(place);
        Some((packet, link.left(packet)))
    }

    /// Take back the last packets that were put on a port's wire, so many, in order, each with when it would have left.
    pub fn take_back(&mut self, port: usize, count: usize, mut each: impl FnMut(&Packet, Ps)) {
        let link = &mut self.links[port];
        let all = link.under_way.len();
        for place in all - count..all {
            let packet = link.under_way.get(place);
            link.bytes -= u64::from(packet.bytes);
            each(packet, link.left(packet));
        }
        link.under_way.truncate(all - count);
    }
}
