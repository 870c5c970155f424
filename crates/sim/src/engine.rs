//! Windows of time.
//!
//! Nothing a node does reaches another sooner than the shortest wire allows, so within a window of that length every
//! node can be run on its own (conservative time windows, Chandy and Misra 1979, Lubachevsky 1989).

use crate::config::{Config, HostConfig, Lanes};
use crate::fault::{Broken, Timeline};
use crate::hashing::entropy;
use crate::host::{Host, HostContext};
use crate::known::Known;
use crate::packet::Ps;
use crate::report::Counters;
use crate::routing::Fib;
use crate::switch::{Batch, LONGEST, Switch, SwitchContext};
use crate::topology::{NodeKind, Topology};
use crate::traffic::{Schedule, Traffic};
use crate::transport::{Receiver, Sender};
use crate::wires::Wires;
use crate::work::{Stopped, Work, whole};

mod changes;
mod view;
mod windows;
mod without;

use windows::Windows;

/// Where a node is kept.
#[derive(Clone, Copy)]
enum Node {
    Host(u32),
    Switch(u32),
}

/// The ends of each queue pair.
fn queue_pairs(
    topology: &Topology,
    traffic: &Traffic,
    schedule: &Schedule,
    seed: u64,
    work: &mut Work<'_>,
) -> Result<(Vec<Sender>, Vec<Receiver>), Stopped> {
    let hosts = topology.hosts();
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (qp, pair) in traffic.pairs.iter().enumerate() {
        work.step(1)?;
        let node = hosts[pair.src as usize] as usize;
        let wire = topology.wires[topology.first[node] as usize];
        let line = 8e6 * 65536.0 / wire.ps_per_byte as f64;
        let entropy = entropy(seed, qp as u64);
        let (begin, end) = (schedule.first[qp], schedule.first[qp + 1]);
        senders.push(Sender::new(pair.to, entropy, begin, end - begin, line).with_limit(traffic.limit(qp as u32)));
        receivers.push(Receiver::new(pair.back));
    }
    Ok((senders, receivers))
}

/// A network and the traffic on it.
pub struct Engine {
    host: HostConfig,
    profiles: Vec<Config>,
    lanes: Lanes,
    fib: Fib,
    known: Known,
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    switches: Vec<Switch>,
    wires: Wires,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    schedule: Schedule,
    arrived: Vec<Ps>,
    /// The node of each host.
    host_nodes: Vec<u32>,
    told: Vec<(u32, Ps, u32)>,
    owner: Vec<u32>,
    first: Vec<u32>,
    timeline: Timeline,
    broken: Broken,
    windows: Windows,
    batch: Batch,
    /// What was counted so far.
    pub counters: Counters,
}

impl Engine {
    /// An engine for a topology, its forwarding tables and traffic.
    ///
    /// # Panics
    /// Where a message waits for one that arrives at another host, for less than the shortest wire takes.
    pub fn new(config: Config, topology: &Topology, fib: Fib, traffic: &Traffic) -> Self {
        Engine::with_profiles(config, vec![config], &vec![0; topology.kinds.len()], topology, fib, traffic)
    }

    /// The same where switches differ: node `n` has buffers, marking, load balancing and seed of `profiles[of[n]]`. Hosts are
    /// as `config` says.
    ///
    /// # Panics
    /// As `new`.
    pub fn with_profiles(
        config: Config,
        profiles: Vec<Config>,
        of: &[u16],
        topology: &Topology,
        fib: Fib,
        traffic: &Traffic,
    ) -> Self {
        whole(|work| Engine::set_up((config, profiles, of), topology, fib, traffic, work))
    }

    /// The same as work that can be stopped.
    ///
    /// # Errors
    /// Where it is.
    ///
    /// # Panics
    /// As `new`.
    pub fn set_up(
        (config, profiles, of): (Config, Vec<Config>, &[u16]),
        topology: &Topology,
        fib: Fib,
        traffic: &Traffic,
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        let lanes = Lanes::new(1 << config.host.data_class | 1 << config.host.cnp_class);
        let profiles: Vec<Config> = profiles.iter().map(|profile| lanes.apply(profile)).collect();
        let config = lanes.apply(&config);
        let hosts = topology.hosts();
        let schedule = Schedule::new(traffic, &config.host, work)?;
        let mut starts: Vec<Vec<(Ps, u32)>> = vec![Vec::new(); topology.kinds.len()];
        let mut wires = Wires::new(topology);
        let mut windows = Windows::new(topology, LONGEST);
        let (senders, receivers) = queue_pairs(topology, traffic, &schedule, config.seed, work)?;
        work.step(topology.wires.len())?;
        let (lookahead, mut number) = (topology.lookahead(), 0);
        for messages in traffic.alike() {
            work.step(messages[0].after.len())?;
            let arrivals = traffic.arrivals(&messages[0].after);
            for message in messages {
                work.step(1 + arrivals.len())?;
                let src = traffic.pairs[message.qp as usize].src;
                let node = hosts[src as usize] as usize;
                for &(host, delay) in arrivals.iter().filter(|arrival| arrival.0 != src) {
                    let apart = delay + message.start;
                    assert!(
                        apart >= lookahead,
                        "message {number} waits for one that arrives at another host, for less than a window"
                    );
                    windows.reach(hosts[host as usize] as usize, node, apart);
                }
                if message.after.is_empty() {
                    starts[node].push((message.start, number));
                    *wires.wake(node) = message.start.min(*wires.wake(node));
                }
                number += 1;
            }
        }
        let sampled = fib.looks_at_load();
        let (mut nodes, mut all_hosts, mut switches) = (Vec::new(), Vec::new(), Vec::new());
        for (node, kind) in topology.kinds.iter().enumerate() {
            let ports = topology.ports(node);
            work.step(1 + ports.len())?;
            nodes.push(match kind {
                NodeKind::Host => {
                    all_hosts.push(Host::new(
                        all_hosts.len() as u32,
                        ports.start,
                        config.host.data_class,
                        std::mem::take(&mut starts[node]),
                    ));
                    Node::Host(all_hosts.len() as u32 - 1)
                }
                NodeKind::Switch => {
                    let period = profiles[usize::from(of[node])].dlb.period;
                    let capacity = |port: usize| (period << 16) / topology.wires[port].ps_per_byte;
                    let capacity = if sampled { ports.clone().map(capacity).collect() } else { Vec::new() };
                    let row = fib.rows[node] as usize;
                    switches.push(Switch::new(topology, node, row, (&profiles, of[node], lanes.count), capacity));
                    Node::Switch(switches.len() as u32 - 1)
                }
            });
        }
        Ok(Engine {
            host: config.host,
            profiles,
            lanes,
            known: Known::new(&fib, traffic.pairs.len()),
            fib,
            nodes,
            hosts: all_hosts,
            switches,
            wires,
            senders,
            receivers,
            arrived: vec![Ps::MAX; traffic.messages.len()],
            host_nodes: hosts,
            told: Vec::new(),
            schedule,
            owner: topology.owner.clone(),
            first: topology.first.clone(),
            timeline: Timeline::default(),
            broken: Broken::new(topology.wires.len()),
            windows,
            batch: Batch::default(),
            counters: Counters::default(),
        })
    }

    /// Have these changes happen.
    pub fn with_changes(mut self, timeline: Timeline) -> Self {
        // A wire that becomes faster brings nodes nearer to each other.
        self.windows.shorten(timeline.lookahead(&self.wires));
        self.timeline = timeline;
        self
    }

    /// Run until nothing happens any more, or until `limit`.
    pub fn run(&mut self, limit: Ps) {
        self.advance(limit);
        self.recall(limit);
    }

    /// The same as work that can be stopped. It can run on afterwards, and what comes of it is the same.
    ///
    /// # Errors
    /// Where it is stopped: up to when everything has happened.
    pub fn run_while(&mut self, limit: Ps, work: &mut Work<'_>) -> Result<(), Ps> {
        self.advance_while(limit, work)?;
        self.recall(limit);
        Ok(())
    }

    /// The same, for where only counters of the run, arrivals and whether anything happens any more are looked at before it
    /// runs on: switches go on sending ahead.
    pub fn advance(&mut self, limit: Ps) {
        whole(|work| self.try_advance(limit, work));
    }

    /// `advance` as work that can be stopped.
    ///
    /// # Errors
    /// As `run_while`.
    pub fn advance_while(&mut self, limit: Ps, work: &mut Work<'_>) -> Result<(), Ps> {
        self.try_advance(limit, work).map_err(|Stopped| {
            let until = self.windows.furthest().min(limit);
            self.run(until); // the side that is behind follows, a window at most
            until
        })
    }

    fn try_advance(&mut self, limit: Ps, work: &mut Work<'_>) -> Result<(), Stopped> {
        loop {
            work.step(self.nodes.len())?;
            let (begin, change) = (self.wires.next(), self.timeline.next());
            if begin.min(change) >= limit {
                self.pause(limit);
                return Ok(());
            }
            if change <= begin {
                self.change_network();
            } else {
                self.run_window(begin, limit.min(change));
                self.tell_arrivals();
            }
        }
    }

    /// Stand still at a time that everything before has happened by.
    fn pause(&mut self, now: Ps) {
        self.counters.lost_on_wire = self.wires.lost;
        self.windows.reached(now);
    }

    /// Have the next change happen. Everything before it is done: no node has anything to do earlier.
    fn change_network(&mut self) {
        let (now, change) = self.timeline.take().expect("it has a time");
        self.recall(now);
        self.apply(change, now);
    }

    /// Run the nodes of one side for a window that begins no earlier than `begin` and ends by `limit`.
    #[inline]
    fn run_window(&mut self, begin: Ps, limit: Ps) {
        let (side, from, end) = self.windows.next(begin, limit);
        for place in 0..self.windows.nodes[side].len() {
            let node = self.windows.nodes[side][place] as usize;
            if *self.wires.wake(node) < end {
                *self.wires.wake(node) = self.run_node(node, from, end);
            }
        }
    }

    /// Tell hosts of the arrivals that their messages wait for.
    #[inline]
    fn tell_arrivals(&mut self) {
        while let Some((host, at, message)) = self.told.pop() {
            self.hosts[host as usize].tell(at, message);
            let wake = self.wires.wake(self.host_nodes[host as usize] as usize);
            *wake = (*wake).min(at);
        }
    }

    #[inline]
    fn run_node(&mut self, node: usize, begin: Ps, end: Ps) -> Ps {
        match self.nodes[node] {
            Node::Host(host) => {
                let mut context = HostContext {
                    config: &self.host,
                    senders: &mut self.senders,
                    receivers: &mut self.receivers,
                    schedule: &mut self.schedule,
                    arrived: &mut self.arrived,
                    told: &mut self.told,
                    wires: &mut self.wires,
                    counters: &mut self.counters,
                };
                self.hosts[host as usize].run(&mut context, end)
            }
            Node::Switch(switch) => {
                self.with_switch(switch, |switch, context, batch| switch.run(context, batch, begin, end))
            }
        }
    }

    /// Have nothing leave switches ahead of `now`: what is to leave from then on waits in their queues.
    fn recall(&mut self, now: Ps) {
        let before = now.saturating_sub(1);
        for switch in 0..self.switches.len() {
            let next = self.with_switch(switch as u32, |switch, context, _| switch.recall_all(context, before));
            let wake = self.wires.wake(self.switches[switch].node());
            *wake = next.min(*wake);
        }
    }

    /// Do something with a switch and what it needs of the engine.
    #[inline]
    fn with_switch<T>(
        &mut self,
        switch: u32,
        act: impl FnOnce(&mut Switch, &mut SwitchContext<'_>, &mut Batch) -> T,
    ) -> T {
        let switch = &mut self.switches[switch as usize];
        let profile = &self.profiles[switch.profile()];
        let mut context = SwitchContext {
            config: &profile.switch,
            dlb: &profile.dlb,
            fib: &self.fib,
            known: &mut self.known,
            wires: &mut self.wires,
            counters: &mut self.counters,
        };
        act(switch, &mut context, &mut self.batch)
    }

    /// When the next thing happens; `Ps::MAX`: nothing does any more.
    pub fn next(&self) -> Ps {
        self.wires.next().min(self.timeline.next())
    }

    /// When each message arrived whole; `Ps::MAX`: not yet.
    pub fn arrivals(&self) -> &[Ps] {
        &self.arrived
    }
}
