//! A switch: it forwards by its table into output queues over a shared buffer, marks and pauses.
//!
//! Departures are worked out late: a port's transmissions are started ("settled") when something looks at the port, and
//! at the end of a window. Buffer counters are therefore upper bounds between looks; where an upper bound leaves a doubt,
//! every port is settled and the decision taken on exact counts. While the switch pauses a neighbor, departures of all
//! ports are replayed in order of time, so that the moment of resuming is exact.

use std::collections::HashMap;

use crate::balance::{BEST, Balance, Dlb, Flowset, best, flowlet};
use crate::buffer::{Admission, Buffer};
use crate::config::{Config, Ecn, Slots, SwitchConfig, Vxlan, Watchdog};
use crate::packet::{CE, ECT, Kind, OUTER_CE, Packet, Ps, TUNNEL};
use crate::port::{Port, Queue, Rest, pfc_frame};
use crate::report::Counters;
use crate::routing::{Fib, NO_GROUP, ONE_PORT, mix, one_of};
use crate::topology::{NodeKind, Topology};
use crate::wires::Wires;

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
    strict: u8,
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
    /// A switch of a topology. `capacity`: bytes each port can send between two
    /// samples of its load; empty: none are taken.
    pub fn new(topology: &Topology, node: usize, config: &Config, slots: Slots, capacity: Vec<u64>) -> Self {
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
            strict: config.switch.strict(),
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

    /// Start everything that can start by `until` at every port. Returns when the next could.
    fn settle_all(&mut self, context: &mut SwitchContext<'_>, until: Ps) -> Ps {
        if self.buffer.pausing > 0 {
            self.replay(context, until);
        }
        let mut next = Ps::MAX;
        for word in 0..self.active.len() {
            let mut bits = self.active[word];
            while bits != 0 {
                let port = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.settle(context, port, until);
                next = next.min(self.ports[port].next_start());
            }
        }
        next
    }

    /// Start everything that can start by `until`, of all ports in order of time.
    #[cold]
    fn replay(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        loop {
            let mut first = (Ps::MAX, 0);
            for word in 0..self.active.len() {
                let mut bits = self.active[word];
                while bits != 0 {
                    let port = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    first = first.min((self.ports[port].next_start(), port));
                }
            }
            if first.0 > until {
                return;
            }
            self.depart(context, first.1, first.0);
        }
    }

    #[inline]
    fn settle(&mut self, context: &mut SwitchContext<'_>, port: usize, until: Ps) {
        while self.ports[port].free <= until {
            let start = self.ports[port].next_start();
            if start > until {
                return;
            }
            self.depart(context, port, start);
        }
    }

    /// Start one transmission.
    fn depart(&mut self, context: &mut SwitchContext<'_>, number: usize, start: Ps) {
        let port = &mut self.ports[number];
        let packet = if port.control > 0 {
            port.control -= 1;
            self.rest[number].control.pop_front().expect("it is counted")
        } else {
            let slots = self.slots;
            let queues = &mut self.queues[number * slots.count..(number + 1) * slots.count];
            let eligible = port.filled & !port.paused;
            let class = self.rest[number].choose(context.config, &slots, self.strict, eligible, queues);
            let queue = &mut queues[slots.of(class)];
            let packet = queue.packets.pop().expect("the class is filled");
            if queue.packets.is_empty() {
                port.filled &= !(1 << class);
            }
            queue.bytes -= u32::from(packet.bytes);
            packet
        };
        port.free = context.wires.send(self.first + number, packet, start);
        port.sent += u32::from(packet.bytes);
        if port.idle() {
            self.active[number / 64] &= !(1 << (number % 64));
        }
        if packet.kind != Kind::Pfc {
            self.release(context, &packet, start);
        }
    }

    /// Give back what a packet held of the buffer; resume its sender where that is due.
    #[inline]
    fn release(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, now: Ps) {
        if let Some(paused) = self.buffer.release(context.config, packet, now) {
            context.counters.paused += paused;
            self.pause(usize::from(packet.ingress), packet.class, false, now);
        }
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
        if port.down || port.acting >> packet.class & 1 == 1 {
            if port.down {
                context.counters.dropped_down += 1;
                return;
            }
            if context.config.watchdog.is_some_and(|watchdog| watchdog.drop) {
                context.counters.dropped_watchdog += 1;
                return;
            }
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
            return;
        }
        if packet.flags & ECT != 0 && self.marks(context, &packet, waiting) {
            packet.flags |= if packet.flags & TUNNEL == 0 { CE } else { OUTER_CE };
            context.counters.marked += 1;
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

    /// The port a packet leaves by; None: there is no route.
    #[inline]
    fn choose_port(&mut self, context: &SwitchContext<'_>, packet: &Packet) -> Option<usize> {
        let group = context.fib.group[self.node * context.fib.addresses + packet.dst as usize];
        if group & ONE_PORT != 0 {
            return if group == NO_GROUP { None } else { Some((group & !ONE_PORT) as usize) };
        }
        let chosen = &context.fib.groups[group as usize];
        let members = context.fib.ports(chosen);
        let flow = mix(self.seed, u64::from(packet.dst) << 16 | u64::from(packet.entropy));
        let own = || mix(flow ^ packet.at, u64::from(packet.qp) << 32 | u64::from(packet.psn));
        let place = match chosen.balance {
            Balance::Hash => one_of(flow, members.len()),
            Balance::Spray => one_of(own(), members.len()),
            Balance::Packet => best(members, &self.bands, own()),
            Balance::Flowlet => {
                let size = context.dlb.flowsets;
                let sets = self.flowsets.entry(group).or_insert_with(|| vec![Flowset::default(); size].into());
                flowlet(context.dlb, &mut sets[flow as usize & (size - 1)], members, &self.bands, packet.at, own())
            }
        };
        Some(usize::from(members[place]))
    }

    /// Take the samples and looks that are due up to `until`, in order of time.
    #[cold]
    fn look_until(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        while self.next_sample.min(self.next_look) <= until {
            if self.next_sample <= self.next_look {
                self.sample(context, until.min(self.next_look));
            } else {
                self.look(context);
            }
        }
    }

    /// Grade ports by what they sent and what waits. Nothing else happens at the switch before `until`.
    fn sample(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        let period = context.dlb.period;
        self.settle_all(context, self.next_sample);
        let mut busy = false;
        for number in 0..self.ports.len() {
            let queues = &self.queues[number * self.slots.count..(number + 1) * self.slots.count];
            let waiting = queues.iter().map(|queue| u64::from(queue.bytes)).sum();
            let port = &mut self.ports[number];
            busy |= port.sent > 0 || waiting > 0;
            self.bands[number] = context.dlb.band(port.sent.into(), waiting, self.capacity[number]);
            port.sent = 0;
        }
        self.next_sample += period;
        if !busy && self.next_sample <= until {
            // nothing happened, and nothing can before `until`: all ports stay best
            self.next_sample += (until - self.next_sample) / period * period;
        }
    }

    /// The watchdog looks at paused queues.
    fn look(&mut self, context: &mut SwitchContext<'_>) {
        let Some(watchdog) = context.config.watchdog else {
            self.next_look = Ps::MAX;
            return;
        };
        let now = self.next_look;
        self.settle_all(context, now);
        let mut again = false;
        for number in 0..self.ports.len() {
            for (class, _) in self.slots.classes() {
                self.look_at(context, &watchdog, number, class as u8, now);
            }
            again |= self.ports[number].paused | self.ports[number].acting != 0;
        }
        self.next_look = if again { now + watchdog.poll } else { Ps::MAX };
    }

    fn look_at(&mut self, context: &mut SwitchContext<'_>, watchdog: &Watchdog, number: usize, class: u8, now: Ps) {
        let (port, bit, place) = (&mut self.ports[number], 1 << class, usize::from(class));
        let rest = &mut self.rest[number];
        if port.acting & bit != 0 {
            if now >= rest.until[place] {
                port.acting &= !bit;
                rest.stuck[place] = 0;
                if rest.wanted & bit != 0 {
                    self.obey(number, class, true, now);
                }
            }
            return;
        }
        if port.paused & port.filled & bit == 0 {
            rest.stuck[place] = 0;
            return;
        }
        rest.stuck[place] += 1;
        if rest.stuck[place] < watchdog.detection {
            return;
        }
        rest.until[place] = now + watchdog.recovery;
        port.acting |= bit;
        context.counters.watchdog_acts += 1;
        if watchdog.drop {
            port.filled &= !bit;
            let queue = &mut self.queues[number * self.slots.count + self.slots.of(place)];
            queue.bytes = 0;
            let packets = std::mem::take(&mut queue.packets);
            for place in 0..packets.len() {
                context.counters.dropped_watchdog += 1;
                self.release(context, packets.get(place), now);
            }
        }
        self.obey(number, class, false, now);
    }

    /// The neighbor wants a class paused or resumed.
    fn paused_by_neighbor(&mut self, context: &SwitchContext<'_>, number: usize, class: u8, stop: bool, now: Ps) {
        let rest = &mut self.rest[number];
        rest.wanted = if stop { rest.wanted | 1 << class } else { rest.wanted & !(1 << class) };
        if self.ports[number].acting >> class & 1 == 1 {
            return; // the watchdog does not listen
        }
        if !stop {
            rest.stuck[usize::from(class)] = 0;
        }
        self.obey(number, class, stop, now);
        if let Some(watchdog) = &context.config.watchdog
            && stop
            && self.next_look == Ps::MAX
        {
            self.next_look = (now / watchdog.poll + 1) * watchdog.poll;
        }
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
        self.rest[number] = Rest::default();
        context.counters.paused += self.buffer.forget(number, now);
        for place in number * self.slots.count..(number + 1) * self.slots.count {
            self.queues[place].bytes = 0;
            while let Some(packet) = self.queues[place].packets.pop() {
                context.counters.dropped_down += 1;
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

    /// Put a packet into a tunnel where it leaves its hosts' switch, and take it out where it reaches them.
    fn tunnel(&self, vxlan: &Vxlan, packet: &mut Packet, from: usize, to: usize) {
        if self.edge[from] && !self.edge[to] {
            packet.bytes += vxlan.overhead;
            packet.flags |= TUNNEL;
        } else if packet.flags & TUNNEL != 0 && self.edge[to] {
            packet.bytes -= vxlan.overhead;
            let carried = if vxlan.copy_out && packet.flags & OUTER_CE != 0 { CE } else { 0 };
            packet.flags = packet.flags & !(TUNNEL | OUTER_CE) | carried;
        }
    }

    /// Whether a packet that meets a queue of `waiting` bytes is marked (RED on the present length, RFC 3168).
    #[inline]
    fn marks(&mut self, context: &mut SwitchContext<'_>, packet: &Packet, waiting: u64) -> bool {
        if packet.flags & TUNNEL != 0 && context.config.vxlan.is_some_and(|vxlan| !vxlan.copy_in) {
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
        waiting >= min && (waiting >= max || drawn(self.seed, packet) < most * (waiting - min) / (max - min).max(1))
    }
}

/// A number below 65536 of the packet's own.
fn drawn(seed: u64, packet: &Packet) -> u64 {
    mix(seed ^ packet.at, u64::from(packet.qp) << 32 | u64::from(packet.psn)) & 0xFFFF
}
