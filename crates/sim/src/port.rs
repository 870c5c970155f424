//! An egress port: a queue per class, and which is served next.

use std::collections::VecDeque;

use crate::config::{CLASSES, Service, Slots, SwitchConfig};
use crate::packet::{Kind, Packet, Ps};
use crate::ring::Ring;

/// Frame length of a PFC frame (IEEE 802.1Qbb).
const PFC_BYTES: u16 = 64;

/// Bytes a round of deficit round robin gives a class per unit of weight.
const QUANTUM: i64 = 512;

/// What every packet touches of a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Port {
    /// When the last transmission ends.
    pub free: Ps,
    /// Since when something waits that may be sent.
    pub ready: Ps,
    /// Bytes sent since the last sample of its load; a second at 10 Tbit/s does not fit 32 bits.
    pub sent: u64,
    /// PFC frames that wait: more than 255 do where the cable has become slow.
    pub control: u32,
    /// Classes whose queue holds something.
    pub filled: u8,
    /// Classes that the neighbor paused.
    pub paused: u8,
    /// Classes that the watchdog acts on.
    pub acting: u8,
    /// Whether its cable is broken.
    pub down: bool,
}

impl Port {
    /// When the next transmission can start; `Ps::MAX`: nothing waits that may be sent.
    #[inline]
    pub fn next_start(&self) -> Ps {
        if self.idle() { Ps::MAX } else { self.free.max(self.ready) }
    }

    /// Whether nothing waits that may be sent.
    #[inline]
    pub fn idle(&self) -> bool {
        self.filled & !self.paused == 0 && self.control == 0
    }
}

/// One class's queue.
#[derive(Debug, Default)]
pub struct Queue {
    /// Packets in order.
    pub packets: Ring,
    /// Their frame bytes.
    pub bytes: u32,
}

/// The rarely touched rest of a port.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// PFC frames that wait; they go before everything.
    pub control: VecDeque<Packet>,
    /// Classes the neighbor wants paused, also where the watchdog does not listen.
    pub wanted: u8,
    /// Looks in a row at which the watchdog found each class paused.
    pub stuck: [u8; CLASSES],
    /// Until when the watchdog acts on each class.
    pub until: [Ps; CLASSES],
    deficit: [i64; CLASSES],
    turn: u8,
}

impl Rest {
    /// The class that is served next of those in `eligible`, which is not empty.
    #[inline]
    pub fn choose(
        &mut self,
        config: &SwitchConfig,
        slots: &Slots,
        strict: u8,
        eligible: u8,
        queues: &[Queue],
    ) -> usize {
        let first = eligible & strict;
        if first != 0 {
            return 7 - first.leading_zeros() as usize;
        }
        if eligible & (eligible - 1) == 0 {
            return eligible.trailing_zeros() as usize; // a lone class waits for nobody
        }
        self.round_robin(config, slots, eligible, queues)
    }

    #[cold]
    fn round_robin(&mut self, config: &SwitchConfig, slots: &Slots, eligible: u8, queues: &[Queue]) -> usize {
        loop {
            let class = usize::from(self.turn);
            if eligible >> class & 1 == 1 {
                let bytes = queues[slots.of(class)].packets.front().map_or(0, |packet| i64::from(packet.bytes));
                if self.deficit[class] >= bytes {
                    self.deficit[class] -= bytes;
                    return class;
                }
            } else {
                self.deficit[class] = 0;
            }
            self.turn = (self.turn + 1) % CLASSES as u8;
            let next = usize::from(self.turn);
            if let Service::Weighted(weight) = config.classes[next].service
                && eligible >> next & 1 == 1
            {
                self.deficit[next] += i64::from(weight.max(1)) * QUANTUM;
            }
        }
    }
}

/// A PFC frame: pause a class (`stop`), or resume it.
pub fn pfc_frame(class: u8, stop: bool, now: Ps) -> Packet {
    Packet {
        at: now,
        qp: 0,
        psn: u32::from(stop),
        dst: 0,
        bytes: PFC_BYTES,
        entropy: 0,
        ingress: 0,
        kind: Kind::Pfc,
        flags: 0,
        class,
    }
}
