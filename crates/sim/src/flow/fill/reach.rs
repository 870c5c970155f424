//! Whose rates are to be found: queue pairs that share links, or links with links, with what changed.

use super::super::constraint::Graph;
use super::{Fill, Left};

/// Where more than one in so many links changed, all rates are found anew.
const MOST: usize = 8;

/// Where at most twice so many queue pairs send, and fewer than one in so many, those are looked at and not all that could use a link.
const FEW: usize = 64;

impl Fill {
    /// The links that changed and the active queue pairs that have to do with them.
    pub(super) fn reach(&mut self, graph: &Graph, sending: &[u32]) {
        self.links.clear();
        self.found.clear();
        self.few = sending.len() <= 2 * FEW && sending.len() * FEW < self.shares.len();
        if self.few {
            for link in std::mem::take(&mut self.changed) {
                self.has_changed[link as usize] = false;
                self.see(graph, link);
            }
            let mut active: Vec<u32> = sending.iter().copied().filter(|&qp| self.active(qp)).collect();
            active.sort_unstable();
            return active.into_iter().for_each(|qp| self.find(graph, qp as usize));
        }
        while let Some(link) = self.changed.pop() {
            self.has_changed[link as usize] = false;
            self.see(graph, link);
        }
        let mut next = 0;
        while next < self.links.len() {
            if self.links.len() * MOST > graph.capacity.len() {
                return self.reach_all(graph);
            }
            let link = self.links[next] as usize;
            next += 1;
            for &qp in graph.users(link) {
                let share = &self.shares[qp as usize];
                if share.active && !share.rises {
                    self.find(graph, qp as usize);
                }
            }
        }
    }

    /// All links and active queue pairs, for nearly all will be reached: in the order of their numbers they are nearer to one
    /// another in memory.
    fn reach_all(&mut self, graph: &Graph) {
        self.links.clear();
        self.found.clear();
        self.seen_link.fill(false);
        (0..graph.capacity.len() as u32).for_each(|link| self.see(graph, link));
        if !graph.weight.is_empty() {
            for qp in 0..self.shares.len() {
                if self.shares[qp].active {
                    self.find(graph, qp);
                }
            }
            return;
        }
        // all weights are 1, and how many send over each link is known
        for (left, &taken) in self.left.iter_mut().zip(&self.taken) {
            (left.weight, left.users) = (taken, taken as u32);
        }
        for (qp, share) in self.shares.iter_mut().enumerate().filter(|one| one.1.active) {
            share.rises = true;
            self.found.push(qp as u32);
        }
    }

    /// An active queue pair is among those whose rates are to be found.
    #[inline]
    fn find(&mut self, graph: &Graph, qp: usize) {
        self.shares[qp].rises = true;
        self.found.push(qp as u32);
        for edge in graph.edges(qp) {
            let (link, weight) = graph.edge(edge);
            if !self.seen_link[link] {
                self.see(graph, link as u32);
            }
            self.left[link].weight += weight;
            self.left[link].users += 1;
        }
    }

    fn see(&mut self, graph: &Graph, link: u32) {
        let place = link as usize;
        if !self.seen_link[place] {
            self.seen_link[place] = true;
            self.links.push(link);
            self.left[place] = Left { rate: graph.capacity[place], weight: 0.0, users: 0 };
        }
    }
}
