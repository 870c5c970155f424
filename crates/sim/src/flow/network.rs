//! The network as flows see it: paths, constraints and delays, as they are at a time.

use super::capacity::{Rates, full_packet, tunnel_factor};
use super::constraint::Graph;
use super::path::{Forwarding, Paths, Tables, seeds};
use crate::config::Config;
use crate::fault::Change;
use crate::hashing::mix;
use crate::packet::{GAP_BYTES, Ps};
use crate::topology::{NodeKind, Topology};
use crate::traffic::QueuePair;
use crate::work::{Stopped, Work};

/// A network with the paths of queue pairs.
pub struct Network {
    /// Parameters.
    pub config: Config,
    topology: Topology,
    tables: Tables,
    seeds: Vec<u64>,
    rates: Rates,
    efficiency: f64,
    /// Paths of all queue pairs.
    pub paths: Paths,
    /// Constraints on queue pairs, or on their classes.
    pub graph: Graph,
    /// By class of queue pairs: the first that is in it, its delay, and how long a byte of a packet is stored behind the
    /// first wire, in units of 2^-16 ps.
    pub first: Vec<u32>,
    latency: Vec<(Ps, u64)>,
}

impl Network {
    /// A network on which everything works.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(
        (config, seed): (Config, impl Fn(usize) -> u64),
        topology: &Topology,
        tables: Tables,
        pairs: &[QueuePair],
        efficiency: f64,
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        let mut network = Network {
            config,
            seeds: seeds(seed, topology.kinds.len()),
            rates: Rates::new(topology),
            topology: topology.clone(),
            tables,
            efficiency,
            paths: Paths::default(),
            graph: Graph::default(),
            first: Vec::new(),
            latency: Vec::new(),
        };
        network.rebuild(pairs, true, work)?;
        Ok(network)
    }

    /// Find constraints anew, and paths if they changed.
    ///
    /// # Errors
    /// Where the work is stopped; it is not to be used any more then.
    pub fn rebuild(&mut self, pairs: &[QueuePair], paths: bool, work: &mut Work<'_>) -> Result<(), Stopped> {
        if paths {
            let forwarding = Forwarding {
                topology: &self.topology,
                tables: &self.tables,
                seed: self.config.seed,
                seeds: &self.seeds,
            };
            self.paths = Paths::new(&forwarding, pairs, work)?;
            if let Some(vxlan) = &self.config.switch.vxlan {
                for (&port, share) in self.paths.links.iter().zip(&mut self.paths.share) {
                    *share *= tunnel_factor(&self.topology, port as usize, vxlan.overhead, &self.config.host);
                }
            }
        }
        let capacity = self.rates.capacity(&self.topology, &self.paths, &self.config.host, self.efficiency);
        self.graph = Graph::new(&self.topology, &self.paths, pairs, &capacity, work)?;
        Ok(())
    }

    /// A change happens. Returns whether paths may be others now.
    pub fn change(&mut self, change: Change) -> bool {
        if let Change::Route { node, address, group } = change {
            let place = self.tables.fib.place(node as usize, address);
            self.tables.fib.group[place] = group;
            return true;
        }
        self.rates.change(&self.topology, change);
        false
    }

    /// What each queue pair is like beside its messages and constraints.
    pub fn traits(&self, pairs: &[QueuePair]) -> Vec<u64> {
        let like = |qp: usize| mix(self.delay_of(qp), self.stored_of(qp) ^ self.most_of(qp).to_bits());
        (0..pairs.len()).map(like).collect()
    }

    /// Take delays of the first queue pair of each class.
    pub fn represent(&mut self, classes: &[u32]) {
        self.first.clear();
        for (qp, &class) in classes.iter().enumerate() {
            if class as usize == self.first.len() {
                self.first.push(qp as u32);
            }
        }
        let latency = |&qp: &u32| (self.delay_of(qp as usize), self.stored_of(qp as usize));
        self.latency = self.first.iter().map(latency).collect();
    }

    /// How long after a class has sent a message it arrives, where its last packet has `last` bytes.
    #[inline]
    pub fn latency(&self, class: u32, last: u32) -> Ps {
        let (delay, stored) = self.latency[class as usize];
        delay + ((stored * u64::from(last)) >> 16)
    }

    /// What each class sends at most, bytes per picosecond.
    pub fn most(&self) -> Vec<f64> {
        self.first.iter().map(|&qp| self.most_of(qp as usize)).collect()
    }

    fn delay_of(&self, qp: usize) -> Ps {
        self.topology.wires[self.paths.up[qp] as usize].delay + self.paths.delay[self.paths.way[qp] as usize]
    }

    fn stored_of(&self, qp: usize) -> u64 {
        self.paths.stored[self.paths.way[qp] as usize]
    }

    /// A window is sent once a round trip: of a packet there, and of its acknowledgement the same way back.
    fn most_of(&self, qp: usize) -> f64 {
        let host = &self.config.host;
        if !self.paths.reaches[self.paths.way[qp] as usize] {
            return 0.0;
        }
        if host.window == u32::MAX {
            return f64::INFINITY;
        }
        let stored = self.topology.wires[self.paths.up[qp] as usize].ps_per_byte + self.stored_of(qp);
        let packets = full_packet(host) + f64::from(host.ack_bytes) + GAP_BYTES as f64;
        let round_trip = 2.0 * self.delay_of(qp) as f64 + stored as f64 / 65536.0 * packets;
        f64::from(host.window) * full_packet(host) / round_trip
    }

    /// The port of a queue pair's path that a constraint is for.
    pub fn port_of(&self, qp: u32, constraint: u32) -> Option<u32> {
        let (up, way) = (self.paths.up[qp as usize], self.paths.way[qp as usize] as usize);
        let links = self.paths.links(way).map(|(port, _)| port as u32);
        std::iter::once(up).chain(links).find(|&port| self.graph.of_port[port as usize] == constraint)
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.topology.kinds.iter().filter(|&&kind| kind == NodeKind::Host).count()
    }

    /// How many ports there are.
    pub fn ports(&self) -> usize {
        self.topology.wires.len()
    }
}
