//! Windows in which ports have nothing to do with each other.
//!
//! Ports of a switch meet in its buffer alone. Where all that arrives in a window fits for sure, whatever leaves meanwhile,
//! nothing is dropped and nobody is paused or resumed: then each port is run on its own, and what leaves before the
//! window's end is never stored.

use super::batch::{self, Batch, Bucket, Seen, place};
use super::{Switch, SwitchContext};
use crate::balance::Dlb;
use crate::config::LANES;
use crate::known::Known;
use crate::packet::{Kind, Packet, Ps};
use crate::report::trace;
use crate::routing::Fib;

impl Switch {
    /// Whether it is possible that ports have nothing to do with each other until `end`.
    #[inline]
    pub(super) fn may_be_calm(&self, end: Ps) -> bool {
        self.buffer.is_calm() && self.next_sample.min(self.next_look) >= end
    }

    /// Whether ports have nothing to do with each other, where that is possible.
    #[inline]
    pub(super) fn is_calm(&self, context: &SwitchContext<'_>, batch: &Batch, bytes: &[u64; LANES]) -> bool {
        let more = context.config.vxlan.map_or(0, |vxlan| u64::from(vxlan.overhead) * batch.packets.len() as u64);
        (context.config.watchdog.is_none() || batch.packets.iter().all(|packet| packet.kind != Kind::Pfc))
            && self.buffer.has_room(bytes, more)
    }

    /// Put all packets of a window into buckets, in order of time and port.
    pub(super) fn assign_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps) {
        batch.sort(begin);
        for place in 0..batch.order.len() {
            let at = batch::place(batch.order[place]);
            let mut packet = batch.packets[at];
            let from = usize::from(packet.ingress);
            let to = self.find_port(context.fib, context.known, context.dlb, &mut batch.seen, &packet, from);
            if let (Some(vxlan), Some(to), false) = (&context.config.vxlan, to, packet.kind == Kind::Pfc) {
                packet = self.tunnel(vxlan, &packet, from, to);
                batch.packets[at] = packet;
            }
            if let Some(to) = to {
                batch.assign(&packet, at, to, begin);
            }
        }
    }

    /// Receive all that arrives in such a window and is in buckets.
    #[inline(never)]
    pub(super) fn pass_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch) {
        let seen = &batch.seen;
        let counters = &mut *context.counters;
        counters.hops += batch.packets.len() as u64 - seen.pfc;
        counters.data_hops += seen.data;
        counters.unroutable += seen.unroutable;
        counters.trace = counters.trace.wrapping_add(seen.trace);
        for port in 0..self.ports.len() {
            let bucket = &mut batch.buckets[port];
            if bucket.kinds == 0 {
                continue;
            }
            bucket.keys.sort();
            let Bucket { mut keys, kinds, .. } = std::mem::take(bucket);
            if kinds == 1 << self.line {
                self.forward_all(context, batch, port, &keys);
            } else {
                self.pass_by_one(context, batch, port, &keys);
            }
            keys.clear();
            batch.buckets[port].keys = keys;
        }
    }

    /// Packets of any kind concern a port. `keys` are theirs in order.
    fn pass_by_one(&mut self, context: &mut SwitchContext<'_>, batch: &Batch, port: usize, keys: &[u64]) {
        for &key in keys {
            let packet = &batch.packets[place(key)];
            if packet.kind == Kind::Pfc {
                self.paused_by_neighbor(context, port, packet.class, packet.psn == 1, packet.at);
            } else {
                self.forward(context, packet, usize::from(packet.ingress), port);
            }
        }
    }

    /// Find the port that a packet concerns.
    #[inline(always)]
    pub(super) fn find_port(
        &mut self,
        fib: &Fib,
        known: &mut Known,
        dlb: &Dlb,
        seen: &mut Seen,
        packet: &Packet,
        from: usize,
    ) -> Option<usize> {
        seen.trace = seen.trace.wrapping_add(trace(packet, self.first + from));
        if packet.kind == Kind::Pfc {
            seen.pfc += 1;
            return Some(from);
        }
        seen.data += u64::from(packet.kind == Kind::Data);
        let to = self.port_of(fib, known, dlb, packet);
        seen.unroutable += u64::from(to.is_none());
        to
    }
}
