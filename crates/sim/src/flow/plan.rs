//! Messages as work for links, in the order of their queue pairs.

use std::sync::Arc;

use super::lists::lists;
use super::symmetry::Classes;
use crate::config::HostConfig;
use crate::packet::Ps;
use crate::traffic::{Message, Traffic};
use crate::work::{Stopped, Work};

/// What is to be sent. Everything is counted in classes: messages, queue pairs and hosts that behave the same are one.
#[derive(Debug, Default)]
pub struct Plan {
    /// The queue pair of each message.
    pub qp: Vec<u32>,
    /// Bytes of each message on the wire, gaps included.
    pub bytes: Vec<f64>,
    /// Bytes of each message's last packet on the wire.
    pub last: Vec<u32>,
    /// When each message may be sent; where it waits, how long after it can have what it waits for.
    pub start: Vec<Ps>,
    /// Messages that follow one another and wait for the same: the first of them, and behind the last.
    pub alike: Vec<(u32, u32)>,
    /// How many messages each of `alike` waits for.
    pub waits: Vec<u32>,
    /// `followers[follow[m]..follow[m + 1]]` wait for message `m`.
    pub follow: Vec<u32>,
    /// Places in `alike`, by what they wait for, and how long after it.
    pub followers: Vec<(u32, Ps)>,
    /// `order[first[q]..first[q + 1]]` are the messages of queue pair `q`.
    pub first: Vec<u32>,
    /// Messages, by queue pair, in the order in which they are sent.
    pub order: Vec<u32>,
    /// The host that each queue pair sends from.
    pub host: Vec<u32>,
}

impl Plan {
    /// Whether others wait for a message.
    #[inline]
    pub fn is_followed(&self, message: u32) -> bool {
        !self.followers.is_empty() && self.follow[message as usize] < self.follow[message as usize + 1]
    }

    /// The plan for traffic, where each class does what the first of its members does.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(
        traffic: &Traffic,
        config: &HostConfig,
        classes: &Classes,
        work: &mut Work<'_>,
    ) -> Result<Self, Stopped> {
        let (messages, pairs) = (&traffic.messages, &traffic.pairs);
        let mut plan = Plan::default();
        let mut after: Vec<(u32, (u32, Ps))> = Vec::new();
        let mut own: Vec<(u32, Ps)> = Vec::new();
        let mut before: Option<&Message> = None;
        for (number, message) in messages.iter().enumerate() {
            work.step(1)?;
            let class = classes.message[number];
            if class as usize != plan.qp.len() {
                continue; // not the first of its class
            }
            let (bytes, last) = message.on_the_wire(config);
            plan.qp.push(classes.qp[message.qp as usize]);
            plan.bytes.push(bytes);
            plan.last.push(last);
            plan.start.push(message.start);
            let next = plan.qp.len() as u32;
            if before.replace(message).is_some_and(|before| Arc::ptr_eq(&before.after, &message.after)) {
                plan.alike.last_mut().expect("the message before is one of them").1 = next;
                continue;
            }
            work.step(message.after.len())?;
            own.clear();
            own.extend(message.after.iter().map(|wait| (classes.message[wait.message as usize], wait.delay)));
            own.sort_unstable();
            own.dedup();
            let place = plan.alike.len() as u32;
            plan.alike.push((next - 1, next));
            plan.waits.push(own.len() as u32);
            after.extend(own.iter().map(|&(before, delay)| (before, (place, delay))));
        }
        (plan.follow, plan.followers) = lists(plan.qp.len(), after.iter().copied());
        let mut first_of = Vec::new();
        for (qp, pair) in pairs.iter().enumerate() {
            if classes.qp[qp] as usize == plan.host.len() {
                plan.host.push(classes.host[pair.src as usize]);
                first_of.push(qp as u32);
            }
        }
        let of_first = messages.iter().enumerate().filter_map(|(number, message)| {
            let class = classes.qp[message.qp as usize];
            (first_of[class as usize] == message.qp).then_some((class, classes.message[number]))
        });
        (plan.first, plan.order) = lists(plan.host.len(), of_first);
        Ok(plan)
    }
}
