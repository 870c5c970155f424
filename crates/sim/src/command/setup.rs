//! From options to what the engine takes.

use super::options::Given;
use super::series::Wanted;
use crate::balance::Balance;
use crate::config::Config;
use crate::fault::Fault;
use crate::input::flows::{self, Flow};
use crate::input::network::Network;
use crate::input::{InputError, faults, parameters, patterns, presets, shapes, topology_file, units, value};
use crate::packet::Ps;
use crate::traffic::Verb;

/// All that a run needs.
pub struct Setup {
    /// Nodes, cables, and what switches have of their own.
    pub network: Network,
    /// Parameters.
    pub config: Config,
    /// How next-hop groups share packets.
    pub balance: Balance,
    /// What is to be sent.
    pub flows: Vec<Flow>,
    /// What every flow is.
    pub verb: Verb,
    /// What breaks.
    pub faults: Vec<Fault>,
    /// How long after a link or node breaks or works again forwarding follows, if it does.
    pub reroute: Option<Ps>,
    /// When to end, if anything is still to do then.
    pub until: Option<Ps>,
    /// Series to be written.
    pub series: Wanted,
}

const BALANCE_NAMES: [&str; 4] = ["ecmp", "spray", "dlb", "dlb-per-packet"];
const BALANCES: [Balance; 4] = [Balance::Hash, Balance::Spray, Balance::Flowlet, Balance::Packet];

const VERB_NAMES: [&str; 3] = ["write", "write-imm", "send"];
const VERBS: [Verb; 3] = [Verb::Write, Verb::WriteWithImmediate, Verb::Send];

/// Options that are parameters under another name.
const SHORTCUTS: [(&str, &str); 4] =
    [("--mtu", "host.mtu"), ("--window", "host.window"), ("--buffer", "buffer"), ("--seed", "seed")];

impl Setup {
    /// Read everything that the options name.
    ///
    /// # Errors
    /// Where any of it is wrong.
    pub fn read(given: &Given) -> Result<Self, InputError> {
        let network = network(given)?;
        let config = config(given, &network)?;
        let flows = match (given.value("--flows"), given.value("--traffic")) {
            (Some(file), None) => flows::flows(file, &content("--flows", file)?, &network)?,
            (None, Some(pattern)) => patterns::flows("--traffic", pattern, &network)?,
            (Some(_), Some(_)) => {
                return Err(InputError::new("--traffic", "flows come from --flows already", "give one of both"));
            }
            (None, None) => {
                let right = "give --flows FILE, or --traffic such as permutation:bytes=4MB";
                return Err(InputError::new("--flows", "there is nothing to send", right));
            }
        };
        let balance = BALANCES[choice(given, "--lb", &BALANCE_NAMES)?];
        let verb = VERBS[choice(given, "--verb", &VERB_NAMES)?];
        let faults = faults::faults("--fault", given.all("--fault"), &network)?;
        let reroute = time(given, "--reroute")?;
        if reroute.is_some() && faults.is_empty() {
            return Err(InputError::new("--reroute", "there is no fault to follow", "give --fault with it"));
        }
        let until = time(given, "--until")?;
        if until == Some(0) {
            return Err(InputError::new("--until", "nothing happens before 0", "give a time such as 5ms"));
        }
        let series = Wanted::read(given, &network)?;
        Ok(Setup { network, config, balance, flows, verb, faults, reroute, until, series })
    }
}

fn time(given: &Given, option: &str) -> Result<Option<Ps>, InputError> {
    given.value(option).map(units::time).transpose().map_err(|wrong| wrong.at(option))
}

fn content(option: &str, file: &str) -> Result<Vec<u8>, InputError> {
    std::fs::read(file)
        .map_err(|error| InputError::new(option, format!("{file}: {error}"), "give a file that can be read"))
}

fn network(given: &Given) -> Result<Network, InputError> {
    let Some(text) = given.value("--topology") else {
        let right = "give a shape such as fat-tree:k=8,speed=400G,delay=1us, or a file";
        return Err(InputError::new("--topology", "there is no network", right));
    };
    // a shape misspelled is no file either, and the names of shapes help more
    if shapes::is_shape(text) || (text.contains('=') && !std::path::Path::new(text).exists()) {
        return shapes::network("--topology", text);
    }
    let content = content("--topology", text)?;
    match std::str::from_utf8(&content) {
        Ok(content) => topology_file::network(text, content),
        Err(_) => Err(InputError::new(text, "the file is not UTF-8", "save it as UTF-8 text")),
    }
}

/// Which of some words an option's value is; the first where it is not given.
fn choice(given: &Given, option: &str, words: &'static [&'static str]) -> Result<usize, InputError> {
    let Some(text) = given.value(option) else { return Ok(0) };
    match value::Kind::Choice(words).read(text) {
        Ok(value::Value::Whole(place)) => Ok(place as usize),
        Ok(_) => Ok(0),
        Err(wrong) => Err(wrong.at(option)),
    }
}

fn config(given: &Given, network: &Network) -> Result<Config, InputError> {
    let mut config = Config::default();
    let none = choice(given, "--cc", &["dcqcn", "none"])? == 1;
    if none {
        config.host.dcqcn = None;
    }
    if none && given.has("--dcqcn") {
        return Err(InputError::new("--dcqcn", "there is no DCQCN with --cc none", "leave one of both out"));
    }
    match choice(given, "--dcqcn", &["connectx", "hpcc", "dcqcn-p"])? {
        1 => presets::hpcc(&mut config, network.host_speed_mbps()),
        2 => presets::dcqcn_p(&mut config),
        _ => {}
    }
    for (option, name) in SHORTCUTS {
        if let Some(text) = given.value(option) {
            parameters::set(&mut config, name, text).map_err(|wrong| wrong.at(option))?;
        }
    }
    if given.has("--lossy") {
        presets::lossy(&mut config);
    }
    for pair in given.all("--set") {
        let wrong = || InputError::new("--set", format!("{pair:?} is no NAME=VALUE"), "write --set host.mtu=4096");
        let (name, text) = pair.split_once('=').ok_or_else(wrong)?;
        parameters::set(&mut config, name, text).map_err(|wrong| wrong.at("--set"))?;
    }
    parameters::check(&config).map_err(|wrong| wrong.at("--set"))?;
    Ok(config)
}
