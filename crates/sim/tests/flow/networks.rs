//! Two-tier networks and collectives, for tests and measurements of the flow engine.

use std::sync::Arc;

use railweave_sim::balance::Balance;
use railweave_sim::packet::Ps;
use railweave_sim::routing::{Fib, Group, ONE_PORT};
use railweave_sim::topology::{Cable, NodeKind, Topology};
use railweave_sim::traffic::{Message, QueuePair, Traffic, Verb, Wait};

/// Rate of all cables, 10^6 bit/s.
pub const RATE: u64 = 400_000;
/// Delay of all cables.
pub const DELAY: Ps = 500_000;

/// Servers of so many NICs, NIC `n` of each on a leaf of rail `n`. A stripe of servers shares its leaves; every leaf has
/// one cable to each spine. A NIC is host `server * rails + rail`. Switches are the first nodes.
pub fn rails(servers: u32, rails: u32, stripe: u32, spines: u32, balance: Balance) -> (Topology, Fib) {
    let (hosts, leaves) = (servers * rails, servers.div_ceil(stripe) * rails);
    let first_host = leaves + spines;
    let leaf_of = |host: u32| host / rails / stripe * rails + host % rails;
    let kind = |node| if node < first_host { NodeKind::Switch } else { NodeKind::Host };
    let nodes = (0..first_host + hosts).map(|node| (format!("n{node}"), kind(node))).collect();
    let mut cables: Vec<_> =
        (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, leaves + spine))).collect();
    cables.extend((0..hosts).map(|host| (leaf_of(host), first_host + host)));
    let cables: Vec<_> = cables.iter().map(|&(a, b)| Cable { a, b, rate_mbps: RATE, delay: DELAY }).collect();
    let topology = Topology::new(nodes, &cables);
    // a leaf's ports are its spines, then its hosts; a spine's are the leaves
    let group = Group { start: 0, len: spines as u16, balance };
    let mut fib = Fib {
        addresses: hosts as usize,
        rows: Fib::rows(&topology),
        members: (0..spines as u16).collect(),
        groups: vec![group],
        ..Fib::default()
    };
    let mut below = vec![spines; leaves as usize];
    let down: Vec<u32> = (0..hosts)
        .map(|host| {
            let port = &mut below[leaf_of(host) as usize];
            *port += 1;
            *port - 1
        })
        .collect();
    for switch in 0..first_host {
        let entry = |host: u32| match leaf_of(host) {
            leaf if switch >= leaves => ONE_PORT | leaf,
            leaf if leaf == switch => ONE_PORT | down[host as usize],
            _ => 0,
        };
        fib.group.extend((0..hosts).map(entry));
    }
    (topology, fib)
}

/// A message from every host to every other, in the order in which NCCL sends them: the next host first.
pub fn all_to_all(hosts: u32, bytes: u64) -> Traffic {
    let mut traffic = Traffic::default();
    for src in 0..hosts {
        for ahead in 1..hosts {
            let dst = (src + ahead) % hosts;
            let qp = traffic.pairs.len() as u32;
            traffic.pairs.push(QueuePair { src, dst, to: dst, back: src });
            traffic.messages.push(Message { verb: Verb::Write, qp, bytes, start: 0, after: Arc::default() });
        }
    }
    traffic
}

/// Rings of servers, one by each rail: in every step a NIC sends on what it received in the step before, by so many queue
/// pairs.
pub fn rings(servers: u32, rails: u32, pairs: u32, steps: u32, bytes: u64) -> Traffic {
    let mut traffic = Traffic::default();
    let hosts = servers * rails;
    for src in 0..hosts {
        let dst = (src + rails) % hosts;
        traffic.pairs.extend((0..pairs).map(|_| QueuePair { src, dst, to: dst, back: src }));
    }
    let count = hosts * pairs;
    for step in 0..steps {
        for qp in 0..count {
            let from = (qp / pairs + hosts - rails) % hosts * pairs;
            let before = |pair| (step - 1) * count + from + pair;
            let after = if step == 0 {
                Arc::default()
            } else {
                (0..pairs).map(before).map(|message| Wait { message, delay: 0 }).collect()
            };
            traffic.messages.push(Message { verb: Verb::Write, qp, bytes, start: 0, after });
        }
    }
    traffic
}
