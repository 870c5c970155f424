//! `name:key=value,key=value`: how shapes and patterns are written on the command line.

use std::collections::BTreeMap;

use super::error::{InputError, Wrong};
use super::nearest::{some_of, suggestion};
use super::units;
use crate::packet::Ps;

/// The fastest link there may be, 10^6 bit/s.
pub const FASTEST_MBPS: u64 = 10_000_000;
/// The longest delay a link may have.
pub const LONGEST: Ps = 1_000_000_000_000;

/// A name and its keys. Every value is taken once; a key that nobody asks for is a mistake.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What stands before the colon.
    pub name: String,
    option: String,
    values: BTreeMap<String, String>,
}

impl Spec {
    /// Split the value of an option; `known` are the keys there may be, `None` if there is no such name.
    ///
    /// # Errors
    /// Where it is no `name:key=value,…`, a key is unknown, or stands there twice.
    pub fn new(
        option: &str,
        text: &str,
        known: impl Fn(&str) -> Option<&'static [&'static str]>,
        names: &[&'static str],
    ) -> Result<Self, InputError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(keys) = known(name) else {
            return Err(InputError::new(
                option,
                format!("{name:?} is unknown"),
                suggestion(name, names.iter().copied()),
            ));
        };
        let mut values = BTreeMap::new();
        for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                let right = format!("write {name}:{}=…", keys[0]);
                return Err(InputError::new(option, format!("{pair:?} is no key=value"), right));
            };
            if !keys.contains(&key) {
                let right = suggestion(key, keys.iter().copied());
                return Err(InputError::new(option, format!("{name} has no {key:?}"), right));
            }
            if values.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(InputError::new(option, format!("{key} is given twice"), "give it once"));
            }
        }
        Ok(Spec { name: name.to_owned(), option: option.to_owned(), values })
    }

    /// A value read by `parse`, or `standard` where it is not given.
    ///
    /// # Errors
    /// Where it is wrong, or neither given nor has a standard.
    pub fn get<T>(
        &self,
        key: &str,
        standard: Option<T>,
        parse: impl Fn(&str) -> Result<T, Wrong>,
    ) -> Result<T, InputError> {
        match (self.values.get(key), standard) {
            (Some(text), _) => parse(text).map_err(|wrong| wrong.at(format!("{}: {key}", self.option))),
            (None, Some(value)) => Ok(value),
            (None, None) => {
                let given = if self.values.is_empty() {
                    "nothing".to_owned()
                } else {
                    some_of(self.values.keys().map(String::as_str))
                };
                Err(InputError::new(
                    &self.option,
                    format!("{} needs {key} ({given} is given)", self.name),
                    format!("add {key}=…"),
                ))
            }
        }
    }

    /// A count within bounds.
    ///
    /// # Errors
    /// Where it is none.
    pub fn count(&self, key: &str, standard: Option<u64>, least: u64, most: u64) -> Result<u64, InputError> {
        self.get(key, standard, |text| count(text, least, most))
    }

    /// A link speed.
    ///
    /// # Errors
    /// Where it is none.
    pub fn speed(&self, key: &str, standard: Option<u64>) -> Result<u64, InputError> {
        self.get(key, standard, link_speed)
    }

    /// A link delay.
    ///
    /// # Errors
    /// Where it is none.
    pub fn delay(&self, key: &str, standard: Option<Ps>) -> Result<Ps, InputError> {
        self.get(key, standard, link_delay)
    }

    /// A mistake in what is given together.
    pub fn wrong(&self, what: impl Into<String>, right: impl Into<String>) -> InputError {
        InputError::new(&self.option, what, right)
    }
}

/// A whole number within bounds.
///
/// # Errors
/// Where it is none.
pub fn count(text: &str, least: u64, most: u64) -> Result<u64, Wrong> {
    let right = format!("give a whole number from {least} to {most}");
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(number) if number < least => Err(Wrong::new(format!("{number} is too small"), right)),
        Ok(number) => Err(Wrong::new(format!("{number} is too large"), right)),
        Err(_) => Err(Wrong::new(format!("{text:?} is no whole number"), right)),
    }
}

/// A speed that a link can have.
///
/// # Errors
/// Where it is none.
pub fn link_speed(text: &str) -> Result<u64, Wrong> {
    match units::speed_mbps(text)? {
        mbps @ 1..=FASTEST_MBPS => Ok(mbps),
        _ => Err(Wrong::new(format!("{text} is no speed of a link"), "give 1M to 10T")),
    }
}

/// A delay that a link can have.
///
/// # Errors
/// Where it is none.
pub fn link_delay(text: &str) -> Result<Ps, Wrong> {
    match units::time(text)? {
        delay @ 0..=LONGEST => Ok(delay),
        _ => Err(Wrong::new(format!("{text} is no delay of a link"), "give 0ns to 1s")),
    }
}
