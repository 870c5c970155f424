//! A port: a lane per class, and which is served next.

use std::collections::VecDeque;

use crate::config::{LANES, Service, SwitchConfig};
use crate::packet::{Kind, Packet, Ps};
use crate::report::PortCounters;
use crate::ring::Ring;

/// Frame length of a PFC frame (IEEE 802.1Qbb).
const PFC_BYTES: u16 = 64;

/// Bytes a round of deficit round robin gives a class per unit of weight.
const QUANTUM: i64 = 512;

/// What every packet touches of a port.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Port {
    /// When the last transmission ends.
    pub free: Ps,
    /// Since when something waits that may be sent.
    pub ready: Ps,
    /// Bytes sent since the last sample of its load; a second at 10 Tbit/s does not fit 32 bits.
    pub sent: u64,
    /// PFC frames that wait: more than 255 do where the cable has become slow.
    pub control: u32,
    /// Lanes whose queue holds something.
    pub filled: u8,
    /// Lanes that the neighbor paused.
    pub paused: u8,
    /// What may be sent: lanes that are filled and not paused, and bit 7 for PFC frames.
    pub wants: u8,
    /// Lanes that the watchdog acts on.
    pub acting: u8,
    /// Whether its cable is broken.
    pub down: bool,
    /// Whether packets leave it one by one, because what its wire does to them changes.
    pub stays: bool,
    /// Whether `line` is kept.
    pub deep: bool,
    /// Packets that wait for less long are not marked.
    pub unmarked: Ps,
    /// Packets that wait for less long are put on the wire as they come: `unmarked`, or 0.
    pub plain: Ps,
    /// Packets that wait to leave by the wire, as last looked at, and the data bytes of them.
    pub line: (u32, u32),
    /// A lane per class.
    pub lanes: [Lane; LANES],
}

/// A class at a port: its egress queue, and what came in by the port and is in the switch.
#[derive(Debug)]
pub struct Lane {
    /// Packets that wait, in order.
    pub packets: Ring,
    /// Their frame bytes.
    pub bytes: u32,
    /// Ingress: bytes in the buffer, headroom apart.
    pub used: u32,
    /// Ingress: bytes in headroom.
    pub headroom: u32,
    /// Ingress: the pool that it takes from.
    pub pool: u8,
    /// Ingress: since when the neighbor is paused; `Ps::MAX`: it is not.
    pub since: Ps,
}

impl Default for Lane {
    fn default() -> Self {
        Lane { packets: Ring::default(), bytes: 0, used: 0, headroom: 0, pool: 0, since: Ps::MAX }
    }
}

impl Port {
    /// When the next transmission can start; `Ps::MAX`: nothing waits that may be sent.
    #[inline]
    pub fn next_start(&self) -> Ps {
        // without a branch on what is hard to foresee
        self.free.max(self.ready) | u64::from(self.idle()).wrapping_neg()
    }

    /// Whether nothing waits that may be sent.
    #[inline]
    pub fn idle(&self) -> bool {
        self.wants == 0
    }

    /// Whether it has anything to send, is told not to, or cannot.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.wants | self.paused | self.acting | u8::from(self.down) != 0
    }

    /// Something was filled, emptied, paused or resumed, or anything else changed.
    #[inline]
    pub fn refresh(&mut self) {
        self.wants = self.filled & !self.paused | u8::from(self.control > 0) << 7;
        let plain = !(self.is_busy() | self.stays | self.deep);
        self.plain = self.unmarked * u64::from(plain);
    }

    /// Bytes that wait in all queues.
    pub fn waiting(&self) -> u64 {
        self.lanes.iter().map(|lane| u64::from(lane.bytes)).sum()
    }
}

/// The rarely touched rest of a port.
#[derive(Clone, Debug)]
pub struct Rest {
    /// PFC frames that wait; they go before everything.
    pub control: VecDeque<Packet>,
    /// Lanes the neighbor wants paused, also where the watchdog does not listen.
    pub wanted: u8,
    /// Looks in a row at which the watchdog found each lane paused.
    pub stuck: [u8; LANES],
    /// Until when the watchdog acts on each lane.
    pub until: [Ps; LANES],
    deficit: [i64; LANES],
    turn: u8,
    /// What is counted of the port.
    pub seen: PortCounters,
    /// Since when the neighbor wants a lane paused, if it does.
    pub paused_since: Ps,
}

impl Default for Rest {
    fn default() -> Self {
        Rest {
            control: VecDeque::new(),
            wanted: 0,
            stuck: [0; LANES],
            until: [0; LANES],
            deficit: [0; LANES],
            turn: LANES as u8 - 1, // the first round begins at the first lane
            seen: PortCounters::default(),
            paused_since: 0,
        }
    }
}

impl Rest {
    /// Begin anew, but for what is counted.
    pub fn forget(&mut self, now: Ps) {
        self.seen.paused += self.paused_for(now);
        *self = Rest { seen: self.seen, ..Rest::default() };
    }

    /// For how long the neighbor has wanted a lane paused.
    pub fn paused_for(&self, now: Ps) -> Ps {
        if self.wanted == 0 { 0 } else { now - self.paused_since }
    }

    /// The lane that is served next of those in `eligible`, several that are not strict.
    #[cold]
    pub fn round_robin(&mut self, config: &SwitchConfig, eligible: u8, lanes: &[Lane; LANES]) -> usize {
        loop {
            let lane = usize::from(self.turn);
            if eligible >> lane & 1 == 1 {
                let bytes = lanes[lane].packets.front().map_or(0, |packet| i64::from(packet.bytes));
                if self.deficit[lane] >= bytes {
                    self.deficit[lane] -= bytes;
                    return lane;
                }
            } else {
                self.deficit[lane] = 0;
            }
            self.turn = (self.turn + 1) % LANES as u8;
            let next = usize::from(self.turn);
            if let Service::Weighted(weight) = config.classes[next].service
                && eligible >> next & 1 == 1
            {
                self.deficit[next] += i64::from(weight.max(1)) * QUANTUM;
            }
        }
    }
}

/// A PFC frame: pause a lane (`stop`), or resume it.
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
