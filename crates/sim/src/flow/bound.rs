//! What kept queue pairs from sending faster, and for how long.

use super::constraint::NONE;
use super::fill::WINDOW;
use crate::packet::Ps;

/// What binds a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// A full link, by the port that sends on it.
    Link(u32),
    /// Its window, or that its packets do not reach their host.
    Window,
    /// Its host, which has other messages to post first.
    Post,
}

/// A bound, and for how long it held.
pub type BoundTime = (Bound, Ps);

/// In times: the host's posting.
const POST: u32 = u32::MAX - 2;

/// In lists of times: the end.
const END: u32 = u32::MAX;

/// A bound, for how long it held, and where the next one of the queue pair is.
#[derive(Clone, Copy, Debug)]
struct Held {
    bound: u32,
    next: u32,
    time: Ps,
}

impl Held {
    const NOTHING: Held = Held { bound: NONE, next: END, time: 0 };
}

/// What binds a queue pair, since when, and what bound it first; most are never bound by anything else.
#[derive(Clone, Copy, Debug)]
struct Binding {
    since: Ps,
    first: Held,
    bound: u32,
}

/// Bounds of queue pairs, as they change.
#[derive(Debug)]
pub struct Bounds {
    now: Vec<Binding>,
    /// What bound queue pairs later, in the order in which it did so first.
    more: Vec<Held>,
    /// Times on networks that are no more, by queue pair and port; empty where the network never changed.
    ports: Vec<Vec<BoundTime>>,
}

impl Bounds {
    /// Nothing sends.
    pub fn new(pairs: usize) -> Self {
        let nothing = Binding { since: 0, first: Held::NOTHING, bound: NONE };
        Bounds { now: vec![nothing; pairs], more: Vec::new(), ports: Vec::new() }
    }

    /// A queue pair is bound by a constraint from `now` on.
    #[inline]
    pub fn set(&mut self, qp: u32, bound: u32, now: Ps) {
        let Binding { since, bound: before, .. } = self.now[qp as usize];
        if before != bound {
            if before != NONE {
                self.count(qp, before, now - since);
            }
            let binding = &mut self.now[qp as usize];
            (binding.bound, binding.since) = (bound, now);
        }
    }

    /// A queue pair has nothing to send.
    pub fn rest(&mut self, qp: u32, now: Ps) {
        self.set(qp, NONE, now);
    }

    /// A queue pair could have sent for so long, had its message been posted.
    pub fn waited_for_post(&mut self, qp: u32, time: Ps) {
        self.count(qp, POST, time);
    }

    fn count(&mut self, qp: u32, bound: u32, time: Ps) {
        if time == 0 {
            return;
        }
        let end = self.more.len() as u32;
        let mut held = &mut self.now[qp as usize].first;
        while held.bound != bound && held.bound != NONE {
            if held.next == END {
                held.next = end;
                self.more.push(Held { bound, next: END, time });
                return;
            }
            let next = held.next as usize;
            held = &mut self.more[next];
        }
        (held.bound, held.time) = (bound, held.time + time);
    }

    /// Constraints change: keep what they did by the ports they are for.
    pub fn name_ports(&mut self, qp: u32, now: Ps, port: impl Fn(u32) -> Option<u32>) {
        let found = self.times(qp, now, port);
        self.ports.resize(self.now.len(), Vec::new());
        self.ports[qp as usize] = found;
        let binding = &mut self.now[qp as usize];
        binding.first = Held::NOTHING; // further ones stay where they are, for nobody
        (binding.bound, binding.since) = (if binding.bound == NONE { NONE } else { WINDOW }, now);
    }

    /// What bound a queue pair until `now`, in the order in which it did so first.
    pub fn times(&self, qp: u32, now: Ps, port: impl Fn(u32) -> Option<u32>) -> Vec<BoundTime> {
        let mut times = self.ports.get(qp as usize).cloned().unwrap_or_default();
        let Binding { since, bound, first } = self.now[qp as usize];
        let last = (bound != NONE).then(|| (bound, now - since));
        let all = std::iter::successors(Some(&first), |held| self.more.get(held.next as usize));
        for (bound, time) in all.filter(|held| held.bound != NONE).map(|held| (held.bound, held.time)).chain(last) {
            let bound = match bound {
                WINDOW => Some(Bound::Window),
                POST => Some(Bound::Post),
                link => port(link).map(Bound::Link),
            };
            if let Some(bound) = bound {
                add(&mut times, bound, time);
            }
        }
        times
    }
}

fn add<T: PartialEq>(times: &mut Vec<(T, Ps)>, bound: T, time: Ps) {
    match times.iter_mut().find(|one| one.0 == bound) {
        _ if time == 0 => {}
        Some(one) => one.1 += time,
        None => times.push((bound, time)),
    }
}
