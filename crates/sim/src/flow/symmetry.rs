//! Which messages, queue pairs, links and hosts behave the same.
//!
//! Colors are refined until they tell nothing new (Weisfeiler and Leman 1968): a message is what it waits for and what is
//! before it, a queue pair is its messages and its links, a link is its queue pairs. Then all of one color have the same
//! rates at all times, since max-min fair rates are unique, and one of each color is enough. Colors are 64-bit hashes.

use std::sync::Arc;

use super::constraint::Graph;
use super::lists::lists;
use super::mixed::MixedMap;
use crate::config::HostConfig;
use crate::hashing::mix;
use crate::traffic::{Traffic, Wait};
use crate::work::{Stopped, Work};

/// Refining stops where more than this part of the queue pairs differs: there is little to be won.
const WORTH: f64 = 0.5;

/// Of about so many queue pairs it is looked how many differ.
const SAMPLE: usize = 4096;

/// The class of everything; classes count from 0 in the order of their first members.
#[derive(Debug, Default)]
pub struct Classes {
    /// By queue pair.
    pub qp: Vec<u32>,
    /// By constraint.
    pub link: Vec<u32>,
    /// By message.
    pub message: Vec<u32>,
    /// By host.
    pub host: Vec<u32>,
}

impl Classes {
    /// Everything by itself.
    pub fn single(traffic: &Traffic, links: usize, hosts: usize) -> Self {
        let all = |count: usize| (0..count as u32).collect();
        Classes {
            qp: all(traffic.pairs.len()),
            link: all(links),
            message: all(traffic.messages.len()),
            host: all(hosts),
        }
    }

    /// The classes of traffic. `traits`: what besides messages and links makes a queue pair, hashed. `posts`: whether a host
    /// posts one message after another.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(
        traffic: &Traffic,
        config: &HostConfig,
        graph: &Graph,
        (traits, hosts, posts): (&[u64], usize, bool),
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        let messages = &traffic.messages;
        let own_color: Vec<u64> = messages
            .iter()
            .map(|message| {
                let (bytes, last) = message.on_the_wire(config);
                mix(mix(bytes.to_bits(), u64::from(last)), message.start ^ u64::from(message.after.is_empty()) << 63)
            })
            .collect();
        let order = topological(traffic, work)?;
        // what hosts post, in their order
        let posted = if posts { messages } else { &[][..] };
        let (first, own) =
            lists(hosts, posted.iter().zip(0..).map(|(m, number)| (traffic.pairs[m.qp as usize].src, number)));
        let mut place = vec![0u64; posted.len()];
        for host in 0..hosts {
            for (number, &message) in own[first[host] as usize..first[host + 1] as usize].iter().enumerate() {
                place[message as usize] = number as u64;
            }
        }
        let mut qp = traits.to_vec();
        let users = graph.users.windows(2).map(|bounds| u64::from(bounds[1] - bounds[0]));
        let mut link: Vec<u64> =
            graph.capacity.iter().zip(users).map(|(capacity, users)| mix(capacity.to_bits(), users)).collect();
        let mut host = vec![0u64; hosts];
        let mut message = vec![0u64; messages.len()];
        let mut chain = vec![0u64; qp.len()];
        let mut before = (0, 0, 0);
        loop {
            chain.copy_from_slice(&qp);
            let mut known: Option<(&Arc<[Wait]>, u64)> = None;
            for &number in &order {
                let one = &messages[number as usize];
                work.step(1)?;
                let waits = match known {
                    Some((after, waits)) if Arc::ptr_eq(after, &one.after) => waits,
                    _ => {
                        work.step(one.after.len())?;
                        let color = |wait: &Wait| mix(message[wait.message as usize], 1 + wait.delay);
                        one.after.iter().fold(0u64, |sum, wait| sum.wrapping_add(color(wait)))
                    }
                };
                known = Some((&one.after, waits));
                let mut color = mix(mix(own_color[number as usize], waits), chain[one.qp as usize]);
                if posts {
                    let src = traffic.pairs[one.qp as usize].src as usize;
                    color = mix(color, mix(host[src], place[number as usize]));
                }
                message[number as usize] = color;
                chain[one.qp as usize] = color;
            }
            if posts {
                for (number, color) in host.iter_mut().enumerate() {
                    let own = &own[first[number] as usize..first[number + 1] as usize];
                    *color = own.iter().fold(*color, |color, &m| mix(color, message[m as usize]));
                }
            }
            for (number, color) in qp.iter_mut().enumerate() {
                work.step(graph.edges(number).len())?;
                let links = graph.edges(number).fold(0u64, |sum, edge| {
                    let (number, weight) = graph.edge(edge);
                    sum.wrapping_add(mix(link[number], weight.to_bits()))
                });
                let src = if posts { host[traffic.pairs[number].src as usize] } else { 0 };
                *color = mix(mix(mix(*color, chain[number]), links), src);
            }
            if mostly_distinct(&qp) {
                return Ok(Classes::single(traffic, link.len(), hosts));
            }
            let mut sums = vec![0u64; link.len()];
            for (number, &color) in qp.iter().enumerate() {
                for edge in graph.edges(number) {
                    let (link, weight) = graph.edge(edge);
                    sums[link] = sums[link].wrapping_add(mix(color, weight.to_bits()));
                }
            }
            link.iter_mut().zip(&sums).for_each(|(color, &sum)| *color = mix(*color, sum));
            let count = (distinct(&qp), distinct(&link), distinct(&host));
            if count == before {
                break;
            }
            before = count;
        }
        // hosts that nobody looks at need no class of their own, but they need one
        let host = if posts { numbered(&host) } else { vec![0; hosts] };
        Ok(Classes { qp: numbered(&qp), link: numbered(&link), message: numbered(&message), host })
    }

    /// Whether anything is in a class with something else.
    pub fn folds(&self) -> bool {
        self.qp.iter().zip(0..).any(|(&class, number)| class != number)
    }

    /// The graph of classes: what all members of a class of queue pairs take of one link.
    pub fn fold(&self, graph: &Graph) -> Graph {
        let mut folded = Graph { of_port: graph.of_port.clone(), first: vec![0], ..Graph::default() };
        for link in &mut folded.of_port {
            if let Some(&class) = self.link.get(*link as usize) {
                *link = class;
            }
        }
        let mut leader = Vec::new();
        for (link, &class) in self.link.iter().enumerate() {
            if class as usize == leader.len() {
                leader.push(link as u32);
                folded.capacity.push(graph.capacity[link]);
            }
        }
        let classes = self.qp.iter().max().map_or(0, |&most| most as usize + 1);
        let mut taken: Vec<(u32, u32, f64)> = Vec::new();
        for (qp, &class) in self.qp.iter().enumerate() {
            for edge in graph.edges(qp) {
                let (link, weight) = graph.edge(edge);
                let of = self.link[link];
                if leader[of as usize] == link as u32 {
                    taken.push((class, of, weight));
                }
            }
        }
        taken.sort_by_key(|&(class, link, _)| (class, link));
        let mut rest = taken.iter().peekable();
        let mut edges: Vec<(u32, f64)> = Vec::new();
        for class in 0..classes as u32 {
            while let Some(&&(_, link, weight)) = rest.peek().filter(|edge| edge.0 == class) {
                match edges.last_mut() {
                    Some(last) if last.0 == link => last.1 += weight,
                    _ => edges.push((link, weight)),
                }
                rest.next();
            }
            edges.drain(..).for_each(|(link, weight)| folded.take(link, weight));
            folded.next();
        }
        folded.index();
        folded
    }
}

/// Messages, each after those that it waits for and those before it on its queue pair.
fn topological(traffic: &Traffic, work: &mut Work<'_>) -> Result<Vec<u32>, Stopped> {
    let messages = traffic.messages.len();
    let mut last = vec![u32::MAX; traffic.pairs.len()];
    // what messages share to wait for stands for itself, behind the messages
    let (mut edges, mut number, mut place) = (Vec::new(), 0u32, messages as u32);
    let mut forward = true;
    for alike in traffic.alike() {
        work.step(alike.len() + alike[0].after.len())?;
        forward &= alike[0].after.iter().all(|wait| wait.message < number);
        edges.extend(alike[0].after.iter().map(|wait| (wait.message, place)));
        for message in alike {
            let queued = std::mem::replace(&mut last[message.qp as usize], number);
            edges.extend(
                [place, queued].into_iter().filter(|&before| before != u32::MAX).map(|before| (before, number)),
            );
            number += 1;
        }
        place += 1;
    }
    if forward {
        return Ok((0..messages as u32).collect());
    }
    let mut waits = vec![0u32; place as usize];
    edges.iter().for_each(|&(_, after)| waits[after as usize] += 1);
    let (first, followers) = lists(place as usize, edges.iter().copied());
    let mut order: Vec<u32> = (0..place).filter(|&one| waits[one as usize] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        let one = order[next] as usize;
        next += 1;
        work.step(1)?;
        for &follower in &followers[first[one] as usize..first[one + 1] as usize] {
            waits[follower as usize] -= 1;
            if waits[follower as usize] == 0 {
                order.push(follower);
            }
        }
    }
    assert_eq!(order.len(), place as usize, "a message waits for itself in the end");
    order.retain(|&one| (one as usize) < messages);
    Ok(order)
}

/// Whether about more than the part `WORTH` of the colors differ, by a sample: of equal colors all are in it or none.
fn mostly_distinct(colors: &[u64]) -> bool {
    let sampled = if colors.len() > SAMPLE { (colors.len() / SAMPLE).ilog2() } else { 0 };
    let sample: Vec<u64> = colors.iter().copied().filter(|color| color.trailing_zeros() >= sampled).collect();
    (distinct(&sample) << sampled) as f64 > WORTH * colors.len() as f64
}

fn distinct(colors: &[u64]) -> usize {
    let mut sorted = colors.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// Colors as numbers, in the order in which they come up.
fn numbered(colors: &[u64]) -> Vec<u32> {
    let mut known = MixedMap::default();
    let mut number = |&color: &u64| {
        let next = known.len() as u32;
        *known.entry(color).or_insert(next)
    };
    colors.iter().map(&mut number).collect()
}
