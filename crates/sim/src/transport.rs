//! Reliable connections (InfiniBand RC over RoCEv2): packets, acknowledgements, recovery. No time passes in here.

use crate::config::{HostConfig, Recovery};
use crate::dcqcn::State;
use crate::packet::{AGAIN, ECT, Kind, LAST, Ps};
use crate::traffic::{Limit, RETH_BYTES, Segment};

mod receiver;

pub use receiver::{Arrival, Receiver};

/// Packets beyond the next in order that either side keeps track of.
pub const REORDER: u32 = 4096;

/// A set of packets above a moving floor.
#[derive(Clone, Debug, Default)]
struct Seen(Box<[u64]>);

impl Seen {
    fn place(psn: u32) -> (usize, u64) {
        ((psn % REORDER / 64) as usize, 1 << (psn % 64))
    }

    fn has(&self, psn: u32) -> bool {
        let (word, bit) = Seen::place(psn);
        !self.0.is_empty() && self.0[word] & bit != 0
    }

    fn put(&mut self, psn: u32, present: bool) {
        if self.0.is_empty() {
            self.0 = vec![0; REORDER as usize / 64].into();
        }
        let (word, bit) = Seen::place(psn);
        if present { self.0[word] |= bit } else { self.0[word] &= !bit }
    }
}

/// A queue pair's sending side.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Address it sends to.
    pub to: u32,
    /// UDP source port.
    pub entropy: u16,
    /// Where its segments begin among all.
    pub first: u32,
    /// How many segments it has.
    pub segments: u32,
    /// Segments that may be sent.
    posted: u32,
    /// The segment of `next`.
    cursor: u32,
    /// The packet after the last that may be sent.
    end: u32,
    /// Next packet to send for the first time, or again after going back.
    next: u32,
    /// First packet not acknowledged.
    una: u32,
    /// Packets sent at least once.
    highest: u32,
    /// Selective recovery: next packet to be looked at, and where the known losses end.
    again: u32,
    lost_below: u32,
    received: Seen,
    /// Not to send before.
    pub allowed: Ps,
    /// When an acknowledgement last brought something new, or sending began.
    pub progress: Ps,
    /// Congestion control.
    pub dcqcn: State,
    /// Whether it waits for its turn at the port.
    pub queued: bool,
    /// Whether its timer runs.
    pub armed: bool,
    /// Timeouts since an acknowledgement last brought something new.
    tries: u32,
    /// Whether it gave up.
    failed: bool,
    /// Payload of its full packets; 0: the host's.
    mtu: u16,
    /// What a byte takes at the rate that it never exceeds, in units of 2^-16 ps; 0: there is none.
    pub pace: u64,
}

impl Sender {
    /// A queue pair that has sent nothing.
    pub fn new(to: u32, entropy: u16, first: u32, segments: u32, line_mbps: f64) -> Self {
        Sender {
            to,
            entropy,
            first,
            segments,
            posted: 0,
            cursor: 0,
            end: 0,
            next: 0,
            una: 0,
            highest: 0,
            again: 0,
            lost_below: 0,
            received: Seen::default(),
            allowed: 0,
            progress: 0,
            dcqcn: State::new(line_mbps),
            queued: false,
            armed: false,
            tries: 0,
            failed: false,
            mtu: 0,
            pace: 0,
        }
    }

    /// The same, kept to its limit.
    pub fn with_limit(mut self, limit: Limit) -> Self {
        self.mtu = limit.mtu;
        if limit.rate_mbps != 0 {
            self.pace = (8_000_000 << 16) / u64::from(limit.rate_mbps);
            self.dcqcn = State::new(self.dcqcn.rate.min(limit.rate_mbps.into()));
        }
        self
    }

    /// Segments were allowed to be sent: take in those that are next in order.
    pub fn post(&mut self, segments: &[Segment]) {
        if self.failed {
            return;
        }
        while self.posted < self.segments && segments[(self.first + self.posted) as usize].posted {
            self.end = segments[(self.first + self.posted) as usize].end;
            self.posted += 1;
        }
    }

    /// Whether a packet can be sent.
    #[inline]
    pub fn can_send(&self, window: u32) -> bool {
        self.again < self.lost_below || (self.next < self.end && self.next - self.una < window)
    }

    /// Whether something was sent that is not acknowledged.
    pub fn waits(&self) -> bool {
        self.una < self.highest
    }

    /// The next packet: its number, frame length and flags.
    #[inline]
    pub fn take(&mut self, config: &HostConfig, segments: &[Segment]) -> (u32, u16, u8) {
        let own = &segments[self.first as usize..(self.first + self.segments) as usize];
        if self.again < self.lost_below {
            return self.take_lost(config, own);
        }
        let psn = self.next;
        if own[self.cursor as usize].end <= psn {
            self.cursor = own.partition_point(|segment| segment.end <= psn) as u32;
        }
        self.next += 1;
        let flags = if psn < self.highest { ECT | AGAIN } else { ECT };
        self.highest = self.highest.max(self.next);
        self.packet(config, &own[self.cursor as usize], psn, flags)
    }

    #[cold]
    fn take_lost(&mut self, config: &HostConfig, own: &[Segment]) -> (u32, u16, u8) {
        let psn = self.again;
        self.again += 1;
        self.skip_received();
        let place = own.partition_point(|segment| segment.end <= psn);
        self.packet(config, &own[place], psn, ECT | AGAIN)
    }

    #[inline]
    fn packet(&self, config: &HostConfig, segment: &Segment, psn: u32, flags: u8) -> (u32, u16, u8) {
        let reth = if segment.writes && (psn == segment.begin || config.reth_on_every_packet) { RETH_BYTES } else { 0 };
        if psn + 1 == segment.end {
            (psn, segment.last_bytes + reth, flags | LAST)
        } else {
            let mtu = if self.mtu == 0 { config.mtu as u16 } else { self.mtu };
            (psn, mtu + config.header + reth, flags)
        }
    }

    fn skip_received(&mut self) {
        while self.again < self.lost_below && self.received.has(self.again) {
            self.again += 1;
        }
    }

    /// An acknowledgement: everything below `psn` arrived. A negative one (`offset` beyond `psn`) says what did besides,
    /// where recovery is selective, and else that the sender is to go back. Returns whether it brought something new.
    #[inline]
    pub fn acknowledged(&mut self, config: &HostConfig, kind: Kind, psn: u32, offset: u32) -> bool {
        let new = psn > self.una;
        if new {
            self.tries = 0;
            if config.recovery == Recovery::Selective && !self.received.0.is_empty() {
                for gone in self.una..psn.min(self.una + REORDER) {
                    self.received.put(gone, false);
                }
            }
            self.una = psn;
        }
        if kind == Kind::Nak && !self.failed {
            match config.recovery {
                Recovery::GoBackN => {
                    if psn < self.next {
                        self.next = psn;
                        self.cursor = 0;
                    }
                }
                Recovery::Selective if psn >= self.una && offset < REORDER => {
                    self.received.put(psn + offset, true);
                    self.lost_below = self.lost_below.max(psn + offset);
                }
                Recovery::Selective => {}
            }
        }
        if self.next < self.una {
            self.next = self.una;
        }
        self.again = self.again.max(self.una);
        self.skip_received();
        new
    }

    /// Nothing was heard for too long: begin again with what is not acknowledged, or give up, when that was tried as often as
    /// the host tries. Returns whether it goes on.
    pub fn expired(&mut self, config: &HostConfig) -> bool {
        if self.tries >= config.retries {
            self.failed = true;
            (self.next, self.end, self.una) = (self.highest, self.highest, self.highest);
            self.lost_below = self.again;
            return false;
        }
        self.tries += 1;
        match config.recovery {
            Recovery::GoBackN => {
                self.next = self.una;
                self.cursor = 0;
            }
            Recovery::Selective => {
                self.again = self.una;
                self.lost_below = self.highest.min(self.una + REORDER);
                self.skip_received();
            }
        }
        true
    }
}
