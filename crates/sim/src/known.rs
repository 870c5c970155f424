//! The ports that switches found for flows.
//!
//! Where groups are shared by a hash alone, packets of a flow leave a switch by the same port until a route changes.

use crate::balance::Balance;
use crate::packet::{Kind, Packet};
use crate::routing::Fib;

/// Not found yet.
const UNKNOWN: u16 = u16::MAX;

/// For how many flows at switches ports are remembered at most: where there are more, looking for them is as fast.
const MOST: usize = 1 << 22;

/// The port of each flow at each switch. A flow is one direction of a queue pair.
#[derive(Debug, Default)]
pub struct Known {
    flows: usize,
    ports: Vec<u16>,
}

impl Known {
    /// Nothing is known yet.
    pub fn new(fib: &Fib, pairs: usize) -> Self {
        let flows = 2 * pairs;
        let hashed = fib.groups.iter().all(|group| group.balance == Balance::Hash);
        let places = fib.switches().count() * flows;
        Known { flows, ports: if hashed && places <= MOST { vec![UNKNOWN; places] } else { Vec::new() } }
    }

    /// Where the flow of a packet has its place at the switch of a row, if it has one.
    #[inline(always)]
    pub fn place(&self, row: usize, packet: &Packet) -> usize {
        // negative acknowledgements have another number in place of their port
        let none = if packet.kind == Kind::Nak { usize::MAX / 2 } else { 0 };
        none + row * self.flows + packet.qp as usize * 2 + usize::from(packet.kind != Kind::Data)
    }

    /// The port at a place.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<usize> {
        self.ports.get(place).filter(|&&port| port != UNKNOWN).map(|&port| usize::from(port))
    }

    /// Remember a port.
    pub fn set(&mut self, place: usize, port: usize) {
        if let Some(known) = self.ports.get_mut(place) {
            *known = port as u16;
        }
    }

    /// A route of the switch of a row changed.
    pub fn forget(&mut self, row: usize) {
        if let Some(ports) = self.ports.get_mut(row * self.flows..(row + 1) * self.flows) {
            ports.fill(UNKNOWN);
        }
    }
}
