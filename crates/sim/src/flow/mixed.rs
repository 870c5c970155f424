//! Maps by numbers, which nobody chose to collide: a mix is enough to spread them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::hashing::mix;

/// A map by 64-bit numbers.
pub type MixedMap<T> = HashMap<u64, T, BuildHasherDefault<Mixed>>;

/// Spreads numbers.
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0, number);
    }
}
