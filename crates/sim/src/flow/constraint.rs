//! The links that can decide a rate: links that always carry the same are one, and links that others keep from filling
//! are none.

use std::collections::HashMap;

use super::lists::lists;
use super::path::{PRIVATE, Paths};
use crate::hashing::mix;
use crate::topology::{NodeKind, Topology};
use crate::traffic::QueuePair;
use crate::work::{Stopped, Work};

/// A port that no constraint is for.
pub const NONE: u32 = u32::MAX;

/// A link may seem fuller than it can be by so much: sums of shares are not exact.
const ROUNDING: f64 = 1.0 + 1e-9;

/// Queue pairs and the constraints on them: what each takes of each, per byte it sends.
#[derive(Debug, Default)]
pub struct Graph {
    /// Bytes per picosecond that each constraint lets pass.
    pub capacity: Vec<f64>,
    /// `link[first[q]..first[q + 1]]` are the constraints on queue pair `q`.
    pub first: Vec<u32>,
    /// Constraints, by queue pair.
    pub link: Vec<u32>,
    /// What a byte of the queue pair takes of each; empty where it is 1 everywhere, as with hashed paths: rates are found
    /// in no order that memory likes, and what is not there need not be fetched.
    pub weight: Vec<f64>,
    /// `qp[users[c]..users[c + 1]]` are the queue pairs under constraint `c`.
    pub users: Vec<u32>,
    /// Queue pairs, by constraint.
    pub qp: Vec<u32>,
    /// The constraint of each port, or `NONE`.
    pub of_port: Vec<u32>,
}

impl Graph {
    /// The constraints on queue pairs, where ports let `capacity` bytes pass in a picosecond.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(
        topology: &Topology,
        paths: &Paths,
        pairs: &[QueuePair],
        capacity: &[f64],
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        work.step(paths.links.len())?;
        let merged = merge(topology, paths, capacity);
        work.step(paths.links.len() + pairs.len())?;
        let keep = binding(topology, paths, pairs, capacity, &merged);
        let mut graph = Graph { of_port: vec![NONE; capacity.len()], first: vec![0], ..Graph::default() };
        let mut number = vec![NONE; capacity.len()];
        for (port, &leader) in merged.iter().enumerate() {
            if leader == NONE || !keep[leader as usize] {
                continue;
            }
            if number[leader as usize] == NONE {
                number[leader as usize] = graph.capacity.len() as u32;
                graph.capacity.push(capacity[leader as usize]);
            }
            graph.of_port[port] = number[leader as usize];
        }
        graph.first.reserve(paths.up.len());
        graph.link.reserve(paths.up.len() + paths.links.len());
        let mut known = vec![NONE; paths.begin.len()];
        let mut edges: Vec<(u32, f64)> = Vec::new();
        for (qp, (&up, &way)) in paths.up.iter().zip(&paths.way).enumerate() {
            graph.take(graph.of_port[up as usize], 1.0);
            let before = std::mem::replace(&mut known[way as usize], qp as u32);
            if before != NONE {
                for edge in graph.edges(before as usize).skip(1) {
                    let (link, weight) = graph.edge(edge);
                    graph.take(link as u32, weight);
                }
            } else {
                // each constraint once: what merged links carry is the same
                edges.clear();
                for (port, share) in paths.links(way as usize) {
                    if merged[port] == port as u32 && graph.of_port[port] != NONE {
                        match edges.iter_mut().find(|edge| edge.0 == graph.of_port[port]) {
                            Some(edge) => edge.1 += share,
                            None => edges.push((graph.of_port[port], share)),
                        }
                    }
                }
                edges.iter().for_each(|&(link, weight)| graph.take(link, weight));
            }
            graph.next();
            work.step(graph.edges(qp).len())?;
        }
        work.step(graph.link.len())?;
        graph.index();
        Ok(graph)
    }

    /// The queue pair that comes next takes so much of a constraint for each byte that it sends.
    pub fn take(&mut self, link: u32, weight: f64) {
        let other = weight.to_bits() != 1f64.to_bits();
        if self.weight.is_empty() && other {
            self.weight = vec![1.0; self.link.len()];
        }
        if other || !self.weight.is_empty() {
            self.weight.push(weight);
        }
        self.link.push(link);
    }

    /// That is all that the queue pair takes.
    pub fn next(&mut self) {
        self.first.push(self.link.len() as u32);
    }

    /// Find the queue pairs of each constraint.
    pub fn index(&mut self) {
        let mut users = vec![0u32; self.capacity.len() + 1];
        self.link.iter().for_each(|&link| users[link as usize + 1] += 1);
        (1..users.len()).for_each(|link| users[link] += users[link - 1]);
        let mut next = users.clone();
        self.qp = vec![0; self.link.len()];
        for qp in 0..self.first.len() - 1 {
            for place in self.edges(qp) {
                let slot = &mut next[self.edge(place).0];
                self.qp[*slot as usize] = qp as u32;
                *slot += 1;
            }
        }
        self.users = users;
    }

    /// A constraint on a queue pair, and what a byte takes of it.
    #[inline]
    pub fn edge(&self, place: usize) -> (usize, f64) {
        (self.link[place] as usize, if self.weight.is_empty() { 1.0 } else { self.weight[place] })
    }

    /// Where the constraints on a queue pair are in `link`.
    #[inline]
    pub fn edges(&self, qp: usize) -> std::ops::Range<usize> {
        self.first[qp] as usize..self.first[qp + 1] as usize
    }

    /// The queue pairs under a constraint.
    #[inline]
    pub fn users(&self, link: usize) -> &[u32] {
        &self.qp[self.users[link] as usize..self.users[link + 1] as usize]
    }
}

/// For every port that carries data the first one that all ways use in the same way and that is as fast (as the ports of a
/// sprayed group are); `NONE` for the others.
fn merge(topology: &Topology, paths: &Paths, capacity: &[f64]) -> Vec<u32> {
    let mut leader = vec![NONE; capacity.len()];
    let mut used = vec![0u64; capacity.len()];
    for way in 0..paths.begin.len() {
        for (port, share) in paths.links(way) {
            used[port] = used[port].wrapping_add(mix(way as u64 + 1, share.to_bits()));
        }
    }
    let mut first: HashMap<(u64, u64), u32> = HashMap::new();
    for port in 0..capacity.len() {
        if used[port] == 0 {
            continue;
        }
        // a wire to a host stays by itself: it is what keeps others from filling
        leader[port] = if leads_to_host(topology, port) {
            port as u32
        } else {
            *first.entry((used[port], capacity[port].to_bits())).or_insert(port as u32)
        };
    }
    paths.up.iter().for_each(|&up| leader[up as usize] = up);
    leader
}

/// Which ports (of those that stand for others) can fill up: what hosts send through one, or receive through it, at their
/// own line rate may be less than it carries.
fn binding(topology: &Topology, paths: &Paths, pairs: &[QueuePair], capacity: &[f64], merged: &[u32]) -> Vec<bool> {
    let ports = capacity.len();
    let stands = |port: usize| merged[port] == port as u32;
    let mut from = Bound::new(ports);
    // hosts, with the ways that are theirs alone
    let mut by_src: Vec<u32> = (0..pairs.len() as u32).collect();
    by_src.sort_by_key(|&qp| paths.up[qp as usize]);
    for &qp in &by_src {
        let (up, way) = (paths.up[qp as usize] as usize, paths.way[qp as usize] as usize);
        if paths.begin[way] == PRIVATE {
            paths.links(way).filter(|link| stands(link.0)).for_each(|(port, share)| {
                from.carries(port, up as u32, share, capacity[up]);
            });
        }
    }
    // the hosts of a switch together, with the ways that they have in common
    let mut sends = vec![0.0; topology.kinds.len()];
    let mut last = NONE;
    for &qp in &by_src {
        let (up, way) = (paths.up[qp as usize], paths.way[qp as usize] as usize);
        if paths.begin[way] != PRIVATE && up != last {
            sends[paths.begin[way] as usize] += capacity[up as usize];
            last = up;
        }
    }
    let mut shared: Vec<usize> = (0..paths.begin.len()).filter(|&way| paths.begin[way] != PRIVATE).collect();
    shared.sort_by_key(|&way| paths.begin[way]);
    for way in shared {
        let begin = paths.begin[way];
        paths.links(way).filter(|link| stands(link.0)).for_each(|(port, share)| {
            from.carries(port, begin + ports as u32, share, sends[begin as usize]);
        });
    }
    let mut into = Bound::new(ports);
    let hosts = topology.hosts();
    let (first, by_dst) = lists(hosts.len(), pairs.iter().zip(0..).map(|(pair, qp)| (pair.dst, qp)));
    let mut told = vec![false; paths.begin.len()];
    for (dst, &host) in hosts.iter().enumerate() {
        let down = topology.wires[topology.first[host as usize] as usize].peer as usize;
        for &qp in &by_dst[first[dst] as usize..first[dst + 1] as usize] {
            let way = paths.way[qp as usize] as usize;
            if !std::mem::replace(&mut told[way], true) {
                paths.links(way).filter(|link| stands(link.0)).for_each(|(port, share)| {
                    into.carries(port, dst as u32, share, capacity[down]);
                });
            }
        }
    }
    let up = |port: usize| topology.kinds[topology.owner[port] as usize] == NodeKind::Host;
    let fills = |port: usize| {
        let most = capacity[port] * ROUNDING;
        up(port) || (from.most[port] > most && (leads_to_host(topology, port) || into.most[port] > most))
    };
    (0..ports).map(fills).collect()
}

fn leads_to_host(topology: &Topology, port: usize) -> bool {
    topology.kinds[topology.wires[port].peer_node as usize] == NodeKind::Host
}

/// What ports carry at most.
struct Bound {
    most: Vec<f64>,
    by: Vec<u32>,
    share: Vec<f64>,
}

impl Bound {
    fn new(ports: usize) -> Self {
        Bound { most: vec![0.0; ports], by: vec![NONE; ports], share: vec![0.0; ports] }
    }

    /// A port carries a share of what one end sends at a rate. Of the shares of one end, which are told in a row, the
    /// greatest counts.
    fn carries(&mut self, port: usize, end: u32, share: f64, rate: f64) {
        if self.by[port] != end {
            (self.by[port], self.share[port]) = (end, 0.0);
        }
        if share > self.share[port] {
            self.most[port] += (share - self.share[port]) * rate;
            self.share[port] = share;
        }
    }
}
