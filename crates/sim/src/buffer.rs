//! A shared packet buffer: who may take how much of it, and when a sender is paused.
//!
//! Ingress ports and classes and egress queues each take from a pool, up to a share of what is free in it (dynamic
//! thresholds, Choudhury and Hahne, IEEE/ACM ToN 1998). A lossless class that meets its ingress share pauses its sender
//! and takes what still arrives into headroom (IEEE 802.1Qbb). A packet leaves the buffer when its transmission starts.
//!
//! What arrives in a lossless class by a port without PFC takes from the lossy pool of the ingress side, and is dropped
//! when it does not fit; its queue is a lossless one all the same.

use crate::config::{Ecn, LANES, LOSSLESS, LOSSY, SwitchConfig};
use crate::packet::{Packet, Ps};
use crate::port::Lane;

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
    calm: [Calm; LANES],
    taken_in: [u64; 2],
    taken_out: [u64; 2],
    /// Up to what a pool may be taken from for `calm` to hold.
    calm_in: [u64; 2],
    calm_out: [u64; 2],
    /// What may be in a pool for any packet to be sure of its place.
    limit: [u64; 2],
    /// What each pool can take until that has to be looked at again.
    room: [u64; 2],
    is_calm: bool,
    /// Bytes in headroom.
    headroom: u64,
    /// How many ingress ports and lanes pause their neighbors now.
    pub pausing: u32,
}

/// What a lane may hold for sure while no pool is taken from by more than half.
#[derive(Clone, Copy, Debug)]
struct Calm {
    pool: u8,
    ingress: u32,
    queue: u32,
}

/// Pools that hold less are never calm.
const LEAST: u64 = 1 << 16;

fn share(pool: u64, taken: u64, alpha: u64) -> u64 {
    (pool.saturating_sub(taken) * alpha) >> 10
}

impl Buffer {
    /// An empty buffer for so many lanes. `mixed`: some ports do not pause.
    pub fn new(config: &SwitchConfig, lanes: usize, mixed: bool) -> Self {
        let mixed = mixed && config.classes[..lanes].iter().any(|class| class.lossless);
        let part =
            |pool: u64, alpha| share(pool, pool / 2 + u64::from(u16::MAX), alpha).min(u64::from(u32::MAX)) as u32;
        let calm = |lane: usize| {
            let class = &config.classes[lane];
            let pool = usize::from(class.lossless);
            let queue = part(config.egress_pool[pool], class.egress_alpha);
            let marks_all = match class.ecn {
                Ecn::Off => false,
                Ecn::Bytes { max, .. } => max == 0,
                Ecn::Percent { max, .. } => u64::from(queue) * max < 100,
            };
            // what is marked even where nothing waits never passes unseen
            let of = |pool: usize| part(config.ingress_pool[pool], config.ingress_alpha[pool]);
            let ingress = match (marks_all, mixed) {
                (true, _) => 0,
                (false, true) => of(pool).min(of(LOSSY)),
                (false, false) => of(pool),
            };
            Calm { pool: pool as u8, ingress, queue }
        };
        let calm: [Calm; LANES] = std::array::from_fn(calm);
        let limit = |pool: usize| {
            let own = calm[..lanes].iter().filter(|calm| usize::from(calm.pool) == pool);
            let lanes = own.map(|calm| u64::from(calm.ingress.saturating_sub(1).min(calm.queue)));
            let least = lanes
                .min()
                .map_or(LEAST, |least| least.min(config.ingress_pool[pool] / 2).min(config.egress_pool[pool] / 2));
            // what takes from both egress pools can take from the one ingress pool
            if mixed { least.min(config.ingress_pool[LOSSY] / 4) } else { least }
        };
        Buffer {
            limit: [limit(0), limit(1)],
            room: [0; 2],
            is_calm: false,
            calm,
            taken_in: [0; 2],
            taken_out: [0; 2],
            calm_in: config.ingress_pool.map(|pool| pool / 2),
            calm_out: config.egress_pool.map(|pool| pool / 2),
            headroom: 0,
            pausing: 0,
        }
    }

    /// What a queue of a class may hold now.
    #[inline]
    pub fn egress_share(&self, config: &SwitchConfig, class: usize) -> u64 {
        let pool = usize::from(config.classes[class].lossless);
        share(config.egress_pool[pool], self.taken_out[pool], config.classes[class].egress_alpha)
    }

    /// Whether a packet that waits for nothing gets through for sure, and nobody is to be paused.
    #[inline(always)]
    pub fn lets_pass(&self, packet: &Packet, ingress: &Lane) -> bool {
        self.pausing == 0 && self.fits(packet, 0, ingress)
    }

    #[inline(always)]
    fn fits(&self, packet: &Packet, queue: u32, ingress: &Lane) -> bool {
        let calm = &self.calm[usize::from(packet.class) % LANES];
        let (pool, from) = (usize::from(calm.pool) % 2, usize::from(ingress.pool) % 2);
        let bytes = u32::from(packet.bytes);
        ingress.headroom == 0
            && self.taken_in[from] <= self.calm_in[from]
            && self.taken_out[pool] <= self.calm_out[pool]
            && ingress.used + bytes < calm.ingress
            && queue + bytes <= calm.queue
    }

    /// Whether the counters, which may be too high but never too low, leave no doubt that a packet fits and that nobody
    /// is to be paused. `queue` is what its queue holds, `ingress` the lane it came in by.
    pub fn is_sure(&self, config: &SwitchConfig, packet: &Packet, queue: u32, ingress: &Lane) -> bool {
        if self.fits(packet, queue, ingress) {
            return true;
        }
        let class = usize::from(packet.class);
        let bytes = u64::from(packet.bytes);
        let pool = usize::from(ingress.pool);
        let after = (u64::from(ingress.used) + bytes).saturating_sub(config.reserved);
        let taken = self.taken_in[pool] + bytes;
        ingress.headroom == 0
            && after < share(config.ingress_pool[pool], taken, config.ingress_alpha[pool])
            && u64::from(queue) + bytes <= self.egress_share(config, class)
    }

    /// Whether packets of so many bytes (by lane, and more in whichever) are sure of their place, whatever ports they go
    /// through and whatever leaves meanwhile.
    #[inline]
    pub fn has_room(&self, bytes: &[u64; LANES], more: u64) -> bool {
        let mut into = [more; 2];
        for (calm, bytes) in self.calm.iter().zip(bytes) {
            into[usize::from(calm.pool) % 2] += bytes;
        }
        self.is_calm && into[0] <= self.room[0] && into[1] <= self.room[1]
    }

    /// The pool of a packet.
    #[inline(always)]
    pub fn pool(&self, class: u8) -> usize {
        usize::from(self.calm[usize::from(class) % LANES].pool) % 2
    }

    /// Whether packets are sure of their place as long as there is room.
    #[inline(always)]
    pub fn is_calm(&self) -> bool {
        self.is_calm
    }

    /// Have a packet use the room that there is; false: there is not enough.
    #[inline(always)]
    pub fn admit(&mut self, packet: &Packet) -> bool {
        let room = &mut self.room[self.pool(packet.class)];
        let bytes = u64::from(packet.bytes);
        let fits = bytes <= *room;
        *room -= if fits { bytes } else { 0 };
        fits
    }

    /// Have packets of one pool use room that there is for sure.
    #[inline(always)]
    pub fn admit_all(&mut self, pool: usize, bytes: u64) {
        self.room[pool % 2] -= bytes;
    }

    /// Be calm if that is safe, and likely to last.
    #[inline]
    pub fn calm_down(&mut self) {
        if self.pausing == 0 && self.headroom == 0 && (0..2).all(|pool| self.taken_out[pool] <= self.limit[pool] / 2) {
            self.find_room([0; 2]);
        }
    }

    /// Find out how much room there is where so many bytes wait that are counted nowhere. False: little.
    pub fn find_room(&mut self, waiting: [u64; 2]) -> bool {
        let room = |pool: usize| self.limit[pool].saturating_sub(self.taken_out[pool] + waiting[pool]);
        self.room = [room(0), room(1)];
        self.is_calm = (0..2).all(|pool| self.room[pool] >= LEAST.max(self.limit[pool] / 4));
        if !self.is_calm {
            self.room = [0; 2];
        }
        self.is_calm
    }

    /// Take a packet in of which that is sure.
    #[inline]
    pub fn take_sure(&mut self, config: &SwitchConfig, packet: &Packet, ingress: &mut Lane) {
        let pool = usize::from(self.calm[usize::from(packet.class) % LANES].pool) % 2;
        let bytes = u64::from(packet.bytes);
        let used = u64::from(ingress.used);
        ingress.used += u32::from(packet.bytes);
        let more = (used + bytes).saturating_sub(config.reserved) - used.saturating_sub(config.reserved);
        self.taken_in[usize::from(ingress.pool) % 2] += more;
        self.taken_out[pool] += bytes;
    }

    /// Whether both sides of the buffer count so many bytes in it. `lanes`: those of all ports.
    pub fn holds<'a>(&self, bytes: u64, lanes: impl Iterator<Item = &'a Lane>) -> bool {
        let ingress: u64 = lanes.map(|lane| u64::from(lane.used) + u64::from(lane.headroom)).sum();
        ingress == bytes && self.taken_out.iter().sum::<u64>() == bytes
    }

    /// Stop pausing whoever was behind a port. Returns for how long its classes were paused.
    pub fn forget(&mut self, lanes: &mut [Lane; LANES], now: Ps) -> Ps {
        let mut paused = 0;
        for lane in lanes {
            if lane.since != Ps::MAX {
                self.pausing -= 1;
                paused += now - lane.since;
                lane.since = Ps::MAX;
            }
        }
        paused
    }

    /// Decide on exact counters.
    pub fn take(
        &mut self,
        config: &SwitchConfig,
        packet: &Packet,
        queue: u32,
        ingress: &mut Lane,
        now: Ps,
    ) -> Admission {
        let class = usize::from(packet.class);
        let bytes = u64::from(packet.bytes);
        let pool = usize::from(ingress.pool);
        let lossless = pool == LOSSLESS;
        if u64::from(queue) + bytes > self.egress_share(config, class) {
            return Admission::EgressFull;
        }
        let before = u64::from(ingress.used).saturating_sub(config.reserved);
        let after = (u64::from(ingress.used) + bytes).saturating_sub(config.reserved);
        let limit = |taken| share(config.ingress_pool[pool], taken, config.ingress_alpha[pool]);
        if after <= limit(self.taken_in[pool]) {
            ingress.used += u32::from(packet.bytes);
            self.taken_in[pool] += after - before;
        } else if lossless && u64::from(ingress.headroom) + bytes <= config.headroom {
            ingress.headroom += u32::from(packet.bytes);
            self.headroom += bytes;
        } else {
            return Admission::IngressFull;
        }
        self.taken_out[usize::from(config.classes[class].lossless)] += bytes;
        let shared = u64::from(ingress.used).saturating_sub(config.reserved);
        let over = ingress.headroom > 0 || shared >= limit(self.taken_in[pool]);
        if lossless && over && ingress.since == Ps::MAX {
            ingress.since = now;
            self.pausing += 1;
            return Admission::Pause;
        }
        Admission::Taken
    }

    /// A packet's transmission starts. Returns for how long its sender was paused where it is to be resumed now.
    #[inline]
    pub fn release(&mut self, config: &SwitchConfig, packet: &Packet, ingress: &mut Lane, now: Ps) -> Option<Ps> {
        let (pool, from) = (self.pool(packet.class), usize::from(ingress.pool) % 2);
        let from_headroom = ingress.headroom.min(packet.bytes.into());
        ingress.headroom -= from_headroom;
        self.headroom -= u64::from(from_headroom);
        let before = u64::from(ingress.used).saturating_sub(config.reserved);
        ingress.used -= u32::from(packet.bytes) - from_headroom;
        let after = u64::from(ingress.used).saturating_sub(config.reserved);
        self.taken_in[from] -= before - after;
        self.taken_out[pool] -= u64::from(packet.bytes);
        if self.pausing == 0 || ingress.since == Ps::MAX || ingress.headroom > 0 {
            return None;
        }
        let limit = share(config.ingress_pool[from], self.taken_in[from], config.ingress_alpha[from]);
        if after != 0 && after + config.xon_offset > limit {
            return None;
        }
        self.pausing -= 1;
        Some(now - std::mem::replace(&mut ingress.since, Ps::MAX))
    }
}
