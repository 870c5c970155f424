//! Max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates rise
//! together until a link is full; its queue pairs stay at that rate, and the others rise on.

mod reach;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::constraint::{Graph, NONE};

/// In `Fill::bound`: the queue pair's window keeps it from more.
pub const WINDOW: u32 = u32::MAX - 1;

/// Rates of queue pairs, and what is needed to find them.
#[derive(Debug, Default)]
pub struct Fill {
    shares: Vec<Share>,
    /// Bytes per picosecond under each constraint.
    load: Vec<f64>,
    /// Sum of the weights of those that send, by constraint.
    taken: Vec<f64>,
    /// What each queue pair sends at most.
    most: Vec<f64>,
    /// Queue pairs whose rates were found last.
    pub found: Vec<u32>,
    limited: bool,
    /// Whether so few send that those are looked at, and not the users of each link.
    few: bool,
    /// Links whose rates are to be found anew, each once.
    changed: Vec<u32>,
    has_changed: Vec<bool>,
    seen_link: Vec<bool>,
    links: Vec<u32>,
    left: Vec<Left>,
    levels: BinaryHeap<Reverse<(u64, u32)>>,
}

/// What a queue pair has. Queue pairs are come to in no order that memory likes: it lies together.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Bytes per picosecond.
    rate: f64,
    /// The constraint that keeps it from more, `WINDOW` or `NONE`.
    bound: u32,
    /// Whether it sends.
    active: bool,
    /// Whether its rate is being found.
    rises: bool,
    /// Whether what was found last is something else than before.
    moved: bool,
}

/// What is left of a constraint while rates rise.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    /// Bytes per picosecond that nobody has yet.
    rate: f64,
    /// Sum of the weights of those whose rates still rise.
    weight: f64,
    /// How many they are.
    users: u32,
}

impl Left {
    /// The rate at which the constraint is full, as bits: positive numbers are in the order of their bits.
    fn level(&self) -> u64 {
        (self.rate.max(0.0) / self.weight).to_bits()
    }
}

impl Fill {
    /// Nobody sends.
    pub fn new(graph: &Graph, most: Vec<f64>) -> Self {
        let (links, pairs) = (graph.capacity.len(), most.len());
        Fill {
            shares: vec![Share { rate: 0.0, bound: NONE, active: false, rises: false, moved: false }; pairs],
            load: vec![0.0; links],
            taken: vec![0.0; links],
            limited: most.iter().any(|most| most.is_finite()),
            most,
            has_changed: vec![false; links],
            seen_link: vec![false; links],
            left: vec![Left::default(); links],
            ..Fill::default()
        }
    }

    /// What a queue pair sends, bytes per picosecond, and the constraint that keeps it from more, `WINDOW` or `NONE`.
    #[inline]
    pub fn share(&self, qp: u32) -> (f64, u32) {
        let share = &self.shares[qp as usize];
        (share.rate, share.bound)
    }

    /// What queue pairs have of which something else was found than before.
    pub fn moved(&self) -> impl Iterator<Item = (u32, f64, u32)> {
        let share = |&qp: &u32| (qp, self.shares[qp as usize]);
        self.found.iter().map(share).filter(|one| one.1.moved).map(|(qp, share)| (qp, share.rate, share.bound))
    }

    /// Whether a queue pair sends.
    #[inline]
    pub fn active(&self, qp: u32) -> bool {
        self.shares[qp as usize].active
    }

    /// Rates on a link are to be found anew.
    #[inline]
    pub fn disturb(&mut self, link: u32) {
        if !std::mem::replace(&mut self.has_changed[link as usize], true) {
            self.changed.push(link);
        }
    }

    /// Find the rates of all queue pairs that have to do with links that changed, if over others. `sending` has all that are
    /// active, and may have others.
    pub fn fill(&mut self, graph: &Graph, sending: &[u32]) {
        self.reach(graph, sending);
        self.levels.clear();
        for &link in &self.links {
            let place = link as usize;
            self.seen_link[place] = false;
            if self.left[place].users > 0 {
                self.levels.push(Reverse((self.left[place].level(), link)));
            }
        }
        let mut limited: Vec<u32> = Vec::new();
        if self.limited {
            limited.extend(self.found.iter().filter(|&&qp| self.most[qp as usize].is_finite()));
            limited.sort_by(|&a, &b| self.most[b as usize].total_cmp(&self.most[a as usize]).then(b.cmp(&a)));
        }
        while let Some(Reverse((key, link))) = self.levels.pop() {
            let place = link as usize;
            if self.left[place].users == 0 {
                continue;
            }
            let level = self.left[place].level();
            if let Some(&qp) = limited.last()
                && self.most[qp as usize].to_bits() <= level.min(key)
            {
                limited.pop();
                if self.shares[qp as usize].rises {
                    self.settle(graph, qp as usize, self.most[qp as usize], WINDOW);
                }
                self.levels.push(Reverse((key, link)));
                continue;
            }
            if level > key {
                self.levels.push(Reverse((level, link)));
                continue;
            }
            // a level never falls but by rounding: it is the key's
            if self.few {
                for place in 0..self.found.len() {
                    let qp = self.found[place] as usize;
                    if self.shares[qp].rises && graph.edges(qp).any(|edge| graph.edge(edge).0 == link as usize) {
                        self.settle(graph, qp, f64::from_bits(key), link);
                    }
                }
                continue;
            }
            let (begin, end) = (graph.users[place] as usize, graph.users[place + 1] as usize);
            for user in begin..end {
                let qp = graph.qp[user] as usize;
                if self.shares[qp].rises {
                    self.settle(graph, qp, f64::from_bits(key), link);
                }
            }
        }
        for &link in &self.links {
            self.load[link as usize] = graph.capacity[link as usize] - self.left[link as usize].rate;
        }
    }

    /// A queue pair's rate is found.
    #[inline]
    fn settle(&mut self, graph: &Graph, qp: usize, rate: f64, bound: u32) {
        let share = &mut self.shares[qp];
        let moved = share.rate != rate || share.bound != bound;
        *share = Share { rate, bound, active: true, rises: false, moved };
        for edge in graph.edges(qp) {
            let (link, weight) = graph.edge(edge);
            let left = &mut self.left[link];
            left.rate -= weight * rate;
            left.weight -= weight;
            left.users -= 1;
        }
    }

    /// A queue pair begins and takes what is left of its links. Returns how fast it would be if all of each link were shared
    /// equally.
    pub fn begin(&mut self, graph: &Graph, qp: usize) -> f64 {
        let (mut rate, mut bound, mut equal) = (self.most[qp], WINDOW, self.most[qp]);
        for edge in graph.edges(qp) {
            let (link, weight) = graph.edge(edge);
            self.taken[link] += weight;
            equal = equal.min(graph.capacity[link] / self.taken[link]);
            let left = (graph.capacity[link] - self.load[link]).max(0.0) / weight;
            if left < rate {
                (rate, bound) = (left, link as u32);
            }
        }
        let share = &mut self.shares[qp];
        (share.rate, share.bound, share.active) = (rate, bound, true);
        for edge in graph.edges(qp) {
            let (link, weight) = graph.edge(edge);
            self.load[link] += weight * rate;
            self.disturb(link as u32);
        }
        equal
    }

    /// A queue pair ends; what it used stays free.
    pub fn end(&mut self, graph: &Graph, qp: usize) {
        let share = &mut self.shares[qp];
        share.active = false;
        let rate = std::mem::take(&mut share.rate);
        for edge in graph.edges(qp) {
            let (link, weight) = graph.edge(edge);
            self.load[link] -= weight * rate;
            self.taken[link] -= weight;
            self.disturb(link as u32);
        }
    }
}
