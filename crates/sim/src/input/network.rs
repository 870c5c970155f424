//! A topology with what its switches have of their own.

use std::collections::HashMap;

use super::error::{InputError, Wrong};
use super::nearest::suggestion;
use super::parameters;
use crate::config::Config;
use crate::topology::{Cable, NodeKind, Topology};

/// The most entries that forwarding tables may have: 1 GB.
const MOST_ENTRIES: usize = 1 << 28;

/// A parameter that a topology file gives a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where it stands.
    pub place: String,
    /// The parameter's name.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

/// A network as it is given.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes and cables.
    pub topology: Topology,
    /// What each node is given of its own, by node.
    pub settings: Vec<Vec<Setting>>,
    hosts: HashMap<String, u32>,
    part: Vec<u32>,
}

impl Network {
    /// A network of nodes and cables.
    ///
    /// # Errors
    /// Where it is larger than the engine can take.
    pub fn new(nodes: Vec<(String, NodeKind)>, cables: &[Cable]) -> Result<Self, Wrong> {
        let hosts = nodes.iter().filter(|node| node.1 == NodeKind::Host).count();
        fits(nodes.len(), hosts)?;
        Ok(Network::of(Topology::new(nodes, cables)))
    }

    /// A network of a topology that is known to fit.
    pub fn of(topology: Topology) -> Self {
        let place = |(place, &node): (usize, &u32)| (topology.names[node as usize].clone(), place as u32);
        let hosts = topology.hosts().iter().enumerate().map(place).collect();
        let part = parts(&topology);
        Network { settings: vec![Vec::new(); topology.kinds.len()], hosts, part, topology }
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The place among the hosts of the one with this name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn host(&self, name: &str) -> Result<u32, Wrong> {
        if let Some(&place) = self.hosts.get(name) {
            return Ok(place);
        }
        if self.topology.names.iter().any(|one| one == name) {
            return Err(Wrong::new(format!("{name:?} is a switch"), "name a host"));
        }
        Err(Wrong::new(format!("no host is named {name:?}"), suggestion(name, self.host_names())))
    }

    /// The node with this name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn node(&self, name: &str) -> Result<u32, Wrong> {
        let names = &self.topology.names;
        let unknown = || {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            Wrong::new(format!("no node is named {name:?}"), suggestion(name, known))
        };
        names.iter().position(|one| one == name).map(|node| node as u32).ok_or_else(unknown)
    }

    /// The names of hosts, by place among them.
    pub fn host_names(&self) -> Vec<&str> {
        self.topology.hosts().into_iter().map(|node| self.topology.names[node as usize].as_str()).collect()
    }

    /// Whether links join two hosts (by place among the hosts).
    pub fn joined(&self, a: u32, b: u32) -> bool {
        self.part[a as usize] == self.part[b as usize]
    }

    /// The rate of the fastest host link, 10^6 bit/s.
    pub fn host_speed_mbps(&self) -> u64 {
        let port = |node: u32| self.topology.first[node as usize] as usize;
        let rates = self.topology.hosts().into_iter().map(|node| self.topology.wires[port(node)].ps_per_byte);
        rates.min().map_or(0, |least| ((8_000_000u64 << 16) + least / 2) / least)
    }

    /// The profiles of switches, and which each node has: the parameters of all, and what the node is given of its own.
    ///
    /// # Errors
    /// Where a value is wrong, or values do not fit together.
    pub fn profiles(&self, common: &Config) -> Result<(Vec<Config>, Vec<u16>), InputError> {
        let (mut profiles, mut of) = (vec![*common], Vec::new());
        let mut known = HashMap::from([(Vec::new(), 0)]);
        for settings in &self.settings {
            let text: Vec<_> = settings.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
            if let Some(&profile) = known.get(&text) {
                of.push(profile);
                continue;
            }
            let mut config = *common;
            for setting in settings {
                parameters::set(&mut config, &setting.name, &setting.value)
                    .map_err(|wrong| wrong.at(setting.place.clone()))?;
            }
            let place = || settings.last().map_or(String::new(), |setting| setting.place.clone());
            parameters::check(&config).map_err(|wrong| wrong.at(place()))?;
            let profile = u16::try_from(profiles.len()).map_err(|_| {
                Wrong::new("more than 65,536 kinds of switches", "give switches of a kind the same").at(place())
            })?;
            known.insert(text, profile);
            profiles.push(config);
            of.push(profile);
        }
        Ok((profiles, of))
    }
}

/// Whether so many nodes, hosts among them, are not too many.
///
/// # Errors
/// Where they are.
pub fn fits(nodes: usize, hosts: usize) -> Result<(), Wrong> {
    let switches = nodes - hosts;
    if switches.saturating_mul(hosts) > MOST_ENTRIES {
        let what = format!("{hosts} hosts and {switches} switches need forwarding tables of more than 1 GB");
        return Err(Wrong::new(what, "make the network smaller"));
    }
    if hosts < 2 {
        return Err(Wrong::new(format!("a network of {hosts} hosts has nobody to send to"), "give at least 2 hosts"));
    }
    Ok(())
}

/// For every host (by place) a number that it shares with those it is joined to.
fn parts(topology: &Topology) -> Vec<u32> {
    let mut part = vec![u32::MAX; topology.kinds.len()];
    for start in 0..topology.kinds.len() {
        let mut stack = if part[start] == u32::MAX { vec![start] } else { Vec::new() };
        while let Some(node) = stack.pop() {
            if part[node] == u32::MAX {
                part[node] = start as u32;
                stack.extend(topology.ports(node).map(|port| topology.wires[port].peer_node as usize));
            }
        }
    }
    topology.hosts().into_iter().map(|node| part[node as usize]).collect()
}
