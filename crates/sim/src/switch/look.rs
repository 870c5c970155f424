//! What a switch looks at from time to time: the load of its ports, and queues that are paused for too long.

use super::{Switch, SwitchContext};
use crate::config::Watchdog;
use crate::packet::Ps;

impl Switch {
    /// Take the samples and looks that are due up to `until`, in order of time.
    #[cold]
    pub(super) fn look_until(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        while self.next_sample.min(self.next_look) <= until {
            if self.next_sample <= self.next_look {
                self.sample(context, until.min(self.next_look));
            } else {
                self.look(context);
            }
        }
    }

    /// Grade ports by what they sent and what waits. Nothing else happens at the switch before `until`.
    pub(super) fn sample(&mut self, context: &mut SwitchContext<'_>, until: Ps) {
        let period = context.dlb.period;
        self.settle_all(context, self.next_sample);
        let mut busy = false;
        for number in 0..self.ports.len() {
            let queues = &self.queues[number * self.slots.count..(number + 1) * self.slots.count];
            let waiting = queues.iter().map(|queue| u64::from(queue.bytes)).sum();
            let port = &mut self.ports[number];
            busy |= port.sent > 0 || waiting > 0;
            self.bands[number] = context.dlb.band(port.sent, waiting, self.capacity[number]);
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
            for (class, _) in self.slots.classes() {
                self.look_at(context, &watchdog, number, class as u8, now);
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
        context.counters.watchdog_acts += 1;
        if watchdog.drop {
            port.filled &= !bit;
            let queue = &mut self.queues[number * self.slots.count + self.slots.of(place)];
            queue.bytes = 0;
            let packets = std::mem::take(&mut queue.packets);
            for place in 0..packets.len() {
                context.counters.dropped_watchdog += 1;
                self.release(context, packets.get(place), now);
            }
        }
        self.obey(number, class, false, now);
    }

    /// The neighbor wants a class paused or resumed.
    pub(super) fn paused_by_neighbor(
        &mut self,
        context: &SwitchContext<'_>,
        number: usize,
        class: u8,
        stop: bool,
        now: Ps,
    ) {
        let rest = &mut self.rest[number];
        rest.wanted = if stop { rest.wanted | 1 << class } else { rest.wanted & !(1 << class) };
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
