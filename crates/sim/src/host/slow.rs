//! A host that takes packets more slowly than they come: its receive buffer fills, and it pauses the switch.

use std::collections::VecDeque;

use super::{Host, HostContext};
use crate::packet::{Packet, Ps};

/// Data that waits in the receive buffer.
#[derive(Debug, Default)]
pub struct Slow {
    /// Picoseconds a byte takes, in units of 2^-16 ps; 0: as fast as they come.
    ps_per_byte: u64,
    /// Packets, each with the time at which it will have been taken.
    waiting: VecDeque<Packet>,
    bytes: u64,
    /// Whether the switch is paused for it.
    full: bool,
}

impl Host {
    /// Take packets at this rate from now on (picoseconds a byte takes, in units of 2^-16 ps; 0: as fast as they come).
    pub fn take_at(&mut self, ps_per_byte: u64) {
        self.slow.get_or_insert_default().ps_per_byte = ps_per_byte;
    }

    /// Put a data packet that arrived into the receive buffer.
    #[cold]
    pub(super) fn buffer(&mut self, context: &mut HostContext<'_>, packet: &Packet) {
        let (now, config) = (packet.at, context.config);
        let Some(slow) = &mut self.slow else { return };
        if slow.bytes + u64::from(packet.bytes) > config.receive_buffer {
            context.counters.dropped_receiver += 1;
            return;
        }
        slow.bytes += u64::from(packet.bytes);
        let at = slow.waiting.back().map_or(now, |last| last.at.max(now))
            + ((u64::from(packet.bytes) * slow.ps_per_byte + (1 << 15)) >> 16);
        slow.waiting.push_back(Packet { at, ..*packet });
        self.taken = slow.waiting[0].at;
        if slow.bytes >= config.receive_xoff && !slow.full {
            slow.full = true;
            self.pause(config.data_class, true, now);
        }
    }

    /// The oldest packet of the receive buffer has been taken.
    #[cold]
    pub(super) fn drain(&mut self, context: &mut HostContext<'_>) {
        let config = context.config;
        let slow = self.slow.as_mut().expect("something waits");
        let packet = slow.waiting.pop_front().expect("something waits");
        slow.bytes -= u64::from(packet.bytes);
        self.taken = slow.waiting.front().map_or(Ps::MAX, |next| next.at);
        if slow.full && slow.bytes <= config.receive_xoff / 2 {
            slow.full = false;
            if self.storm >> config.data_class & 1 == 0 {
                self.pause(config.data_class, false, packet.at);
            }
        }
        if self.slow.as_ref().is_some_and(|slow| slow.ps_per_byte == 0 && slow.waiting.is_empty()) {
            self.slow = None;
        }
        self.data(context, &packet);
    }

    /// Pause a class without end, whatever comes in (a PFC storm), or stop doing so.
    pub fn storm(&mut self, class: u8, stop: bool, data_class: u8, now: Ps) {
        self.storm = if stop { self.storm | 1 << class } else { self.storm & !(1 << class) };
        let full = class == data_class && self.slow.as_ref().is_some_and(|slow| slow.full);
        if stop || !full {
            self.pause(class, stop, now);
        }
    }

    /// The cable broke: the switch forgets that it was paused.
    pub(super) fn forget_pause(&mut self) {
        self.storm = 0;
        if let Some(slow) = &mut self.slow {
            slow.full = false;
        }
    }
}
