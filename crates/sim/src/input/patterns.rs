//! Built-in traffic, written as `name:key=value,…`.

use super::error::InputError;
use super::flows::{Flow, flow_bytes};
use super::network::Network;
use super::spec::Spec;
use crate::hashing::mix;

/// Names of patterns, and an example of each.
pub const PATTERNS: [(&str, &str); 3] = [
    ("permutation", "permutation:bytes=4MB,seed=1"),
    ("incast", "incast:degree=15,bytes=1MB"),
    ("all-to-all", "all-to-all:bytes=64KB"),
];

/// The most flows that a pattern makes.
const MOST_FLOWS: u64 = 5_000_000;

fn keys(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "permutation" => &["bytes", "seed"],
        "incast" => &["degree", "bytes"],
        "all-to-all" => &["bytes"],
        _ => return None,
    })
}

/// The flows of a pattern; all start at 0.
///
/// # Errors
/// Where a key is unknown, missing or absurd, or hosts are not joined.
pub fn flows(option: &str, text: &str, network: &Network) -> Result<Vec<Flow>, InputError> {
    let spec = Spec::new(option, text, keys, &PATTERNS.map(|pattern| pattern.0))?;
    let bytes = spec.get("bytes", None, flow_bytes)?;
    let hosts = network.host_count();
    let flow = |src, dst| Flow { src, dst, bytes, start: 0 };
    let flows: Vec<Flow> = match spec.name.as_str() {
        "permutation" => {
            let seed = spec.count("seed", Some(1), 0, u64::MAX)?;
            permutation(hosts, seed).into_iter().enumerate().map(|(src, dst)| flow(src as u32, dst)).collect()
        }
        "incast" => {
            let degree = spec.count("degree", None, 1, u64::from(hosts) - 1)? as u32;
            (1..=degree).map(|src| flow(src, 0)).collect()
        }
        _ => {
            if u64::from(hosts) * u64::from(hosts - 1) > MOST_FLOWS {
                return Err(spec.wrong(format!("{hosts} hosts make more than {MOST_FLOWS} flows"), "take fewer hosts"));
            }
            // every host begins with its neighbor, so that no host is met by all of them at first
            let shifted = |src: u32| (1..hosts).map(move |shift| flow(src, (src + shift) % hosts));
            (0..hosts).flat_map(shifted).collect()
        }
    };
    match flows.iter().find(|flow| !network.joined(flow.src, flow.dst)) {
        None => Ok(flows),
        Some(_) => Err(spec.wrong("links do not join all hosts", "give flows in a file")),
    }
}

/// A permutation without fixed points: a random cycle through all hosts (Sattolo, 1986).
fn permutation(hosts: u32, seed: u64) -> Vec<u32> {
    let mut to: Vec<u32> = (0..hosts).collect();
    let mut drawn = seed;
    for place in (1..hosts as usize).rev() {
        drawn = mix(drawn, place as u64);
        to.swap(place, (drawn % place as u64) as usize);
    }
    to
}
