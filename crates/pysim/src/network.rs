//! Nodes, cables and forwarding tables from arrays.

use pyo3::prelude::*;
use railweave_sim::balance::Balance;
use railweave_sim::flow::{HERE, Tables};
use railweave_sim::input::network::fits;
use railweave_sim::input::spec::{FASTEST_MBPS, LONGEST};
use railweave_sim::input::topology_file::MOST_PORTS;
use railweave_sim::routing::{Astray, Fib, Group, NO_GROUP, ONE_PORT};
use railweave_sim::topology::{Cable, NodeKind, Topology};
use railweave_sim::work::{Stopped, Work};

use crate::arrays::{Given, Numbers, Perhaps, wrong};
use crate::released::stopped;

const HOST: u8 = 0;
const SWITCH: u8 = 1;

/// How groups share, in the order of their codes.
const BALANCES: [Balance; 4] = [Balance::Hash, Balance::Spray, Balance::Flowlet, Balance::Packet];

/// Names of codes in Python.
pub const CODES: [(&str, u64); 9] = [
    ("HOST", HOST as u64),
    ("SWITCH", SWITCH as u64),
    ("ECMP", 0),
    ("SPRAY", 1),
    ("DLB", 2),
    ("DLB_PER_PACKET", 3),
    ("NO_GROUP", NO_GROUP as u64),
    ("ONE_PORT", ONE_PORT as u64),
    ("HERE", HERE as u64),
];

/// A topology, and the rate of its fastest host link, 10^6 bit/s.
pub fn topology(kinds: &Bound<'_, PyAny>, cables: &Bound<'_, PyAny>) -> PyResult<(Topology, u64)> {
    let kinds = Numbers::<u8>::read("kinds", &[None], kinds)?;
    let count = kinds.len();
    let mut nodes = Vec::with_capacity(count);
    for (row, &kind) in kinds.slice().iter().enumerate() {
        let kind = match kind {
            HOST => NodeKind::Host,
            SWITCH => NodeKind::Switch,
            _ => return Err(kinds.wrong(row, format!("{kind} is no kind: give HOST or SWITCH"))),
        };
        nodes.push((String::new(), kind));
    }
    let hosts = nodes.iter().filter(|node| node.1 == NodeKind::Host).count();
    fits(count, hosts).map_err(|error| wrong("kinds", format!("{}; {}", error.what, error.right)))?;
    let given = Numbers::<u64>::read("cables", &[None, Some(4)], cables)?;
    let (mut cables, mut ports, mut fastest) = (Vec::new(), vec![0usize; count], 0);
    for (row, [a, b, rate, delay]) in given.rows() {
        let (a, b) = (given.one_of(row, "a", a, count, "nodes")?, given.one_of(row, "b", b, count, "nodes")?);
        if a == b {
            return Err(given.wrong(row, format!("node {a} is linked to itself")));
        }
        let rate_mbps = given.within(row, "rate_mbps", rate, 1, FASTEST_MBPS)?;
        let delay = given.within(row, "delay_ps", delay, 0, LONGEST)?;
        for node in [a, b] {
            ports[node as usize] += 1;
            if kinds.slice()[node as usize] == HOST {
                fastest = rate_mbps.max(fastest);
                if ports[node as usize] > 1 {
                    return Err(given.wrong(row, format!("host {node} has a second cable: a host has one port")));
                }
            }
            if ports[node as usize] > MOST_PORTS {
                return Err(given.wrong(row, format!("switch {node} has more than {MOST_PORTS} ports")));
            }
        }
        cables.push(Cable { a, b, rate_mbps, delay });
    }
    if let Some(node) = ports.iter().position(|&ports| ports == 0) {
        return Err(wrong("cables", format!("node {node} has none")));
    }
    Ok((Topology::new(nodes, &cables), fastest))
}

/// Ports of switches, counted over all nodes.
pub fn switch_ports(name: &'static str, given: Perhaps<'_, '_>, topology: &Topology) -> PyResult<Vec<u32>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let given = Numbers::<u32>::read(name, &[None], given)?;
    for (row, &port) in given.slice().iter().enumerate() {
        given.one_of(row, "it", port, topology.wires.len(), "ports")?;
        if topology.kinds[topology.owner[port as usize] as usize] == NodeKind::Host {
            return Err(given.wrong(row, format!("port {port} is a host's: give ports of switches")));
        }
    }
    Ok(given.slice().to_vec())
}

/// Forwarding tables as they are given.
pub struct Forwarding {
    group: Numbers<u32>,
    groups: Numbers<u32>,
    members: Numbers<u16>,
    column: Option<Numbers<u32>>,
}

impl Forwarding {
    /// Read the arguments.
    pub fn read<'a, 'py>(
        topology: &Topology,
        (group, groups, members, column): (Given<'a, 'py>, Given<'a, 'py>, Given<'a, 'py>, Perhaps<'a, 'py>),
    ) -> PyResult<Self> {
        let switches = topology.kinds.iter().filter(|&&kind| kind == NodeKind::Switch).count();
        let members = Numbers::read("members", &[None], members)?;
        let groups = Numbers::read("groups", &[None, Some(3)], groups)?;
        let group = Numbers::read("group", &[Some(switches), None], group)?;
        let column = Numbers::perhaps("column", &[None], column)?;
        Ok(Forwarding { group, groups, members, column })
    }
}

/// What an entry of a forwarding table may be.
pub struct Entries {
    /// The highest port of each group.
    highest: Vec<u16>,
    /// Whether `HERE` is one.
    here: bool,
}

impl Entries {
    /// What is wrong with an entry of a switch of so many ports, if anything.
    pub fn wrong(&self, entry: u32, ports: usize) -> Option<String> {
        let port = if entry == NO_GROUP || (entry == HERE && self.here) {
            return None;
        } else if entry & ONE_PORT != 0 {
            entry & !ONE_PORT
        } else {
            match self.highest.get(entry as usize) {
                Some(&port) => port.into(),
                None => return Some(format!("group {entry}, and there are {} groups", self.highest.len())),
            }
        };
        (port as usize >= ports).then(|| format!("port {port}, and the switch has {ports}"))
    }
}

/// Forwarding tables, whose entries may be `HERE` where they have columns.
pub fn tables(
    topology: &Topology,
    Forwarding { group, groups: given, members, column }: Forwarding,
    work: &mut Work<'_>,
) -> PyResult<(Tables, Entries)> {
    let (mut groups, mut highest) = (Vec::new(), Vec::new());
    for (row, [start, len, balance]) in given.rows() {
        let len = given.within(row, "len", len, 1, u16::MAX.into())?;
        let end = u64::from(start) + len;
        let Some(ports) = members.slice().get(start as usize..end as usize) else {
            return Err(given.wrong(row, format!("it ends at {end}, and there are {} members", members.len())));
        };
        let balance = BALANCES[given.one_of(row, "balance", balance, BALANCES.len(), "ways to share")? as usize];
        highest.push(ports.iter().copied().max().unwrap_or(0));
        groups.push(Group { start, len: len as u16, balance });
    }
    let entries = Entries { highest, here: column.is_some() };
    let mut fib = Fib { addresses: 0, rows: Fib::rows(topology), group: Vec::new(), groups, members: Vec::new() };
    let switches: Vec<usize> = fib.switches().collect();
    fib.addresses = group.columns();
    for (number, (&node, row)) in switches.iter().zip(group.slice().chunks(fib.addresses.max(1))).enumerate() {
        work.step(row.len()).map_err(stopped)?;
        let ports = topology.ports(node).len();
        for (address, &entry) in row.iter().enumerate() {
            if let Some(what) = entries.wrong(entry, ports) {
                return Err(group.wrong(number, format!("node {node}: address {address}: {what}")));
            }
        }
    }
    (fib.group, fib.members) = (group.take(), members.take());
    if let Some(given) = &column {
        for (row, &column) in given.slice().iter().enumerate() {
            given.one_of(row, "it", column, fib.addresses, "columns")?;
        }
    }
    Ok((Tables { fib, column: column.map(Numbers::take) }, entries))
}

/// The host of a column of tables whose addresses are those of several.
pub const SEVERAL: u32 = u32::MAX - 1;

/// The node of each column's host, from those of addresses (`u32::MAX`: no packet has the address), and where forwarding
/// leads to another: as `Fib::astray`.
pub fn owners(
    topology: &Topology,
    tables: &Tables,
    owners: Vec<u32>,
    work: &mut Work<'_>,
) -> Result<(Vec<u32>, Option<Astray>), Stopped> {
    let Some(column) = &tables.column else {
        let astray = tables.fib.astray(topology, &owners, work)?;
        return Ok((owners, astray));
    };
    let mut of_column = vec![u32::MAX; tables.fib.addresses];
    for (&column, &owner) in column.iter().zip(&owners).filter(|one| *one.1 != u32::MAX) {
        let known = &mut of_column[column as usize];
        *known = if *known == u32::MAX || *known == owner { owner } else { SEVERAL };
    }
    let mut plain = tables.fib.clone();
    plain.group.iter_mut().filter(|entry| **entry == HERE).for_each(|entry| *entry = NO_GROUP);
    let astray = plain.astray(topology, &of_column, work)?;
    Ok((of_column, astray))
}
