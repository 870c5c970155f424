//! A switch: it forwards by its table into output queues over a shared buffer, marks and pauses.
//!
//! Where packets are sure of their place in the buffer, departures are worked out ahead (`switch/ahead.rs`). Elsewhere they
//! are worked out late: a port's transmissions are started ("settled") when something looks at the port, and at the end
//! of a window. Buffer counters are therefore upper bounds between looks; where an upper bound leaves a doubt,
//! every port is settled and the decision taken on exact counts. While the switch pauses a neighbor, departures of all
//! ports are replayed in order of time, so that the moment of resuming is exact.

use std::collections::HashMap;

use crate::balance::{BEST, Dlb, Flowset, Load};
use crate::buffer::Buffer;
use crate::config::{Config, Ecn, LANES, LOSSY, SwitchConfig};
use crate::hashing::mix;
use crate::known::Known;
use crate::packet::{Packet, Ps};
use crate::port::{Port, Rest, pfc_frame};
use crate::report::{Counters, PortCounters};
use crate::routing::Fib;
use crate::topology::{NodeKind, Topology, Wire};
use crate::wires::Wires;

mod ahead;
mod arrive;
mod batch;
mod depart;
mod forward;
mod look;
mod pass;
mod queue;

use ahead::unmarked;
pub use batch::{Batch, LONGEST};

/// One switch.
#[derive(Debug)]
pub struct Switch {
    node: usize,
    /// Its row of the forwarding tables.
    row: usize,
    first: usize,
    /// Which ports have a host behind them.
    edge: Vec<bool>,
    /// Which ports pause their neighbors, and listen to them.
    pfc: Vec<bool>,
    /// Which ports mark what waits for them.
    ecn: Vec<bool>,
    ports: Vec<Port>,
    rest: Vec<Rest>,
    buffer: Buffer,
    profile: u16,
    /// Lanes that are served before others.
    strict: u8,
    /// The lane of data, and those that are served before it.
    line: u8,
    above: u8,
    /// Lanes that are marked when they leave.
    late: u8,
    /// Shortest queue of each lane that may be marked.
    mark_from: [u32; LANES],
    /// Ports with something to send, a bit each.
    active: Vec<u64>,
    seed: u64,
    /// Whether its ports meet in its buffer alone.
    apart: bool,
    /// Whether much came in the last window.
    crowded: bool,
    /// Of ports that may be chosen by their load, as last graded.
    bands: Vec<u8>,
    loads: Vec<Load>,
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
    /// What was found in them.
    pub known: &'a mut Known,
    /// Packets under way.
    pub wires: &'a mut Wires,
    /// Counters of the run.
    pub counters: &'a mut Counters,
}

impl Switch {
    /// A switch of a topology, with its row of the forwarding tables and one of some profiles; so many lanes are in use.
    /// `capacity`: bytes each port can send between two samples of its load; empty: none are taken.
    pub fn new(
        topology: &Topology,
        node: usize,
        row: usize,
        (profiles, profile, lanes): (&[Config], u16, usize),
        capacity: Vec<u64>,
    ) -> Self {
        let config = &profiles[usize::from(profile)];
        let own = topology.ports(node);
        let (ports, first) = (own.len(), own.start);
        let (line, strict) = (config.host.data_class % LANES as u8, config.switch.strict());
        let mark_from: [u32; LANES] = std::array::from_fn(|lane| match config.switch.classes[lane].ecn {
            Ecn::Off => u32::MAX,
            Ecn::Bytes { min, .. } => min.min(u64::from(u32::MAX)) as u32,
            Ecn::Percent { .. } => 0,
        });
        let late = config.switch.marked_late();
        let mark = |wire: &Wire| unmarked(mark_from[usize::from(line)], wire.ps_per_byte);
        let port = |wire: &Wire| {
            let unmarked = if late >> line & 1 == 1 { 0 } else { mark(wire) };
            let mut port = Port { unmarked, plain: unmarked, ..Port::default() };
            for (lane, class) in port.lanes.iter_mut().zip(&config.switch.classes) {
                lane.pool = class.lossless.into();
            }
            port
        };
        let behind = |port: usize| topology.kinds[topology.wires[port].peer_node as usize];
        Switch {
            node,
            row,
            first,
            edge: own.clone().map(|port| behind(port) == NodeKind::Host).collect(),
            pfc: vec![true; ports],
            ecn: vec![true; ports],
            ports: topology.wires[own].iter().map(port).collect(),
            rest: vec![Rest::default(); ports],
            buffer: Buffer::new(&config.switch, lanes, false),
            profile,
            strict,
            line,
            above: if strict >> line & 1 == 1 { strict & !((2 << line) - 1) } else { strict },
            late,
            mark_from,
            active: vec![0; ports.div_ceil(64)],
            seed: mix(config.seed, node as u64),
            apart: config.switch.classes[..LANES].iter().all(|class| !matches!(class.ecn, Ecn::Percent { .. })),
            crowded: false,
            bands: vec![BEST; ports],
            loads: vec![Load::default(); ports],
            next_sample: if capacity.is_empty() { Ps::MAX } else { 0 },
            next_look: Ps::MAX,
            capacity,
            flowsets: HashMap::new(),
        }
    }

    /// A port neither pauses its neighbor nor listens to it. Said before anything is run; so many lanes are in use.
    pub fn without_pfc(&mut self, config: &SwitchConfig, lanes: usize, number: usize) {
        self.pfc[number] = false;
        for lane in &mut self.ports[number].lanes {
            lane.pool = LOSSY as u8;
        }
        self.buffer = Buffer::new(config, lanes, true);
    }

    /// A port marks nothing. Said before anything is run.
    pub fn without_ecn(&mut self, number: usize) {
        self.ecn[number] = false;
        if self.late >> self.line & 1 == 0 {
            self.ports[number].unmarked = Ps::MAX;
            self.ports[number].refresh();
        }
    }

    /// Which node it is.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Which profile it has.
    #[inline]
    pub fn profile(&self) -> usize {
        usize::from(self.profile)
    }

    /// Counters of a port, but for bytes sent.
    pub fn counters(&self, number: usize, now: Ps) -> PortCounters {
        let rest = &self.rest[number];
        PortCounters {
            queued_bytes: self.ports[number].waiting(),
            paused: rest.seen.paused + rest.paused_for(now),
            ..rest.seen
        }
    }

    /// When the last transmission of a port ends.
    pub fn free(&self, number: usize) -> Ps {
        self.ports[number].free
    }

    /// The bytes in each queue of a port, by lane.
    pub fn queues(&self, number: usize) -> [u32; LANES] {
        std::array::from_fn(|lane| self.ports[number].lanes[lane].bytes)
    }

    /// Do everything before `end`. Returns when there is something to do next.
    pub fn run(&mut self, context: &mut SwitchContext<'_>, batch: &mut Batch, begin: Ps, end: Ps) -> Ps {
        if self.apart && !self.buffer.is_calm() {
            self.buffer.calm_down();
        }
        let next = self.receive_all(context, batch, begin, end);
        if self.next_sample.min(self.next_look) < end {
            self.look_until(context, end - 1);
        }
        self.send_ahead(context, end - 1);
        // what a port sent by the next sample must be known then
        let sample = if self.ports_send_after(self.next_sample) { self.next_sample } else { Ps::MAX };
        next.min(self.settle_all(context, end - 1)).min(self.next_look).min(sample)
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
        port.refresh();
        self.rest[number].seen.pfc_tx += u64::from(stop);
        self.active[number / 64] |= 1 << (number % 64);
        self.rest[number].control.push_back(pfc_frame(class, stop, now));
    }

    /// Put a packet on the wire at `start`.
    fn transmit(&mut self, context: &mut SwitchContext<'_>, number: usize, packet: &Packet, start: Ps) {
        let port = &mut self.ports[number];
        port.sent += u64::from(packet.bytes);
        port.free = context.wires.send(self.first + number, packet, start);
    }

    /// Pause a class of a port, or resume it.
    fn obey(&mut self, number: usize, class: u8, stop: bool, now: Ps) {
        let port = &mut self.ports[number];
        let idle = port.idle();
        port.paused = if stop { port.paused | 1 << class } else { port.paused & !(1 << class) };
        port.refresh();
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
        (port.filled, port.paused, port.control, port.acting, port.down) = (0, 0, 0, 0, true);
        port.refresh();
        self.active[number / 64] &= !(1 << (number % 64));
        self.rest[number].forget(now);
        context.counters.paused += self.buffer.forget(&mut self.ports[number].lanes, now);
        for lane in 0..LANES {
            let queue = &mut self.ports[number].lanes[lane];
            queue.bytes = 0;
            let packets = std::mem::take(&mut queue.packets);
            for place in 0..packets.len() {
                context.counters.dropped_down += 1;
                self.rest[number].seen.dropped_packets += 1;
                self.release(context, packets.get(place), now);
            }
        }
    }

    /// The cable of a port works again.
    pub fn mend(&mut self, number: usize) {
        self.ports[number].down = false;
        self.ports[number].refresh();
    }

    /// Packets that wait in its queues. None: what its buffer counts is not what waits.
    pub fn waiting(&self) -> Option<u64> {
        let lanes = || self.ports.iter().flat_map(|port| &port.lanes);
        let bytes = lanes().map(|lane| u64::from(lane.bytes)).sum();
        let packets = lanes().map(|lane| lane.packets.len() as u64).sum();
        self.buffer.holds(bytes, lanes()).then_some(packets)
    }
}
