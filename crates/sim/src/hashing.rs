//! Hashes: how words are mixed, what a switch hashes a flow to, and one of several by a draw.

/// A 64-bit mix of two words (the finalizer of splitmix64, Steele et al., OOPSLA 2014).
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One of `count` by the upper half of a draw (Lemire, ACM TOMACS 2019).
#[inline]
pub fn one_of(draw: u64, count: usize) -> usize {
    (((draw >> 32) * count as u64) >> 32) as usize
}

/// The UDP source port of a queue pair's packets, which hashes spread flows by.
#[inline]
pub fn entropy(seed: u64, qp: u64) -> u16 {
    0xC000 | (mix(seed, qp) & 0x3FFF) as u16
}

/// What a switch (with its own seed) hashes a flow to: packets of one entropy to one address.
#[inline]
pub fn flow_hash(switch_seed: u64, to: u32, entropy: u16) -> u64 {
    mix(switch_seed, u64::from(to) << 16 | u64::from(entropy))
}
