//! Windows in which ports have nothing to do with each other.
//!
//! Ports of a switch meet in its buffer alone. Where all that arrives in a window fits for sure, whatever leaves meanwhile,
//! nothing is dropped and nobody is paused or resumed: then each port is run on its own, and what leaves before the
//! window's end is never stored.

use super::batch::{self, Batch, Bucket, PFC, Seen, place};
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
    pub(super) fn may_be_calm(&self, context: &SwitchContext<'_>, end: Ps) -> bool {
        self.apart
            && self.next_sample.min(self.next_look) >= end
            && self.buffer.has_room(context.config, &[0; LANES], 0)
    }

    /// Whether ports have nothing to do with each other, where that is possible.
    #[inline]
    pub(super) fn is_calm(&self, context: &SwitchContext<'_>, batch: &Batch, bytes: &[u64; LANES]) -> bool {
        let more = context.config.vxlan.map_or(0, |vxlan| u64::from(vxlan.overhead) * batch.packets.len() as u64);
        (context.config.watchdog.is_none() || batch.packets.iter().all(|packet| packet.kind != Kind::Pfc))
            && self.buffer.has_room(context.config, bytes, more)
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
    pub(super) fn pass_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, end: Ps) {
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
            bucket.keys.sort_unstable();
            let Bucket { mut keys, kinds, bytes } = std::mem::take(bucket);
            let lanes = kinds | self.ports[port].filled;
            if !self.is_plain(context, port, lanes) {
                self.pass_by_one(context, batch, port, &keys);
            } else if lanes.is_power_of_two() {
                self.pass_lone(context, batch, port, &keys, bytes, end);
            } else {
                self.pass_lanes(context, batch, port, &keys, end);
            }
            keys.clear();
            batch.buckets[port].keys = keys;
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

    /// Whether packets leave a port in an order of lanes, and nothing else happens there.
    #[inline]
    fn is_plain(&self, context: &SwitchContext<'_>, number: usize, lanes: u8) -> bool {
        let port = &self.ports[number];
        let shared = lanes & !self.strict;
        shared & shared.wrapping_sub(1) == 0
            && u32::from(lanes & PFC) | port.control == 0
            && port.paused | port.acting | lanes & self.late == 0
            && !port.down
            && !context.wires.loses(self.first + number)
    }

    /// Whatever happens at a port, in order.
    fn pass_by_one(&mut self, context: &mut SwitchContext<'_>, batch: &Batch, number: usize, keys: &[u64]) {
        for &key in keys {
            let packet = &batch.packets[place(key)];
            if packet.kind == Kind::Pfc {
                self.settle(context, number, packet.at);
                self.paused_by_neighbor(context, number, packet.class, packet.psn == 1, packet.at);
            } else {
                self.queue(context, packet, usize::from(packet.ingress), number);
            }
        }
    }

    /// Say which lanes of a port hold something, where none is paused.
    #[inline]
    pub(super) fn fill(&mut self, number: usize, filled: u8) {
        let port = &mut self.ports[number];
        port.filled = filled;
        port.refresh();
        let bit = 1 << (number % 64);
        if filled == 0 {
            self.active[number / 64] &= !bit;
        } else {
            self.active[number / 64] |= bit;
        }
    }
}
