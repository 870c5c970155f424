//! A shared packet buffer: who may take how much of it, and when a sender is paused.
//!
//! Ingress ports and classes and egress queues each take from a pool, up to a share of what is free in it (dynamic
//! thresholds, Choudhury and Hahne, IEEE/ACM ToN 1998). A lossless class that meets its ingress share pauses its sender
//! and takes what still arrives into headroom (IEEE 802.1Qbb). A packet leaves the buffer when its transmission starts.

use crate::config::{Slots, SwitchConfig};
use crate::packet::{Packet, Ps};

/// What an ingress port and class has in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    used: u32,
    headroom: u32,
}

/// What became of a packet that wants in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is in.
    Taken,
    /// It is in, and its sender is to be paused.
    Pause,
    /// No room: its ingress port and class has its share, and no headroom.
    IngressFull,
    /// No room: its queue has its share.
    EgressFull,
}

/// The counters of one switch's buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    ingress: Vec<Ingress>,
    slots: Slots,
    /// Since when each ingress port and class pauses its sender; `Ps::MAX`: it does not.
    since: Vec<Ps>,
    taken_in: [u64; 2],
    taken_out: [u64; 2],
    /// How many ingress ports and classes pause their senders now.
    pub pausing: u32,
}

fn share(pool: u64, taken: u64, alpha: u64) -> u64 {
    (pool.saturating_sub(taken) * alpha) >> 10
}

impl Buffer {
    /// An empty buffer of a switch with so many ports.
    pub fn new(ports: usize, slots: Slots) -> Self {
        let size = ports * slots.count;
        let (ingress, since) = (vec![Ingress::default(); size], vec![Ps::MAX; size]);
        Buffer { ingress, slots, since, taken_in: [0; 2], taken_out: [0; 2], pausing: 0 }
    }

    #[inline]
    fn place(&self, port: u16, class: usize) -> usize {
        usize::from(port) * self.slots.count + self.slots.of(class)
    }

    /// What a queue of a class may hold now.
    #[inline]
    pub fn egress_share(&self, config: &SwitchConfig, class: usize) -> u64 {
        let pool = usize::from(config.classes[class].lossless);
        share(config.egress_pool[pool], self.taken_out[pool], config.classes[class].egress_alpha)
    }

    /// Whether the counters, which may be too high but never too low, leave no doubt that a packet fits and that nobody
    /// is to be paused. `queue` is what its queue holds.
    #[inline]
    pub fn is_sure(&self, config: &SwitchConfig, packet: &Packet, queue: u64) -> bool {
        let class = usize::from(packet.class);
        let bytes = u64::from(packet.bytes);
        let pool = usize::from(config.classes[class].lossless);
        let ingress = &self.ingress[self.place(packet.ingress, class)];
        let after = (u64::from(ingress.used) + bytes).saturating_sub(config.reserved);
        let taken = self.taken_in[pool] + bytes;
        ingress.headroom == 0
            && after < share(config.ingress_pool[pool], taken, config.ingress_alpha[pool])
            && queue + bytes
                <= share(config.egress_pool[pool], self.taken_out[pool], config.classes[class].egress_alpha)
    }

    /// Take a packet in of which that is sure.
    #[inline]
    pub fn take_sure(&mut self, config: &SwitchConfig, packet: &Packet) {
        let class = usize::from(packet.class);
        let bytes = u64::from(packet.bytes);
        let pool = usize::from(config.classes[class].lossless);
        let place = self.place(packet.ingress, class);
        let used = u64::from(self.ingress[place].used);
        self.ingress[place].used += u32::from(packet.bytes);
        self.taken_in[pool] += (used + bytes).saturating_sub(config.reserved) - used.saturating_sub(config.reserved);
        self.taken_out[pool] += bytes;
    }

    /// Whether both sides of the buffer count so many bytes in it.
    pub fn holds(&self, bytes: u64) -> bool {
        let ingress: u64 = self.ingress.iter().map(|one| u64::from(one.used) + u64::from(one.headroom)).sum();
        ingress == bytes && self.taken_out.iter().sum::<u64>() == bytes
    }

    /// Stop pausing whoever was behind a port. Returns for how long its classes were paused.
    pub fn forget(&mut self, port: usize, now: Ps) -> Ps {
        let mut paused = 0;
        for since in &mut self.since[port * self.slots.count..(port + 1) * self.slots.count] {
            if *since != Ps::MAX {
                self.pausing -= 1;
                paused += now - *since;
                *since = Ps::MAX;
            }
        }
        paused
    }

    /// Decide on exact counters.
    pub fn take(&mut self, config: &SwitchConfig, packet: &Packet, queue: u64, now: Ps) -> Admission {
        let class = usize::from(packet.class);
        let bytes = u64::from(packet.bytes);
        let lossless = config.classes[class].lossless;
        let pool = usize::from(lossless);
        if queue + bytes > self.egress_share(config, class) {
            return Admission::EgressFull;
        }
        let place = self.place(packet.ingress, class);
        let ingress = &mut self.ingress[place];
        let before = u64::from(ingress.used).saturating_sub(config.reserved);
        let after = (u64::from(ingress.used) + bytes).saturating_sub(config.reserved);
        let limit = |taken| share(config.ingress_pool[pool], taken, config.ingress_alpha[pool]);
        if after <= limit(self.taken_in[pool]) {
            ingress.used += u32::from(packet.bytes);
            self.taken_in[pool] += after - before;
        } else if lossless && u64::from(ingress.headroom) + bytes <= config.headroom {
            ingress.headroom += u32::from(packet.bytes);
        } else {
            return Admission::IngressFull;
        }
        self.taken_out[pool] += bytes;
        let shared = u64::from(ingress.used).saturating_sub(config.reserved);
        let over = ingress.headroom > 0 || shared >= limit(self.taken_in[pool]);
        if lossless && over && self.since[place] == Ps::MAX {
            self.since[place] = now;
            self.pausing += 1;
            return Admission::Pause;
        }
        Admission::Taken
    }

    /// A packet's transmission starts. Returns for how long its sender was paused where it is to be resumed now.
    #[inline]
    pub fn release(&mut self, config: &SwitchConfig, packet: &Packet, now: Ps) -> Option<Ps> {
        let class = usize::from(packet.class);
        let pool = usize::from(config.classes[class].lossless);
        let place = self.place(packet.ingress, class);
        let ingress = &mut self.ingress[place];
        let from_headroom = ingress.headroom.min(packet.bytes.into());
        ingress.headroom -= from_headroom;
        let before = u64::from(ingress.used).saturating_sub(config.reserved);
        ingress.used -= u32::from(packet.bytes) - from_headroom;
        let after = u64::from(ingress.used).saturating_sub(config.reserved);
        self.taken_in[pool] -= before - after;
        self.taken_out[pool] -= u64::from(packet.bytes);
        if self.pausing == 0 || self.since[place] == Ps::MAX || ingress.headroom > 0 {
            return None;
        }
        let limit = share(config.ingress_pool[pool], self.taken_in[pool], config.ingress_alpha[pool]);
        if after != 0 && after + config.xon_offset > limit {
            return None;
        }
        self.pausing -= 1;
        Some(now - std::mem::replace(&mut self.since[place], Ps::MAX))
    }
}
