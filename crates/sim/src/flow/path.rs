//! The links that a queue pair's data takes, and what share of it each carries.

use super::mixed::MixedMap;
use crate::balance::Balance;
use crate::hashing::{entropy, flow_hash, mix, one_of};
use crate::packet::Ps;
use crate::routing::{Fib, NO_GROUP, ONE_PORT};
use crate::topology::{NodeKind, Topology};
use crate::traffic::QueuePair;
use crate::work::{Stopped, Work};

/// More switches than this in a row are a circle.
const MOST_HOPS: usize = 64;

/// In forwarding tables, beside what the packet engine has there: by the port that the address's host is on, where it is on
/// this switch; no route where it is not.
pub const HERE: u32 = NO_GROUP - 1;

/// In `Paths::begin`: the way depends on the queue pair's hash.
pub const PRIVATE: u32 = u32::MAX;

/// Ways behind the hosts' own ports. Queue pairs that are spread in the same way have one in common.
#[derive(Debug, Default)]
pub struct Paths {
    /// The port that each queue pair's host sends by.
    pub up: Vec<u32>,
    /// The way of each queue pair.
    pub way: Vec<u32>,
    /// `links[first[w]..first[w + 1]]` are the ports that way `w` sends by.
    pub first: Vec<u32>,
    /// Ports.
    pub links: Vec<u32>,
    /// What part of the data each of `links` carries.
    pub share: Vec<f64>,
    /// The switch that each way begins at, where queue pairs have it in common; `PRIVATE`: it is one queue pair's.
    pub begin: Vec<u32>,
    /// Whether all of the data reaches its host.
    pub reaches: Vec<bool>,
    /// Propagation delay behind the first wire, where several ways are taken the longest.
    pub delay: Vec<Ps>,
    /// Picoseconds a byte of a packet is stored for behind the first wire, in units of 2^-16 ps.
    pub stored: Vec<u64>,
}

/// Data on its way: at a node, with its share of the whole, and what delayed it.
#[derive(Clone, Copy)]
struct Front {
    node: u32,
    share: f64,
    delay: Ps,
    stored: u64,
}

/// Forwarding tables. Addresses that every switch forwards alike, but for the one that their host is on, have a column in
/// common, so that tables are as large as what differs.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Groups by row and column.
    pub fib: Fib,
    /// The column of each address; `None`: each has its own.
    pub column: Option<Vec<u32>>,
}

impl From<Fib> for Tables {
    fn from(fib: Fib) -> Self {
        Tables { fib, column: None }
    }
}

impl Tables {
    /// How many addresses there are.
    pub fn addresses(&self) -> usize {
        self.column.as_ref().map_or(self.fib.addresses, Vec::len)
    }

    /// The entry of a switch for an address, whose host is the node `goal`.
    #[inline]
    fn entry(&self, topology: &Topology, node: usize, address: u32, goal: u32) -> u32 {
        let column = self.column.as_ref().map_or(address, |column| column[address as usize]);
        let entry = self.fib.group[self.fib.place(node, column)];
        if entry != HERE {
            return entry;
        }
        let wire = &topology.wires[topology.first[goal as usize] as usize];
        if wire.peer_node as usize == node { ONE_PORT | (wire.peer - topology.first[node]) } else { NO_GROUP }
    }
}

/// What decides paths.
pub struct Forwarding<'a> {
    /// Nodes and cables.
    pub topology: &'a Topology,
    /// Forwarding tables.
    pub tables: &'a Tables,
    /// Seed of the hosts.
    pub seed: u64,
    /// Seed of each node.
    pub seeds: &'a [u64],
}

/// What is forwarded: data of one entropy to an address, whose host is the node `goal`.
#[derive(Clone, Copy)]
struct Flow {
    to: u32,
    entropy: u16,
    goal: u32,
}

/// How a switch sends a flow on, by its ports.
enum Way<'a> {
    None,
    One(usize),
    All(&'a [u16]),
}

impl Forwarding<'_> {
    /// How a switch sends a flow on; notes where a hash decides.
    #[inline]
    fn way(&self, node: usize, flow: Flow, hashed: &mut bool) -> Way<'_> {
        let fib = &self.tables.fib;
        let entry = self.tables.entry(self.topology, node, flow.to, flow.goal);
        if entry == NO_GROUP {
            return Way::None;
        }
        if entry & ONE_PORT != 0 {
            return Way::One((entry & !ONE_PORT) as usize);
        }
        let group = &fib.groups[entry as usize];
        let members = fib.ports(group);
        if group.balance != Balance::Hash {
            return Way::All(members);
        }
        *hashed = true;
        let hash = flow_hash(self.seeds[node], flow.to, flow.entropy);
        Way::One(usize::from(members[one_of(hash, members.len())]))
    }
}

impl Paths {
    /// The paths of queue pairs.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(forwarding: &Forwarding<'_>, pairs: &[QueuePair], work: &mut Work<'_>) -> Result<Self, Stopped> {
        let topology = forwarding.topology;
        let hosts = topology.hosts();
        let mut paths = Paths { first: vec![0], ..Paths::default() };
        paths.up.reserve_exact(pairs.len());
        paths.way.reserve_exact(pairs.len());
        let mut known: MixedMap<u32> = MixedMap::default();
        let (mut front, mut next) = (Vec::new(), Vec::new());
        for (qp, pair) in pairs.iter().enumerate() {
            work.step(1)?;
            let up = topology.first[hosts[pair.src as usize] as usize];
            let begin = topology.wires[up as usize].peer_node;
            let key = u64::from(begin) << 32 | u64::from(pair.to);
            paths.up.push(up);
            let found = known.get(&key).copied().unwrap_or(PRIVATE);
            if found != PRIVATE {
                paths.way.push(found);
                continue;
            }
            let way = paths.begin.len() as u32;
            paths.way.push(way);
            let goal = hosts[pair.dst as usize];
            let flow = Flow { to: pair.to, entropy: entropy(forwarding.seed, qp as u64), goal };
            let hashed = paths.follow(forwarding, flow, begin, &mut front, &mut next);
            work.step(paths.links(way as usize).len())?;
            paths.begin.push(if hashed { PRIVATE } else { begin });
            if !hashed {
                known.insert(key, way);
            }
        }
        Ok(paths)
    }

    /// Follow a flow from the switch `begin` to its host, switch by switch. Returns whether a hash decided.
    fn follow(
        &mut self,
        forwarding: &Forwarding<'_>,
        flow: Flow,
        begin: u32,
        front: &mut Vec<Front>,
        next: &mut Vec<Front>,
    ) -> bool {
        let topology = forwarding.topology;
        let (mut hashed, mut reaches, mut delay, mut stored, mut hops) = (false, true, 0, 0, 0);
        // as far as it stays together, as hashed flows do to the end
        let mut at = Front { node: begin, share: 1.0, delay: 0, stored: 0 };
        while hops < MOST_HOPS
            && topology.kinds[at.node as usize] == NodeKind::Switch
            && let Way::One(port) = forwarding.way(at.node as usize, flow, &mut hashed)
        {
            let port = topology.first[at.node as usize] as usize + port;
            let wire = &topology.wires[port];
            self.links.push(port as u32);
            self.share.push(1.0);
            at = Front {
                node: wire.peer_node,
                share: 1.0,
                delay: at.delay + wire.delay,
                stored: at.stored + wire.ps_per_byte,
            };
            hops += 1;
        }
        front.clear();
        front.push(at);
        for _ in hops..MOST_HOPS {
            next.clear();
            for at in front.iter() {
                let node = at.node as usize;
                if topology.kinds[node] == NodeKind::Host {
                    reaches &= at.node == flow.goal;
                    (delay, stored) = (delay.max(at.delay), stored.max(at.stored));
                    continue;
                }
                let mut send = |port: usize, share: f64| {
                    let port = topology.first[node] as usize + port;
                    let wire = &topology.wires[port];
                    self.links.push(port as u32);
                    self.share.push(share);
                    let (delay, stored) = (at.delay + wire.delay, at.stored + wire.ps_per_byte);
                    match next.iter_mut().find(|other| other.node == wire.peer_node) {
                        Some(other) => {
                            other.share += share;
                            other.delay = other.delay.max(delay);
                            other.stored = other.stored.max(stored);
                        }
                        None => next.push(Front { node: wire.peer_node, share, delay, stored }),
                    }
                };
                match forwarding.way(node, flow, &mut hashed) {
                    Way::None => reaches = false,
                    Way::One(port) => send(port, at.share),
                    Way::All(ports) => {
                        ports.iter().for_each(|&port| send(usize::from(port), at.share / ports.len() as f64));
                    }
                }
            }
            std::mem::swap(front, next);
            if front.is_empty() {
                break;
            }
        }
        self.first.push(self.links.len() as u32);
        self.reaches.push(reaches && front.is_empty());
        self.delay.push(delay);
        self.stored.push(stored);
        hashed
    }

    /// The ports that a way sends by, and the share each carries.
    pub fn links(&self, way: usize) -> impl ExactSizeIterator<Item = (usize, f64)> {
        let range = self.first[way] as usize..self.first[way + 1] as usize;
        range.map(|place| (self.links[place] as usize, self.share[place]))
    }

    /// Which ports carry data.
    pub fn carrying(&self, ports: usize) -> Vec<bool> {
        let mut carries = vec![false; ports];
        for &port in self.up.iter().chain(&self.links) {
            carries[port as usize] = true;
        }
        carries
    }
}

/// The seeds of nodes whose profile has these seeds.
pub fn seeds(profile_seed: impl Fn(usize) -> u64, nodes: usize) -> Vec<u64> {
    (0..nodes).map(|node| mix(profile_seed(node), node as u64)).collect()
}
