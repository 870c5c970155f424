//! Nodes, ports and cables.

use crate::packet::{GAP_BYTES, Ps};

/// What a node is. A host has one port; a server with several NICs is several hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives.
    Host,
    /// Forwards.
    Switch,
}

/// One direction of a cable, as seen from the port that sends.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// The port at the other end, counted over all nodes.
    pub peer: u32,
    /// The node at the other end.
    pub peer_node: u32,
    /// Picoseconds a byte takes, in units of 2^-16 ps.
    pub ps_per_byte: u64,
    /// Propagation delay.
    pub delay: Ps,
}

impl Wire {
    /// How long a frame occupies the wire, gap included.
    #[inline]
    pub fn serialization(&self, bytes: u16) -> Ps {
        ((u64::from(bytes) + GAP_BYTES) * self.ps_per_byte + (1 << 15)) >> 16
    }
}

/// Picoseconds a byte takes at a rate in 10^6 bit/s, in units of 2^-16 ps.
pub fn ps_per_byte(rate_mbps: u64) -> u64 {
    (8_000_000u64 << 16) / rate_mbps
}

/// A cable between two nodes.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Rate in 10^6 bit/s.
    pub rate_mbps: u64,
    /// Propagation delay.
    pub delay: Ps,
}

/// A network: nodes in order, each with its ports in the order of its cables.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Names of nodes.
    pub names: Vec<String>,
    /// Kinds of nodes.
    pub kinds: Vec<NodeKind>,
    /// `ports[first[n]..first[n + 1]]` are the ports of node `n`.
    pub first: Vec<u32>,
    /// The wire that leaves each port.
    pub wires: Vec<Wire>,
    /// The node each port belongs to.
    pub owner: Vec<u32>,
}

impl Topology {
    /// A topology of nodes and cables.
    pub fn new(nodes: Vec<(String, NodeKind)>, cables: &[Cable]) -> Self {
        let (names, kinds): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
        let mut count = vec![0u32; names.len() + 1];
        for cable in cables {
            count[cable.a as usize + 1] += 1;
            count[cable.b as usize + 1] += 1;
        }
        for node in 0..names.len() {
            count[node + 1] += count[node];
        }
        let first = count.clone();
        let total = *first.last().expect("a length of at least one") as usize;
        let blank = Wire { peer: 0, peer_node: 0, ps_per_byte: 0, delay: 0 };
        let mut wires = vec![blank; total];
        let mut owner = vec![0u32; total];
        for cable in cables {
            let (pa, pb) = (count[cable.a as usize], count[cable.b as usize]);
            count[cable.a as usize] += 1;
            let pb = if cable.a == cable.b { pb + 1 } else { pb };
            count[cable.b as usize] += 1;
            let ps_per_byte = ps_per_byte(cable.rate_mbps);
            let wire = |peer, peer_node| Wire { peer, peer_node, ps_per_byte, delay: cable.delay };
            wires[pa as usize] = wire(pb, cable.b);
            wires[pb as usize] = wire(pa, cable.a);
            owner[pa as usize] = cable.a;
            owner[pb as usize] = cable.b;
        }
        Topology { names, kinds, first, wires, owner }
    }

    /// A three-tier fat tree of `k`-port switches: `k^3/4` hosts (Al-Fares et al., SIGCOMM 2008).
    pub fn fat_tree(k: u32, rate_mbps: u64, delay: Ps) -> Self {
        let half = k / 2;
        let hosts = k * half * half;
        let edge = hosts;
        let aggregation = edge + k * half;
        let core = aggregation + k * half;
        let mut nodes = Vec::new();
        let mut cables = Vec::new();
        let mut join = |a, b| cables.push(Cable { a, b, rate_mbps, delay });
        for host in 0..hosts {
            nodes.push((format!("h{host}"), NodeKind::Host));
            join(host, edge + host / half);
        }
        for (tier, label) in ["edge", "agg"].iter().enumerate() {
            for number in 0..k * half {
                nodes.push((format!("{label}{number}"), NodeKind::Switch));
                let (pod, place) = (number / half, number % half);
                for up in 0..half {
                    if tier == 0 {
                        join(edge + number, aggregation + pod * half + up);
                    } else {
                        join(aggregation + number, core + place * half + up);
                    }
                }
            }
        }
        nodes.extend((0..half * half).map(|number| (format!("core{number}"), NodeKind::Switch)));
        Topology::new(nodes, &cables)
    }

    /// The ports of a node, counted over all nodes.
    pub fn ports(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// The hosts, in order.
    pub fn hosts(&self) -> Vec<u32> {
        (0..self.kinds.len() as u32).filter(|&n| self.kinds[n as usize] == NodeKind::Host).collect()
    }

    /// The smallest time in which one node can reach another.
    pub fn lookahead(&self) -> Ps {
        self.wires.iter().map(|wire| wire.delay + wire.serialization(64)).min().unwrap_or(1)
    }
}
