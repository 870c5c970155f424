//! What ports let pass, under changes of the network.

use super::path::Paths;
use crate::config::HostConfig;
use crate::fault::{Broken, Cause, Change};
use crate::packet::GAP_BYTES;
use crate::topology::{NodeKind, Topology};

/// The rates of ports as they are at a time.
#[derive(Debug)]
pub struct Rates {
    /// Picoseconds a byte takes, in units of 2^-16 ps.
    ps_per_byte: Vec<u64>,
    /// The same at which the host behind the port takes data; 0: as fast as it comes.
    taken_at: Vec<u64>,
    broken: Broken,
    works: Vec<bool>,
}

impl Rates {
    /// Everything works.
    pub fn new(topology: &Topology) -> Self {
        let ports = topology.wires.len();
        Rates {
            ps_per_byte: topology.wires.iter().map(|wire| wire.ps_per_byte).collect(),
            taken_at: vec![0; ports],
            broken: Broken::new(ports),
            works: vec![true; ports],
        }
    }

    /// A change happens. Returns whether it is one of rates.
    pub fn change(&mut self, topology: &Topology, change: Change) -> bool {
        match change {
            Change::LinkDown(port) => self.cut(topology, port as usize, Cause::Cable, true),
            Change::LinkUp(port) => self.cut(topology, port as usize, Cause::Cable, false),
            Change::NodeDown(node) | Change::NodeUp(node) => {
                let down = matches!(change, Change::NodeDown(_));
                topology.ports(node as usize).for_each(|port| self.cut(topology, port, Cause::Node, down));
            }
            Change::Rate(port, ps_per_byte) => {
                for end in [port, topology.wires[port as usize].peer] {
                    self.ps_per_byte[end as usize] = ps_per_byte;
                }
            }
            Change::Receive(port, ps_per_byte) => {
                self.taken_at[topology.wires[port as usize].peer as usize] = ps_per_byte;
            }
            Change::Loss(..) | Change::Storm(..) | Change::Route { .. } => return false,
        }
        true
    }

    fn cut(&mut self, topology: &Topology, port: usize, cause: Cause, broken: bool) {
        let other = topology.wires[port].peer as usize;
        if self.broken.set(port, other, cause, broken) {
            (self.works[port], self.works[other]) = (!broken, !broken);
        }
    }

    /// Bytes of data on the wire that each port lets pass in a picosecond. Acknowledgements are taken to go back the way the
    /// data came, before data: a port whose other direction carries data has so much less for its own.
    pub fn capacity(&self, topology: &Topology, paths: &Paths, config: &HostConfig, efficiency: f64) -> Vec<f64> {
        let carries = paths.carrying(topology.wires.len());
        let acknowledged = f64::from(config.ack_every) * full_packet(config);
        let acknowledgements = (f64::from(config.ack_bytes) + GAP_BYTES as f64) / acknowledged;
        let capacity = |(port, wire): (usize, &crate::topology::Wire)| {
            if !self.works[port] {
                return 0.0;
            }
            let slowest = self.ps_per_byte[port].max(self.taken_at[port]);
            let back = if carries[wire.peer as usize] { 1.0 + acknowledgements } else { 1.0 };
            efficiency * 65536.0 / slowest as f64 / back
        };
        topology.wires.iter().enumerate().map(capacity).collect()
    }
}

/// A full packet on the wire, bytes.
pub fn full_packet(config: &HostConfig) -> f64 {
    f64::from(config.mtu) + f64::from(config.header) + GAP_BYTES as f64
}

/// What tunnels make of data between switches: bytes on the wire for each byte that a host sends.
pub fn tunnel_factor(topology: &Topology, port: usize, overhead: u16, config: &HostConfig) -> f64 {
    let ends = [topology.owner[port], topology.wires[port].peer_node];
    if ends.iter().all(|&node| topology.kinds[node as usize] == NodeKind::Switch) {
        1.0 + f64::from(overhead) / full_packet(config)
    } else {
        1.0
    }
}
