//! Topology files: a statement a line, as docs/engine.md describes.
//!
//! ```text
//! default link    speed=400G delay=600ns      # holds for every link, wherever it stands
//! default switch  buffer=64MB alpha=8
//! switch leaf0    ecn=400KB..1600KB@20% seed=7
//! host   gpu0
//! link   gpu0 leaf0   length=30m
//! ```

use std::collections::{BTreeMap, HashMap};

use super::error::{InputError, Wrong};
use super::nearest::suggestion;
use super::network::{Network, Setting};
use super::parameters;
use super::spec::{LONGEST, count, link_delay, link_speed};
use super::units;
use crate::packet::Ps;
use crate::topology::{Cable, NodeKind};

/// The most ports a switch may have.
pub const MOST_PORTS: usize = 60_000;

const LINK_KEYS: [&str; 4] = ["speed", "delay", "length", "cables"];

const STATEMENTS: [&str; 4] = ["default", "switch", "host", "link"];

/// Keys and values of a line, each with the line it stands in.
type Keys<'a> = BTreeMap<&'a str, (usize, &'a str)>;

struct Reader<'a> {
    file: &'a str,
    nodes: Vec<(String, NodeKind)>,
    lines: Vec<usize>,
    index: HashMap<&'a str, u32>,
    settings: Vec<Keys<'a>>,
    links: Vec<(usize, [&'a str; 2], Keys<'a>)>,
    every_link: Keys<'a>,
    every_switch: Keys<'a>,
}

/// A network from the text of a topology file.
///
/// # Errors
/// Where it is wrong; the error says in which line.
pub fn network(file: &str, text: &str) -> Result<Network, InputError> {
    let mut reader = Reader {
        file,
        nodes: Vec::new(),
        lines: Vec::new(),
        index: HashMap::new(),
        settings: Vec::new(),
        links: Vec::new(),
        every_link: Keys::new(),
        every_switch: Keys::new(),
    };
    for (number, line) in text.lines().enumerate() {
        reader.statement(number + 1, line.split('#').next().unwrap_or(""))?;
    }
    reader.finish()
}

impl<'a> Reader<'a> {
    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    fn wrong(&self, line: usize, what: impl Into<String>, right: impl Into<String>) -> InputError {
        InputError::new(self.place(line), what, right)
    }

    fn statement(&mut self, line: usize, text: &'a str) -> Result<(), InputError> {
        let mut words = text.split_whitespace();
        let Some(verb) = words.next() else { return Ok(()) };
        let mut names = Vec::new();
        let mut keys = Keys::new();
        for word in words {
            match word.split_once('=') {
                None if keys.is_empty() => names.push(word),
                None => return Err(self.wrong(line, format!("{word:?} is no key=value"), "names come before keys")),
                Some((key, value)) => {
                    if keys.insert(key, (line, value)).is_some() {
                        return Err(self.wrong(line, format!("{key} is given twice"), "give it once"));
                    }
                }
            }
        }
        match (verb, &names[..]) {
            ("default", ["link"]) => {
                self.check_link_keys(&keys)?;
                merge(&mut self.every_link, keys).map_err(|(key, line)| self.twice(key, line))
            }
            ("default", ["switch"]) => merge(&mut self.every_switch, keys).map_err(|(key, line)| self.twice(key, line)),
            ("host", &[name]) if keys.is_empty() => self.node(line, name, NodeKind::Host, keys),
            ("switch", &[name]) => self.node(line, name, NodeKind::Switch, keys),
            ("link", &[a, b]) => {
                self.check_link_keys(&keys)?;
                self.links.push((line, [a, b], keys));
                Ok(())
            }
            ("default", _) => {
                Err(self.wrong(line, "default of what?", "write default link key=value or default switch key=value"))
            }
            ("host", &[_]) => {
                Err(self.wrong(line, "hosts have no parameters of their own", "give those of all with --set host.…"))
            }
            ("host" | "switch", _) => {
                Err(self.wrong(line, format!("{verb} needs one name"), format!("write {verb} NAME")))
            }
            ("link", _) => Err(self.wrong(line, "a link joins two nodes", "write link A B speed=400G delay=1us")),
            _ => Err(self.wrong(line, format!("{verb:?} is no statement"), suggestion(verb, STATEMENTS))),
        }
    }

    fn twice(&self, key: &str, line: usize) -> InputError {
        self.wrong(line, format!("{key} has a default already"), "give it once")
    }

    fn check_link_keys(&self, keys: &Keys<'a>) -> Result<(), InputError> {
        match keys.iter().find(|(key, _)| !LINK_KEYS.contains(key)) {
            None => Ok(()),
            Some((key, (line, _))) => {
                Err(self.wrong(*line, format!("links have no {key:?}"), suggestion(key, LINK_KEYS)))
            }
        }
    }

    fn node(&mut self, line: usize, name: &'a str, kind: NodeKind, keys: Keys<'a>) -> Result<(), InputError> {
        if name.contains([',', '"']) {
            return Err(self.wrong(
                line,
                format!("{name:?} is no name"),
                "names have no commas and no quotes: tables do",
            ));
        }
        if let Some(before) = self.index.insert(name, self.nodes.len() as u32) {
            let what = format!("{name:?} is in line {} already", self.lines[before as usize]);
            return Err(self.wrong(line, what, "give every node a name of its own"));
        }
        self.nodes.push((name.to_owned(), kind));
        self.lines.push(line);
        self.settings.push(keys);
        Ok(())
    }

    fn finish(self) -> Result<Network, InputError> {
        if self.nodes.is_empty() {
            return Err(self.wrong(1, "there is nothing in it", "write host, switch and link statements"));
        }
        let mut ports = vec![0usize; self.nodes.len()];
        let mut cables = Vec::new();
        for (line, names, keys) in &self.links {
            let [a, b] = [self.end(*line, names[0])?, self.end(*line, names[1])?];
            if a == b {
                return Err(self.wrong(*line, format!("{:?} is linked to itself", names[0]), "name two nodes"));
            }
            let (cable, times) = self.cable(*line, a, b, keys)?;
            for node in [a, b] {
                let (name, kind) = &self.nodes[node as usize];
                ports[node as usize] += times;
                if *kind == NodeKind::Host && ports[node as usize] > 1 {
                    let what = format!("host {name:?} has a second cable");
                    return Err(self.wrong(*line, what, "a host has one port: make every NIC of a server a host"));
                }
                if ports[node as usize] > MOST_PORTS {
                    let what = format!("switch {name:?} has more than {MOST_PORTS} ports");
                    return Err(self.wrong(*line, what, "divide it into several"));
                }
            }
            cables.extend(std::iter::repeat_n(cable, times));
        }
        if let Some(node) = (0..self.nodes.len()).find(|&node| ports[node] == 0) {
            let what = format!("{:?} has no link", self.nodes[node].0);
            return Err(self.wrong(self.lines[node], what, "add a link statement for it"));
        }
        let settings = (0..self.nodes.len()).map(|node| self.settings_of(node)).collect::<Result<_, _>>()?;
        let mut network = Network::new(self.nodes.clone(), &cables).map_err(|wrong| wrong.at(self.file))?;
        network.settings = settings;
        Ok(network)
    }

    fn end(&self, line: usize, name: &str) -> Result<u32, InputError> {
        let names = || self.nodes.iter().map(|node| node.0.as_str());
        let unknown =
            || self.wrong(line, format!("no node is named {name:?}"), suggestion(name, names().collect::<Vec<_>>()));
        self.index.get(name).copied().ok_or_else(unknown)
    }

    /// The value of a link's key: its own, or the default.
    fn value<T>(
        &self,
        keys: &Keys<'a>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Wrong>,
    ) -> Result<Option<T>, InputError> {
        let found = keys.get(key).or_else(|| self.every_link.get(key));
        found.map(|&(line, text)| parse(text).map_err(|wrong| wrong.at(self.place(line)))).transpose()
    }

    fn cable(&self, line: usize, a: u32, b: u32, keys: &Keys<'a>) -> Result<(Cable, usize), InputError> {
        let Some(rate_mbps) = self.value(keys, "speed", link_speed)? else {
            return Err(self.wrong(line, "the link has no speed", "add speed=400G, or a default link"));
        };
        let delay = self.value(keys, "delay", link_delay)?;
        let fiber = self.value(keys, "length", fiber_delay)?;
        if delay.is_none() && fiber.is_none() {
            return Err(self.wrong(
                line,
                "the link has neither delay nor length",
                "add delay=1us or length=30m, or a default link",
            ));
        }
        let times = self.value(keys, "cables", |text| count(text, 1, 1024))?.unwrap_or(1);
        let delay = delay.unwrap_or(0) + fiber.unwrap_or(0);
        Ok((Cable { a, b, rate_mbps, delay }, times as usize))
    }

    fn settings_of(&self, node: usize) -> Result<Vec<Setting>, InputError> {
        if self.nodes[node].1 == NodeKind::Host {
            return Ok(Vec::new());
        }
        let own = &self.settings[node];
        let common = self.every_switch.iter().filter(|(key, _)| !own.contains_key(*key));
        // A buffer's size sets several parameters at once, and watchdog and vxlan bring more: these come first.
        let mut all: Vec<_> = common.chain(own).collect();
        all.sort_by_key(|(key, _)| (!["buffer", "watchdog", "vxlan"].contains(*key), **key));
        let setting = |(key, &(line, value)): (&&str, &(usize, &str))| {
            let name = parameters::switch_name(key).map_err(|wrong| wrong.at(self.place(line)))?;
            Ok(Setting { place: self.place(line), name, value: value.to_owned() })
        };
        all.into_iter().map(setting).collect()
    }
}

fn merge<'a>(into: &mut Keys<'a>, keys: Keys<'a>) -> Result<(), (&'a str, usize)> {
    for (key, value) in keys {
        if into.insert(key, value).is_some() {
            return Err((key, value.0));
        }
    }
    Ok(())
}

fn fiber_delay(text: &str) -> Result<Ps, Wrong> {
    match units::fiber(text)? {
        delay @ 0..=LONGEST => Ok(delay),
        _ => Err(Wrong::new(format!("{text} is no length of a link"), "give 0m to 100000km")),
    }
}
