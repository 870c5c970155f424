//! What hosts are to send: queue pairs, and messages on them that may wait for one another.

use std::ops::Range;
use std::sync::Arc;

use crate::config::HostConfig;
use crate::packet::{GAP_BYTES, Ps};
use crate::work::{Stopped, Work};

/// A queue pair between two hosts (counted among hosts). Addresses decide its path: there may be several per host.
#[derive(Clone, Copy, Debug)]
pub struct QueuePair {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Address its data goes to.
    pub to: u32,
    /// Address its acknowledgements go to.
    pub back: u32,
}

/// What a message is (InfiniBand specification, volume 1, section 9.4): it decides the extended headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// RDMA write: its first packet carries an RDMA extended header (RETH).
    #[default]
    Write,
    /// RDMA write with immediate: besides, its last packet carries the immediate.
    WriteWithImmediate,
    /// Send.
    Send,
}

/// RDMA extended transport header, bytes (InfiniBand specification, volume 1, section 9.3.3).
pub const RETH_BYTES: u16 = 16;
/// Immediate extended transport header, bytes (section 9.3.6).
const IMMEDIATE_BYTES: u16 = 4;

/// That a message waits for another to arrive: at its sender, or at another NIC of its server.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The other.
    pub message: u32,
    /// How long after its arrival: what moves the data inside the server, say. With `start` of the message that waits, at
    /// least what the shortest wire of the network takes, where the other arrives at another NIC.
    pub delay: Ps,
}

/// A message of a queue pair.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it is.
    pub verb: Verb,
    /// The queue pair it goes by; messages of a queue pair are sent in the order in which they are listed.
    pub qp: u32,
    /// Payload.
    pub bytes: u64,
    /// When it may be sent; where it waits for others, how long after the last of them arrived.
    pub start: Ps,
    /// What it waits for. Messages that share a list and follow one another take memory and time once: the parts of a message
    /// that goes over several queue pairs wait for the same.
    pub after: Arc<[Wait]>,
}

impl Message {
    /// What it takes on the wire, and its last packet (with gaps): full packets, then the rest; a write's first packet,
    /// or each, says where it goes.
    pub fn on_the_wire(&self, config: &HostConfig) -> (f64, u32) {
        let (mtu, header) = (u64::from(config.mtu), u64::from(config.header));
        let packets = self.bytes.div_ceil(mtu).max(1);
        let immediate = if self.verb == Verb::WriteWithImmediate { u64::from(IMMEDIATE_BYTES) } else { 0 };
        let writes = if self.verb == Verb::Send { 0 } else { u64::from(RETH_BYTES) };
        let rest = self.bytes - (packets - 1) * mtu;
        let reth_on_last = if packets == 1 || config.reth_on_every_packet { writes } else { 0 };
        let last = (rest.next_multiple_of(4) + header + immediate + reth_on_last).max(64) + GAP_BYTES;
        let before = (packets - 1) * (mtu + header + GAP_BYTES);
        let reths = match (packets, config.reth_on_every_packet) {
            (1, _) => 0,
            (_, true) => (packets - 1) * writes,
            (_, false) => writes,
        };
        ((before + reths + last) as f64, last as u32)
    }
}

/// A message of a queue pair, as its packets. Messages of a queue pair are sent in order, so their packets are known.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its first packet.
    pub begin: u32,
    /// The packet after its last.
    pub end: u32,
    /// Frame length of its last packet, without RETH.
    pub last_bytes: u16,
    /// Whether it is an RDMA write, which says where it goes in a RETH.
    pub writes: bool,
    /// Whether it may be sent.
    pub posted: bool,
}

/// All there is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Queue pairs.
    pub pairs: Vec<QueuePair>,
    /// Messages.
    pub messages: Vec<Message>,
    /// Of each queue pair; empty: none has any.
    pub limits: Vec<Limit>,
}

/// What a queue pair keeps to besides its host's parameters: traffic of others, which does not come from this host's proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    /// Payload of its full packets; 0: the host's.
    pub mtu: u16,
    /// It never sends faster, 10^6 bit/s on the wire; 0: as fast as its port.
    pub rate_mbps: u32,
}

impl Traffic {
    /// What a queue pair keeps to.
    pub fn limit(&self, qp: u32) -> Limit {
        self.limits.get(qp as usize).copied().unwrap_or_default()
    }

    /// Payload of full packets of a queue pair, where its host's is `mtu`.
    pub fn mtu(&self, qp: u32, mtu: u32) -> u32 {
        match self.limit(qp).mtu {
            0 => mtu,
            own => own.into(),
        }
    }

    /// A queue pair with one message for each flow: sending host, receiving host, payload, start. The address of a host is
    /// its place among the hosts.
    pub fn flows(flows: impl IntoIterator<Item = (u32, u32, u64, Ps)>) -> Self {
        let mut traffic = Traffic::default();
        for (src, dst, bytes, start) in flows {
            let qp = traffic.pairs.len() as u32;
            traffic.pairs.push(QueuePair { src, dst, to: dst, back: src });
            traffic.messages.push(Message { verb: Verb::Write, qp, bytes, start, after: Arc::default() });
        }
        traffic
    }
}

impl Traffic {
    /// Messages that follow one another and share a list of what they wait for. What depends on the list is worked out once for
    /// all of them: with 8 queue pairs a connection, an all-to-all has 8 messages for each list.
    pub fn alike(&self) -> impl Iterator<Item = &[Message]> {
        self.messages.chunk_by(|one, next| Arc::ptr_eq(&one.after, &next.after))
    }

    /// The hosts at which messages of a list arrive, in order, each with the shortest delay after such an arrival.
    pub fn arrivals(&self, after: &[Wait]) -> Vec<(u32, Ps)> {
        let host = |wait: &Wait| self.pairs[self.messages[wait.message as usize].qp as usize].dst;
        let mut arrivals: Vec<_> = after.iter().map(|wait| (host(wait), wait.delay)).collect();
        arrivals.sort_unstable();
        arrivals.dedup_by_key(|arrival| arrival.0);
        arrivals
    }

    /// A message that waits for itself in the end: for messages that it waits for, or that are before it on its queue pair.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn circle(&self, work: &mut Work<'_>) -> Result<Option<u32>, Stopped> {
        let count = self.messages.len();
        let mut last = vec![None; self.pairs.len()];
        let queued: Vec<Option<u32>> =
            (0..count).map(|message| last[self.messages[message].qp as usize].replace(message as u32)).collect();
        // A list stands for itself, behind the messages: those that share it wait for it, and it for what is in it.
        let mut list = Vec::with_capacity(count);
        let mut lists: Vec<&[Wait]> = Vec::new();
        for messages in self.alike() {
            list.extend(std::iter::repeat_n((count + lists.len()) as u32, messages.len()));
            lists.push(&messages[0].after);
        }
        let before = |place: u32, number: usize| match lists.get((place as usize).wrapping_sub(count)) {
            Some(waits) => waits.get(number).map(|wait| wait.message),
            None => std::iter::once(list[place as usize]).chain(queued[place as usize]).nth(number),
        };
        // a walk from each message back to what is before it; what is met again on the way closes a circle
        const UNSEEN: u8 = 0;
        const ON_THE_WAY: u8 = 1;
        const SEEN: u8 = 2;
        let mut state = vec![UNSEEN; count + lists.len()];
        let mut way: Vec<(u32, usize)> = Vec::new();
        for start in 0..count as u32 {
            if state[start as usize] != UNSEEN {
                continue;
            }
            state[start as usize] = ON_THE_WAY;
            way.push((start, 0));
            while let Some((place, number)) = way.last_mut() {
                work.step(1)?;
                let Some(next) = before(*place, *number) else {
                    state[*place as usize] = SEEN;
                    way.pop();
                    continue;
                };
                *number += 1;
                match state[next as usize] {
                    // a list is no message: what comes after it on the way is one of its messages
                    ON_THE_WAY if next as usize >= count => {
                        return Ok(way.iter().skip_while(|at| at.0 != next).nth(1).map(|at| at.0));
                    }
                    ON_THE_WAY => return Ok(Some(next)),
                    UNSEEN => {
                        state[next as usize] = ON_THE_WAY;
                        way.push((next, 0));
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }
}

/// Traffic as both ends of every queue pair need it.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Messages as packets, by queue pair.
    pub segments: Vec<Segment>,
    /// Where each queue pair's segments begin, and one more.
    pub first: Vec<u32>,
    /// The message that each segment is.
    pub message: Vec<u32>,
    /// The segment that each message is.
    pub segment: Vec<u32>,
    /// The queue pair of each message.
    pub qp: Vec<u32>,
    /// When each message may be sent, or how long after the last that it waits for.
    pub start: Vec<Ps>,
    /// Messages that wait for the same.
    pub waiting: Vec<Waiting>,
    /// The sending host of each queue pair.
    pub sender: Vec<u32>,
    /// `followers[follow[m]..follow[m + 1]]` wait for message `m`.
    pub follow: Vec<u32>,
    /// Places in `waiting`, by what they wait for, and how long after it.
    pub followers: Vec<(u32, Ps)>,
}

/// Messages that follow one another and wait for the same.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The first of them.
    first: u32,
    /// How many they are.
    count: u32,
    /// How many messages they still wait for.
    waits: u32,
    /// When they can have what they wait for, as far as that arrived.
    ready: Ps,
}

impl Schedule {
    /// The schedule of some traffic.
    ///
    /// # Errors
    /// Where the work is stopped.
    pub fn new(traffic: &Traffic, config: &HostConfig, work: &mut Work<'_>) -> Result<Self, Stopped> {
        let (pairs, messages) = (traffic.pairs.len(), traffic.messages.len());
        let sender = traffic.pairs.iter().map(|pair| pair.src).collect();
        let mut schedule =
            Schedule { sender, first: vec![0; pairs + 1], follow: vec![0; messages + 1], ..Schedule::default() };
        for (number, message) in traffic.messages.iter().enumerate() {
            work.step(1)?;
            schedule.first[message.qp as usize + 1] += 1;
            if message.after.is_empty() {
                continue;
            }
            if number > 0 && Arc::ptr_eq(&message.after, &traffic.messages[number - 1].after) {
                schedule.waiting.last_mut().expect("the message before waits").count += 1;
                continue;
            }
            let waits = message.after.len() as u32;
            work.step(message.after.len())?;
            schedule.waiting.push(Waiting { first: number as u32, count: 1, waits, ready: 0 });
            for wait in message.after.iter() {
                schedule.follow[wait.message as usize + 1] += 1;
            }
        }
        for counts in [&mut schedule.first, &mut schedule.follow] {
            for place in 1..counts.len() {
                counts[place] += counts[place - 1];
            }
        }
        let mut next = schedule.first.clone();
        let mut free = schedule.follow.clone();
        let blank = Segment { begin: 0, end: 0, last_bytes: 0, writes: false, posted: false };
        schedule.segments = vec![blank; messages];
        schedule.message = vec![0; messages];
        schedule.followers = vec![(0, 0); *schedule.follow.last().unwrap_or(&0) as usize];
        for (number, message) in traffic.messages.iter().enumerate() {
            work.step(1)?;
            let place = next[message.qp as usize];
            next[message.qp as usize] += 1;
            let before = if place == schedule.first[message.qp as usize] {
                0
            } else {
                schedule.segments[place as usize - 1].end
            };
            let mtu = u64::from(traffic.mtu(message.qp, config.mtu));
            let packets = message.bytes.div_ceil(mtu).max(1);
            let last = (message.bytes - (packets - 1) * mtu) as u16;
            let immediate = if message.verb == Verb::WriteWithImmediate { IMMEDIATE_BYTES } else { 0 };
            let segment = Segment {
                begin: before,
                end: before + packets as u32,
                last_bytes: (last.next_multiple_of(4) + config.header + immediate).max(64),
                writes: message.verb != Verb::Send,
                posted: false,
            };
            schedule.segments[place as usize] = segment;
            schedule.message[place as usize] = number as u32;
            schedule.segment.push(place);
            schedule.qp.push(message.qp);
            schedule.start.push(message.start);
        }
        for (place, waiting) in schedule.waiting.iter().enumerate() {
            work.step(waiting.waits as usize)?;
            for wait in traffic.messages[waiting.first as usize].after.iter() {
                let free = &mut free[wait.message as usize];
                schedule.followers[*free as usize] = (place as u32, wait.delay);
                *free += 1;
            }
        }
        Ok(schedule)
    }

    /// A message that others wait for arrived. Returns them, where they wait for nothing more, and when they can have it.
    #[inline]
    pub fn arrived(&mut self, (place, delay): (u32, Ps), now: Ps) -> Option<(Range<u32>, Ps)> {
        let waiting = &mut self.waiting[place as usize];
        waiting.ready = waiting.ready.max(now + delay);
        waiting.waits -= 1;
        (waiting.waits == 0).then(|| (waiting.first..waiting.first + waiting.count, waiting.ready))
    }

    /// The places in `followers` of those that wait for a message.
    #[inline]
    pub fn followers_of(&self, message: u32) -> Range<usize> {
        self.follow[message as usize] as usize..self.follow[message as usize + 1] as usize
    }
}
