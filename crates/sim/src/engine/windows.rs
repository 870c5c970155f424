//! How far nodes may be run.
//!
//! Nodes are on two sides, such that few cables join nodes of the same side (none in a tree or a Clos network). While one
//! side stands still, the other may be run ahead of it by what the shortest wire between them takes. Then it is the other's
//! turn, so that a side is run for twice that time at once.

use std::collections::VecDeque;

use crate::packet::Ps;
use crate::topology::Topology;

/// The two sides, and up to when each is done.
#[derive(Debug)]
pub(super) struct Windows {
    /// The nodes of each side.
    pub nodes: [Vec<u32>; 2],
    /// The side of each node.
    of: Vec<bool>,
    /// Nothing happens at a side any more before this.
    done: [Ps; 2],
    /// The shortest time in which a node reaches one of the other side.
    across: Ps,
    /// The same for nodes of the same side.
    within: [Ps; 2],
    /// The longest window.
    longest: Ps,
}

impl Windows {
    /// The sides of a topology.
    pub fn new(topology: &Topology, longest: Ps) -> Self {
        let of = sides(topology);
        let mut windows =
            Windows { nodes: [vec![], vec![]], of, done: [0; 2], across: Ps::MAX, within: [Ps::MAX; 2], longest };
        for node in 0..topology.kinds.len() {
            windows.nodes[usize::from(windows.of[node])].push(node as u32);
            for port in topology.ports(node) {
                let wire = &topology.wires[port];
                windows.reach(node, wire.peer_node as usize, wire.delay + wire.serialization(64));
            }
        }
        windows
    }

    /// A node can reach another in so short a time.
    pub fn reach(&mut self, from: usize, to: usize, time: Ps) {
        let side = usize::from(self.of[from]);
        let shortest = if self.of[from] == self.of[to] { &mut self.within[side] } else { &mut self.across };
        *shortest = time.min(*shortest);
    }

    /// The shortest time in which any node reaches another.
    pub fn shortest(&self) -> Ps {
        self.across.min(self.within[0]).min(self.within[1]).min(self.longest)
    }

    /// Nothing happens any more before `limit`.
    pub fn reached(&mut self, limit: Ps) {
        self.done = self.done.map(|done| done.max(limit));
    }

    /// Up to when the side is done that is ahead of the other.
    pub fn furthest(&self) -> Ps {
        self.done[0].max(self.done[1])
    }

    /// Any node can reach its neighbors in so short a time.
    pub fn shorten(&mut self, time: Ps) {
        self.across = self.across.min(time);
        self.within = self.within.map(|within| within.min(time));
    }

    /// The side that is to be run next, and from when to when, where nothing happens before `begin`. `limit` is after that.
    pub fn next(&mut self, begin: Ps, limit: Ps) -> (usize, Ps, Ps) {
        self.done = self.done.map(|done| done.max(begin));
        let side = usize::from(self.done[1] < self.done[0]);
        let from = self.done[side];
        let end = self.done[1 - side].saturating_add(self.across);
        let end = end.min(from.saturating_add(self.within[side].min(self.longest))).min(limit);
        self.done[side] = end;
        (side, from, end)
    }
}

/// Two sides such that neighbors are on different ones, as far as that can be.
fn sides(topology: &Topology) -> Vec<bool> {
    let mut sides: Vec<Option<bool>> = vec![None; topology.kinds.len()];
    let mut queue = VecDeque::new();
    for root in 0..sides.len() {
        if sides[root].is_none() {
            sides[root] = Some(false);
            queue.push_back(root);
        }
        while let Some(node) = queue.pop_front() {
            for port in topology.ports(node) {
                let peer = topology.wires[port].peer_node as usize;
                if sides[peer].is_none() {
                    sides[peer] = sides[node].map(|side| !side);
                    queue.push_back(peer);
                }
            }
        }
    }
    sides.into_iter().map(|side| side == Some(true)).collect()
}
