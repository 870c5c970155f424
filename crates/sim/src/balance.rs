//! How a next-hop group shares its packets: static hash, spraying, dynamic load balancing.
//!
//! Dynamic load balancing (DLB) follows what Broadcom-based switches document: ports are graded in bands of quality from
//! what they sent lately and what waits; a flowlet keeps its port until it has been idle for a while, or a clearly better
//! port comes up. What was sent is sampled at a fixed rate. What waits is the queue at the moment of choice: the sampled queue
//! and what was given to the port since, less what the port can have sent. Without the latter, all flowlets that begin between
//! two samples would take the same port. How queue length is scaled is not documented; here it is taken against what the port
//! sends between two samples.

use crate::hashing::{mix, one_of};
use crate::packet::Ps;

/// The best band.
pub const BEST: u8 = 7;

/// How a group's members are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Balance {
    /// By a hash of addresses and UDP ports: a flow stays where it is (ECMP).
    #[default]
    Hash,
    /// At random for every packet.
    Spray,
    /// The best port for every packet.
    Packet,
    /// The best port for every flowlet.
    Flowlet,
}

/// Knobs of dynamic load balancing.
#[derive(Clone, Copy, Debug)]
pub struct Dlb {
    /// Idle time after which a flowlet may move.
    pub inactivity: Ps,
    /// Flowsets a group has; a power of two.
    pub flowsets: usize,
    /// Time between samples of port load.
    pub period: Ps,
    /// Load below this is the best band, percent.
    pub min: u64,
    /// Load above this is the worst band, percent.
    pub max: u64,
    /// Weight of what was sent against what waits, percent.
    pub rate_weight: u64,
    /// Move an active flowlet with this chance (in 1/256) where a port is `quality_delta` bands better; 0: never.
    pub reassign_chance: u64,
    /// How many bands better that is.
    pub quality_delta: u8,
}

impl Default for Dlb {
    /// The switches' own defaults (EVPN test report, "DLB values (default)"): 256 flowsets, 256 us, 62,500 samples/s.
    fn default() -> Self {
        Dlb {
            inactivity: 256_000_000,
            flowsets: 256,
            period: 16_000_000,
            min: 20,
            max: 50,
            rate_weight: 50,
            reassign_chance: 0,
            quality_delta: 6,
        }
    }
}

impl Dlb {
    /// The band of a port that sent `sent` bytes of the `capacity` that a period holds, with `waiting` bytes queued.
    pub fn band(&self, sent: u64, waiting: u64, capacity: u64) -> u8 {
        let percent = |bytes: u64| (bytes * 100 / capacity.max(1)).min(100);
        let load = (percent(sent) * self.rate_weight + percent(waiting) * (100 - self.rate_weight)) / 100;
        if load <= self.min {
            BEST
        } else if load >= self.max {
            0
        } else {
            BEST - 1 - ((load - self.min - 1) * 6 / (self.max - self.min)) as u8
        }
    }
}

/// What a switch knows of a port's load, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Sent between the last two samples.
    pub sent: u64,
    /// Queued at the last sample.
    pub waiting: u64,
    /// Given to the port since.
    pub given: u64,
}

impl Load {
    /// The band of the port, `since` after the last sample, if it can send `capacity` bytes in a period.
    pub fn band(&self, dlb: &Dlb, capacity: u64, since: Ps) -> u8 {
        let left = (u128::from(capacity) * u128::from(since) / u128::from(dlb.period.max(1))) as u64;
        dlb.band(self.sent, (self.waiting + self.given).saturating_sub(left), capacity)
    }
}

/// A flowlet's port, and when it was last used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flowset {
    last: Ps,
    /// Member of the group, from 1; 0: not used yet.
    member: u16,
}

impl Flowset {
    /// Whether a packet at `now` may take another member than the packet before: bands are looked at.
    pub fn is_free(&self, dlb: &Dlb, members: usize, now: Ps) -> bool {
        self.is_idle(dlb, members, now) || dlb.reassign_chance > 0
    }

    /// Whether it has no member to keep at `now`: none of the group's yet, or the flowlet has ended.
    fn is_idle(&self, dlb: &Dlb, members: usize, now: Ps) -> bool {
        let current = usize::from(self.member);
        current == 0 || current > members || now > self.last + dlb.inactivity
    }
}

/// Grade the members of a group by their ports' loads and what each can send in a period, `since` after the last sample.
pub fn grade(dlb: &Dlb, members: &[u16], bands: &mut [u8], (loads, capacity): (&[Load], &[u64]), since: Ps) {
    for &member in members {
        let port = usize::from(member);
        bands[port] = loads[port].band(dlb, capacity[port], since);
    }
}

/// The member of the best band; among equals, one by `draw`.
pub fn best(members: &[u16], bands: &[u8], draw: u64) -> usize {
    let most = members.iter().map(|&port| bands[usize::from(port)]).max().unwrap_or(0);
    let equal = members.iter().filter(|&&port| bands[usize::from(port)] == most).count();
    let mut skip = one_of(draw, equal);
    for (place, &port) in members.iter().enumerate() {
        if bands[usize::from(port)] == most {
            if skip == 0 {
                return place;
            }
            skip -= 1;
        }
    }
    0
}

/// The member that a packet of a flow takes at `now`. `draw` is a number of the packet's own.
pub fn flowlet(dlb: &Dlb, set: &mut Flowset, members: &[u16], bands: &[u8], now: Ps, draw: u64) -> usize {
    let candidate = best(members, bands, draw);
    let place = if set.is_idle(dlb, members.len(), now) {
        candidate
    } else {
        let current = usize::from(set.member) - 1;
        let (here, there) = (bands[usize::from(members[current])], bands[usize::from(members[candidate])]);
        let moves = there >= here.saturating_add(dlb.quality_delta) && mix(draw, 1) & 0xFF < dlb.reassign_chance;
        if moves { candidate } else { current }
    };
    *set = Flowset { last: now, member: place as u16 + 1 };
    place
}
