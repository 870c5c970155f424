//! A queue of packets.

use crate::packet::{Kind, Packet, Ps};

const BLANK: Packet =
    Packet { at: 0, qp: 0, psn: 0, dst: 0, bytes: 0, entropy: 0, ingress: 0, kind: Kind::Data, flags: 0, class: 0 };

/// A queue that uses less than one part in so many of its memory gets less: what it goes round in is to stay in the cache.
const SPARSE: usize = 8;

/// Not where it has no more slots than this.
const SMALL: usize = 64;

/// A first-in first-out queue in one block of memory, whose size is a power of two.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    slots: Box<[Packet]>,
    head: u32,
    len: u32,
}

impl Ring {
    /// How many packets it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it holds none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When the oldest packet arrives; `Ps::MAX`: there is none.
    #[inline]
    pub fn next(&self) -> Ps {
        // without a branch on what is hard to foresee
        let none = u64::from(self.len == 0).wrapping_neg();
        self.slots.get(self.head as usize).map_or(Ps::MAX, |packet| packet.at | none)
    }

    /// Add a copy of a packet in front of the last `behind`, which `each` is shown.
    pub fn insert(&mut self, packet: &Packet, behind: usize, mut each: impl FnMut(&mut Packet)) -> &mut Packet {
        self.push(packet);
        let mask = self.slots.len() - 1;
        let mut place = (self.head as usize + self.len() - 1) & mask;
        for _ in 0..behind {
            let before = place.wrapping_sub(1) & mask;
            let mut moved = self.slots[before];
            each(&mut moved);
            self.slots[place] = moved;
            place = before;
        }
        self.slots[place] = *packet;
        &mut self.slots[place]
    }

    /// The oldest packet.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        if self.len == 0 { None } else { self.slots.get(self.head as usize) }
    }

    /// The packet `place` behind the oldest.
    #[inline]
    pub fn get(&self, place: usize) -> &Packet {
        &self.slots[(self.head as usize + place) & (self.slots.len() - 1)]
    }

    /// Take back the packets that were added last, but for the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u32);
    }

    /// Add a copy of a packet. What differs is to be written into the copy: a packet that was just written in parts is
    /// slow to copy.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet) -> &mut Packet {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[(self.head as usize + self.len()) & mask];
        self.len += 1;
        *slot = *packet;
        slot
    }

    /// Take the oldest packet, which there must be.
    #[inline]
    pub fn take(&mut self) -> Packet {
        let packet = self.slots[self.head as usize];
        self.len -= 1;
        // an empty queue begins anew, so that a short one keeps to the same cache lines
        self.head = if self.len == 0 { 0 } else { ((self.head as usize + 1) & (self.slots.len() - 1)) as u32 };
        packet
    }

    /// Take the packets that arrive before `end`, in order. Returns when the next one does; `Ps::MAX`: there is none.
    #[inline(always)]
    pub fn take_before(&mut self, end: Ps, mut each: impl FnMut(&Packet)) -> Ps {
        let mask = self.slots.len().wrapping_sub(1);
        let (mut head, mut left) = (self.head as usize, self.len);
        while left > 0 {
            let packet = &self.slots[head];
            if packet.at >= end {
                let next = packet.at;
                (self.head, self.len) = (head as u32, left);
                if left as usize * SPARSE < self.slots.len() && self.slots.len() > SMALL {
                    self.resize(self.slots.len() / 4);
                }
                return next;
            }
            each(packet);
            head = (head + 1) & mask;
            left -= 1;
        }
        (self.head, self.len) = (0, 0);
        Ps::MAX
    }

    #[cold]
    fn grow(&mut self) {
        self.resize((self.slots.len() * 2).max(8));
    }

    #[cold]
    fn resize(&mut self, size: usize) {
        let mut slots = Vec::with_capacity(size);
        slots.extend((0..self.len()).map(|place| *self.get(place)));
        slots.resize(size, BLANK);
        self.slots = slots.into_boxed_slice();
        self.head = 0;
    }
}
