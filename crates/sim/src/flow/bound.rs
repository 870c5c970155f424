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

/// Bounds of queue pairs, as they change.
#[derive(Debug)]
pub struct Bounds {
    now: Vec<(u32, Ps)>,
    /// What bound each first; most are never bound by anything else.
    first: Vec<(u32, Ps)>,
    times: Vec<Vec<(u32, Ps)>>,
    /// Times on networks that are no more, by port.
    ports: Vec<Vec<BoundTime>>,
}

impl Bounds {
    /// Nothing sends.
    pub fn new(pairs: usize) -> Self {
        Bounds {
            now: vec![(NONE, 0); pairs],
            first: vec![(NONE, 0); pairs],
            times: vec![Vec::new(); pairs],
            ports: vec![Vec::new(); pairs],
        }
    }

    /// A queue pair is bound by a constraint from `now` on.
    #[inline]
    pub fn set(&mut self, qp: u32, bound: u32, now: Ps) {
        let (before, since) = self.now[qp as usize];
        if before != bound {
            if before != NONE {
                self.count(qp, before, now - since);
            }
            self.now[qp as usize] = (bound, now);
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
        match &mut self.first[qp as usize] {
            _ if time == 0 => {}
            first if first.0 == bound => first.1 += time,
            first if first.0 == NONE => *first = (bound, time),
            _ => add(&mut self.times[qp as usize], bound, time),
        }
    }

    /// Constraints change: keep what they did by the ports they are for.
    pub fn name_ports(&mut self, qp: u32, now: Ps, port: impl Fn(u32) -> Option<u32>) {
        let bound = self.now[qp as usize].0;
        self.ports[qp as usize] = self.times(qp, now, port);
        self.first[qp as usize] = (NONE, 0);
        self.times[qp as usize].clear();
        self.now[qp as usize] = (if bound == NONE { NONE } else { WINDOW }, now);
    }

    /// What bound a queue pair until `now`, in the order in which it did so first.
    pub fn times(&self, qp: u32, now: Ps, port: impl Fn(u32) -> Option<u32>) -> Vec<BoundTime> {
        let mut times = self.ports[qp as usize].clone();
        let (bound, since) = self.now[qp as usize];
        let last = (bound != NONE).then(|| (bound, now - since));
        let first = Some(self.first[qp as usize]).filter(|first| first.0 != NONE);
        for (bound, time) in first.into_iter().chain(self.times[qp as usize].iter().copied()).chain(last) {
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
