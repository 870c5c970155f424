//! The receiving side of a queue pair.

use super::{REORDER, Seen};
use crate::config::{HostConfig, Recovery};
use crate::packet::Ps;

/// A queue pair's receiving side.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The address of the sender, which acknowledgements go to.
    pub back: u32,
    /// Next packet in order.
    pub expected: u32,
    /// Segments that arrived whole.
    pub complete: u32,
    /// No further one has before everything below this packet has arrived.
    pub whole: u32,
    /// Not to send a congestion notification before.
    pub notify: Ps,
    /// Whether a marked packet came since the last acknowledgement.
    pub marked: bool,
    unacked: u16,
    reported: bool,
    ahead: Seen,
}

/// What a data packet brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is taken, and no answer is due yet.
    Taken,
    /// It is taken; answer with an acknowledgement.
    Answered,
    /// It is taken out of order; report the gap, with how far ahead it is.
    Gap(u32),
    /// It is of no use; answer with an acknowledgement.
    Useless,
    /// It is of no use, out of order; report the gap.
    UselessGap,
    /// It is of no use, and the gap was reported.
    Ignored,
}

impl Receiver {
    /// The receiving side of a queue pair.
    pub fn new(back: u32) -> Self {
        Receiver {
            back,
            expected: 0,
            complete: 0,
            whole: 0,
            notify: 0,
            marked: false,
            unacked: 0,
            reported: false,
            ahead: Seen::default(),
        }
    }

    /// A data packet arrived. `expected` then says up to where everything did.
    #[inline]
    pub fn data(&mut self, config: &HostConfig, psn: u32, last: bool) -> Arrival {
        if psn != self.expected {
            return self.out_of_order(config, psn);
        }
        self.expected += 1;
        self.reported = false;
        let mut due = last;
        while self.ahead.has(self.expected) {
            self.ahead.put(self.expected, false);
            self.expected += 1;
            due = true; // the sender waits for this
        }
        self.unacked += 1;
        if due || self.unacked >= config.ack_every {
            self.unacked = 0;
            return Arrival::Answered;
        }
        Arrival::Taken
    }

    #[cold]
    fn out_of_order(&mut self, config: &HostConfig, psn: u32) -> Arrival {
        if psn < self.expected || self.ahead.has(psn) {
            return Arrival::Useless;
        }
        let ahead = psn - self.expected;
        match config.recovery {
            Recovery::Selective if ahead < REORDER => {
                self.ahead.put(psn, true);
                if ahead > config.reorder { Arrival::Gap(ahead) } else { Arrival::Taken }
            }
            Recovery::GoBackN if !self.reported => {
                self.reported = true;
                Arrival::UselessGap
            }
            _ => Arrival::Ignored,
        }
    }
}
