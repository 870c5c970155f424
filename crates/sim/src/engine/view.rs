//! What can be seen of a run from outside, between two calls of `run`.

use super::{Engine, Node};
use crate::dcqcn::Look;
use crate::host::Host;
use crate::packet::{GAP_BYTES, Ps};
use crate::report::{PortCounters, QueuePairState};
use crate::switch::Switch;

impl Engine {
    /// The counters of a port (counted over all nodes) as they stand at `now`, the limit of the last run.
    pub fn port_counters(&self, port: usize, now: Ps) -> PortCounters {
        let node = self.owner[port] as usize;
        let counters = match self.nodes[node] {
            Node::Host(host) => self.hosts[host as usize].counters(now),
            Node::Switch(switch) => self.switches[switch as usize].counters(port - self.first[node] as usize, now),
        };
        PortCounters { tx_bytes: self.wires.bytes(port), ..counters }
    }

    /// Frame bytes of `port_counters` that a port has still to put on its wire at `now`: the rest of the frame that is being
    /// sent.
    pub fn unsent_bytes(&self, port: usize, now: Ps) -> u64 {
        let node = self.owner[port] as usize;
        let free = match self.nodes[node] {
            Node::Host(host) => self.hosts[host as usize].free(),
            Node::Switch(switch) => self.switches[switch as usize].free(port - self.first[node] as usize),
        };
        let left = u128::from(free.saturating_sub(now)) << 16;
        (left.div_ceil(u128::from(self.wires.ps_per_byte(port))) as u64).saturating_sub(GAP_BYTES)
    }

    /// The bytes in each queue of a port, by class. A host has none: its data waits in memory.
    pub fn queues(&self, port: usize) -> impl Iterator<Item = (u8, u64)> {
        let node = self.owner[port] as usize;
        let queues = match self.nodes[node] {
            Node::Host(_) => None,
            Node::Switch(switch) => Some(self.switches[switch as usize].queues(port - self.first[node] as usize)),
        };
        let bytes = move |(class, lane): (u8, u8)| queues.map(|queues| (class, queues[usize::from(lane)].into()));
        self.lanes.classes().filter_map(bytes)
    }

    /// Packets in the network and waiting at hosts, PFC frames not counted. None: a switch's buffer counts other bytes
    /// than those that wait in it. With `Counters`: what was sent was received, dropped, lost, or is inside.
    pub fn inside(&self) -> Option<u64> {
        let hosts: u64 = self.hosts.iter().map(Host::waiting).sum();
        let switches: Option<u64> = self.switches.iter().map(Switch::waiting).sum();
        Some(hosts + switches? + self.wires.total_under_way())
    }

    /// How much time the engine takes at once at least, where nobody asks it to stop earlier.
    pub fn window(&self) -> Ps {
        self.windows.shortest()
    }

    /// How far a queue pair is at the limit of the last run.
    pub fn queue_pair(&self, qp: usize) -> QueuePairState {
        QueuePairState { delivered: self.receivers[qp].expected, waits: self.senders[qp].waits() }
    }

    /// The rate that congestion control lets a queue pair send at, 10^6 bit/s, at `now`, the limit of the last run. `look` is
    /// the last look at this queue pair.
    pub fn rate(&self, qp: usize, look: &mut Option<Look>, now: Ps) -> f64 {
        let state = &self.senders[qp].dcqcn;
        let rate = |p| look.get_or_insert_with(|| Look::new(*state)).rate(state, p, now);
        self.host.dcqcn.as_ref().map_or(state.rate, rate)
    }
}
