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
    /// Those that end before `horizon`, and others that were to: the next is the last.
    ordered: Vec<(Ps, u32)>,
    /// The same, for those that came to it since these were put in order.
    soon: BinaryHeap<Reverse<(Ps, u32)>>,
    horizon: Ps,
    span: Ps,
}

impl Finish {
    /// Nothing is under way.
    pub fn new(pairs: usize) -> Self {
        Finish { at: vec![Ps::MAX; pairs], ordered: Vec::new(), soon: BinaryHeap::new(), horizon: 0, span: 0 }
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
        self.ordered.clear();
        self.soon.clear();
        self.horizon = 0;
    }

    /// The next that ends, of the queue pairs that send. `Ps::MAX`: none does.
    pub fn next(&mut self, sending: &[u32]) -> (Ps, u32) {
        loop {
            while let Some(&(at, qp)) = self.ordered.last()
                && self.at[qp as usize] != at
            {
                self.ordered.pop();
            }
            while let Some(&Reverse((at, qp))) = self.soon.peek()
                && self.at[qp as usize] != at
            {
                self.soon.pop();
            }
            let soon = self.soon.peek().map(|end| end.0);
            if let Some(end) = self.ordered.last().copied().into_iter().chain(soon).min() {
                return end;
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
        self.ordered.extend(ends);
        self.ordered.sort_unstable_by(|one, other| other.cmp(one));
        if self.ordered.len() * 64 < sending.len() {
            self.span = self.span.saturating_mul(2);
        } else if self.ordered.len() * 8 > sending.len() {
            self.span = (self.span / 2).max(1);
        }
    }
}
