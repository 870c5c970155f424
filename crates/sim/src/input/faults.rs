//! Faults, written as `kind:key=value,…`.

use super::error::{InputError, Wrong};
use super::flows::LATEST;
use super::nearest::some_of;
use super::network::Network;
use super::spec::{Spec, count, link_speed};
use super::units;
use crate::config::CLASSES;
use crate::fault::{Change, Fault};
use crate::packet::Ps;
use crate::topology::ps_per_byte;

/// Kinds of faults, and an example of each.
pub const FAULTS: [(&str, &str); 6] = [
    ("link-down", "link-down:link=leaf0-spine0,cable=0,at=100us,until=2ms"),
    ("node-down", "node-down:node=spine0,at=100us,until=2ms"),
    ("rate", "rate:link=leaf0-spine0,cable=0,speed=100G,at=100us,until=2ms"),
    ("loss", "loss:from=leaf0,to=spine0,cable=0,chance=0.1%,at=100us,until=2ms"),
    ("slow-receiver", "slow-receiver:host=h0,speed=100G,at=100us,until=2ms"),
    ("pfc-storm", "pfc-storm:host=h0,class=3,at=100us,until=2ms"),
];

fn keys(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "link-down" => &["link", "cable", "at", "until"],
        "node-down" => &["node", "at", "until"],
        "rate" => &["link", "cable", "speed", "at", "until"],
        "loss" => &["from", "to", "cable", "chance", "at", "until"],
        "slow-receiver" => &["host", "speed", "at", "until"],
        "pfc-storm" => &["host", "class", "at", "until"],
        _ => return None,
    })
}

/// The faults that an option's values say.
///
/// # Errors
/// Where a key is unknown, missing or absurd, names are unknown, or two of a kind overlap at the same place.
pub fn faults<'a>(
    option: &str,
    texts: impl IntoIterator<Item = &'a str>,
    network: &Network,
) -> Result<Vec<Fault>, InputError> {
    let mut faults: Vec<Fault> = Vec::new();
    for text in texts {
        let new = fault(option, text, network)?;
        if faults.iter().any(|old| old.overlaps(&new)) {
            let what = format!("{text:?} overlaps another fault of its kind at the same place");
            return Err(InputError::new(option, what, "let one end before the other begins"));
        }
        faults.push(new);
    }
    Ok(faults)
}

fn fault(option: &str, text: &str, network: &Network) -> Result<Fault, InputError> {
    let spec = Spec::new(option, text, keys, &FAULTS.map(|fault| fault.0))?;
    let at = spec.get("at", Some(0), moment)?;
    let until = spec.get("until", Some(Ps::MAX), moment)?;
    if until <= at {
        let what = format!("until ({}) is not after at ({})", units::time_text(until), units::time_text(at));
        return Err(spec.wrong(what, "give a later until"));
    }
    let topology = &network.topology;
    let (begin, end) = match spec.name.as_str() {
        "link-down" => both(cables(&spec, network)?, Change::LinkDown, Change::LinkUp),
        "node-down" => both(vec![spec.get("node", None, |name| network.node(name))?], Change::NodeDown, Change::NodeUp),
        "rate" => {
            let slow = ps_per_byte(spec.get("speed", None, link_speed)?);
            let own = |port: u32| Change::Rate(port, topology.wires[port as usize].ps_per_byte);
            both(cables(&spec, network)?, |port| Change::Rate(port, slow), own)
        }
        "loss" => {
            let (from, to) =
                (spec.get("from", None, |name| network.node(name))?, spec.get("to", None, |name| network.node(name))?);
            let loss = spec.get("chance", None, chance)?;
            both(between(&spec, network, from, to)?, |port| Change::Loss(port, loss), |port| Change::Loss(port, 0))
        }
        "slow-receiver" => {
            let slow = ps_per_byte(spec.get("speed", None, link_speed)?);
            both(host(&spec, network)?, |port| Change::Receive(port, slow), |port| Change::Receive(port, 0))
        }
        _ => {
            let class = spec.count("class", Some(3), 0, CLASSES as u64 - 1)? as u8;
            let storm = |stop| move |port| Change::Storm(port, class, stop);
            both(host(&spec, network)?, storm(true), storm(false))
        }
    };
    Ok(Fault { at, until, begin, end })
}

/// What begins and what ends at each place.
fn both(places: Vec<u32>, begin: impl Fn(u32) -> Change, end: impl Fn(u32) -> Change) -> (Vec<Change>, Vec<Change>) {
    places.into_iter().map(|place| (begin(place), end(place))).unzip()
}

/// The port of the host that a fault names.
fn host(spec: &Spec, network: &Network) -> Result<Vec<u32>, InputError> {
    let topology = &network.topology;
    let place = spec.get("host", None, |name| network.host(name))?;
    Ok(vec![topology.first[topology.hosts()[place as usize] as usize]])
}

/// The cables that a fault names, each by one of its ports.
fn cables(spec: &Spec, network: &Network) -> Result<Vec<u32>, InputError> {
    let (a, b) = spec.get("link", None, |text| link(network, text))?;
    let wires = &network.topology.wires;
    // the same port whichever way round the link is written
    Ok(between(spec, network, a, b)?.into_iter().map(|port| port.min(wires[port as usize].peer)).collect())
}

/// The ports of `a` that lead to `b`: all, or the one that `cable` names.
fn between(spec: &Spec, network: &Network, a: u32, b: u32) -> Result<Vec<u32>, InputError> {
    let ports = joins(network, a, b);
    if ports.is_empty() {
        let names = &network.topology.names;
        let neighbors = network.topology.ports(a as usize).map(|port| network.topology.wires[port].peer_node as usize);
        let neighbors: Vec<&str> = neighbors.map(|node| names[node].as_str()).collect();
        let what = format!("no link joins {:?} and {:?}", names[a as usize], names[b as usize]);
        return Err(spec.wrong(what, format!("{:?} has links to: {}", names[a as usize], some_of(neighbors))));
    }
    let all = ports.len() as u64;
    Ok(match spec.get("cable", Some(None), |text| count(text, 0, all - 1).map(Some))? {
        Some(cable) => vec![ports[cable as usize]],
        None => ports,
    })
}

fn joins(network: &Network, a: u32, b: u32) -> Vec<u32> {
    let topology = &network.topology;
    let leads = |port: &usize| topology.wires[*port].peer_node == b;
    topology.ports(a as usize).filter(leads).map(|port| port as u32).collect()
}

/// `A-B`: names may have dashes too, so that every dash may be the one between them.
fn link(network: &Network, text: &str) -> Result<(u32, u32), Wrong> {
    let names = &network.topology.names;
    let node = |name: &str| names.iter().position(|one| one == name).map(|node| node as u32);
    let splits: Vec<(&str, &str)> =
        text.match_indices('-').map(|(dash, _)| (&text[..dash], &text[dash + 1..])).collect();
    let known: Vec<(u32, u32)> = splits.iter().filter_map(|&(a, b)| Some((node(a)?, node(b)?))).collect();
    let joined: Vec<(u32, u32)> = known.iter().copied().filter(|&(a, b)| !joins(network, a, b).is_empty()).collect();
    match (&joined[..], &known[..]) {
        (&[pair], _) | (&[], &[pair, ..]) => Ok(pair),
        (&[first, second, ..], _) => {
            let say = |(a, b): (u32, u32)| format!("{:?} and {:?}", names[a as usize], names[b as usize]);
            let what = format!("{text:?} may be {}, or {}", say(first), say(second));
            Err(Wrong::new(what, "give nodes names without dashes"))
        }
        (&[], &[]) => {
            // the end that is wrong is the one whose other is right
            let half = splits.iter().find_map(|&(a, b)| match (node(a), node(b)) {
                (Some(_), None) => Some(b),
                (None, Some(_)) => Some(a),
                _ => None,
            });
            let Some(name) = half.or(splits.first().map(|split| split.0)) else {
                return Err(Wrong::new(
                    format!("{text:?} is no link"),
                    "write the names of two nodes, such as leaf0-spine0",
                ));
            };
            Err(network.node(name).expect_err("it is not among the names"))
        }
    }
}

fn moment(text: &str) -> Result<Ps, Wrong> {
    match units::time(text)? {
        time if time <= LATEST => Ok(time),
        _ => Err(Wrong::new(format!("{text} is later than 1000 seconds"), "give a time such as 100us")),
    }
}

/// A percentage in 1/2^32.
fn chance(text: &str) -> Result<u32, Wrong> {
    let part = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    match part.map(|percent| percent / 100.0 * 4_294_967_296.0) {
        Some(part) if (1.0..=4_294_967_296.0).contains(&part) => Ok(part as u32), // all: the largest of 32 bits
        _ => Err(Wrong::new(format!("{text:?} is no chance"), "give a percentage such as 0.1%, 100% at most")),
    }
}
