//! What happens to the network while it runs, from an array.

use pyo3::prelude::*;
use railweave_sim::config::HostConfig;
use railweave_sim::fault::Change;
use railweave_sim::flow::HERE;
use railweave_sim::input::flows::LATEST;
use railweave_sim::input::spec::FASTEST_MBPS;
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::{NodeKind, Topology};

use crate::arrays::Numbers;
use crate::network::Entries;
use crate::traffic::leads_astray;

const LINK_DOWN: u64 = 0;
const LINK_UP: u64 = 1;
const NODE_DOWN: u64 = 2;
const NODE_UP: u64 = 3;
const RATE: u64 = 4;
const LOSS: u64 = 5;
const STORM: u64 = 6;
const RECEIVE: u64 = 7;
const ROUTE: u64 = 8;

/// Names of codes in Python.
pub const CODES: [(&str, u64); 9] = [
    ("LINK_DOWN", LINK_DOWN),
    ("LINK_UP", LINK_UP),
    ("NODE_DOWN", NODE_DOWN),
    ("NODE_UP", NODE_UP),
    ("RATE", RATE),
    ("LOSS", LOSS),
    ("STORM", STORM),
    ("RECEIVE", RECEIVE),
    ("ROUTE", ROUTE),
];

/// Picoseconds a byte takes, in units of 2^-16 ps.
fn ps_per_byte(rate_mbps: u64) -> u64 {
    (8_000_000 << 16) / rate_mbps
}

/// Changes, in any order. A row is a time, a change, the port or node that changes, and up to two numbers that the change needs.
pub fn changes(
    given: &Numbers<u64>,
    topology: &Topology,
    (fib, entries, owners): (&Fib, &Entries, &[u32]),
    host: &HostConfig,
) -> PyResult<Vec<(Ps, Change)>> {
    let mut changes = Vec::new();
    for (row, [at, change, place, x, y]) in given.rows() {
        let at = given.within(row, "at_ps", at, 0, LATEST)?;
        let port = || given.one_of(row, "port", place, topology.wires.len(), "ports");
        let node = || given.one_of(row, "node", place, topology.kinds.len(), "nodes");
        let host_port = || {
            let port = port()?;
            let owner = topology.owner[port as usize];
            if topology.kinds[owner as usize] == NodeKind::Host {
                return Ok(port);
            }
            Err(given.wrong(row, format!("port {port} is switch {owner}'s: give the port of a host")))
        };
        let (change, used) = match change {
            LINK_DOWN => (Change::LinkDown(port()?), 0),
            LINK_UP => (Change::LinkUp(port()?), 0),
            NODE_DOWN => (Change::NodeDown(node()?), 0),
            NODE_UP => (Change::NodeUp(node()?), 0),
            RATE => (Change::Rate(port()?, ps_per_byte(given.within(row, "rate_mbps", x, 1, FASTEST_MBPS)?)), 1),
            LOSS => (Change::Loss(port()?, given.within(row, "chance", x, 0, u32::MAX.into())? as u32), 1),
            STORM => {
                let class = given.within(row, "class", x, 0, 7)? as u8;
                if class != host.data_class && class != host.cnp_class {
                    return Err(given.wrong(row, format!("nothing is sent in class {class}, so nothing can be paused")));
                }
                (Change::Storm(host_port()?, class, given.within(row, "on", y, 0, 1)? == 1), 2)
            }
            RECEIVE => {
                let rate = given.within(row, "rate_mbps", x, 0, FASTEST_MBPS)?;
                (Change::Receive(host_port()?, if rate == 0 { 0 } else { ps_per_byte(rate) }), 1)
            }
            ROUTE => {
                let node = node()?;
                let address = given.one_of(row, "address", x, fib.addresses, "addresses")?;
                let group = given.within(row, "group", y, 0, u32::MAX.into())? as u32;
                if topology.kinds[node as usize] == NodeKind::Host {
                    return Err(given.wrong(row, format!("node {node} is a host: give a switch")));
                }
                if let Some(what) = entries.wrong(group, topology.ports(node as usize).len()) {
                    return Err(given.wrong(row, what));
                }
                let owner = owners[address as usize];
                if owner != u32::MAX
                    && group != HERE
                    && let Some(host) = fib.hosts(topology, node as usize, group).find(|&host| host != owner)
                {
                    return Err(given.wrong(row, leads_astray(host, owner)));
                }
                (Change::Route { node, address, group }, 2)
            }
            _ => return Err(given.wrong(row, format!("there is no change {change}"))),
        };
        if let Some(number) = [x, y][used..].iter().find(|&&number| number != 0) {
            return Err(given.wrong(row, format!("{number} is of no use to the change: give 0")));
        }
        changes.push((at, change));
    }
    Ok(changes)
}
