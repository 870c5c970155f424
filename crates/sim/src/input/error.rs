//! What is wrong with an input, where, and what would be right.

use std::fmt;

/// A mistake in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// File and line (`flows.csv:3`), or an option (`--topology`).
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl InputError {
    /// A mistake: where, what, and what would be right.
    pub fn new(place: impl Into<String>, what: impl Into<String>, right: impl Into<String>) -> Self {
        InputError { place: place.into(), what: what.into(), right: right.into() }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; {}", escaped(&self.place), escaped(&self.what), escaped(&self.right))
    }
}

/// The text without characters that move a terminal's cursor or reorder text: file names may hold any.
fn escaped(text: &str) -> String {
    let reorders = |one: char| matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut whole = String::with_capacity(text.len());
    for one in text.chars() {
        if one.is_control() || reorders(one) {
            whole.extend(one.escape_default());
        } else {
            whole.push(one);
        }
    }
    whole
}

impl std::error::Error for InputError {}

/// A mistake in one value: what is wrong and what would be right; whoever reads the value knows where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl Wrong {
    /// A mistake: what, and what would be right.
    pub fn new(what: impl Into<String>, right: impl Into<String>) -> Self {
        Wrong { what: what.into(), right: right.into() }
    }

    /// The same mistake, with its place.
    pub fn at(self, place: impl Into<String>) -> InputError {
        InputError { place: place.into(), what: self.what, right: self.right }
    }
}
