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
use crate::work::{Stopped, Work, whole};

mod bound;
mod capacity;
mod constraint;
mod fill;
mod finish;
mod lists;
mod mixed;
mod network;
mod path;
mod plan;
mod result;
mod run;
mod symmetry;

use bound::Bounds;
pub use bound::{Bound, BoundTime};
use fill::Fill;
use finish::Finish;
use network::Network;
pub use path::{HERE, Tables};
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
#[repr(align(64))] // they are come to in no order that memory likes: each is a line of it
struct Sender {
    /// The place of its next message in the plan's order.
    next: u32,
    /// The place behind its last.
    end: u32,
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
    /// Whether it is in the list of those that send.
    listed: bool,
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
    /// Those that send, and some that did.
    sending: Vec<u32>,
    /// How many send.
    count: usize,
    /// For how many messages each of the plan's `alike` still waits.
    waits: Vec<u32>,
    /// When each of them can have what it waits for, as far as that arrived.
    had: Vec<Ps>,
    posted: Vec<bool>,
    ready: Vec<Ps>,
    free: Vec<Ps>,
    arrived: Vec<Ps>,
    /// Messages that wait for no others: the next is the last.
    starts: Vec<(Ps, Event)>,
    events: BinaryHeap<Reverse<(Ps, Event)>>,
    timeline: Timeline,
    /// When rates are to be found anew, on links that changed.
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
        let (profile, tables) = (vec![0; topology.kinds.len()], fib.into());
        let of = (config, &[config][..], &profile[..]);
        whole(|work| FlowEngine::set_up(of, topology, tables, traffic.clone(), options, work))
    }

    /// The same where switches differ, as work that can be stopped: node `n` has the seed of `profiles[of[n]]`. Where tables
    /// have columns that addresses share, changes of routes are of columns.
    ///
    /// # Errors
    /// Where it is stopped.
    ///
    /// # Panics
    /// As `new`.
    pub fn set_up(
        (config, profiles, of): (Config, &[Config], &[u16]),
        topology: &Topology,
        tables: Tables,
        traffic: Traffic,
        options: Options,
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        let seed = |node: usize| profiles[usize::from(of[node])].seed;
        let network = Network::new((config, seed), topology, tables, &traffic.pairs, options.efficiency, work)?;
        FlowEngine::on(network, traffic, options, work)
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
        if !self.classes.folds() {
            return Ok(FlowEngine { timeline, ..self });
        }
        // a change makes differ what behaved the same
        let options = Options { fold: false, ..self.options };
        let mut network = self.network;
        Ok(whole(|work| {
            network.rebuild(&self.traffic.pairs, true, work)?;
            Ok(FlowEngine { timeline, ..FlowEngine::on(network, self.traffic, options, work)? })
        }))
    }

    fn on(mut network: Network, traffic: Traffic, options: Options, work: &mut Work<'_>) -> Result<Self, Stopped> {
        let hosts = network.hosts();
        let host = network.config.host;
        let classes = if options.fold {
            let traits = network.traits(&traffic.pairs);
            Classes::new(&traffic, &host, &network.graph, (&traits, hosts, options.post_cost > 0), work)?
        } else {
            Classes::single(&traffic, network.graph.capacity.len(), hosts)
        };
        if classes.folds() {
            network.graph = classes.fold(&network.graph);
        }
        network.represent(&classes.qp);
        let plan = Plan::new(&traffic, &host, &classes, work)?;
        let (pairs, messages) = (plan.host.len(), plan.qp.len());
        let first = plan.alike.iter().zip(&plan.waits).filter(|alike| *alike.1 == 0);
        let first = first.flat_map(|(&(begin, end), _)| begin..end);
        let mut starts: Vec<_> = first.map(|message| (plan.start[message as usize], Event::Ready(message))).collect();
        starts.sort_unstable_by(|one, other| other.cmp(one));
        let sender = |bounds: &[u32]| Sender { next: bounds[0], end: bounds[1], ..Sender::default() };
        Ok(FlowEngine {
            options,
            fill: Fill::new(&network.graph, network.most()),
            finish: Finish::new(pairs),
            senders: plan.first.windows(2).map(sender).collect(),
            sending: Vec::new(),
            count: 0,
            waits: plan.waits.clone(),
            had: vec![0; plan.alike.len()],
            posted: vec![false; messages],
            ready: vec![0; messages],
            free: vec![0; hosts],
            arrived: vec![Ps::MAX; messages],
            starts,
            events: BinaryHeap::new(),
            timeline: Timeline::default(),
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
        })
    }
}

impl Sender {
    /// When its message will have been sent at its rate.
    fn ends(&self) -> Ps {
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
