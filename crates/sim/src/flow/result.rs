//! What a run tells: arrivals, bytes by link, and what bound whom.

use std::collections::BTreeMap;

use super::{Bound, BoundTime, FlowEngine};
use crate::packet::Ps;

impl FlowEngine {
    /// When each message arrived whole; `Ps::MAX`: not yet.
    pub fn arrivals(&self) -> Vec<Ps> {
        (0..self.classes.message.len()).map(|message| self.arrival(message)).collect()
    }

    /// How many messages arrived.
    pub fn arrived(&self) -> usize {
        self.classes.message.iter().filter(|&&class| self.arrived[class as usize] < self.until).count()
    }

    /// When a message arrived whole; `Ps::MAX`: not yet. Whoever stops a long run when it has become steady looks at the last
    /// messages of its rounds, between slices of it.
    pub fn arrival(&self, message: usize) -> Ps {
        let at = self.arrived[self.classes.message[message] as usize];
        if at < self.until { at } else { Ps::MAX }
    }

    /// Bytes of data (with headers and gaps, without acknowledgements) that each port has sent until now. To follow links
    /// over time, run in slices.
    pub fn link_bytes(&self) -> Vec<f64> {
        let mut bytes = self.before.clone();
        self.add_bytes(&mut bytes);
        bytes
    }

    /// Count what was sent, before paths change.
    pub(super) fn keep_bytes(&mut self) {
        let mut bytes = std::mem::take(&mut self.before);
        self.add_bytes(&mut bytes);
        self.before = bytes;
        self.senders.iter_mut().for_each(|sender| sender.sent = 0.0);
    }

    fn add_bytes(&self, bytes: &mut [f64]) {
        let paths = &self.network.paths;
        let mut by_way = vec![0.0; paths.begin.len()];
        for (qp, &class) in self.classes.qp.iter().enumerate() {
            let mut sender = self.senders[class as usize];
            sender.settle(self.now.max(sender.since));
            bytes[paths.up[qp] as usize] += sender.sent;
            by_way[paths.way[qp] as usize] += sender.sent;
        }
        for (way, &sent) in by_way.iter().enumerate().filter(|way| *way.1 > 0.0) {
            paths.links(way).for_each(|(port, share)| bytes[port] += sent * share);
        }
    }

    /// Bytes per picosecond that each queue pair sends now, with headers and gaps.
    pub fn rates(&self) -> Vec<f64> {
        self.classes.qp.iter().map(|&class| self.senders[class as usize].rate).collect()
    }

    /// The ports that a queue pair's data is sent by now, and what part of its bytes takes each.
    pub fn path(&self, qp: u32) -> Vec<(u32, f64)> {
        let paths = &self.network.paths;
        let links = paths.links(paths.way[qp as usize] as usize).map(|(port, share)| (port as u32, share));
        std::iter::once((paths.up[qp as usize], 1.0)).chain(links).collect()
    }

    /// What has bound a queue pair until now, and for how long. Of links that are equally full one is named.
    pub fn bounds(&self, qp: u32) -> Vec<BoundTime> {
        let class = self.classes.qp[qp as usize];
        self.bounds.times(class, self.now, |link| self.network.port_of(qp, link))
    }

    /// What bound queue pairs, by the sum of their times: the longest first.
    pub fn bottlenecks(&self) -> Vec<BoundTime> {
        let mut sums: BTreeMap<Bound, Ps> = BTreeMap::new();
        for qp in 0..self.classes.qp.len() as u32 {
            for (bound, time) in self.bounds(qp) {
                *sums.entry(bound).or_default() += time;
            }
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|&(bound, time)| (std::cmp::Reverse(time), bound));
        sums
    }

    /// Classes of queue pairs and of messages that are simulated.
    pub fn classes(&self) -> (usize, usize) {
        (self.plan.host.len(), self.plan.qp.len())
    }
}
