//! An engine of flows: max-min fair rates over the same topology, forwarding tables and traffic as the packet engine, for
//! networks and sizes that packets are too many for.
//!
//! A queue pair sends its messages one after another at the rate that progressive filling gives it. Nothing waits in
//! queues, nothing is lost, and rates are fair at once; a message arrives when its last packet has crossed all wires.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::config::Config;
use crate::fault::{Change, Timeline};
use crate::packet::Ps;
use crate::routing::Fib;
use crate::topology::Topology;
use crate::traffic::Traffic;

mod bound;
mod capacity;
mod constraint;
mod fill;
mod finish;
mod network;
mod path;
mod plan;
mod result;
mod symmetry;

use bound::Bounds;
pub use bound::{Bound, BoundTime};
use fill::Fill;
use finish::Finish;
use network::Network;
use plan::Plan;
use symmetry::Classes;

/// What beside the packet engine's parameters decides.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What part of a link's rate flows get: what congestion control leaves unused.
    pub efficiency: f64,
    /// How long a host takes to post a message; its messages are posted one after another.
    pub post_cost: Ps,
    /// Rates follow the beginning or the end of a message after this part of its duration at the latest, and not at once;
    /// 0: at once. Until then a message that begins has what is left of its links, and what one that ended had stays free.
    pub tolerance: f64,
    /// Whether what behaves the same is simulated once. It changes nothing but speed.
    pub fold: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { efficiency: 1.0, post_cost: 0, tolerance: 0.01, fold: true }
    }
}

/// A queue pair that sends, or will.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// The place of its next message in the plan's order.
    next: u32,
    /// Bytes of that message that were to be sent at `since`.
    left: f64,
    /// Bytes per picosecond from then on.
    rate: f64,
    since: Ps,
    /// When the message began.
    began: Ps,
    /// When the last one ended.
    idle: Ps,
    /// Bytes sent until `since`.
    sent: f64,
    /// Its place among those that send.
    place: u32,
}

/// What happens to a message: the order is that of things at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It arrived.
    Arrived(u32),
    /// All that it waits for arrived, and its delay is over.
    Ready(u32),
    /// Its host posted it.
    Posted(u32),
}

/// A network and the traffic on it.
pub struct FlowEngine {
    options: Options,
    network: Network,
    traffic: Traffic,
    classes: Classes,
    plan: Plan,
    fill: Fill,
    finish: Finish,
    senders: Vec<Sender>,
    active: Vec<bool>,
    sending: Vec<u32>,
    waits: Vec<u32>,
    posted: Vec<bool>,
    ready: Vec<Ps>,
    free: Vec<Ps>,
    arrived: Vec<Ps>,
    events: BinaryHeap<Reverse<(Ps, Event)>>,
    timeline: Timeline,
    /// Links whose rates are to be found anew, until `due`.
    changed: Vec<u32>,
    due: Ps,
    bounds: Bounds,
    /// Bytes that ports sent before the last change of paths.
    before: Vec<f64>,
    now: Ps,
    until: Ps,
    /// When the last message arrives of those that were sent.
    last: Ps,
    /// How often rates were found.
    pub fills: u64,
}

impl FlowEngine {
    /// An engine for a topology, its forwarding tables and traffic: as the packet engine's.
    ///
    /// # Panics
    /// Where a message waits for itself in the end (`Traffic::circle`).
    pub fn new(config: Config, topology: &Topology, fib: Fib, traffic: &Traffic, options: Options) -> Self {
        FlowEngine::with_profiles(config, &[config], &vec![0; topology.kinds.len()], topology, fib, traffic, options)
    }

    /// The same where switches differ: node `n` has the seed of `profiles[of[n]]`.
    ///
    /// # Panics
    /// As `new`.
    pub fn with_profiles(
        config: Config,
        profiles: &[Config],
        of: &[u16],
        topology: &Topology,
        fib: Fib,
        traffic: &Traffic,
        options: Options,
    ) -> Self {
        let seed = |node: usize| profiles[usize::from(of[node])].seed;
        let network = Network::new(config, seed, topology, fib, &traffic.pairs, options.efficiency);
        FlowEngine::on(network, traffic.clone(), options)
    }

    /// Have these changes happen. What the network loses or stops in a change is not: a queue pair whose way is broken stands
    /// still until it works or leads elsewhere.
    ///
    /// # Errors
    /// A change that flows cannot show: lost packets, pauses.
    pub fn with_changes(self, changes: Vec<(Ps, Change)>) -> Result<Self, Change> {
        if let Some(&(_, change)) = changes.iter().find(|one| matches!(one.1, Change::Loss(..) | Change::Storm(..))) {
            return Err(change);
        }
        let timeline = Timeline::new(changes);
        if timeline.next() == Ps::MAX {
            return Ok(self);
        }
        // a change makes differ what behaved the same
        let options = Options { fold: false, ..self.options };
        let mut network = self.network;
        network.rebuild(&self.traffic.pairs, true);
        Ok(FlowEngine { timeline, ..FlowEngine::on(network, self.traffic, options) })
    }

    fn on(mut network: Network, traffic: Traffic, options: Options) -> Self {
        let hosts = network.hosts();
        let host = network.config.host;
        let classes = if options.fold {
            let traits = network.traits(&traffic.pairs);
            Classes::new(&traffic, &host, &network.graph, &traits, hosts, options.post_cost > 0)
        } else {
            Classes::single(&traffic, network.graph.capacity.len(), hosts)
        };
        if classes.folds() {
            network.graph = classes.fold(&network.graph);
        }
        network.represent(&classes.qp);
        let plan = Plan::new(&traffic, &host, &classes);
        let (pairs, messages) = (plan.host.len(), plan.qp.len());
        let starts = (0..messages as u32).filter(|&message| plan.waits[message as usize] == 0);
        let starts = starts.map(|message| Reverse((plan.start[message as usize], Event::Ready(message)))).collect();
        let sender = |&next: &u32| Sender { next, ..Sender::default() };
        FlowEngine {
            options,
            fill: Fill::new(&network.graph, network.most()),
            finish: Finish::new(pairs),
            senders: plan.first[..pairs].iter().map(sender).collect(),
            active: vec![false; pairs],
            sending: Vec::new(),
            waits: plan.waits.clone(),
            posted: vec![false; messages],
            ready: vec![0; messages],
            free: vec![0; hosts],
            arrived: vec![Ps::MAX; messages],
            events: starts,
            timeline: Timeline::default(),
            changed: Vec::new(),
            due: Ps::MAX,
            bounds: Bounds::new(pairs),
            before: vec![0.0; network.ports()],
            now: 0,
            until: 0,
            last: 0,
            fills: 0,
            network,
            traffic,
            classes,
            plan,
        }
    }

    /// Run until nothing happens any more, or until `limit`.
    pub fn run(&mut self, limit: Ps) {
        loop {
            let (end, qp) = self.finish.next(&self.sending);
            let event = self.events.peek().map_or(Ps::MAX, |event| event.0.0);
            let change = self.timeline.next();
            let now = end.min(event).min(change).min(self.due);
            if now >= limit || now == Ps::MAX {
                self.until = limit;
                self.now = if limit == Ps::MAX { self.now } else { limit };
                return;
            }
            self.now = now;
            if change == now {
                self.change(now);
            } else if end == now {
                self.sent(qp, now);
            } else if event == now {
                let Reverse((_, event)) = self.events.pop().expect("looked at before");
                match event {
                    Event::Arrived(message) => self.arrive(message, now),
                    Event::Ready(message) => self.post(message, now),
                    Event::Posted(message) => self.begin(message, now),
                }
            } else {
                self.share(now);
            }
        }
    }

    /// When the next thing happens that changes rates or, where none will, when the last message arrives; `Ps::MAX`: nothing
    /// happens any more.
    pub fn next(&mut self) -> Ps {
        let event = self.events.peek().map_or(Ps::MAX, |event| event.0.0);
        let next = self.finish.next(&self.sending).0.min(event).min(self.timeline.next()).min(self.due);
        if next == Ps::MAX && self.last >= self.until { self.last } else { next }
    }

    /// A message arrived: those that waited for it alone become ready.
    fn arrive(&mut self, message: u32, now: Ps) {
        let range = self.plan.follow[message as usize]..self.plan.follow[message as usize + 1];
        for &follower in &self.plan.followers[range.start as usize..range.end as usize] {
            self.waits[follower as usize] -= 1;
            if self.waits[follower as usize] == 0 {
                let ready = now + self.plan.start[follower as usize];
                self.events.push(Reverse((ready, Event::Ready(follower))));
            }
        }
    }

    /// A message may be sent: its host posts it when it has posted those before.
    fn post(&mut self, message: u32, now: Ps) {
        self.ready[message as usize] = now;
        if self.options.post_cost == 0 {
            return self.begin(message, now);
        }
        let free = &mut self.free[self.plan.host[self.plan.qp[message as usize] as usize] as usize];
        *free = now.max(*free) + self.options.post_cost;
        self.events.push(Reverse((*free, Event::Posted(message))));
    }

    /// A message is posted; it begins if it is its queue pair's next and nothing is before it.
    fn begin(&mut self, message: u32, now: Ps) {
        self.posted[message as usize] = true;
        let qp = self.plan.qp[message as usize];
        let sender = &mut self.senders[qp as usize];
        if self.active[qp as usize] || self.plan.order[sender.next as usize] != message {
            return;
        }
        let waited = now - self.ready[message as usize].max(sender.idle);
        self.bounds.waited_for_post(qp, waited);
        (sender.left, sender.since, sender.began) = (self.plan.bytes[message as usize], now, now);
        sender.place = self.sending.len() as u32;
        self.sending.push(qp);
        self.active[qp as usize] = true;
        let equal = self.fill.begin(&self.network.graph, qp as usize);
        sender.rate = self.fill.rate[qp as usize];
        let duration = sender.left / equal;
        self.finish.set(qp, sender.end());
        self.bounds.set(qp, self.fill.bound[qp as usize], now);
        self.disturb(qp, duration, now);
    }

    /// A queue pair's message is sent whole; the next one begins, or the queue pair rests.
    fn sent(&mut self, qp: u32, now: Ps) {
        let sender = &mut self.senders[qp as usize];
        let message = self.plan.order[sender.next as usize];
        let at = now + self.network.latency(qp, self.plan.last[message as usize]);
        self.arrived[message as usize] = at;
        self.last = self.last.max(at);
        if self.plan.follow[message as usize] < self.plan.follow[message as usize + 1] {
            self.events.push(Reverse((at, Event::Arrived(message))));
        }
        sender.sent += sender.left;
        sender.next += 1;
        let duration = (now - sender.began) as f64;
        if sender.next < self.plan.first[qp as usize + 1] {
            let message = self.plan.order[sender.next as usize] as usize;
            if self.posted[message] {
                (sender.left, sender.since, sender.began) = (self.plan.bytes[message], now, now);
                self.finish.set(qp, sender.end());
                return;
            }
        }
        (sender.left, sender.rate, sender.since, sender.idle) = (0.0, 0.0, now, now);
        self.finish.set(qp, Ps::MAX);
        let place = sender.place;
        self.sending.swap_remove(place as usize);
        if let Some(&moved) = self.sending.get(place as usize) {
            self.senders[moved as usize].place = place;
        }
        self.active[qp as usize] = false;
        self.fill.end(&self.network.graph, qp as usize);
        self.bounds.rest(qp, now);
        self.disturb(qp, duration, now);
    }

    /// Rates on the links of a queue pair are to be found anew, after a part of `duration` at the latest.
    fn disturb(&mut self, qp: u32, duration: f64, now: Ps) {
        let graph = &self.network.graph;
        self.changed.extend(graph.link[graph.edges(qp as usize)].iter().map(|edge| edge.0));
        self.due = self.due.min(now.saturating_add((self.options.tolerance * duration) as Ps));
    }

    /// Find the rates of all that share links with what changed.
    fn share(&mut self, now: Ps) {
        self.due = Ps::MAX;
        self.fills += 1;
        self.fill.fill(&self.network.graph, &self.active, &mut self.changed);
        if self.fill.found.len() * 4 > self.sending.len() {
            self.finish.forget_order();
        }
        for &qp in &self.fill.found {
            let (rate, sender) = (self.fill.rate[qp as usize], &mut self.senders[qp as usize]);
            self.bounds.set(qp, self.fill.bound[qp as usize], now);
            if rate != sender.rate {
                sender.settle(now);
                sender.rate = rate;
                self.finish.set(qp, sender.end());
            }
        }
    }

    /// Do all changes of a moment.
    fn change(&mut self, now: Ps) {
        let mut paths = false;
        while self.timeline.next() == now
            && let Some((_, change)) = self.timeline.take()
        {
            paths |= self.network.change(change);
        }
        for &qp in &self.sending {
            self.senders[qp as usize].settle(now);
        }
        self.keep_bytes();
        for qp in 0..self.senders.len() as u32 {
            self.bounds.name_ports(qp, now, |link| self.network.port_of(qp, link));
        }
        self.network.rebuild(&self.traffic.pairs, paths);
        self.network.represent(&self.classes.qp);
        self.fill = Fill::new(&self.network.graph, self.network.most());
        self.finish.forget_order();
        for &qp in &self.sending {
            self.fill.begin(&self.network.graph, qp as usize);
            self.senders[qp as usize].rate = self.fill.rate[qp as usize];
            self.finish.set(qp, self.senders[qp as usize].end());
        }
        self.changed = (0..self.network.graph.capacity.len() as u32).collect();
        self.due = now;
    }
}

impl Sender {
    /// When its message will have been sent at its rate.
    fn end(&self) -> Ps {
        let takes = (self.left / self.rate).ceil();
        // what does not move never ends; a float beyond the range becomes the end of it
        if takes.is_finite() { self.since.saturating_add((takes as Ps).max(1)) } else { Ps::MAX }
    }

    /// Count what was sent until `now`.
    fn settle(&mut self, now: Ps) {
        let sent = (self.rate * (now - self.since) as f64).min(self.left);
        self.sent += sent;
        self.left -= sent;
        self.since = now;
    }
}
