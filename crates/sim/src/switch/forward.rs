//! Where a packet goes, and what it is marked with on the way.

use super::{Switch, SwitchContext};
use crate::balance::{Balance, Dlb, Flowset, best, flowlet, grade};
use crate::config::{Ecn, SwitchConfig, Vxlan};
use crate::hashing::{flow_hash, mix, one_of};
use crate::known::Known;
use crate::packet::{CE, OUTER_CE, Packet, TUNNEL};
use crate::report::Counters;
use crate::routing::{Fib, NO_GROUP, ONE_PORT};

impl Switch {
    /// The port a packet leaves by; None: there is no route.
    #[inline(always)]
    pub(super) fn port_of(&mut self, fib: &Fib, known: &mut Known, dlb: &Dlb, packet: &Packet) -> Option<usize> {
        let place = known.place(self.row, packet);
        known.get(place).or_else(|| {
            let port = self.choose_port(fib, dlb, packet);
            if let Some(port) = port {
                known.set(place, port);
            }
            port
        })
    }

    #[inline(never)]
    fn choose_port(&mut self, fib: &Fib, dlb: &Dlb, packet: &Packet) -> Option<usize> {
        let group = fib.group[self.row * fib.addresses + packet.dst as usize];
        if group & ONE_PORT != 0 {
            return if group == NO_GROUP { None } else { Some((group & !ONE_PORT) as usize) };
        }
        let chosen = &fib.groups[group as usize];
        let members = fib.ports(chosen);
        let flow = flow_hash(self.seed, packet.dst, packet.entropy);
        let own = || mix(flow ^ packet.at, u64::from(packet.qp) << 32 | u64::from(packet.psn));
        let sampled = self.next_sample.saturating_sub(dlb.period);
        let since = || packet.at.saturating_sub(sampled);
        let place = match chosen.balance {
            Balance::Hash => one_of(flow, members.len()),
            Balance::Spray => one_of(own(), members.len()),
            Balance::Packet => {
                grade(dlb, members, &mut self.bands, (&self.loads, &self.capacity), since());
                best(members, &self.bands, own())
            }
            Balance::Flowlet => {
                let size = dlb.flowsets;
                let sets = self.flowsets.entry(group).or_insert_with(|| vec![Flowset::default(); size].into());
                let set = &mut sets[flow as usize & (size - 1)];
                if set.is_free(dlb, members.len(), packet.at) {
                    grade(dlb, members, &mut self.bands, (&self.loads, &self.capacity), since());
                }
                flowlet(dlb, set, members, &self.bands, packet.at, own())
            }
        };
        let port = usize::from(members[place]);
        if matches!(chosen.balance, Balance::Packet | Balance::Flowlet) {
            self.loads[port].given += u64::from(packet.bytes);
        }
        Some(port)
    }

    /// Put a packet into a tunnel where it leaves its hosts' switch, and take it out where it reaches them.
    pub(super) fn tunnel(&self, vxlan: &Vxlan, packet: &Packet, from: usize, to: usize) -> Packet {
        let mut packet = Packet { ingress: from as u16, ..*packet };
        if self.edge[from] && !self.edge[to] {
            packet.bytes += vxlan.overhead;
            packet.flags |= TUNNEL;
        } else if packet.flags & TUNNEL != 0 && self.edge[to] {
            packet.bytes -= vxlan.overhead;
            let carried = if vxlan.copy_out && packet.flags & OUTER_CE != 0 { CE } else { 0 };
            packet.flags = packet.flags & !(TUNNEL | OUTER_CE) | carried;
        }
        packet
    }

    /// Whether a packet that waits here has its tunnel's header already. Where it goes into the tunnel, that is put on behind
    /// the queue, as it leaves.
    #[inline]
    pub(super) fn in_tunnel(&self, packet: &Packet) -> bool {
        packet.flags & TUNNEL != 0 && !self.edge[usize::from(packet.ingress)]
    }

    /// Whether a packet that meets a queue of `waiting` bytes is marked (RED on the present length, RFC 3168).
    #[inline]
    pub(super) fn marks(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, waiting: u32) -> bool {
        let waiting = u64::from(waiting);
        if self.in_tunnel(packet) && context.config.vxlan.is_some_and(|vxlan| !vxlan.copy_in) {
            return false;
        }
        let class = usize::from(packet.class);
        let (min, max, most) = match context.config.classes[class].ecn {
            Ecn::Off => return false,
            Ecn::Bytes { min, max, most } => (min, max, most),
            Ecn::Percent { min, max, most } => {
                let share = self.buffer.egress_share(context.config, class);
                if waiting < share * min / 100 {
                    return false; // the share is a lower bound
                }
                self.settle_all(context, packet.at);
                let share = self.buffer.egress_share(context.config, class);
                (share * min / 100, share * max / 100, most)
            }
        };
        self.is_drawn(packet, waiting, (min, max, most))
    }

    /// The same where no class is marked by percent.
    #[inline]
    pub(super) fn marks_by_bytes(&self, config: &SwitchConfig, packet: &Packet, waiting: u32) -> bool {
        let Ecn::Bytes { min, max, most } = config.classes[usize::from(packet.class)].ecn else { return false };
        !(self.in_tunnel(packet) && config.vxlan.is_some_and(|vxlan| !vxlan.copy_in))
            && self.is_drawn(packet, waiting.into(), (min, max, most))
    }

    /// The flag that marks a packet which leaves by a port.
    pub(super) fn mark(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, to: usize) -> u8 {
        self.mark_as(context.counters, packet, to)
    }

    /// The same, with the counters of the run alone.
    pub(super) fn mark_as(&mut self, counters: &mut Counters, packet: &Packet, to: usize) -> u8 {
        counters.marked += 1;
        self.rest[to].seen.ecn_ce_packets += 1;
        if self.in_tunnel(packet) { OUTER_CE } else { CE }
    }

    #[inline]
    fn is_drawn(&self, packet: &Packet, waiting: u64, (min, max, most): (u64, u64, u64)) -> bool {
        waiting >= min && (waiting >= max || drawn(self.seed, packet) < most * (waiting - min) / (max - min).max(1))
    }
}

/// A number below 65536 of the packet's own.
fn drawn(seed: u64, packet: &Packet) -> u64 {
    mix(seed ^ packet.at, u64::from(packet.qp) << 32 | u64::from(packet.psn)) & 0xFFFF
}
