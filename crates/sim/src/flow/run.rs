//! What happens, in order of time.

use std::cmp::Reverse;

use super::fill::Fill;
use super::{Event, FlowEngine};
use crate::packet::Ps;
use crate::work::{Stopped, Work, whole};

/// So many that do not send any more, beside as many as do, may be in the list of senders.
const RESTING: usize = 64;

impl FlowEngine {
    /// Run until nothing happens any more, or until `limit`.
    pub fn run(&mut self, limit: Ps) {
        whole(|work| self.try_run(limit, work));
    }

    /// The same as work that can be stopped. It can run on afterwards, and what comes of it is the same.
    ///
    /// # Errors
    /// Where it is stopped: up to when everything has happened.
    pub fn run_while(&mut self, limit: Ps, work: &mut Work<'_>) -> Result<(), Ps> {
        self.try_run(limit, work).map_err(|Stopped| {
            self.until = self.now;
            self.now
        })
    }

    fn try_run(&mut self, limit: Ps, work: &mut Work<'_>) -> Result<(), Stopped> {
        loop {
            work.step(1)?;
            let (end, qp) = self.finish.next(&self.sending);
            let event = self.first_event().map_or(Ps::MAX, |event| event.0);
            let change = self.timeline.next();
            let now = end.min(event).min(change).min(self.due);
            if now >= limit || now == Ps::MAX {
                self.until = limit;
                self.now = if limit == Ps::MAX { self.now } else { limit };
                return Ok(());
            }
            self.now = now;
            if change == now {
                self.change(now);
            } else if end == now {
                self.sent(qp, now);
            } else if event == now {
                match self.take_event() {
                    Event::Arrived(message) => self.arrive(message, now),
                    Event::Ready(message) => self.post(message, now),
                    Event::Posted(message) => self.begin(message, now),
                }
            } else {
                self.share(now);
                work.step(self.fill.found.len())?;
            }
        }
    }

    /// When the next thing happens that changes rates or, where none will, when the last message arrives; `Ps::MAX`: nothing
    /// happens any more.
    pub fn next_event(&mut self) -> Ps {
        let event = self.first_event().map_or(Ps::MAX, |event| event.0);
        let next = self.finish.next(&self.sending).0.min(event).min(self.timeline.next()).min(self.due);
        if next == Ps::MAX && self.last >= self.until { self.last } else { next }
    }

    fn first_event(&self) -> Option<(Ps, Event)> {
        let event = self.events.peek().map(|event| event.0);
        self.starts.last().copied().into_iter().chain(event).min()
    }

    fn take_event(&mut self) -> Event {
        let first = self.first_event().expect("looked at before");
        if self.starts.last() == Some(&first) {
            self.starts.pop();
        } else {
            self.events.pop();
        }
        first.1
    }

    /// A message arrived: those that waited for it alone become ready.
    fn arrive(&mut self, message: u32, now: Ps) {
        let range = self.plan.follow[message as usize]..self.plan.follow[message as usize + 1];
        for &(follower, delay) in &self.plan.followers[range.start as usize..range.end as usize] {
            let place = follower as usize;
            self.had[place] = self.had[place].max(now + delay);
            self.waits[place] -= 1;
            if self.waits[place] == 0 {
                let (begin, end) = self.plan.alike[place];
                self.events.extend((begin..end).map(|message| {
                    let ready = self.had[place] + self.plan.start[message as usize];
                    Reverse((ready, Event::Ready(message)))
                }));
            }
        }
    }

    /// A message may be sent: its host posts it when it has posted those before.
    fn post(&mut self, message: u32, now: Ps) {
        self.ready[message as usize] = now;
        if self.options.post_cost == 0 {
            return self.begin(message, now);
        }
        let free = &mut self.free[self.plan.host[self.plan.qp[message as usize] as usize] as usize];
        *free = now.max(*free) + self.options.post_cost;
        self.events.push(Reverse((*free, Event::Posted(message))));
    }

    /// A message is posted; it begins if it is its queue pair's next and nothing is before it.
    fn begin(&mut self, message: u32, now: Ps) {
        self.posted[message as usize] = true;
        let qp = self.plan.qp[message as usize];
        let sender = &mut self.senders[qp as usize];
        if self.fill.active(qp) || self.plan.order[sender.next as usize] != message {
            return;
        }
        let waited = now - self.ready[message as usize].max(sender.idle);
        self.bounds.waited_for_post(qp, waited);
        (sender.left, sender.since, sender.began) = (self.plan.bytes[message as usize], now, now);
        if !std::mem::replace(&mut sender.listed, true) {
            self.sending.push(qp);
        }
        self.count += 1;
        let equal = self.fill.begin(&self.network.graph, qp as usize);
        let bound;
        (sender.rate, bound) = self.fill.share(qp);
        let duration = sender.left / equal;
        self.finish.set(qp, sender.ends());
        self.bounds.set(qp, bound, now);
        self.disturb(duration, now);
    }

    /// A queue pair's message is sent whole; the next one begins, or the queue pair rests.
    fn sent(&mut self, qp: u32, now: Ps) {
        let sender = &mut self.senders[qp as usize];
        let message = self.plan.order[sender.next as usize];
        let at = now + self.network.latency(qp, self.plan.last[message as usize]);
        self.arrived[message as usize] = at;
        self.last = self.last.max(at);
        if self.plan.is_followed(message) {
            self.events.push(Reverse((at, Event::Arrived(message))));
        }
        sender.sent += sender.left;
        sender.next += 1;
        let duration = (now - sender.began) as f64;
        if sender.next < sender.end {
            let message = self.plan.order[sender.next as usize] as usize;
            if self.posted[message] {
                (sender.left, sender.since, sender.began) = (self.plan.bytes[message], now, now);
                self.finish.set(qp, sender.ends());
                return;
            }
        }
        (sender.left, sender.rate, sender.since, sender.idle) = (0.0, 0.0, now, now);
        self.finish.set(qp, Ps::MAX);
        self.fill.end(&self.network.graph, qp as usize);
        self.count -= 1;
        if self.sending.len() > 2 * self.count + RESTING {
            self.forget_resting();
        }
        self.bounds.rest(qp, now);
        self.disturb(duration, now);
    }

    /// Take those off the list of senders that do not send.
    fn forget_resting(&mut self) {
        let (fill, senders) = (&self.fill, &mut self.senders);
        self.sending.retain(|&qp| {
            senders[qp as usize].listed = fill.active(qp);
            fill.active(qp)
        });
    }

    /// Rates on links that changed are to be found anew, after a part of `duration` at the latest.
    fn disturb(&mut self, duration: f64, now: Ps) {
        self.due = self.due.min(now.saturating_add((self.options.tolerance * duration) as Ps));
    }

    /// Find the rates of all that share links with what changed.
    fn share(&mut self, now: Ps) {
        self.due = Ps::MAX;
        self.fills += 1;
        self.fill.fill(&self.network.graph, &self.sending);
        if self.fill.found.len() * 4 > self.count {
            self.finish.forget_order();
        }
        for (qp, rate, bound) in self.fill.moved() {
            let sender = &mut self.senders[qp as usize];
            self.bounds.set(qp, bound, now);
            if rate != sender.rate {
                sender.settle(now);
                sender.rate = rate;
                self.finish.set(qp, sender.ends());
            }
        }
    }

    /// Do all changes of a moment.
    fn change(&mut self, now: Ps) {
        let mut paths = false;
        while self.timeline.next() == now
            && let Some((_, change)) = self.timeline.take()
        {
            paths |= self.network.change(change);
        }
        self.forget_resting();
        for &qp in &self.sending {
            self.senders[qp as usize].settle(now);
        }
        self.keep_bytes();
        for qp in 0..self.senders.len() as u32 {
            self.bounds.name_ports(qp, now, |link| self.network.port_of(qp, link));
        }
        whole(|work| self.network.rebuild(&self.traffic.pairs, paths, work));
        self.network.represent(&self.classes.qp);
        self.fill = Fill::new(&self.network.graph, self.network.most());
        self.finish.forget_order();
        for &qp in &self.sending {
            self.fill.begin(&self.network.graph, qp as usize);
            let (rate, bound) = self.fill.share(qp);
            self.bounds.set(qp, bound, now);
            self.senders[qp as usize].rate = rate;
            self.finish.set(qp, self.senders[qp as usize].ends());
        }
        (0..self.network.graph.capacity.len() as u32).for_each(|link| self.fill.disturb(link));
        self.due = now;
    }
}
