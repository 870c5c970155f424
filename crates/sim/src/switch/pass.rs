//! Windows in which ports have nothing to do with each other.
//!
//! Ports of a switch meet in its buffer alone. Where all that arrives in a window fits for sure, whatever leaves meanwhile,
//! nothing is dropped and nobody is paused or resumed: then each port is run on its own, and what leaves before the
//! window's end is never stored.

use super::batch::{Batch, Bucket, PFC, key, place};
use super::{Switch, SwitchContext};
use crate::packet::{Kind, Ps};

impl Switch {
    /// Whether ports have nothing to do with each other until `end`.
    #[inline]
    pub(super) fn is_calm(&self, context: &SwitchContext<'_>, batch: &Batch, end: Ps) -> bool {
        let more = context.config.vxlan.map_or(0, |vxlan| u64::from(vxlan.overhead) * batch.packets.len() as u64);
        self.apart
            && self.next_sample.min(self.next_look) >= end
            && (batch.pfc == 0 || context.config.watchdog.is_none())
            && self.buffer.has_room(context.config, &batch.bytes, more)
    }

    /// Receive all that arrives in such a window.
    #[inline(never)]
    pub(super) fn pass_all(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) {
        if batch.buckets.len() < self.ports.len() {
            batch.buckets.resize_with(self.ports.len(), Default::default);
        }
        context.counters.hops += batch.packets.len() as u64 - batch.pfc;
        if self.capacity.is_empty() {
            for at in 0..batch.packets.len() {
                self.assign(context, batch, at, begin);
            }
        } else {
            // flowlets depend on the order
            batch.sort(begin);
            for at in 0..batch.order.len() {
                self.assign(context, batch, place(batch.order[at]), begin);
            }
        }
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
    fn assign(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, at: usize, begin: Ps) {
        let packet = &mut batch.packets[at];
        let from = usize::from(packet.ingress);
        context.counters.arrived(packet, self.first + from);
        let (port, kind) = if packet.kind == Kind::Pfc {
            (from, PFC)
        } else {
            context.counters.data_hops += u64::from(packet.kind == Kind::Data);
            let Some(to) = self.choose_port(context, packet) else {
                context.counters.unroutable += 1;
                return;
            };
            if let Some(vxlan) = &context.config.vxlan {
                *packet = self.tunnel(vxlan, packet, from, to);
            }
            (to, 1 << packet.class)
        };
        let bucket = &mut batch.buckets[port];
        bucket.keys.push(key(packet, at, begin));
        bucket.kinds |= kind;
        bucket.bytes += u32::from(packet.bytes);
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
