//! Quantities with units, parsed once and exactly, and printed so that they parse to the same again.
//!
//! Speeds are decimal (`400G` is 4 x 10^11 bit/s). Sizes are binary with a bare letter, as in nccl-tests (`8M` is
//! 8 x 2^20 bytes), and say what they are otherwise: `8MB` is 8 x 10^6 bytes, `8MiB` is 8 x 2^20.

use super::error::Wrong;
use crate::packet::Ps;

type Unit = (&'static str, u64);

const TIMES: [Unit; 5] = [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

const SPEEDS: [Unit; 3] = [("M", 1), ("G", 1_000), ("T", 1_000_000)];

const SIZES: [Unit; 11] = [
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
];

const LENGTHS: [Unit; 2] = [("m", 1_000), ("km", 1_000_000)];

/// Picoseconds light takes for a meter of fiber, at 0.66 of its speed in vacuum.
const PS_PER_METER: u64 = 5_054;

/// Why a decimal number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// It is not a number.
    NoNumber,
    /// It is below zero.
    Negative,
    /// It has more decimals than its unit can be divided into.
    TooFine,
    /// It does not fit 64 bits.
    TooLarge,
}

/// A decimal number times `unit`, which must come out whole: `decimal("1.5", 1000)` is 1500.
///
/// # Errors
/// Where it is no such number.
pub fn decimal(text: &str, unit: u64) -> Result<u64, Decimal> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + part.len() == 0 || !digits(whole) || !digits(part) {
        return Err(Decimal::NoNumber);
    }
    if negative {
        return Err(Decimal::Negative);
    }
    let part = part.trim_end_matches('0');
    let number = |text: &str| if text.is_empty() { Some(0u128) } else { text.parse::<u128>().ok() };
    let (Some(whole), Some(fraction)) = (number(whole), number(part)) else { return Err(Decimal::TooLarge) };
    let scale = u32::try_from(part.len()).ok().and_then(|length| 10u128.checked_pow(length));
    let Some(scaled) = fraction.checked_mul(u128::from(unit)) else { return Err(Decimal::TooFine) };
    let fraction = match scale {
        Some(scale) if scaled % scale == 0 => scaled / scale,
        _ => return Err(Decimal::TooFine),
    };
    let sum = whole.checked_mul(u128::from(unit)).and_then(|whole| whole.checked_add(fraction));
    sum.and_then(|sum| u64::try_from(sum).ok()).ok_or(Decimal::TooLarge)
}

fn parse(text: &str, units: &[Unit], what: &str, example: &str, smallest: &str) -> Result<u64, Wrong> {
    let split = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == '-'));
    let (number, letters) = text.split_at(split.unwrap_or(text.len()));
    let exact = units.iter().find(|unit| unit.0 == letters);
    // 400g says the same as 400G; longer units are taken as written only, because Mb is a bit and MB a byte
    let loose = |unit: &&Unit| letters.len() == 1 && unit.0.eq_ignore_ascii_case(letters);
    let unit = exact.or_else(|| units.iter().find(loose));
    let Some(&(_, unit)) = unit else {
        let all: Vec<&str> = units.iter().map(|unit| unit.0).filter(|unit| !unit.is_empty()).collect();
        return Err(Wrong::new(format!("{text:?} is no {what}"), format!("give {example}; units: {}", all.join(", "))));
    };
    decimal(number, unit).map_err(|why| match why {
        Decimal::NoNumber => Wrong::new(format!("{text:?} is no {what}"), format!("give {example}")),
        Decimal::Negative => Wrong::new(format!("{text:?} is negative"), format!("give {example}")),
        Decimal::TooFine => Wrong::new(format!("{text:?} is finer than {smallest}"), format!("give {example}")),
        Decimal::TooLarge => Wrong::new(format!("{text:?} does not fit 64 bits"), format!("give {example}")),
    })
}

/// A time: `50ns`, `1us`, `1.5ms`.
///
/// # Errors
/// Where it is none.
pub fn time(text: &str) -> Result<Ps, Wrong> {
    parse(text, &TIMES, "time", "a number and a unit, such as 1us or 50ns", "a picosecond")
}

/// A speed in 10^6 bit/s: `400G`, `1.6T`.
///
/// # Errors
/// Where it is none.
pub fn speed_mbps(text: &str) -> Result<u64, Wrong> {
    parse(text, &SPEEDS, "speed", "a number and a unit, such as 400G", "1M (10^6 bit/s)")
}

/// A size in bytes: `4096`, `8M` (binary), `64MB` (decimal), `51MiB`.
///
/// # Errors
/// Where it is none.
pub fn size(text: &str) -> Result<u64, Wrong> {
    parse(text, &SIZES, "size", "bytes, such as 4096, 8M (8 x 2^20) or 64MB (64 x 10^6)", "a byte")
}

/// The propagation delay of a length of fiber: `30m`, `50km`.
///
/// # Errors
/// Where it is none.
pub fn fiber(text: &str) -> Result<Ps, Wrong> {
    let millimeters = parse(text, &LENGTHS, "length", "a number and a unit, such as 30m or 50km", "a millimeter")?;
    Ok((u128::from(millimeters) * u128::from(PS_PER_METER) / 1000).min(u128::from(Ps::MAX)) as Ps)
}

fn print(value: u64, units: &[&Unit]) -> String {
    let fits = units.iter().find(|unit| value != 0 && value.is_multiple_of(unit.1));
    let unit = fits.unwrap_or(&units[units.len() - 1]);
    format!("{}{}", value / unit.1, unit.0)
}

/// A time as text: the largest unit in which it is whole.
pub fn time_text(value: Ps) -> String {
    if value == 0 {
        return "0us".to_owned();
    }
    print(value, &[&TIMES[4], &TIMES[3], &TIMES[2], &TIMES[1], &TIMES[0]])
}

/// A speed as text.
pub fn speed_text(mbps: u64) -> String {
    print(mbps, &[&SPEEDS[2], &SPEEDS[1], &SPEEDS[0]])
}

/// A size as text.
pub fn size_text(bytes: u64) -> String {
    print(bytes, &[&SIZES[4], &SIZES[7], &SIZES[3], &SIZES[6], &SIZES[2], &SIZES[5], &SIZES[0]])
}
