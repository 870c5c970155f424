//! Forwarding that follows faults, some time after them.

use crate::fault::{Change, Fault};
use crate::packet::Ps;
use crate::routing::Fib;
use crate::topology::Topology;
use crate::work::{Stopped, Work};

/// Changes of forwarding: `delay` after every moment at which cables or nodes break or work again, all switches forward by
/// shortest paths over what works at that moment. Groups that this needs are put into `fib`.
///
/// # Errors
/// Where the work is stopped.
pub fn follow(
    fib: &mut Fib,
    topology: &Topology,
    faults: &[Fault],
    delay: Ps,
    work: &mut Work<'_>,
) -> Result<Vec<(Ps, Change)>, Stopped> {
    let breaking: Vec<&Fault> = faults.iter().filter(|fault| breaks(fault)).collect();
    let mut moments: Vec<Ps> = breaking.iter().flat_map(|fault| [fault.at, fault.until]).collect();
    moments.sort_unstable();
    moments.dedup();
    let switches: Vec<usize> = fib.switches().collect();
    let mut before = fib.group.clone();
    let mut changes = Vec::new();
    for now in moments.into_iter().filter(|&now| now != Ps::MAX) {
        let broken = broken(topology, breaking.iter().copied().filter(|fault| fault.lasts(now)));
        let after = fib.around(topology, &broken, work)?;
        for (place, (&old, &group)) in before.iter().zip(&after).enumerate() {
            if old != group {
                let (node, address) = (switches[place / fib.addresses] as u32, (place % fib.addresses) as u32);
                changes.push((now.saturating_add(delay), Change::Route { node, address, group }));
            }
        }
        before = after;
    }
    Ok(changes)
}

fn breaks(fault: &Fault) -> bool {
    fault.begin.iter().any(|change| matches!(change, Change::LinkDown(_) | Change::NodeDown(_)))
}

/// Which ports have a broken cable.
fn broken<'a>(topology: &Topology, faults: impl Iterator<Item = &'a Fault>) -> Vec<bool> {
    let mut broken = vec![false; topology.wires.len()];
    for change in faults.flat_map(|fault| &fault.begin) {
        let ports = match *change {
            Change::LinkDown(port) => port as usize..port as usize + 1,
            Change::NodeDown(node) => topology.ports(node as usize),
            _ => 0..0,
        };
        for port in ports {
            broken[port] = true;
            broken[topology.wires[port].peer as usize] = true;
        }
    }
    broken
}
