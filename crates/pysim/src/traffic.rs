//! Queue pairs and messages from arrays.

use std::sync::Arc;

use pyo3::prelude::*;
use railweave_sim::flow::Tables;
use railweave_sim::input::flows::{LATEST, MOST_BYTES};
use railweave_sim::input::spec::FASTEST_MBPS;
use railweave_sim::topology::{NodeKind, Topology};
use railweave_sim::traffic::{Limit, Message, QueuePair, Traffic, Verb, Wait};
use railweave_sim::work::Work;

use crate::arrays::{Given, Numbers, Perhaps, wrong};
use crate::network::{self, SEVERAL};
use crate::released::stopped;

/// Names of codes in Python.
pub const CODES: [(&str, u64); 3] = [("WRITE", 0), ("WRITE_WITH_IMMEDIATE", 1), ("SEND", 2)];

/// In the order of their codes.
const VERBS: [Verb; 3] = [Verb::Write, Verb::WriteWithImmediate, Verb::Send];

/// Lists of what messages wait for: where each begins, what is in them, how long after it, and the list of each message
/// (left out: that of its number).
pub type Waits<'a, 'py> = (Perhaps<'a, 'py>, Perhaps<'a, 'py>, Perhaps<'a, 'py>, Perhaps<'a, 'py>);

/// What hosts are to send as it is given.
pub struct Sending {
    pairs: Numbers<u32>,
    limits: Option<Numbers<u32>>,
    messages: Numbers<u64>,
    waits: Option<Lists>,
}

/// `Waits` as they are given.
struct Lists {
    starts: Numbers<u64>,
    after: Numbers<u32>,
    delays: Option<Numbers<u64>>,
    of: Option<Numbers<u32>>,
}

impl Sending {
    /// Read the arguments.
    pub fn read<'a, 'py>(
        pairs: Given<'a, 'py>,
        limits: Perhaps<'a, 'py>,
        messages: Given<'a, 'py>,
        waits: Waits<'a, 'py>,
    ) -> PyResult<Self> {
        let pairs = Numbers::read("queue_pairs", &[None, Some(4)], pairs)?;
        let limits = Numbers::perhaps("limits", &[Some(pairs.len() / 4), Some(2)], limits)?;
        let messages = Numbers::read("messages", &[None, Some(4)], messages)?;
        let waits = match waits {
            (Some(starts), Some(after), delays, of) => {
                let count = messages.len() / 4;
                let of = Numbers::perhaps("after_of", &[Some(count)], of)?;
                let starts = Numbers::read("after_start", &[of.is_none().then_some(count + 1)], starts)?;
                let after = Numbers::read("after", &[None], after)?;
                let delays = Numbers::perhaps("after_delay_ps", &[Some(after.len())], delays)?;
                Some(Lists { starts, after, delays, of })
            }
            (None, None, None, None) => None,
            _ => return Err(wrong("after", "after_start and after are given together or not at all")),
        };
        Ok(Sending { pairs, limits, messages, waits })
    }
}

/// What hosts are to send, and the node of each column's host (`u32::MAX`: it is not used).
pub fn traffic(
    Sending { pairs, limits, messages: given, waits }: Sending,
    (topology, tables, mtu): (&Topology, &Tables, u32),
    work: &mut Work<'_>,
) -> PyResult<(Traffic, Vec<u32>)> {
    let (pairs, owners) = queue_pairs(&pairs, topology, tables, work)?;
    let limits = limits.map(|limits| limit(&limits)).transpose()?.unwrap_or_default();
    let mut traffic = Traffic { pairs, messages: Vec::new(), limits };
    traffic.messages.reserve_exact(given.len() / 4);
    let mut packets = vec![0u64; traffic.pairs.len()];
    for (row, [qp, bytes, start, verb]) in given.rows() {
        work.step(1).map_err(stopped)?;
        let qp = given.one_of(row, "qp", qp, traffic.pairs.len(), "queue pairs")?;
        let bytes = given.within(row, "bytes", bytes, 0, MOST_BYTES)?;
        let start = given.within(row, "start_ps", start, 0, LATEST)?;
        let verb = VERBS[given.one_of(row, "verb", verb, VERBS.len(), "verbs")? as usize];
        let sent = &mut packets[qp as usize];
        *sent += bytes.div_ceil(traffic.mtu(qp, mtu).into()).max(1);
        if *sent > u32::MAX.into() {
            let what = format!("queue pair {qp} has more than {} packets: divide them among several", u32::MAX);
            return Err(given.wrong(row, what));
        }
        traffic.messages.push(Message { verb, qp, bytes, start, after: Arc::default() });
    }
    drop(given);
    if let Some(lists) = waits {
        wait(&mut traffic, lists, topology.lookahead(), work)?;
        if let Some(message) = traffic.circle(work).map_err(stopped)? {
            let what = format!("message {message} waits for itself, by others or by those before it on its queue pair");
            return Err(wrong("after", what));
        }
    }
    Ok((traffic, owners))
}

/// Queue pairs, and the node of each column's host. A packet that reached another host would be taken there, so forwarding
/// is looked at.
fn queue_pairs(
    given: &Numbers<u32>,
    topology: &Topology,
    tables: &Tables,
    work: &mut Work<'_>,
) -> PyResult<(Vec<QueuePair>, Vec<u32>)> {
    let nodes = topology.hosts();
    let hosts = nodes.len();
    let mut pairs = Vec::with_capacity(given.len() / 4);
    let addresses = tables.addresses();
    let mut owners = vec![u32::MAX; addresses];
    for (row, [src, dst, to, back]) in given.rows() {
        work.step(1).map_err(stopped)?;
        given.one_of(row, "src", src, hosts, "hosts")?;
        given.one_of(row, "dst", dst, hosts, "hosts")?;
        if src == dst {
            return Err(given.wrong(row, format!("host {src} sends to itself")));
        }
        for (what, address, host) in [("to", to, dst), ("back", back, src)] {
            let owner = &mut owners[given.one_of(row, what, address, addresses, "addresses")? as usize];
            if *owner != u32::MAX && *owner != host {
                let what =
                    format!("{what} is address {address}, which is host {owner}'s before and host {host}'s here");
                return Err(given.wrong(row, what));
            }
            *owner = host;
        }
        for (from, host) in [(src, dst), (dst, src)] {
            let (node, at) = (nodes[host as usize], topology.first[nodes[from as usize] as usize]);
            let peer = topology.wires[at as usize].peer_node;
            if topology.kinds[peer as usize] == NodeKind::Host && peer != node {
                let what = format!("host {from} is linked to node {peer} alone, and sends to host {host}");
                return Err(given.wrong(row, what));
            }
        }
        pairs.push(QueuePair { src, dst, to, back });
    }
    for owner in owners.iter_mut().filter(|owner| **owner != u32::MAX) {
        *owner = nodes[*owner as usize];
    }
    let (owners, astray) = network::owners(topology, tables, owners, work).map_err(stopped)?;
    if let Some((node, address, host)) = astray {
        let row = tables.fib.rows[node];
        let what = format!("row {row}: node {node}: address {address}: {}", leads_astray(host, owners[address]));
        return Err(wrong("group", what));
    }
    Ok((pairs, owners))
}

fn limit(given: &Numbers<u32>) -> PyResult<Vec<Limit>> {
    let mut limits = Vec::new();
    for (row, [mtu, rate_mbps]) in given.rows() {
        if mtu != 0 {
            given.within(row, "mtu", mtu, 256, 9_000)?;
        }
        limits.push(Limit {
            mtu: mtu as u16,
            rate_mbps: given.within(row, "rate_mbps", rate_mbps, 0, FASTEST_MBPS)? as u32,
        });
    }
    Ok(limits)
}

/// What is wrong where forwarding leads to another host than the address's.
pub fn leads_astray(host: u32, owner: u32) -> String {
    if owner == SEVERAL {
        return format!("it leads to node {host}, and queue pairs have addresses of several nodes there");
    }
    format!("it leads to node {host}, and queue pairs have the address for node {owner}")
}

fn wait(
    traffic: &mut Traffic,
    Lists { starts, after, delays, of }: Lists,
    least: u64,
    work: &mut Work<'_>,
) -> PyResult<()> {
    let count = traffic.messages.len();
    let delays = delays.as_ref().map(Numbers::slice);
    if let Some(row) = delays.and_then(|delays| delays.iter().position(|&delay| delay > LATEST)) {
        return Err(wrong("after_delay_ps", format!("row {row}: more than {LATEST}")));
    }
    let bounds = starts.slice();
    let [Some(first), Some(last)] = [bounds.first(), bounds.last()] else {
        return Err(wrong("after_start", "it has where each list begins, and where the last one ends"));
    };
    if *first != 0 || *last != after.len() as u64 {
        return Err(wrong("after_start", format!("it runs from {first} to {last}, not from 0 to {}", after.len())));
    }
    let delay = |place: usize| delays.map_or(0, |delays| delays[place]);
    let mut before = (usize::MAX, Arc::<[Wait]>::default(), Vec::new());
    for number in 0..count {
        let list = match &of {
            Some(of) => of.one_of(number, "it", of.slice()[number], bounds.len() - 1, "lists")? as usize,
            None => number,
        };
        let (begin, end) = (bounds[list], bounds[list + 1]);
        if begin > end || end > after.len() as u64 {
            let what = format!("{end} comes after {begin}, and there are {} in after", after.len());
            return Err(starts.wrong(list + 1, what));
        }
        let places = begin as usize..end as usize;
        if before.0 != list {
            work.step(places.len()).map_err(stopped)?;
            let wait = |place: usize| {
                let message = after.one_of(place, "it", after.slice()[place], count, "messages")?;
                Ok(Wait { message, delay: delay(place) })
            };
            let waits: Arc<[Wait]> = places.clone().map(wait).collect::<PyResult<_>>()?;
            let arrivals = traffic.arrivals(&waits);
            before = (list, waits, arrivals);
        }
        work.step(1 + before.2.len()).map_err(stopped)?;
        let Message { qp, start, .. } = traffic.messages[number];
        let src = traffic.pairs[qp as usize].src;
        if let Some(&(dst, delay)) = before.2.iter().find(|&&(dst, delay)| dst != src && start + delay < least) {
            let (waits, start) = (&before.1, start + delay);
            let at = |wait: &Wait| traffic.pairs[traffic.messages[wait.message as usize].qp as usize].dst;
            let place =
                waits.iter().position(|wait| wait.delay == delay && at(wait) == dst).expect("it is one of them");
            let what = format!(
                "message {number} leaves host {src}, and message {}, for which it waits, arrives at host {dst}: \
                 start_ps and after_delay_ps are {start}, and must be at least {least}, which the shortest wire takes",
                waits[place].message
            );
            return Err(after.wrong(places.start + place, what));
        }
        traffic.messages[number].after = before.1.clone();
    }
    Ok(())
}
