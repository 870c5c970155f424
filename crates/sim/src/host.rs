//! A host: one NIC port, its queue pairs as sender and receiver.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use crate::config::HostConfig;
use crate::packet::{Packet, Ps};
use crate::port::pfc_frame;
use crate::report::{Counters, PortCounters};
use crate::traffic::Schedule;
use crate::transport::{Receiver, Sender};
use crate::wires::Wires;

mod receive;
mod send;
mod slow;

use slow::Slow;

/// Set in a message that its NIC's proxy has prepared.
const PREPARED: u32 = 1 << 31;

/// One host.
#[derive(Debug)]
pub struct Host {
    /// Its place among the hosts.
    number: u32,
    port: usize,
    data_class: u8,
    free: Ps,
    paused: u8,
    /// Whether its cable is broken.
    down: bool,
    /// PFC frames; they go before everything.
    pfc: VecDeque<Packet>,
    /// Congestion notifications, then acknowledgements; they go before data.
    control: [VecDeque<Packet>; 2],
    ready: BinaryHeap<Reverse<(Ps, u32)>>,
    timers: BinaryHeap<Reverse<(Ps, u32)>>,
    /// Messages that are to be posted, and when.
    starts: BinaryHeap<Reverse<(Ps, u32)>>,
    /// When its proxy will have prepared what it was given.
    proxy: Ps,
    /// Before these it sends no notification, where they are counted by address of the sender, or by port (its only entry).
    notify: HashMap<u32, Ps>,
    /// Where it takes packets more slowly than they come.
    slow: Option<Box<Slow>>,
    /// When the next packet of the receive buffer will have been taken; `Ps::MAX`: there is none.
    taken: Ps,
    /// Classes that it pauses without end.
    storm: u8,
    seen: PortCounters,
    paused_since: Ps,
}

/// What a host needs of the engine while it runs.
pub struct HostContext<'a> {
    /// Parameters.
    pub config: &'a HostConfig,
    /// All senders.
    pub senders: &'a mut [Sender],
    /// All receivers.
    pub receivers: &'a mut [Receiver],
    /// Messages.
    pub schedule: &'a mut Schedule,
    /// When each message arrived whole.
    pub arrived: &'a mut [Ps],
    /// Messages of other hosts that may be sent now: host, time, message.
    pub told: &'a mut Vec<(u32, Ps, u32)>,
    /// Packets under way.
    pub wires: &'a mut Wires,
    /// Counters of the run.
    pub counters: &'a mut Counters,
}

fn first(heap: &BinaryHeap<Reverse<(Ps, u32)>>) -> Ps {
    heap.peek().map_or(Ps::MAX, |entry| entry.0.0)
}

impl Host {
    /// A host on a port, with messages to post (time and message).
    pub fn new(number: u32, port: usize, data_class: u8, starts: impl IntoIterator<Item = (Ps, u32)>) -> Self {
        Host {
            number,
            port,
            data_class,
            free: 0,
            paused: 0,
            down: false,
            pfc: VecDeque::new(),
            control: Default::default(),
            ready: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            starts: starts.into_iter().map(Reverse).collect(),
            proxy: 0,
            notify: HashMap::new(),
            slow: None,
            taken: Ps::MAX,
            storm: 0,
            seen: PortCounters::default(),
            paused_since: 0,
        }
    }

    /// Do everything before `end`. Returns when there is something to do next.
    pub fn run(&mut self, context: &mut HostContext<'_>, end: Ps) -> Ps {
        loop {
            let arrival = context.wires.inbox(self.port).next();
            let (timer, start) = (first(&self.timers), first(&self.starts));
            let own = timer.min(start).min(self.taken);
            let now = arrival.min(own);
            if self.send_until(context, now.min(end - 1)) {
                continue; // a timer was set, and may run out before
            }
            if now >= end {
                return now.min(self.next_start());
            }
            if own > now {
                let packet = context.wires.inbox(self.port).take();
                self.receive(context, &packet);
            } else if start == now {
                let Reverse((_, message)) = self.starts.pop().expect("looked at before");
                self.start(context, message, now);
            } else if timer == now {
                let Reverse((_, qp)) = self.timers.pop().expect("looked at before");
                self.expire(context, now, qp);
            } else {
                self.drain(context);
            }
        }
    }

    /// A message of another queue pair of its server made one of this host's possible.
    pub fn tell(&mut self, at: Ps, message: u32) {
        self.starts.push(Reverse((at, message)));
    }

    /// A message may be sent: its proxy prepares one after another.
    fn start(&mut self, context: &mut HostContext<'_>, message: u32, now: Ps) {
        let cost = context.config.post_cost;
        let others = context.senders[context.schedule.qp[(message & !PREPARED) as usize] as usize].pace != 0;
        if cost == 0 || others || message & PREPARED != 0 {
            self.post(context, message & !PREPARED, now);
        } else {
            self.proxy = self.proxy.max(now) + cost;
            self.starts.push(Reverse((self.proxy, message | PREPARED)));
        }
    }

    fn post(&mut self, context: &mut HostContext<'_>, message: u32, now: Ps) {
        let schedule = &mut *context.schedule;
        schedule.segments[schedule.segment[message as usize] as usize].posted = true;
        let qp = schedule.qp[message as usize];
        let sender = &mut context.senders[qp as usize];
        sender.post(&schedule.segments);
        self.make_ready(context.config, sender, qp, now);
    }

    /// A queue pair may be able to send from `now` on.
    fn make_ready(&mut self, config: &HostConfig, sender: &mut Sender, qp: u32, now: Ps) {
        if !sender.queued && sender.can_send(config.window) {
            sender.queued = true;
            sender.allowed = sender.allowed.max(now);
            self.ready.push(Reverse((sender.allowed, qp)));
        }
    }

    /// The cable broke at `now`: what the NIC would have answered with is lost, and so are pauses.
    pub fn cut(&mut self, counters: &mut Counters, now: Ps) {
        self.down = true;
        self.obey(0, now);
        self.forget_pause();
        self.pfc.clear();
        for queue in &mut self.control {
            counters.dropped_down += queue.len() as u64;
            queue.clear();
        }
    }

    /// The cable works again from `now` on.
    pub fn mend(&mut self, now: Ps) {
        self.down = false;
        self.free = self.free.max(now);
    }

    /// Pause a class of the neighbor, or resume it.
    fn pause(&mut self, class: u8, stop: bool, now: Ps) {
        if !self.down {
            self.seen.pfc_tx += u64::from(stop);
            self.pfc.push_back(pfc_frame(class, stop, now));
        }
    }

    /// Packets that wait to be sent; data is made when it is sent.
    pub fn waiting(&self) -> u64 {
        self.control.iter().map(|queue| queue.len() as u64).sum()
    }

    /// The switch pauses these classes, and no others.
    fn obey(&mut self, paused: u8, now: Ps) {
        match (self.paused, paused) {
            (0, 1..) => self.paused_since = now,
            (1.., 0) => self.seen.paused += now - self.paused_since,
            _ => {}
        }
        self.paused = paused;
    }

    /// When its last transmission ends.
    pub fn free(&self) -> Ps {
        self.free
    }

    /// Counters of its port, but for bytes sent.
    pub fn counters(&self, now: Ps) -> PortCounters {
        let since = if self.paused == 0 { 0 } else { now - self.paused_since };
        PortCounters { paused: self.seen.paused + since, ..self.seen }
    }

    fn expire(&mut self, context: &mut HostContext<'_>, now: Ps, qp: u32) {
        let timeout = context.config.timeout;
        let sender = &mut context.senders[qp as usize];
        if !sender.waits() {
            sender.armed = false;
            return;
        }
        if sender.progress + timeout > now {
            self.timers.push(Reverse((sender.progress + timeout, qp)));
            return;
        }
        context.counters.timeouts += 1;
        if !sender.expired(context.config) {
            context.counters.failed_queue_pairs += 1;
            sender.armed = false;
            return;
        }
        sender.progress = now;
        self.timers.push(Reverse((now + timeout, qp)));
        self.make_ready(context.config, sender, qp, now);
    }
}
