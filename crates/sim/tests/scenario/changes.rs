//! Things that happen to the network.

use railweave_sim::config::Config;
use railweave_sim::fault::Change;
use railweave_sim::packet::Ps;
use railweave_sim::routing::{Fib, NO_GROUP, ONE_PORT};
use railweave_sim::topology::{NodeKind, Topology};

use super::draw::Draw;
use super::network::{SPEEDS, ps_per_byte};

/// Some changes, or none.
pub fn changes(draw: &mut Draw<'_>, topology: &Topology, config: &Config, fib: &Fib) -> Vec<(Ps, Change)> {
    let mut changes = Vec::new();
    if draw.once_in(2) {
        return changes;
    }
    for _ in 0..draw.within(1, 8) {
        let at = draw.extreme(0, 1 << 40);
        let port = draw.within(0, topology.wires.len() as u64 - 1) as u32;
        let node = draw.within(0, topology.kinds.len() as u64 - 1) as u32;
        let change = match draw.within(0, 8) {
            0 => Change::LinkDown(port),
            1 => Change::LinkUp(port),
            2 => Change::Rate(port, ps_per_byte(draw.one_of(&SPEEDS))),
            3 => Change::Loss(port, draw.extreme(0, u64::from(u32::MAX)) as u32),
            4 => {
                let host = draw.one_of(&topology.hosts());
                let class = draw.one_of(&[config.host.data_class, config.host.cnp_class, 0]);
                Change::Storm(topology.first[host as usize], class, !draw.once_in(3))
            }
            5 => Change::NodeDown(node),
            6 => Change::NodeUp(node),
            7 => {
                let host = draw.one_of(&topology.hosts());
                let rate = if draw.once_in(3) { 0 } else { ps_per_byte(draw.one_of(&SPEEDS)) };
                Change::Receive(topology.first[host as usize], rate)
            }
            _ => match route(draw, topology, fib) {
                Some(route) => route,
                None => continue,
            },
        };
        changes.push((at, change));
    }
    changes
}

/// A switch sends an address to a switch beside it, nowhere, or where it went before. Packets may go in circles.
fn route(draw: &mut Draw<'_>, topology: &Topology, fib: &Fib) -> Option<Change> {
    let is_switch = |node: u32| topology.kinds[node as usize] == NodeKind::Switch;
    let switches: Vec<u32> = (0..topology.kinds.len() as u32).filter(|&node| is_switch(node)).collect();
    if switches.is_empty() {
        return None;
    }
    let node = draw.one_of(&switches);
    let address = draw.within(0, fib.addresses as u64 - 1) as u32;
    let ports = topology.ports(node as usize).enumerate();
    let ports = ports.filter(|&(_, port)| is_switch(topology.wires[port].peer_node)).map(|(place, _)| place as u32);
    let mut groups = vec![NO_GROUP, fib.group[fib.place(node as usize, address)]];
    groups.extend(ports.map(|port| ONE_PORT | port));
    Some(Change::Route { node, address, group: draw.one_of(&groups) })
}
