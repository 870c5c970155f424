//! What a host sends next: PFC frames, notifications, acknowledgements, then data.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use super::{Host, HostContext, first};
use crate::packet::{Kind, Packet, Ps};

impl Host {
    /// When the next transmission can start; `Ps::MAX`: nothing waits that may be sent.
    #[inline]
    pub(super) fn next_start(&self) -> Ps {
        let waiting = self.pfc.len() | self.control[0].len() | self.control[1].len();
        if waiting == 0 && self.paused == 0 && !self.down {
            let ready = first(&self.ready);
            return if ready == Ps::MAX { ready } else { ready.max(self.free) };
        }
        self.next_of_all()
    }

    fn next_of_all(&self) -> Ps {
        if self.down {
            return Ps::MAX;
        }
        let mut ready = self.pfc.front().map_or(Ps::MAX, |packet| packet.at);
        for queue in &self.control {
            if let Some(packet) = queue.front()
                && self.paused >> packet.class & 1 == 0
            {
                ready = ready.min(packet.at);
            }
        }
        if self.paused >> self.data_class & 1 == 0 {
            ready = ready.min(first(&self.ready));
        }
        if ready == Ps::MAX { ready } else { ready.max(self.free) }
    }

    /// Start every transmission that can start at `until` or before, up to where a timer is set. Returns whether one was.
    #[inline]
    pub(super) fn send_until(&mut self, context: &mut HostContext<'_>, until: Ps) -> bool {
        while self.free <= until {
            let start = self.next_start();
            if start > until {
                return false;
            }
            let timers = self.timers.len();
            self.send_one(context, start);
            if self.timers.len() != timers {
                return true;
            }
        }
        false
    }

    #[inline]
    fn send_one(&mut self, context: &mut HostContext<'_>, start: Ps) {
        if let Some(packet) = self.pfc.pop_front() {
            self.free = context.wires.send(self.port, &packet, start);
            return;
        }
        for queue in &mut self.control {
            if let Some(&packet) = queue.front()
                && packet.at <= start
                && self.paused >> packet.class & 1 == 0
            {
                queue.pop_front();
                self.free = context.wires.send(self.port, &packet, start);
                return;
            }
        }
        let config = context.config;
        let mut turn = self.ready.peek_mut().expect("something can start");
        let Reverse((_, qp)) = *turn;
        let sender = &mut context.senders[qp as usize];
        if !sender.can_send(config.window) {
            sender.queued = false; // acknowledged meanwhile
            PeekMut::pop(turn);
            return;
        }
        let (psn, bytes, flags) = sender.take(config, &context.schedule.segments);
        context.counters.sent += 1;
        context.counters.retransmitted += u64::from(flags & crate::packet::AGAIN != 0);
        let packet = Packet {
            at: 0,
            qp,
            psn,
            dst: sender.to,
            bytes,
            entropy: sender.entropy,
            ingress: 0,
            kind: Kind::Data,
            flags,
            class: config.data_class,
        };
        self.free = context.wires.put(self.port, &packet, 0, start);
        let mut gap = self.free - start;
        if let Some(dcqcn) = &config.dcqcn {
            sender.dcqcn.sent(dcqcn, start, u64::from(bytes));
            if sender.dcqcn.limited() {
                gap = sender.dcqcn.passed(dcqcn, start, u32::from(bytes) + 20) - start;
            }
        }
        if sender.pace != 0 {
            gap = gap.max(((u64::from(bytes) + 20) * sender.pace) >> 16);
        }
        sender.allowed = start + gap;
        sender.queued = sender.can_send(config.window);
        if sender.queued {
            *turn = Reverse((sender.allowed, qp));
        } else {
            PeekMut::pop(turn);
        }
        if !sender.armed {
            sender.armed = true;
            sender.progress = start;
            self.timers.push(Reverse((start + config.timeout, qp)));
        }
    }
}
