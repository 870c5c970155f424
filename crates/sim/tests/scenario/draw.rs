//! Numbers from bytes.

use arbitrary::Unstructured;

/// Bytes that choices are taken from. Where they run out, every choice is the first.
pub struct Draw<'a>(Unstructured<'a>);

impl<'a> Draw<'a> {
    /// Choices by these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Draw(Unstructured::new(bytes))
    }

    /// A number from `least` to `most`.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        self.0.int_in_range(least..=most).expect("it gives the least where bytes run out")
    }

    /// A bound, or a number above the least of any order of magnitude.
    pub fn extreme(&mut self, least: u64, most: u64) -> u64 {
        let bits = u64::from(u64::BITS - (most - least).leading_zeros());
        match self.within(0, bits + 2) {
            0 => least,
            place if place <= bits => {
                let above = self.within(0, u64::MAX >> (u64::from(u64::BITS) - place));
                least + above.min(most - least)
            }
            _ => most,
        }
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.within(0, these.len() as u64 - 1) as usize]
    }

    /// Whether something is so, once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.within(1, times) == times
    }
}
