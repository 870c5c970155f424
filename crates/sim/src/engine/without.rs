//! What single ports of switches do not do.

use super::{Engine, Node};

impl Engine {
    /// Have these ports of switches, counted over all nodes, neither pause their neighbors nor listen to them. What comes in
    /// by them in a lossless class takes from the lossy pool, and is dropped when it does not fit. Said before the first run.
    pub fn without_pfc(mut self, ports: &[u32]) -> Self {
        let lanes = self.lanes.count;
        for &port in ports {
            if let Some((switch, number)) = self.switch_port(port) {
                let profile = self.switches[switch].profile();
                self.switches[switch].without_pfc(&self.profiles[profile].switch, lanes, number);
            }
        }
        self
    }

    /// Have these ports of switches, counted over all nodes, mark nothing. Said before the first run.
    pub fn without_ecn(mut self, ports: &[u32]) -> Self {
        for &port in ports {
            if let Some((switch, number)) = self.switch_port(port) {
                self.switches[switch].without_ecn(number);
            }
        }
        self
    }

    /// The switch that a port (counted over all nodes) is of, and the port's number there; None: it is a host's.
    fn switch_port(&self, port: u32) -> Option<(usize, usize)> {
        let node = self.owner[port as usize] as usize;
        let Node::Switch(switch) = self.nodes[node] else { return None };
        Some((switch as usize, (port - self.first[node]) as usize))
    }
}
