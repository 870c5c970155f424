//! The plain engine: one heap of events, two events a hop, every counter exact at every moment.
//!
//! It shares the parameters, the congestion control and the hash with the fast engine, and nothing of how time passes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use railweave_sim::balance::{Balance, Flowset, Load, best, flowlet};
use railweave_sim::config::{CLASSES, CnpLimit, Config, Ecn, Service};
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::hashing::{mix, one_of};
use railweave_sim::packet::{AGAIN, CE, ECT, Kind, LAST, OUTER_CE, Packet, Ps, TUNNEL};
use railweave_sim::port::pfc_frame;
use railweave_sim::report::Counters;
use railweave_sim::routing::{Fib, NO_GROUP, ONE_PORT};
use railweave_sim::topology::{NodeKind, Topology, Wire};
use railweave_sim::traffic::{Schedule, Traffic};
use railweave_sim::transport::{Arrival, Receiver, Sender};
use railweave_sim::work::whole;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    Departed,
    Wake,
    Sample,
    Look,
    Start,
    Timer,
    Taken,
    Arrived,
}

#[derive(Default)]
struct Port {
    without_pfc: bool,
    without_ecn: bool,
    acting: u8,
    wanted: u8,
    stuck: [u8; CLASSES],
    until: [Ps; CLASSES],
    down: bool,
    broken: u8,
    slow: Option<u64>,
    taking: VecDeque<Packet>,
    held: u64,
    full: bool,
    storm: u8,
    on_wire: Vec<usize>,
    loss: u32,
    pfc: VecDeque<Packet>,
    sent: u64,
    deficit: [i64; CLASSES],
    turn: usize,
    busy: bool,
    paused: u8,
    control: VecDeque<Packet>,
    queues: [VecDeque<Packet>; CLASSES],
    ingress: [Ingress; CLASSES],
}

#[derive(Clone, Copy, Default)]
struct Ingress {
    used: u64,
    headroom: u64,
    since: Ps,
    paused: bool,
}

/// Set in a message that its proxy has prepared.
const PREPARED: u32 = 1 << 31;

type Event = Reverse<(Ps, u32, What, u32, u64)>;

pub struct Reference<'a> {
    config: Config,
    profiles: Vec<Config>,
    of: Vec<u16>,
    topology: &'a Topology,
    fib: Fib,
    ports: Vec<Port>,
    taken_in: Vec<[u64; 2]>,
    taken_out: Vec<[u64; 2]>,
    loads: Vec<Vec<(Load, u64, u64)>>,
    flowsets: HashMap<(usize, u32), Vec<Flowset>>,
    sources: Vec<u32>,
    rates: Vec<Wire>,
    looking: Vec<bool>,
    changing: Option<Vec<usize>>,
    timeline: Timeline,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    schedule: Schedule,
    arrived: Vec<Ps>,
    ready: Vec<Vec<u32>>,
    proxies: Vec<Ps>,
    cnps: Vec<VecDeque<Packet>>,
    /// By node: before this its port sends no notification, where the port counts.
    notify: HashMap<(usize, u32), Ps>,
    heap: BinaryHeap<Event>,
    flying: Vec<Packet>,
    idle: Vec<usize>,
    pub counters: Counters,
}

impl<'a> Reference<'a> {
    pub fn new(
        config: Config,
        (profiles, of): (Vec<Config>, Vec<u16>),
        topology: &'a Topology,
        fib: Fib,
        traffic: &Traffic,
        timeline: Timeline,
    ) -> Self {
        let hosts = topology.hosts();
        let nodes = topology.kinds.len();
        let mut heap = BinaryHeap::new();
        let schedule = whole(|work| Schedule::new(traffic, &config.host, work));
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (qp, pair) in traffic.pairs.iter().enumerate() {
            let wire = topology.wires[topology.first[hosts[pair.src as usize] as usize] as usize];
            let entropy = 0xC000 | (mix(config.seed, qp as u64) & 0x3FFF) as u16;
            let (begin, end) = (schedule.first[qp], schedule.first[qp + 1]);
            senders.push(Sender::new(pair.to, entropy, begin, end - begin, 8e6 * 65536.0 / wire.ps_per_byte as f64));
            receivers.push(Receiver::new(pair.back));
        }
        for (number, message) in traffic.messages.iter().enumerate() {
            if message.after.is_empty() {
                let node = hosts[traffic.pairs[message.qp as usize].src as usize];
                heap.push(Reverse((message.start, node, What::Start, number as u32, 0)));
            }
        }
        if fib.looks_at_load() {
            for node in (0..nodes).filter(|&node| topology.kinds[node] == NodeKind::Switch) {
                heap.push(Reverse((0, node as u32, What::Sample, 0, 0)));
            }
        }
        Reference {
            config,
            profiles,
            of,
            topology,
            fib,
            ports: (0..topology.wires.len()).map(|_| Port { turn: CLASSES - 1, ..Port::default() }).collect(),
            taken_in: vec![[0; 2]; nodes],
            taken_out: vec![[0; 2]; nodes],
            loads: (0..nodes).map(|node| vec![(Load::default(), 1, 0); topology.ports(node).len()]).collect(),
            flowsets: HashMap::new(),
            sources: traffic.pairs.iter().map(|pair| hosts[pair.src as usize]).collect(),
            rates: topology.wires.clone(),
            looking: vec![false; nodes],
            changing: None,
            timeline,
            senders,
            receivers,
            arrived: vec![Ps::MAX; traffic.messages.len()],
            schedule,
            ready: vec![Vec::new(); nodes],
            proxies: vec![0; nodes],
            cnps: vec![VecDeque::new(); nodes],
            notify: HashMap::new(),
            heap,
            flying: Vec::new(),
            idle: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Ports without PFC, and ports without marking.
    pub fn without(mut self, pfc: &[u32], ecn: &[u32]) -> Self {
        pfc.iter().for_each(|&port| self.ports[port as usize].without_pfc = true);
        ecn.iter().for_each(|&port| self.ports[port as usize].without_ecn = true);
        self
    }

    pub fn arrivals(&self) -> &[Ps] {
        &self.arrived
    }

    pub fn run(&mut self, limit: Ps) {
        loop {
            let next = self.heap.peek().map_or(Ps::MAX, |event| event.0.0);
            if next.min(self.timeline.next()) >= limit {
                return;
            }
            if self.timeline.next() <= next {
                let now = self.timeline.next();
                self.changing = Some(Vec::new()); // what they let start starts once all of this moment have happened
                while self.timeline.next() == now {
                    let (_, change) = self.timeline.take().expect("there is one");
                    self.apply(change, now);
                }
                let mut ports = self.changing.take().expect("it was put there");
                ports.sort_unstable();
                for port in ports {
                    self.start(port, now);
                }
                continue;
            }
            let Reverse((now, node, what, key, slot)) = self.heap.pop().expect("there is one");
            match what {
                What::Departed => {
                    self.ports[key as usize].busy = false;
                    self.start(key as usize, now);
                }
                What::Wake => self.start(key as usize, now),
                What::Sample => self.sample(node as usize, now),
                What::Look => self.look(node as usize, now),
                What::Start if self.config.host.post_cost > 0 && key & PREPARED == 0 => {
                    let proxy = &mut self.proxies[node as usize];
                    *proxy = (*proxy).max(now) + self.config.host.post_cost;
                    self.heap.push(Reverse((*proxy, node, What::Start, key | PREPARED, 0)));
                }
                What::Start => {
                    let key = key & !PREPARED;
                    self.schedule.segments[self.schedule.segment[key as usize] as usize].posted = true;
                    let qp = self.schedule.qp[key as usize];
                    self.senders[qp as usize].post(&self.schedule.segments);
                    self.make_ready(qp, now);
                    self.start(self.topology.first[node as usize] as usize, now);
                }
                What::Timer => self.expire(node, key, now),
                What::Taken => self.taken(node as usize, key as usize, now),
                What::Arrived => {
                    let packet = self.flying[slot as usize];
                    self.idle.push(slot as usize);
                    let sender = self.topology.wires[key as usize].peer as usize;
                    let wire = &mut self.ports[sender].on_wire;
                    let Some(place) = wire.iter().position(|&one| one == slot as usize) else {
                        continue; // the cable broke meanwhile
                    };
                    wire.remove(place);
                    self.counters.arrived(&packet, key as usize);
                    self.arrive(node as usize, key as usize, packet, now);
                }
            }
        }
    }

    fn apply(&mut self, change: Change, now: Ps) {
        match change {
            Change::LinkDown(port) => self.break_cable(port as usize, [1, 1], now),
            Change::LinkUp(port) => self.mend_cable(port as usize, [1, 1], now),
            Change::NodeDown(node) => {
                for port in self.topology.ports(node as usize) {
                    self.break_cable(port, [2, 0], now);
                }
            }
            Change::NodeUp(node) => {
                for port in self.topology.ports(node as usize) {
                    self.mend_cable(port, [2, 0], now);
                }
            }
            Change::Receive(port, ps_per_byte) => {
                if self.topology.kinds[self.topology.owner[port as usize] as usize] == NodeKind::Host {
                    self.ports[port as usize].slow = Some(ps_per_byte);
                }
            }
            Change::Rate(port, ps_per_byte) => {
                for end in [port as usize, self.topology.wires[port as usize].peer as usize] {
                    self.rates[end].ps_per_byte = ps_per_byte;
                }
            }
            Change::Loss(port, loss) => self.ports[port as usize].loss = loss,
            Change::Storm(_, class, _)
                if class != self.config.host.data_class && class != self.config.host.cnp_class => {} // nobody uses it
            Change::Storm(port, class, stop) => {
                let host = &mut self.ports[port as usize];
                host.storm = if stop { host.storm | 1 << class } else { host.storm & !(1 << class) };
                if stop || !(class == self.config.host.data_class && host.full) {
                    self.pause_switch(port as usize, class, stop, now);
                }
            }
            Change::Route { node, address, group } => {
                let place = self.fib.place(node as usize, address);
                self.fib.group[place] = group;
            }
        }
    }

    fn break_cable(&mut self, port: usize, causes: [u8; 2], now: Ps) {
        let ends = [port, self.topology.wires[port].peer as usize];
        let worked = ends.iter().all(|&end| self.ports[end].broken == 0);
        for (end, cause) in ends.into_iter().zip(causes) {
            self.ports[end].broken |= cause;
        }
        for end in ends.into_iter().filter(|_| worked) {
            for slot in std::mem::take(&mut self.ports[end].on_wire) {
                self.counters.lost_on_wire += u64::from(self.flying[slot].kind != Kind::Pfc);
            }
            self.cut(end, now);
        }
    }

    fn mend_cable(&mut self, port: usize, causes: [u8; 2], now: Ps) {
        let ends = [port, self.topology.wires[port].peer as usize];
        for (end, cause) in ends.into_iter().zip(causes) {
            self.ports[end].broken &= !cause;
        }
        if ends.iter().all(|&end| self.ports[end].broken == 0) {
            for end in ends {
                self.ports[end].down = false;
                self.start(end, now);
            }
        }
    }

    fn pause_switch(&mut self, port: usize, class: u8, stop: bool, now: Ps) {
        if !self.ports[port].down {
            self.ports[port].pfc.push_back(pfc_frame(class, stop, now));
            self.start(port, now);
        }
    }

    /// A data packet reached a host that may be slow.
    fn put(&mut self, node: usize, mut packet: Packet, now: Ps) {
        let port = self.topology.first[node] as usize;
        let config = self.config.host;
        let host = &mut self.ports[port];
        let Some(ps_per_byte) = host.slow else {
            self.receive(node, packet, now);
            return;
        };
        if host.held + u64::from(packet.bytes) > config.receive_buffer {
            self.counters.dropped_receiver += 1;
            return;
        }
        host.held += u64::from(packet.bytes);
        let begin = host.taking.back().map_or(now, |last| last.at.max(now));
        packet.at = begin + ((u64::from(packet.bytes) * ps_per_byte + (1 << 15)) >> 16);
        host.taking.push_back(packet);
        self.heap.push(Reverse((packet.at, node as u32, What::Taken, port as u32, 0)));
        if host.held >= config.receive_xoff && !host.full {
            host.full = true;
            self.pause_switch(port, config.data_class, true, now);
        }
    }

    fn taken(&mut self, node: usize, port: usize, now: Ps) {
        let config = self.config.host;
        let host = &mut self.ports[port];
        let packet = host.taking.pop_front().expect("it is taken now");
        host.held -= u64::from(packet.bytes);
        let resumes = host.full && host.held <= config.receive_xoff / 2;
        if host.slow == Some(0) && host.taking.is_empty() {
            host.slow = None;
        }
        if resumes {
            host.full = false;
            if host.storm >> config.data_class & 1 == 0 {
                self.pause_switch(port, config.data_class, false, now);
            }
        }
        self.receive(node, packet, now);
        self.start(port, now);
    }

    fn cut(&mut self, port: usize, now: Ps) {
        let node = self.topology.owner[port] as usize;
        let state = &mut self.ports[port];
        state.down = true;
        state.paused = 0;
        (state.acting, state.wanted, state.stuck, state.until) = (0, 0, [0; CLASSES], [0; CLASSES]);
        (state.deficit, state.turn) = ([0; CLASSES], CLASSES - 1);
        state.pfc.clear();
        (state.storm, state.full) = (0, false);
        let waiting = std::mem::take(&mut state.control);
        if self.topology.kinds[node] == NodeKind::Host {
            self.counters.dropped_down += waiting.len() as u64;
            self.counters.dropped_down += std::mem::take(&mut self.cnps[node]).len() as u64;
            return;
        }
        for ingress in &mut state.ingress {
            if ingress.paused {
                ingress.paused = false;
                self.counters.paused += now - ingress.since;
            }
        }
        for class in 0..CLASSES {
            for packet in std::mem::take(&mut self.ports[port].queues[class]) {
                self.counters.dropped_down += 1;
                self.release(node, packet, now);
            }
        }
    }

    fn transmit(&mut self, port: usize, mut packet: Packet, now: Ps) -> Ps {
        let wire = self.rates[port];
        let free = now + wire.serialization(packet.bytes);
        packet.at = free + wire.delay;
        self.ports[port].busy = true;
        self.heap.push(Reverse((free, self.topology.owner[port], What::Departed, port as u32, 0)));
        let own = u64::from(packet.qp) << 32 | u64::from(packet.psn) ^ (packet.kind as u64) << 30;
        let drawn = mix(packet.at ^ (port as u64) << 40, own) >> 32;
        if packet.kind != Kind::Pfc && drawn < u64::from(self.ports[port].loss) {
            self.counters.lost_on_wire += 1;
            return free;
        }
        let slot = self.idle.pop().unwrap_or_else(|| {
            self.flying.push(packet);
            self.flying.len() - 1
        });
        self.flying[slot] = packet;
        self.ports[port].on_wire.push(slot);
        self.heap.push(Reverse((packet.at, wire.peer_node, What::Arrived, wire.peer, slot as u64)));
        free
    }

    fn start(&mut self, port: usize, now: Ps) {
        if let Some(ports) = &mut self.changing {
            ports.push(port);
            return;
        }
        if self.ports[port].busy || self.ports[port].down {
            return;
        }
        let node = self.topology.owner[port] as usize;
        if self.topology.kinds[node] == NodeKind::Host {
            self.start_host(node, port, now);
            return;
        }
        let mut packet = if let Some(packet) = self.ports[port].control.pop_front() {
            packet
        } else {
            let Some(class) = self.choose_class(node, port) else {
                return;
            };
            self.ports[port].queues[class].pop_front().expect("not empty")
        };
        let class = usize::from(packet.class);
        if packet.kind != Kind::Pfc
            && self.of(node).switch.classes[class].ecn_at_dequeue
            && !self.ports[port].without_ecn
        {
            let left = self.ports[port].queues[class].iter().map(|one| u64::from(one.bytes)).sum();
            self.mark(node, &mut packet, left);
        }
        self.ports[port].sent += u64::from(packet.bytes);
        self.transmit(port, packet, now);
        if packet.kind != Kind::Pfc {
            self.release(node, packet, now);
        }
    }

    fn of(&self, node: usize) -> &Config {
        &self.profiles[usize::from(self.of[node])]
    }

    fn mark(&mut self, node: usize, packet: &mut Packet, depth: u64) {
        let (config, class) = (self.of(node), usize::from(packet.class));
        let share = self.share_out(node, class);
        let limits = match config.switch.classes[class].ecn {
            Ecn::Off => None,
            Ecn::Bytes { min, max, most } => Some((min, max, most)),
            Ecn::Percent { min, max, most } => Some((share * min / 100, share * max / 100, most)),
        };
        let from =
            self.topology.wires[self.topology.first[node] as usize + usize::from(packet.ingress)].peer_node as usize;
        let tunnelled = packet.flags & TUNNEL != 0 && self.topology.kinds[from] == NodeKind::Switch;
        let hidden = tunnelled && config.switch.vxlan.is_some_and(|vxlan| !vxlan.copy_in);
        if let Some((min, max, most)) = limits
            && packet.flags & ECT != 0
            && !hidden
            && depth >= min
        {
            let seed = mix(config.seed, node as u64);
            let drawn = mix(seed ^ packet.at, u64::from(packet.qp) << 32 | u64::from(packet.psn)) & 0xFFFF;
            if depth >= max || drawn < most * (depth - min) / (max - min).max(1) {
                packet.flags |= if tunnelled { OUTER_CE } else { CE };
                self.counters.marked += 1;
            }
        }
    }

    fn choose_class(&mut self, node: usize, port: usize) -> Option<usize> {
        let classes = self.of(node).switch.classes;
        let state = &mut self.ports[port];
        let paused = state.paused;
        let waits: Vec<usize> = (0..CLASSES).filter(|&c| !state.queues[c].is_empty() && paused >> c & 1 == 0).collect();
        if let Some(&class) = waits.iter().rev().find(|&&c| classes[c].service == Service::Strict) {
            return Some(class);
        }
        if waits.len() < 2 {
            return waits.first().copied();
        }
        loop {
            let class = state.turn;
            if waits.contains(&class) {
                let bytes = i64::from(state.queues[class].front().expect("it waits").bytes);
                if state.deficit[class] >= bytes {
                    state.deficit[class] -= bytes;
                    return Some(class);
                }
            } else {
                state.deficit[class] = 0;
            }
            state.turn = (class + 1) % CLASSES;
            if let (true, Service::Weighted(weight)) = (waits.contains(&state.turn), classes[state.turn].service) {
                state.deficit[state.turn] += i64::from(weight.max(1)) * 512;
            }
        }
    }

    fn sample(&mut self, node: usize, now: Ps) {
        let dlb = self.of(node).dlb;
        let period = dlb.period;
        for (place, port) in self.topology.ports(node).enumerate() {
            let state = &mut self.ports[port];
            let waiting = state.queues.iter().flatten().map(|packet| u64::from(packet.bytes)).sum();
            let capacity = (period << 16) / self.topology.wires[port].ps_per_byte;
            self.loads[node][place] = (Load { sent: state.sent, waiting, given: 0 }, capacity, now);
            state.sent = 0;
        }
        self.heap.push(Reverse((now + period, node as u32, What::Sample, 0, 0)));
    }

    fn look(&mut self, node: usize, now: Ps) {
        let watchdog = self.of(node).switch.watchdog.expect("it looks");
        let mut again = false;
        for port in self.topology.ports(node) {
            for class in 0..CLASSES {
                let (state, bit) = (&mut self.ports[port], 1u8 << class);
                if state.acting & bit != 0 {
                    if now >= state.until[class] {
                        state.acting &= !bit;
                        state.stuck[class] = 0;
                        state.paused |= state.wanted & bit;
                    }
                } else if state.paused & bit == 0 || state.queues[class].is_empty() {
                    state.stuck[class] = 0;
                } else {
                    state.stuck[class] += 1;
                    if state.stuck[class] >= watchdog.detection {
                        state.until[class] = now + watchdog.recovery;
                        state.acting |= bit;
                        state.paused &= !bit;
                        self.counters.watchdog_acts += 1;
                        if watchdog.drop {
                            for packet in std::mem::take(&mut self.ports[port].queues[class]) {
                                self.counters.dropped_watchdog += 1;
                                self.release(node, packet, now);
                            }
                        }
                        self.start(port, now);
                    }
                }
            }
            again |= self.ports[port].paused | self.ports[port].acting != 0;
        }
        self.looking[node] = again;
        if again {
            self.heap.push(Reverse((now + watchdog.poll, node as u32, What::Look, 0, 0)));
        }
    }

    fn share_in(&self, node: usize, pool: usize) -> u64 {
        let config = &self.of(node).switch;
        config.ingress_pool[pool].saturating_sub(self.taken_in[node][pool]) * config.ingress_alpha[pool] / 1024
    }

    fn share_out(&self, node: usize, class: usize) -> u64 {
        let config = &self.of(node).switch;
        let pool = usize::from(config.classes[class].lossless);
        let free = config.egress_pool[pool].saturating_sub(self.taken_out[node][pool]);
        free * config.classes[class].egress_alpha / 1024
    }

    fn release(&mut self, node: usize, packet: Packet, now: Ps) {
        let config = self.of(node).switch;
        let (bytes, class) = (u64::from(packet.bytes), usize::from(packet.class));
        let number = self.topology.first[node] as usize + usize::from(packet.ingress);
        let pool = usize::from(config.classes[class].lossless && !self.ports[number].without_pfc);
        let ingress = &mut self.ports[number].ingress[class];
        let from_headroom = ingress.headroom.min(bytes);
        ingress.headroom -= from_headroom;
        let before = ingress.used.saturating_sub(config.reserved);
        ingress.used -= bytes - from_headroom;
        let after = ingress.used.saturating_sub(config.reserved);
        let (paused, headroom, since) = (ingress.paused, ingress.headroom, ingress.since);
        self.taken_in[node][pool] -= before - after;
        self.taken_out[node][usize::from(config.classes[class].lossless)] -= bytes;
        let low = after == 0 || after + config.xon_offset <= self.share_in(node, pool);
        if paused && headroom == 0 && low {
            self.ports[number].ingress[class].paused = false;
            self.counters.paused += now - since;
            self.pause(number, packet.class, 0, now);
        }
    }

    fn pause(&mut self, port: usize, class: u8, psn: u32, now: Ps) {
        if !self.ports[port].down {
            self.ports[port].control.push_back(pfc_frame(class, psn == 1, now));
            self.start(port, now);
        }
    }

    fn arrive(&mut self, node: usize, port: usize, mut packet: Packet, now: Ps) {
        let host = self.topology.kinds[node] == NodeKind::Host;
        if packet.kind == Kind::Pfc && self.ports[port].without_pfc {
            return;
        }
        if packet.kind == Kind::Pfc {
            let bit = 1 << packet.class;
            let state = &mut self.ports[port];
            state.wanted = if packet.psn == 1 { state.wanted | bit } else { state.wanted & !bit };
            if state.acting & bit == 0 {
                state.paused = if packet.psn == 1 { state.paused | bit } else { state.paused & !bit };
                if packet.psn == 0 {
                    state.stuck[usize::from(packet.class)] = 0;
                } else if let Some(watchdog) = self.profiles[usize::from(self.of[node])].switch.watchdog
                    && !host
                    && !std::mem::replace(&mut self.looking[node], true)
                {
                    let at = (now / watchdog.poll + 1) * watchdog.poll;
                    self.heap.push(Reverse((at, node as u32, What::Look, 0, 0)));
                }
            }
            self.start(port, now);
            return;
        }
        self.counters.hops += 1;
        self.counters.data_hops += u64::from(packet.kind == Kind::Data);
        if host {
            self.counters.received += 1;
            if packet.kind == Kind::Data {
                self.put(node, packet, now);
            } else {
                self.receive(node, packet, now);
            }
            self.start(port, now);
            return;
        }
        let first = self.topology.first[node] as usize;
        let seed = mix(self.of(node).seed, node as u64);
        let group = self.fib.group[self.fib.place(node, packet.dst)];
        if group == NO_GROUP {
            self.counters.unroutable += 1;
            return;
        }
        let to = first
            + if group & ONE_PORT != 0 {
                (group & !ONE_PORT) as usize
            } else {
                let chosen = self.fib.groups[group as usize];
                let members = self.fib.ports(&chosen);
                let flow = mix(seed, u64::from(packet.dst) << 16 | u64::from(packet.entropy));
                let own = mix(flow ^ now, u64::from(packet.qp) << 32 | u64::from(packet.psn));
                let dlb = &self.profiles[usize::from(self.of[node])].dlb;
                let grade = |&(load, capacity, at): &(Load, u64, u64)| load.band(dlb, capacity, now - at);
                let bands: Vec<u8> = self.loads[node].iter().map(grade).collect();
                let place = match chosen.balance {
                    Balance::Hash => one_of(flow, members.len()),
                    Balance::Spray => one_of(own, members.len()),
                    Balance::Packet => best(members, &bands, own),
                    Balance::Flowlet => {
                        let sets = self.flowsets.entry((node, group)).or_insert(vec![Flowset::default(); dlb.flowsets]);
                        flowlet(dlb, &mut sets[flow as usize & (dlb.flowsets - 1)], members, &bands, now, own)
                    }
                };
                if matches!(chosen.balance, Balance::Packet | Balance::Flowlet) {
                    self.loads[node][usize::from(members[place])].0.given += u64::from(packet.bytes);
                }
                usize::from(members[place])
            };
        if self.ports[to].down {
            self.counters.dropped_down += 1;
            return;
        }
        let drops = self.of(node).switch.watchdog.is_some_and(|watchdog| watchdog.drop);
        if drops && self.ports[to].acting >> packet.class & 1 == 1 {
            self.counters.dropped_watchdog += 1;
            return;
        }
        let behind = |port: usize| self.topology.kinds[self.topology.wires[port].peer_node as usize] == NodeKind::Host;
        let vxlan = self.of(node).switch.vxlan;
        if let Some(vxlan) = vxlan {
            if behind(port) && !behind(to) {
                packet.bytes += vxlan.overhead;
                packet.flags |= TUNNEL;
            } else if packet.flags & TUNNEL != 0 && behind(to) {
                packet.bytes -= vxlan.overhead;
                if vxlan.copy_out && packet.flags & OUTER_CE != 0 {
                    packet.flags |= CE;
                }
                packet.flags &= !(TUNNEL | OUTER_CE);
            }
        }
        packet.ingress = (port - first) as u16;
        let class = usize::from(packet.class);
        let depth: u64 = self.ports[to].queues[class].iter().map(|one| u64::from(one.bytes)).sum();
        if !self.admit(node, port, &packet, depth, now) {
            return;
        }
        if !self.of(node).switch.classes[class].ecn_at_dequeue && !self.ports[to].without_ecn {
            self.mark(node, &mut packet, depth);
        }
        self.ports[to].queues[class].push_back(packet);
        self.start(to, now);
    }

    fn admit(&mut self, node: usize, port: usize, packet: &Packet, depth: u64, now: Ps) -> bool {
        let config = self.of(node).switch;
        let (bytes, class) = (u64::from(packet.bytes), usize::from(packet.class));
        let lossless = config.classes[class].lossless && !self.ports[port].without_pfc;
        let pool = usize::from(lossless);
        if depth + bytes > self.share_out(node, class) {
            self.counters.dropped_egress += 1;
            return false;
        }
        let share = self.share_in(node, pool);
        let ingress = &mut self.ports[port].ingress[class];
        let before = ingress.used.saturating_sub(config.reserved);
        let after = (ingress.used + bytes).saturating_sub(config.reserved);
        if after <= share {
            ingress.used += bytes;
            self.taken_in[node][pool] += after - before;
        } else if lossless && ingress.headroom + bytes <= config.headroom {
            ingress.headroom += bytes;
        } else {
            self.counters.dropped_ingress += 1;
            return false;
        }
        self.taken_out[node][usize::from(config.classes[class].lossless)] += bytes;
        let share = self.share_in(node, pool);
        let ingress = &mut self.ports[port].ingress[class];
        let full = ingress.headroom > 0 || ingress.used.saturating_sub(config.reserved) >= share;
        if lossless && !ingress.paused && full {
            ingress.paused = true;
            ingress.since = now;
            self.counters.pauses += 1;
            self.pause(port, packet.class, 1, now);
        }
        true
    }

    fn make_ready(&mut self, qp: u32, now: Ps) {
        let sender = &mut self.senders[qp as usize];
        if !sender.queued && sender.can_send(self.config.host.window) {
            sender.queued = true;
            sender.allowed = sender.allowed.max(now);
            self.ready[self.sources[qp as usize] as usize].push(qp);
        }
    }

    fn start_host(&mut self, node: usize, port: usize, now: Ps) {
        if let Some(packet) = self.ports[port].pfc.pop_front() {
            self.transmit(port, packet, now);
            return;
        }
        let paused = self.ports[port].paused;
        let data_paused = paused >> self.config.host.data_class & 1 == 1;
        let open = |packet: &Packet| paused >> packet.class & 1 == 0;
        if self.cnps[node].front().is_some_and(open) {
            let packet = self.cnps[node].pop_front().expect("not empty");
            self.transmit(port, packet, now);
            return;
        }
        if self.ports[port].control.front().is_some_and(open) {
            let packet = self.ports[port].control.pop_front().expect("not empty");
            self.transmit(port, packet, now);
            return;
        }
        if data_paused {
            return;
        }
        let Some((allowed, qp)) = self.ready[node].iter().map(|&qp| (self.senders[qp as usize].allowed, qp)).min()
        else {
            return;
        };
        if allowed > now {
            self.heap.push(Reverse((allowed, node as u32, What::Wake, port as u32, 0)));
            return;
        }
        self.ready[node].retain(|&one| one != qp);
        let config = self.config.host;
        let sender = &mut self.senders[qp as usize];
        sender.queued = false;
        if !sender.can_send(config.window) {
            self.start_host(node, port, now);
            return;
        }
        let (psn, bytes, flags) = sender.take(&config, &self.schedule.segments);
        let (dst, entropy) = (sender.to, sender.entropy);
        self.counters.sent += 1;
        self.counters.retransmitted += u64::from(flags & AGAIN != 0);
        let (kind, class) = (Kind::Data, config.data_class);
        let packet = Packet { at: 0, qp, psn, dst, bytes, entropy, ingress: 0, kind, flags, class };
        let free = self.transmit(port, packet, now);
        let sender = &mut self.senders[qp as usize];
        let mut gap = free - now;
        if let Some(dcqcn) = &config.dcqcn {
            sender.dcqcn.sent(dcqcn, now, u64::from(bytes));
            if sender.dcqcn.limited() {
                gap = sender.dcqcn.passed(dcqcn, now, u32::from(bytes) + 20) - now;
            }
        }
        sender.allowed = now + gap;
        if sender.can_send(config.window) {
            sender.queued = true;
            self.ready[node].push(qp);
        }
        if !sender.armed {
            sender.armed = true;
            sender.progress = now;
            self.heap.push(Reverse((now + config.timeout, node as u32, What::Timer, qp, 0)));
        }
    }

    fn receive(&mut self, node: usize, packet: Packet, now: Ps) {
        let config = self.config.host;
        let port = self.topology.first[node] as usize;
        let qp = packet.qp as usize;
        match packet.kind {
            Kind::Ack | Kind::Nak => {
                let sender = &mut self.senders[qp];
                if sender.acknowledged(&config, packet.kind, packet.psn, u32::from(packet.entropy)) {
                    sender.progress = now;
                }
                if let (true, Some(dcqcn)) = (packet.flags & CE != 0, &config.dcqcn) {
                    sender.dcqcn.notified(dcqcn, now);
                }
                self.make_ready(packet.qp, now);
            }
            Kind::Cnp => {
                if let Some(dcqcn) = &config.dcqcn {
                    self.senders[qp].dcqcn.notified(dcqcn, now);
                }
            }
            Kind::Data => {
                let receiver = &mut self.receivers[qp];
                let dst = receiver.back;
                if config.cnp_on_ack {
                    receiver.marked |= packet.flags & CE != 0 && config.dcqcn.is_some();
                } else if let Some(dcqcn) = &config.dcqcn
                    && packet.flags & CE != 0
                    && now
                        >= match config.cnp_limit {
                            CnpLimit::QueuePair => receiver.notify,
                            CnpLimit::Address => self.notify.get(&(node, dst)).copied().unwrap_or(0),
                            CnpLimit::Port => self.notify.get(&(node, 0)).copied().unwrap_or(0),
                        }
                {
                    let (bytes, class) = (config.cnp_bytes, config.cnp_class);
                    self.cnps[node].push_back(Packet {
                        psn: 0,
                        dst,
                        bytes,
                        kind: Kind::Cnp,
                        flags: 0,
                        class,
                        ..packet
                    });
                    let next = now + dcqcn.cnp_interval;
                    match config.cnp_limit {
                        CnpLimit::QueuePair => receiver.notify = next,
                        CnpLimit::Address => _ = self.notify.insert((node, dst), next),
                        CnpLimit::Port => _ = self.notify.insert((node, 0), next),
                    }
                    self.counters.cnps += 1;
                    self.counters.sent += 1;
                }
                let arrival = receiver.data(&config, packet.psn, packet.flags & LAST != 0);
                let psn = receiver.expected;
                let (bytes, class) = (config.ack_bytes, config.data_class);
                let answers = !matches!(arrival, Arrival::Taken | Arrival::Ignored);
                let echo = answers && std::mem::take(&mut receiver.marked);
                self.counters.cnps += u64::from(echo);
                let flags = if echo { CE } else { 0 };
                let reply = |kind, entropy| Packet { psn, dst, bytes, kind, flags, class, entropy, ..packet };
                let used = matches!(arrival, Arrival::Taken | Arrival::Answered | Arrival::Gap(_));
                *(if used { &mut self.counters.delivered } else { &mut self.counters.useless }) += 1;
                let answer = match arrival {
                    Arrival::Taken | Arrival::Ignored => None,
                    Arrival::Answered | Arrival::Useless => Some(reply(Kind::Ack, packet.entropy)),
                    Arrival::Gap(ahead) => Some(reply(Kind::Nak, ahead as u16)),
                    Arrival::UselessGap => Some(reply(Kind::Nak, 0)),
                };
                self.counters.sent += u64::from(answer.is_some());
                self.ports[port].control.extend(answer);
                self.complete(qp, now);
            }
            Kind::Pfc => {}
        }
    }

    fn complete(&mut self, qp: usize, now: Ps) {
        let schedule = &mut self.schedule;
        for place in schedule.first[qp]..schedule.first[qp + 1] {
            let message = schedule.message[place as usize];
            let whole = schedule.segments[place as usize].end <= self.receivers[qp].expected;
            if whole && self.arrived[message as usize] == Ps::MAX {
                self.arrived[message as usize] = now;
                for follower in schedule.followers_of(message) {
                    let Some((ready, from)) = schedule.arrived(schedule.followers[follower], now) else { continue };
                    for follower in ready {
                        let place = follower as usize;
                        let node = self.sources[schedule.qp[place] as usize];
                        self.heap.push(Reverse((from + schedule.start[place], node, What::Start, follower, 0)));
                    }
                }
            }
        }
    }

    fn expire(&mut self, node: u32, qp: u32, now: Ps) {
        let timeout = self.config.host.timeout;
        let sender = &mut self.senders[qp as usize];
        if !sender.waits() {
            sender.armed = false;
        } else if sender.progress + timeout > now {
            self.heap.push(Reverse((sender.progress + timeout, node, What::Timer, qp, 0)));
        } else {
            self.counters.timeouts += 1;
            if !sender.expired(&self.config.host) {
                self.counters.failed_queue_pairs += 1;
                sender.armed = false;
                return;
            }
            sender.progress = now;
            self.heap.push(Reverse((now + timeout, node, What::Timer, qp, 0)));
            self.make_ready(qp, now);
            self.start(self.topology.first[node as usize] as usize, now);
        }
    }
}
