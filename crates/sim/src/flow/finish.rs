//! When messages will have been sent, as long as rates stay as they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::packet::Ps;

/// Up to so many queue pairs all are kept in order of time; of more, those that end soon.
const FEW: usize = 4096;

/// The ends of messages under way, one a queue pair.
#[derive(Debug)]
pub struct Finish {
    /// When each queue pair's message ends; `Ps::MAX`: it has none, or no rate.
    at: Vec<Ps>,
    /// Those that end before `horizon`, and others that were to.
    soon: BinaryHeap<Reverse<(Ps, u32)>>,
    horizon: Ps,
    span: Ps,
}

impl Finish {
    /// Nothing is under way.
    pub fn new(pairs: usize) -> Self {
        Finish { at: vec![Ps::MAX; pairs], soon: BinaryHeap::new(), horizon: 0, span: 0 }
    }

    /// A queue pair's message ends at another time.
    #[inline]
    pub fn set(&mut self, qp: u32, at: Ps) {
        self.at[qp as usize] = at;
        if at < self.horizon {
            self.soon.push(Reverse((at, qp)));
        }
    }

    /// Most of the times are about to change.
    pub fn forget_order(&mut self) {
        self.soon.clear();
        self.horizon = 0;
    }

    /// The next that ends, of the queue pairs that send. `Ps::MAX`: none does.
    pub fn next(&mut self, sending: &[u32]) -> (Ps, u32) {
        loop {
            while let Some(&Reverse((at, qp))) = self.soon.peek() {
                if self.at[qp as usize] == at {
                    return (at, qp);
                }
                self.soon.pop();
            }
            let first = sending.iter().map(|&qp| self.at[qp as usize]).min().unwrap_or(Ps::MAX);
            if first == Ps::MAX {
                self.horizon = 0;
                return (Ps::MAX, 0);
            }
            self.look_ahead(sending, first);
        }
    }

    /// Put those that end soon in order.
    fn look_ahead(&mut self, sending: &[u32], first: Ps) {
        if self.span == 0 {
            self.span = first / 64 + 1;
        }
        self.horizon = if sending.len() <= FEW { Ps::MAX } else { first.saturating_add(self.span) };
        let ends = sending.iter().map(|&qp| (self.at[qp as usize], qp)).filter(|end| end.0 < self.horizon);
        self.soon.extend(ends.map(Reverse));
        if self.soon.len() * 64 < sending.len() {
            self.span = self.span.saturating_mul(2);
        } else if self.soon.len() * 8 > sending.len() {
            self.span = (self.span / 2).max(1);
        }
    }
}
