//! What a host does with a packet that arrives.

use std::cmp::Reverse;

use super::{Host, HostContext};
use crate::config::CnpLimit;
use crate::packet::{CE, Kind, LAST, Packet, Ps};
use crate::transport::{Arrival, Receiver};

impl Host {
    pub(super) fn receive(&mut self, context: &mut HostContext<'_>, packet: &Packet) {
        let now = packet.at;
        context.counters.arrived(packet, self.port);
        if packet.kind == Kind::Pfc {
            let bit = 1 << packet.class;
            self.obey(if packet.psn == 1 { self.paused | bit } else { self.paused & !bit }, now);
            self.seen.pfc_rx += u64::from(packet.psn == 1);
            if packet.psn == 0 {
                self.free = self.free.max(now); // what waited begins now, not when it was queued
            }
            return;
        }
        context.counters.hops += 1;
        context.counters.received += 1;
        match packet.kind {
            Kind::Data => {
                context.counters.data_hops += 1;
                if self.slow.is_some() { self.buffer(context, packet) } else { self.data(context, packet) }
            }
            Kind::Ack | Kind::Nak => {
                let sender = &mut context.senders[packet.qp as usize];
                if sender.acknowledged(context.config, packet.kind, packet.psn, u32::from(packet.entropy)) {
                    sender.progress = now;
                }
                if packet.flags & CE != 0
                    && let Some(dcqcn) = &context.config.dcqcn
                {
                    sender.dcqcn.notified(dcqcn, now);
                }
                self.make_ready(context.config, sender, packet.qp, now);
            }
            Kind::Cnp => {
                if let Some(dcqcn) = &context.config.dcqcn {
                    context.senders[packet.qp as usize].dcqcn.notified(dcqcn, now);
                }
            }
            Kind::Pfc => {}
        }
    }

    /// The time before which no notification is sent to a sender's address.
    #[inline]
    fn notify_from<'a>(&'a mut self, limit: CnpLimit, address: u32, receiver: &'a mut Receiver) -> &'a mut Ps {
        match limit {
            CnpLimit::QueuePair => &mut receiver.notify,
            CnpLimit::Address => self.notify.entry(address).or_default(),
            CnpLimit::Port => self.notify.entry(0).or_default(),
        }
    }

    pub(super) fn data(&mut self, context: &mut HostContext<'_>, packet: &Packet) {
        let (config, now) = (context.config, packet.at);
        let receiver = &mut context.receivers[packet.qp as usize];
        let back = receiver.back;
        let reply =
            |kind, bytes, class, psn| Packet { at: now, psn, dst: back, bytes, kind, flags: 0, class, ..*packet };
        if packet.flags & CE != 0
            && let Some(dcqcn) = &config.dcqcn
            && now >= *self.notify_from(config.cnp_limit, back, receiver)
        {
            if config.cnp_on_ack {
                receiver.marked = true;
            } else {
                self.control[0].push_back(reply(Kind::Cnp, config.cnp_bytes, config.cnp_class, 0));
                let next = now + dcqcn.cnp_interval;
                *self.notify_from(config.cnp_limit, back, receiver) = next;
                context.counters.cnps += 1;
                context.counters.sent += 1;
            }
        }
        let arrival = receiver.data(config, packet.psn, packet.flags & LAST != 0);
        let expected = receiver.expected;
        let marked = if receiver.marked && !matches!(arrival, Arrival::Taken | Arrival::Ignored) {
            receiver.marked = false;
            context.counters.cnps += 1;
            CE
        } else {
            0
        };
        let kind = match arrival {
            Arrival::Taken | Arrival::Answered | Arrival::Gap(_) => {
                context.counters.delivered += 1;
                self.complete(context, packet.qp, now);
                if arrival == Arrival::Taken {
                    return;
                }
                if arrival == Arrival::Answered { Kind::Ack } else { Kind::Nak }
            }
            Arrival::Useless | Arrival::UselessGap | Arrival::Ignored => {
                context.counters.useless += 1;
                if arrival == Arrival::Ignored {
                    return;
                }
                if arrival == Arrival::Useless { Kind::Ack } else { Kind::Nak }
            }
        };
        let mut answer = reply(kind, config.ack_bytes, config.data_class, expected);
        answer.flags = marked;
        if kind == Kind::Nak {
            answer.entropy = if let Arrival::Gap(ahead) = arrival { ahead as u16 } else { 0 };
        }
        context.counters.sent += 1;
        self.answer(context, &answer, now);
    }

    /// Acknowledge at once where nothing is before it: all that could start by `now` has started.
    #[inline(always)]
    fn answer(&mut self, context: &mut HostContext<'_>, answer: &Packet, now: Ps) {
        let waits = self.free > now
            || self.down
            || self.paused >> answer.class & 1 == 1
            || !self.pfc.is_empty()
            || self.control.iter().any(|queue| !queue.is_empty());
        if waits {
            self.control[1].push_back(*answer);
        } else {
            self.free = context.wires.put(self.port, answer, answer.ingress, now);
        }
    }

    /// Note messages that are whole now, and post those of this host that waited for them.
    #[inline]
    pub(super) fn complete(&mut self, context: &mut HostContext<'_>, qp: u32, now: Ps) {
        let receiver = &mut context.receivers[qp as usize];
        let schedule = &mut *context.schedule;
        if receiver.expected < receiver.whole {
            return;
        }
        let (begin, end) = (schedule.first[qp as usize], schedule.first[qp as usize + 1]);
        while begin + receiver.complete < end {
            let place = (begin + receiver.complete) as usize;
            receiver.whole = schedule.segments[place].end;
            if receiver.whole > receiver.expected {
                return;
            }
            receiver.complete += 1;
            let message = schedule.message[place];
            context.arrived[message as usize] = now;
            for follower in schedule.followers_of(message) {
                let Some((ready, from)) = schedule.arrived(schedule.followers[follower], now) else { continue };
                for number in ready {
                    let at = from + schedule.start[number as usize];
                    match schedule.sender[schedule.qp[number as usize] as usize] {
                        sender if sender == self.number => self.starts.push(Reverse((at, number))),
                        sender => context.told.push((sender, at, number)),
                    }
                }
            }
        }
    }
}
