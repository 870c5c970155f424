//! What happens to the network during a run: faults, repairs, other routes.

use super::{Engine, Node};
use crate::fault::{Cause, Change};
use crate::host::Host;
use crate::packet::Ps;

impl Engine {
    /// Have a change happen at `now`, when everything before is done.
    pub(super) fn apply(&mut self, change: Change, now: Ps) {
        match change {
            Change::LinkDown(port) => self.break_cable(port as usize, Cause::Cable, true, now),
            Change::LinkUp(port) => self.break_cable(port as usize, Cause::Cable, false, now),
            Change::NodeDown(node) => self.break_node(node as usize, true, now),
            Change::NodeUp(node) => self.break_node(node as usize, false, now),
            Change::Rate(port, ps_per_byte) => {
                for end in [port as usize, self.wires.other(port as usize)] {
                    self.wires.set_rate(end, ps_per_byte);
                    self.stay(end);
                }
            }
            Change::Loss(port, loss) => {
                self.wires.set_loss(port as usize, loss);
                self.stay(port as usize);
            }
            Change::Storm(port, class, stop) => {
                let data_class = self.host.data_class;
                if let Some(lane) = self.lanes.of(class)
                    && let Some(host) = self.host_behind(port, now)
                {
                    host.storm(lane, stop, data_class, now);
                }
            }
            Change::Receive(port, ps_per_byte) => {
                if let Some(host) = self.host_behind(port, now) {
                    host.take_at(ps_per_byte);
                }
            }
            Change::Route { node, address, group } => {
                let place = self.fib.place(node as usize, address);
                self.fib.group[place] = group;
                self.known.forget(self.fib.rows[node as usize] as usize);
            }
        }
    }

    /// Have packets leave a port one by one, where it is a switch's.
    fn stay(&mut self, port: usize) {
        let node = self.owner[port] as usize;
        if let Node::Switch(switch) = self.nodes[node] {
            self.switches[switch as usize].stay(port - self.first[node] as usize);
        }
    }

    /// The host that has a port, about to do something at `now`.
    fn host_behind(&mut self, port: u32, now: Ps) -> Option<&mut Host> {
        let node = self.owner[port as usize] as usize;
        *self.wires.wake(node) = now;
        match self.nodes[node] {
            Node::Host(host) => Some(&mut self.hosts[host as usize]),
            Node::Switch(_) => None,
        }
    }

    fn break_node(&mut self, node: usize, broken: bool, now: Ps) {
        for port in self.first[node] as usize..self.first[node + 1] as usize {
            self.break_cable(port, Cause::Node, broken, now);
        }
    }

    fn break_cable(&mut self, port: usize, cause: Cause, broken: bool, now: Ps) {
        let other = self.wires.other(port);
        if !self.broken.set(port, other, cause, broken) {
            return;
        }
        for end in [port, other] {
            if broken {
                self.wires.cut(end);
            }
            self.switch_cable(end, !broken, now);
        }
    }

    fn switch_cable(&mut self, port: usize, works: bool, now: Ps) {
        let node = self.owner[port] as usize;
        match self.nodes[node] {
            Node::Host(host) if works => self.hosts[host as usize].mend(now),
            Node::Host(host) => self.hosts[host as usize].cut(&mut self.counters, now),
            Node::Switch(switch) => {
                let number = port - self.first[node] as usize;
                if works {
                    self.switches[switch as usize].mend(number);
                } else {
                    self.with_switch(switch, |switch, context, _| switch.cut(context, number, now));
                }
            }
        }
        *self.wires.wake(node) = now;
    }
}
