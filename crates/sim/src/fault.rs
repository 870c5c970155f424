//! Things that happen to a network while it runs.

use crate::packet::Ps;
use crate::wires::Wires;

/// A change of the network. Ports are counted over all nodes; a cable is named by either of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A cable breaks: what is on it is lost, what waits for it is dropped, and neither end pauses the other any more.
    LinkDown(u32),
    /// The cable works again.
    LinkUp(u32),
    /// All cables of a node break. A host goes on where it was when it is up again.
    NodeDown(u32),
    /// The node is up again: those of its cables work that nothing else keeps down.
    NodeUp(u32),
    /// A cable runs at another rate, both ways: picoseconds a byte takes, in units of 2^-16 ps.
    Rate(u32, u64),
    /// Packets sent by this port are lost with this chance, in 1/2^32.
    Loss(u32, u32),
    /// The host behind this port pauses a class without end (a PFC storm), or stops doing so.
    Storm(u32, u8, bool),
    /// The host behind this port takes data at this rate only: picoseconds a byte takes, in units of 2^-16 ps; 0: as fast as
    /// it comes. What it cannot take waits in its receive buffer.
    Receive(u32, u64),
    /// A switch forwards an address by another group.
    Route {
        /// The switch, as a node.
        node: u32,
        /// The address.
        address: u32,
        /// The group, or `ONE_PORT` and a port, or `NO_GROUP`.
        group: u32,
    },
}

/// Changes that last for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it begins.
    pub at: Ps,
    /// When it ends; `Ps::MAX`: never.
    pub until: Ps,
    /// What begins it.
    pub begin: Vec<Change>,
    /// What ends it.
    pub end: Vec<Change>,
}

impl Fault {
    /// Whether both change the same at a time: the end of one would end the other too.
    pub fn overlaps(&self, other: &Fault) -> bool {
        self.at < other.until && other.at < self.until && self.end.iter().any(|change| other.end.contains(change))
    }

    /// Whether it lasts at a time.
    pub fn lasts(&self, now: Ps) -> bool {
        (self.at..self.until).contains(&now)
    }

    /// The changes of faults. Of the same moment, ends are first.
    pub fn changes(faults: &[Fault]) -> Vec<(Ps, Change)> {
        let end = |fault: &Fault| fault.end.iter().map(|&change| (fault.until, change)).collect::<Vec<_>>();
        let ends = faults.iter().filter(|fault| fault.until != Ps::MAX).flat_map(end);
        let begin = |fault: &Fault| fault.begin.iter().map(|&change| (fault.at, change)).collect::<Vec<_>>();
        ends.chain(faults.iter().flat_map(begin)).collect()
    }
}

/// What keeps a cable from working: itself, or the node at either end.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// The cable.
    Cable,
    /// The node of the port.
    Node,
}

/// Which cables do not work, and why.
#[derive(Clone, Debug)]
pub struct Broken(Vec<u8>);

impl Broken {
    /// All cables of so many ports work.
    pub fn new(ports: usize) -> Self {
        Broken(vec![0; ports])
    }

    /// Note a cause at a port, or that it is gone. Returns whether that changed if the cable (to port `other`) works.
    pub fn set(&mut self, port: usize, other: usize, cause: Cause, broken: bool) -> bool {
        let before = self.0[port] | self.0[other];
        let ends = match cause {
            Cause::Cable => [port, other],
            Cause::Node => [port, port],
        };
        for end in ends {
            let bit = 1 << cause as u8;
            self.0[end] = if broken { self.0[end] | bit } else { self.0[end] & !bit };
        }
        (before == 0) != (self.0[port] | self.0[other] == 0)
    }
}

/// Changes in order of time; those of the same moment in the order in which they are given.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    changes: Vec<(Ps, Change)>,
    next: usize,
}

impl Timeline {
    /// A timeline of changes in any order.
    pub fn new(mut changes: Vec<(Ps, Change)>) -> Self {
        changes.sort_by_key(|change| change.0);
        Timeline { changes, next: 0 }
    }

    /// The smallest time in which a wire that changes its rate carries a packet from one node to another.
    pub fn lookahead(&self, wires: &Wires) -> Ps {
        let delays = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Rate(port, _) => Some(wires.delay(*port as usize)),
            _ => None,
        });
        delays.min().unwrap_or(Ps::MAX)
    }

    /// When the next change is; `Ps::MAX`: none is left.
    #[inline]
    pub fn next(&self) -> Ps {
        self.changes.get(self.next).map_or(Ps::MAX, |change| change.0)
    }

    /// Take the next change.
    pub fn take(&mut self) -> Option<(Ps, Change)> {
        let change = self.changes.get(self.next).copied();
        self.next += 1;
        change
    }
}
