//! A switch: it forwards by its table into output queues over a shared buffer, marks and pauses.
//!
//! Departures are worked out late: a port's transmissions are started ("settled") when something looks at the port, and
//! at the end of a window. Buffer counters are therefore upper bounds between looks; where an upper bound leaves a doubt,
//! every port is settled and the decision taken on exact counts. While the switch pauses a neighbor, departures of all
//! ports are replayed in order of time, so that the moment of resuming is exact.

use std::collections::HashMap;

use crate::balance::{BEST, Dlb, Flowset};
use crate::buffer::{Admission, Buffer};
use crate::config::{Config, Slots, SwitchConfig};
use crate::packet::{CE, ECT, Kind, OUTER_CE, Packet, Ps};
use crate::port::{Port, Queue, Rest, pfc_frame};
use crate::report::{Counters, PortCounters};
use crate::routing::{Fib, mix};
use crate::topology::{NodeKind, Topology};
use crate::wires::Wires;

mod depart;
mod forward;
mod look;

/// One switch.
#[derive(Debug)]
pub struct Switch {
    node: usize,
    first: usize,
    /// Which ports have a host behind them.
    edge: Vec<bool>,
    ports: Vec<Port>,
    queues: Vec<Queue>,
    rest: Vec<Rest>,
    buffer: Buffer,
    slots: Slots,
    profile: u16,
    strict: u8,
    /// Classes that are marked when they leave.
    late: u8,
    /// Ports with something to send, a bit each.
    active: Vec<u64>,
    seed: u64,
    order: Vec<u64>,
    bands: Vec<u8>,
    /// Bytes a port can send between two samples.
    capacity: Vec<u64>,
    next_sample: Ps,
    /// When the watchdog looks next; `Ps::MAX`: nothing is paused.
    next_look: Ps,
    flowsets: HashMap<u32, Box<[Flowset]>>,
}

/// What a switch needs of the engine while it runs.
pub struct SwitchContext<'a> {
    /// Buffering, marking, pausing.
    pub config: &'a SwitchConfig,
    /// Dynamic load balancing.
    pub dlb: &'a Dlb,
    /// Forwarding tables.
    pub fib: &'a Fib,
    /// Packets under way.
    pub wires: &'a mut Wires,
    /// Counters of the run.
    pub counters: &'a mut Counters,
}

impl Switch {
    /// A switch of a topology, with one of some profiles. `capacity`: bytes each port can send between two
    /// samples of its load; empty: none are taken.
    pub fn new(
        topology: &Topology,
        node: usize,
        profiles: &[Config],
        profile: u16,
        slots: Slots,
        capacity: Vec<u64>,
    ) -> Self {
        let config = &profiles[usize::from(profile)];
        let own = topology.ports(node);
        let (ports, first) = (own.len(), own.start);
        let behind = |port: usize| topology.kinds[topology.wires[port].peer_node as usize];
        Switch {
            node,
            first,
            edge: own.map(|port| behind(port) == NodeKind::Host).collect(),
            ports: vec![Port::default(); ports],
            queues: (0..ports * slots.count).map(|_| Queue::default()).collect(),
            rest: vec![Rest::default(); ports],
            buffer: Buffer::new(ports, slots),
            slots,
            profile,
            strict: config.switch.strict(),
            late: config.switch.marked_late(),
            active: vec![0; ports.div_ceil(64)],
            seed: mix(config.seed, node as u64),
            order: Vec::new(),
            bands: vec![BEST; ports],
            next_sample: if capacity.is_empty() { Ps::MAX } else { 0 },
            next_look: Ps::MAX,
            capacity,
            flowsets: HashMap::new(),
        }
    }

    /// Which profile it has.
    #[inline]
    pub fn profile(&self) -> usize {
        usize::from(self.profile)
    }

    /// Counters of a port, but for bytes sent.
    pub fn counters(&self, number: usize, now: Ps) -> PortCounters {
        let queues = &self.queues[number * self.slots.count..(number + 1) * self.slots.count];
        let queued_bytes = queues.iter().map(|queue| u64::from(queue.bytes)).sum();
        let rest = &self.rest[number];
        PortCounters { queued_bytes, paused: rest.seen.paused + rest.paused_for(now), ..rest.seen }
    }

    /// When the last transmission of a port ends.
    pub fn free(&self, number: usize) -> Ps {
        self.ports[number].free
    }

    /// The bytes in each queue of a port, by class.
    pub fn queues(&self, number: usize) -> impl Iterator<Item = (u8, u64)> {
        let queues = &self.queues[number * self.slots.count..(number + 1) * self.slots.count];
        self.slots.classes().map(|(class, slot)| (class as u8, u64::from(queues[slot].bytes)))
    }

    /// Do everything before `end`. Returns when there is something to do next.
    pub fn run(&mut self, context: &mut SwitchContext<'_>, begin: Ps, end: Ps) -> Ps {
        let bits = *context.wires.filled(self.node, 0);
        let next = if self.active.len() == 1 && bits & bits.wrapping_sub(1) == 0 {
            if bits == 0 { Ps::MAX } else { self.receive_from(context, bits.trailing_zeros() as usize, end) }
        } else {
            self.receive_all(context, begin, end)
        };
        if self.next_sample.min(self.next_look) < end {
            self.look_until(context, end - 1);
        }
        next.min(self.settle_all(context, end - 1)).min(self.next_look)
    }

    /// Receive what arrives before `end` at the only port that anything is under way to. Returns when the next does.
    #[inline]
    fn receive_from(&mut self, context: &mut SwitchContext<'_>, port: usize, end: Ps) -> Ps {
        loop {
            let inbox = context.wires.inbox(self.first + port);
            let Some(packet) = inbox.front().copied() else {
                *context.wires.filled(self.node, 0) &= !(1 << port);
                return Ps::MAX;
            };
            if packet.at >= end {
                return packet.at;
            }
            inbox.pop();
            self.receive(context, packet, port);
        }
    }

    /// Receive what arrives before `end` at any port, in order of time and port. Returns when the next arrives.
    fn receive_all(&mut self, context: &mut SwitchContext<'_>, begin: Ps, end: Ps) -> Ps {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let next = self.gather(context, &mut order, begin, end);
        if order.len() > 1 {
            order.sort_unstable();
        }
        for key in &order {
            let port = (key & 0xFFFF) as usize;
            let packet = context.wires.inbox(self.first + port).pop().expect("it was there");
            self.receive(context, packet, port);
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

    /// Send a PFC frame to the neighbor at a port.
    fn pause(&mut self, number: usize, class: u8, stop: bool, now: Ps) {
        let port = &mut self.ports[number];
        if port.down {
            return;
        }
        if port.idle() {
            port.ready = now;
        }
        port.control += 1;
        self.rest[number].seen.pfc_tx += u64::from(stop);
        self.active[number / 64] |= 1 << (number % 64);
        self.rest[number].control.push_back(pfc_frame(class, stop, now));
    }

    fn receive(&mut self, context: &mut SwitchContext<'_>, mut packet: Packet, from: usize) {
        let now = packet.at;
        context.counters.arrived(&packet, self.first + from);
        if self.next_sample.min(self.next_look) <= now {
            self.look_until(context, now);
        }
        if self.buffer.pausing > 0 {
            self.replay(context, now);
        }
        if packet.kind == Kind::Pfc {
            self.settle(context, from, now);
            self.paused_by_neighbor(context, from, packet.class, packet.psn == 1, now);
            return;
        }
        context.counters.hops += 1;
        context.counters.data_hops += u64::from(packet.kind == Kind::Data);
        let Some(to) = self.choose_port(context, &packet) else {
            context.counters.unroutable += 1;
            return;
        };
        let port = &self.ports[to];
        if port.down {
            context.counters.dropped_down += 1;
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        if port.acting >> packet.class & 1 == 1 && context.config.watchdog.is_some_and(|watchdog| watchdog.drop) {
            context.counters.dropped_watchdog += 1;
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        if let Some(vxlan) = &context.config.vxlan {
            self.tunnel(vxlan, &mut packet, from, to);
        }
        packet.ingress = from as u16;
        self.settle(context, to, now);
        let place = to * self.slots.count + self.slots.of(usize::from(packet.class));
        let waiting = u64::from(self.queues[place].bytes);
        let class = packet.class;
        let mut port = &mut self.ports[to];
        if self.buffer.is_sure(context.config, &packet, waiting) {
            if port.idle()
                && port.free <= now
                && port.paused >> class & 1 == 0
                && self.buffer.pausing == 0
                && waiting == 0
            {
                // Nothing is before it and nobody is paused: it goes on at once, and holds nothing of the buffer.
                port.free = context.wires.send(self.first + to, packet, now);
                port.sent += u32::from(packet.bytes);
                return;
            }
            self.buffer.take_sure(context.config, &packet);
        } else if !self.take(context, &packet, waiting, now) {
            self.rest[to].seen.dropped_packets += 1;
            return;
        }
        if packet.flags & ECT != 0 && self.late >> class & 1 == 0 && self.marks(context, &packet, waiting) {
            self.mark(context, &mut packet, to);
        }
        port = &mut self.ports[to];
        if port.idle() {
            port.ready = now;
        }
        let queue = &mut self.queues[place];
        queue.bytes += u32::from(packet.bytes);
        queue.packets.push(packet);
        port.filled |= 1 << class;
        if port.paused >> class & 1 == 0 {
            self.active[to / 64] |= 1 << (to % 64);
        }
    }

    fn mark(&mut self, context: &mut SwitchContext<'_>, packet: &mut Packet, to: usize) {
        packet.flags |= if self.in_tunnel(packet) { OUTER_CE } else { CE };
        context.counters.marked += 1;
        self.rest[to].seen.ecn_ce_packets += 1;
    }

    /// Pause a class of a port, or resume it.
    fn obey(&mut self, number: usize, class: u8, stop: bool, now: Ps) {
        let port = &mut self.ports[number];
        let idle = port.idle();
        port.paused = if stop { port.paused | 1 << class } else { port.paused & !(1 << class) };
        let bit = 1 << (number % 64);
        if port.idle() {
            self.active[number / 64] &= !bit;
        } else {
            if idle {
                port.ready = now;
            }
            self.active[number / 64] |= bit;
        }
    }

    /// The cable of a port broke at `now`, when everything before was done.
    pub fn cut(&mut self, context: &mut SwitchContext<'_>, number: usize, now: Ps) {
        let port = &mut self.ports[number];
        *port = Port { free: port.free, sent: port.sent, down: true, ..Port::default() };
        self.active[number / 64] &= !(1 << (number % 64));
        self.rest[number].forget(now);
        context.counters.paused += self.buffer.forget(number, now);
        for place in number * self.slots.count..(number + 1) * self.slots.count {
            self.queues[place].bytes = 0;
            while let Some(packet) = self.queues[place].packets.pop() {
                context.counters.dropped_down += 1;
                self.rest[number].seen.dropped_packets += 1;
                self.release(context, &packet, now);
            }
        }
    }

    /// The cable of a port works again.
    pub fn mend(&mut self, number: usize) {
        self.ports[number].down = false;
    }

    /// Decide on exact counts whether a packet gets in.
    #[cold]
    fn take(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, waiting: u64, now: Ps) -> bool {
        self.settle_all(context, now);
        match self.buffer.take(context.config, packet, waiting, now) {
            Admission::Taken => return true,
            Admission::Pause => {
                context.counters.pauses += 1;
                self.pause(usize::from(packet.ingress), packet.class, true, now);
                return true;
            }
            Admission::IngressFull => context.counters.dropped_ingress += 1,
            Admission::EgressFull => context.counters.dropped_egress += 1,
        }
        false
    }
}
