//! Forwarding tables: address to next-hop group, and what shares a group.

use std::collections::{HashMap, VecDeque};

use crate::balance::Balance;
use crate::topology::{NodeKind, Topology};
use crate::work::{Stopped, Work, whole};

/// No route.
pub const NO_GROUP: u32 = u32::MAX;

/// Set in a group that is one port; the rest is the port.
pub const ONE_PORT: u32 = 1 << 31;

/// The row of a host, which forwards nothing.
pub const NO_ROW: u32 = u32::MAX;

/// Where a packet can reach a host that its address is not of: switch (a node), address and that host (a node).
pub type Astray = (usize, usize, u32);

/// A next-hop group: `members[start..start + len]` of its table, as ports counted from the switch's first.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Where its ports begin.
    pub start: u32,
    /// How many it has.
    pub len: u16,
    /// How it is shared.
    pub balance: Balance,
}

/// Forwarding tables of every switch. Addresses count from 0; a group is a set of ports of its switch.
#[derive(Clone, Debug, Default)]
pub struct Fib {
    /// How many addresses there are.
    pub addresses: usize,
    /// The row of each node in `group`: switches count from 0, hosts have `NO_ROW`.
    pub rows: Vec<u32>,
    /// Group by `row * addresses + address`.
    pub group: Vec<u32>,
    /// Groups, wherever they are used.
    pub groups: Vec<Group>,
    /// Ports of all groups.
    pub members: Vec<u16>,
}

impl Fib {
    /// Shortest paths to every host, whose address is its place among the hosts.
    pub fn shortest(topology: &Topology) -> Self {
        whole(|work| Fib::find_shortest(topology, work))
    }

    /// The same as work that can be stopped.
    ///
    /// # Errors
    /// Where it is.
    pub fn find_shortest(topology: &Topology, work: &mut Work<'_>) -> Result<Self, Stopped> {
        let mut fib = Fib { addresses: topology.hosts().len(), rows: Fib::rows(topology), ..Fib::default() };
        fib.group = fib.around(topology, &vec![false; topology.wires.len()], work)?;
        Ok(fib)
    }

    /// The row of each node of a topology.
    pub fn rows(topology: &Topology) -> Vec<u32> {
        let mut switches = 0..;
        let row = |kind: &NodeKind| (*kind == NodeKind::Switch).then(|| switches.next()).flatten().unwrap_or(NO_ROW);
        topology.kinds.iter().map(row).collect()
    }

    /// Where the entry of a switch (a node) for an address is in `group`.
    #[inline]
    pub fn place(&self, node: usize, address: u32) -> usize {
        self.rows[node] as usize * self.addresses + address as usize
    }

    /// The switches, as nodes, in the order of their rows.
    pub fn switches(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().enumerate().filter(|row| *row.1 != NO_ROW).map(|row| row.0)
    }

    /// The groups (as in `group`) of shortest paths that take no broken cable (by port). Those that are new are put with the
    /// others.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn around(&mut self, topology: &Topology, broken: &[bool], work: &mut Work<'_>) -> Result<Vec<u32>, Stopped> {
        let hosts = topology.hosts();
        let nodes = topology.kinds.len();
        let mut table = vec![NO_GROUP; self.switches().count() * hosts.len()];
        let rows = self.rows.clone();
        let place = |node: usize, address: u32| rows[node] as usize * hosts.len() + address as usize;
        let number = |(number, group): (usize, &Group)| (self.ports(group).to_vec(), number as u32);
        let mut known: HashMap<Vec<u16>, u32> = self.groups.iter().enumerate().map(number).collect();
        // hosts of the same switch are reached in the same way but for that switch
        let mut behind: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes];
        for (address, &host) in hosts.iter().enumerate() {
            for port in topology.ports(host as usize).filter(|&port| !broken[port]) {
                let wire = &topology.wires[port];
                if topology.kinds[wire.peer_node as usize] == NodeKind::Switch {
                    behind[wire.peer_node as usize].push((address as u32, wire.peer));
                }
            }
        }
        let mut distance = vec![u32::MAX; nodes];
        let (mut queue, mut ports) = (VecDeque::new(), Vec::new());
        for (edge, own) in behind.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
            for &(address, port) in own {
                table[place(edge, address)] = ONE_PORT | (port - topology.first[edge]);
            }
            distance.fill(u32::MAX);
            distance[edge] = 0;
            queue.push_back(edge);
            while let Some(node) = queue.pop_front() {
                ports.clear();
                work.step(topology.ports(node).len())?;
                for port in topology.ports(node).filter(|&port| !broken[port]) {
                    let peer = topology.wires[port].peer_node as usize;
                    if distance[peer] < distance[node] {
                        ports.push((port - topology.first[node] as usize) as u16);
                    } else if distance[peer] == u32::MAX && topology.kinds[peer] == NodeKind::Switch {
                        distance[peer] = distance[node] + 1;
                        queue.push_back(peer);
                    }
                }
                let group = match (&ports[..], known.get(&ports)) {
                    ([], _) => continue, // where it begins
                    (&[port], _) => ONE_PORT | u32::from(port),
                    (_, Some(&group)) => group,
                    (_, None) => {
                        let (start, len) = (self.members.len() as u32, ports.len() as u16);
                        self.groups.push(Group { start, len, balance: Balance::Hash });
                        self.members.extend(&ports);
                        known.insert(ports.clone(), self.groups.len() as u32 - 1);
                        self.groups.len() as u32 - 1
                    }
                };
                for &(address, _) in own {
                    table[place(node, address)] = group;
                }
            }
        }
        Ok(table)
    }

    /// Share every group in this way.
    pub fn balanced(mut self, balance: Balance) -> Self {
        for group in &mut self.groups {
            group.balance = balance;
        }
        self
    }

    /// The ports of a group.
    #[inline]
    pub fn ports(&self, group: &Group) -> &[u16] {
        &self.members[group.start as usize..][..usize::from(group.len)]
    }

    /// The hosts that an entry of a switch leads to at once, as nodes.
    pub fn hosts(&self, topology: &Topology, switch: usize, entry: u32) -> impl Iterator<Item = u32> {
        let one = (entry & ONE_PORT != 0 && entry != NO_GROUP).then_some((entry & !ONE_PORT) as usize);
        let group = if entry & ONE_PORT == 0 { self.ports(&self.groups[entry as usize]) } else { &[] };
        let ports = one.into_iter().chain(group.iter().map(|&port| usize::from(port)));
        let first = topology.first[switch] as usize;
        let peers = ports.map(move |port| topology.wires[first + port].peer_node);
        peers.filter(|&peer| topology.kinds[peer as usize] == NodeKind::Host)
    }

    /// Where a packet can reach a host that its address is not of: switch, address and that host. Switches and hosts are
    /// nodes. `owners` has the node of each address's host, `u32::MAX` where no packet has the address.
    ///
    /// It takes time in proportion to the tables: what a switch's ports of a group lead to is looked up once.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn astray(&self, topology: &Topology, owners: &[u32], work: &mut Work<'_>) -> Result<Option<Astray>, Stopped> {
        // by group: for which switch it was looked up, and two of the hosts behind its ports
        let mut known = vec![(usize::MAX, [None; 2]); self.groups.len()];
        for (node, row) in self.switches().zip(self.group.chunks(self.addresses.max(1))) {
            work.step(row.len())?;
            let two_hosts = |entry| {
                let mut hosts = self.hosts(topology, node, entry);
                let one = hosts.next();
                [one, hosts.find(|&host| Some(host) != one)]
            };
            for (address, &entry) in row.iter().enumerate().filter(|&(address, _)| owners[address] != u32::MAX) {
                let behind = match known.get_mut(entry as usize) {
                    Some((looked, behind)) if *looked == node => *behind,
                    Some(unknown) => {
                        *unknown = (node, two_hosts(entry));
                        unknown.1
                    }
                    None => two_hosts(entry),
                };
                if let Some(host) = behind.into_iter().flatten().find(|&host| host != owners[address]) {
                    return Ok(Some((node, address, host)));
                }
            }
        }
        Ok(None)
    }

    /// Whether any group is shared by the load of its ports.
    pub fn looks_at_load(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.balance, Balance::Packet | Balance::Flowlet))
    }
}
