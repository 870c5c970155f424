//! What a switch looks at from time to time: the load of its ports, and queues that are paused for too long.

use super::{Switch, SwitchContext};
use crate::balance::Load;
use crate::config::{LANES, Watchdog};
use crate::packet::Ps;

impl Switch {
    /// Take the samples and looks that are due up to `until`, in order of time.
    #[cold]
    pub(super) fn look_until(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        while self.next_sample.min(self.next_look) <= until {
            self.recall_all(context, self.next_sample.min(self.next_look));
            if self.next_sample <= self.next_look {
                self.sample(context, until.min(self.next_look));
            } else {
                self.look(context);
            }
        }
    }

    /// Note what ports sent and what waits. Nothing else happens at the switch before `until`.
    pub(super) fn sample(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        let period = context.dlb.period;
        self.settle_all(context, self.next_sample);
        let mut busy = false;
        for number in 0..self.ports.len() {
            let port = &mut self.ports[number];
            let waiting = port.waiting();
            busy |= port.sent > 0 || waiting > 0 || port.control > 0;
            self.loads[number] = Load { sent: port.sent, waiting, given: 0 };
            port.sent = 0;
        }
        self.next_sample += period;
        if !busy && self.next_sample <= until {
            // nothing happened, and nothing can before `until`: all ports stay best
            self.next_sample += (until - self.next_sample) / period * period;
        }
    }

    /// The watchdog looks at paused queues.
    pub(super) fn look(&mut self, context: &mut SwitchContext<'_>) {
        let Some(watchdog) = context.config.watchdog else {
            self.next_look = Ps::MAX;
            return;
        };
        let now = self.next_look;
        self.settle_all(context, now);
        let mut again = false;
        for number in 0..self.ports.len() {
            for lane in 0..LANES as u8 {
                self.look_at(context, &watchdog, number, lane, now);
            }
            again |= self.ports[number].paused | self.ports[number].acting != 0;
        }
        self.next_look = if again { now + watchdog.poll } else { Ps::MAX };
    }

    pub(super) fn look_at(
        &mut self,
        context: &mut SwitchContext<'_>,
        watchdog: &Watchdog,
        number: usize,
        class: u8,
        now: Ps,
    ) {
        let (port, bit, place) = (&mut self.ports[number], 1 << class, usize::from(class));
        let rest = &mut self.rest[number];
        if port.acting & bit != 0 {
            if now >= rest.until[place] {
                port.acting &= !bit;
                port.refresh();
                rest.stuck[place] = 0;
                if rest.wanted & bit != 0 {
                    self.obey(number, class, true, now);
                }
            }
            return;
        }
        if port.paused & port.filled & bit == 0 {
            rest.stuck[place] = 0;
            return;
        }
        rest.stuck[place] += 1;
        if rest.stuck[place] < watchdog.detection {
            return;
        }
        rest.until[place] = now + watchdog.recovery;
        port.acting |= bit;
        port.refresh();
        context.counters.watchdog_acts += 1;
        if watchdog.drop {
            port.filled &= !bit;
            port.refresh();
            let queue = &mut port.lanes[place];
            queue.bytes = 0;
            let packets = std::mem::take(&mut queue.packets);
            for place in 0..packets.len() {
                context.counters.dropped_watchdog += 1;
                self.rest[number].seen.dropped_packets += 1;
                self.release(context, packets.get(place), now);
            }
        }
        self.obey(number, class, false, now);
    }

    /// The neighbor wants a class paused or resumed.
    pub(super) fn paused_by_neighbor(
        &mut self,
        context: &mut SwitchContext<'_>,
        number: usize,
        class: u8,
        stop: bool,
        now: Ps,
    ) {
        if !self.pfc[number] {
            return;
        }
        self.recall(context, number, now);
        self.settle(context, number, now);
        let rest = &mut self.rest[number];
        let wanted = if stop { rest.wanted | 1 << class } else { rest.wanted & !(1 << class) };
        match (rest.wanted, wanted) {
            (0, 1..) => rest.paused_since = now,
            (1.., 0) => rest.seen.paused += rest.paused_for(now),
            _ => {}
        }
        rest.wanted = wanted;
        rest.seen.pfc_rx += u64::from(stop);
        if self.ports[number].acting >> class & 1 == 1 {
            return; // the watchdog does not listen
        }
        if !stop {
            rest.stuck[usize::from(class)] = 0;
        }
        self.obey(number, class, stop, now);
        if let Some(watchdog) = &context.config.watchdog
            && stop
            && self.next_look == Ps::MAX
        {
            self.next_look = (now / watchdog.poll + 1) * watchdog.poll;
        }
    }
}
