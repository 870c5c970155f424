//! What a parameter can be: kinds of values with their bounds, read from text and printed again.

use super::error::Wrong;
use super::nearest::suggestion;
use super::{spec, units};
use crate::config::{Ecn, Service};

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count, a size in bytes, a time in picoseconds, a share in 1/1024, a place among choices, 0 or 1.
    Whole(u64),
    /// A part, or a rate in 10^6 bit/s.
    Real(f64),
    /// When a queue marks.
    Ecn(Ecn),
    /// How a port serves a class.
    Service(Service),
}

/// Kinds of values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number within bounds.
    Count(u64, u64),
    /// A power of two within bounds.
    PowerOfTwo(u64, u64),
    /// As `Count`; `none` is the largest of 32 bits: no limit.
    CountOrNone(u64),
    /// Bytes within bounds.
    Size(u64, u64),
    /// As `Size`; `none` is the largest of 64 bits: never.
    SizeOrNone(u64, u64),
    /// A time within bounds.
    Time(u64, u64),
    /// A rate within bounds, 10^6 bit/s.
    Rate(f64, f64),
    /// A part from 0 to 1.
    Part,
    /// A decimal number kept in 1/1024, up to this.
    Share(u64),
    /// A percentage.
    Percent,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// When a queue marks.
    Ecn,
    /// How a port serves a class.
    Service,
}

/// How `Kind::Ecn` is written.
const ECN: &str = "off, 400KB..1600KB@20% or 55%..90%@100%";

fn bounded(kind: Kind, text: &str, value: u64, least: u64, most: u64) -> Result<Value, Wrong> {
    if (least..=most).contains(&value) {
        return Ok(Value::Whole(value));
    }
    let size = if value < least { "small" } else { "large" };
    Err(Wrong::new(format!("{text} is too {size}"), format!("give {}", kind.range())))
}

impl Kind {
    /// A value of this kind from text.
    ///
    /// # Errors
    /// Where it is none, or out of bounds.
    pub fn read(self, text: &str) -> Result<Value, Wrong> {
        let none = |what: &str| Wrong::new(format!("{text:?} is no {what}"), format!("give {}", self.range()));
        match self {
            Kind::Count(least, most) => spec::count(text, least, most).map(Value::Whole),
            Kind::PowerOfTwo(least, most) => match spec::count(text, least, most)? {
                number if number.is_power_of_two() => Ok(Value::Whole(number)),
                _ => Err(none("power of two")),
            },
            Kind::CountOrNone(_) if text == "none" => Ok(Value::Whole(u64::from(u32::MAX))),
            Kind::CountOrNone(least) => spec::count(text, least, u64::from(u32::MAX) - 1).map(Value::Whole),
            Kind::SizeOrNone(..) if text == "none" => Ok(Value::Whole(u64::MAX)),
            Kind::Size(least, most) | Kind::SizeOrNone(least, most) => {
                bounded(self, text, units::size(text)?, least, most)
            }
            Kind::Time(least, most) => bounded(self, text, units::time(text)?, least, most),
            Kind::Rate(least, most) => match text.strip_suffix(['M', 'm']).map(str::parse::<f64>) {
                Some(Ok(rate)) if (least..=most).contains(&rate) => Ok(Value::Real(rate)),
                Some(Ok(_)) => Err(Wrong::new(format!("{text} is out of range"), format!("give {}", self.range()))),
                _ => {
                    let rate = units::speed_mbps(text).map_err(|_| none("rate"))? as f64;
                    let outside = || Wrong::new(format!("{text} is out of range"), format!("give {}", self.range()));
                    if (least..=most).contains(&rate) { Ok(Value::Real(rate)) } else { Err(outside()) }
                }
            },
            Kind::Part => match text.parse::<f64>() {
                Ok(part) if (0.0..=1.0).contains(&part) => Ok(Value::Real(part)),
                Ok(_) => Err(Wrong::new(format!("{text} is out of range"), format!("give {}", self.range()))),
                Err(_) => Err(none("number")),
            },
            Kind::Share(most) => match text.parse::<f64>() {
                Ok(share) if share >= 1.0 / 1024.0 && share <= most as f64 => {
                    Ok(Value::Whole((share * 1024.0).round() as u64))
                }
                Ok(_) => Err(Wrong::new(format!("{text} is out of range"), format!("give {}", self.range()))),
                Err(_) => Err(none("number")),
            },
            Kind::Percent => percent(text).map(Value::Whole),
            Kind::Choice(words) => match words.iter().position(|word| *word == text) {
                Some(place) => Ok(Value::Whole(place as u64)),
                None => Err(Wrong::new(format!("{text:?} is unknown"), suggestion(text, words.iter().copied()))),
            },
            Kind::Ecn => ecn(text).map(Value::Ecn),
            Kind::Service if text == "strict" => Ok(Value::Service(Service::Strict)),
            Kind::Service => match spec::count(text, 1, 1000) {
                Ok(weight) => Ok(Value::Service(Service::Weighted(weight as u32))),
                Err(_) => Err(none("service")),
            },
        }
    }

    /// A value of this kind as text that reads as the same.
    pub fn text(self, value: Value) -> String {
        match (self, value) {
            (Kind::CountOrNone(_), Value::Whole(number)) if number == u64::from(u32::MAX) => "none".to_owned(),
            (Kind::SizeOrNone(..), Value::Whole(u64::MAX)) => "none".to_owned(),
            (Kind::Size(..) | Kind::SizeOrNone(..), Value::Whole(bytes)) => units::size_text(bytes),
            (Kind::Time(..), Value::Whole(time)) => units::time_text(time),
            (Kind::Share(_), Value::Whole(share)) => (share as f64 / 1024.0).to_string(),
            (Kind::Percent, Value::Whole(percent)) => format!("{percent}%"),
            (Kind::Choice(words), Value::Whole(place)) => words[place as usize].to_owned(),
            (_, Value::Whole(number)) => number.to_string(),
            (Kind::Rate(..), Value::Real(rate)) => format!("{rate}M"),
            (_, Value::Real(number)) => number.to_string(),
            (_, Value::Ecn(ecn)) => ecn_text(ecn),
            (_, Value::Service(Service::Strict)) => "strict".to_owned(),
            (_, Value::Service(Service::Weighted(weight))) => weight.to_string(),
        }
    }

    /// What may be given, in words.
    pub fn range(self) -> String {
        match self {
            Kind::Count(least, most) => format!("{least} to {most}"),
            Kind::PowerOfTwo(least, most) => format!("a power of two from {least} to {most}"),
            Kind::CountOrNone(least) => format!("{least} and more, or none"),
            Kind::Size(least, most) => format!("{} to {}", units::size_text(least), units::size_text(most)),
            Kind::SizeOrNone(least, most) => {
                format!("{} to {}, or none", units::size_text(least), units::size_text(most))
            }
            Kind::Time(least, most) => format!("{} to {}", units::time_text(least), units::time_text(most)),
            Kind::Rate(least, most) => format!("{least}M to {most}M"),
            Kind::Part => "0 to 1".to_owned(),
            Kind::Share(most) => format!("1/1024 (0.001) to {most}"),
            Kind::Percent => "0% to 100%".to_owned(),
            Kind::Choice(words) => words.join(", "),
            Kind::Ecn => ECN.to_owned(),
            Kind::Service => "strict, or a weight from 1 to 1000".to_owned(),
        }
    }
}

fn percent(text: &str) -> Result<u64, Wrong> {
    match text.strip_suffix('%').unwrap_or(text).parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(Wrong::new(format!("{text:?} is no whole percentage"), "give 0% to 100%")),
    }
}

/// `MIN..MAX@CHANCE`.
fn ecn(text: &str) -> Result<Ecn, Wrong> {
    if text == "off" {
        return Ok(Ecn::Off);
    }
    let wrong = || Wrong::new(format!("{text:?} is no marking"), format!("give {ECN}"));
    let (range, chance) = text.split_once('@').ok_or_else(wrong)?;
    let (min, max) = range.split_once("..").ok_or_else(wrong)?;
    let chance = chance.strip_suffix('%').and_then(|chance| chance.parse::<f64>().ok());
    let chance = chance.filter(|chance| (0.0..=100.0).contains(chance)).ok_or_else(wrong)?;
    let most = (chance / 100.0 * 65536.0).round() as u64;
    let by_percent = min.ends_with('%') && max.ends_with('%');
    let (min, max) = if by_percent { (percent(min)?, percent(max)?) } else { (units::size(min)?, units::size(max)?) };
    if min > max {
        return Err(Wrong::new(format!("{text:?} ends before it begins"), "give the lower threshold first"));
    }
    Ok(if by_percent { Ecn::Percent { min, max, most } } else { Ecn::Bytes { min, max, most } })
}

fn ecn_text(ecn: Ecn) -> String {
    // five decimals tell 1/65536 apart
    let chance = |most: u64| {
        let text = format!("{:.5}", most as f64 * 100.0 / 65536.0);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match ecn {
        Ecn::Off => "off".to_owned(),
        Ecn::Bytes { min, max, most } => {
            format!("{}..{}@{}%", units::size_text(min), units::size_text(max), chance(most))
        }
        Ecn::Percent { min, max, most } => format!("{min}%..{max}%@{}%", chance(most)),
    }
}
