//! The options of the command line: declared once, for reading and for `--help`.

use crate::input::{InputError, suggestion};

/// An option.
struct Declared {
    name: &'static str,
    /// What stands for its value in the help; empty: it has none.
    value: &'static str,
    help: &'static str,
}

/// Options that may be given several times.
const SEVERAL: [&str; 2] = ["--set", "--fault"];

const fn option(name: &'static str, value: &'static str, help: &'static str) -> Declared {
    Declared { name, value, help }
}

/// Letters that stand for options.
const SHORT: [(&str, &str); 2] = [("-q", "--quiet"), ("-h", "--help")];

const OPTIONS: [Declared; 27] = [
    option(
        "--topology",
        "SHAPE|FILE",
        "network: a shape such as fat-tree:k=8,speed=400G,delay=1us, or a topology file; required",
    ),
    option("--flows", "FILE", "CSV file with the columns src,dst,bytes,start_us and a row for each flow"),
    option(
        "--traffic",
        "PATTERN",
        "instead of --flows: permutation:bytes=4MB (each host sends to one other host), incast:degree=15,bytes=1MB (so many hosts send to one) or all-to-all:bytes=64KB (each pair of hosts)",
    ),
    option("--cc", "none|dcqcn", "congestion control of the senders: DCQCN, or none (dcqcn)"),
    option(
        "--dcqcn",
        "connectx|hpcc|dcqcn-p",
        "parameters of DCQCN: NVIDIA's defaults (connectx), those of the HPCC simulator (hpcc), or the ECN marking that Broadcom Thor2 NICs expect (dcqcn-p); default connectx",
    ),
    option(
        "--lb",
        "ecmp|spray|dlb|dlb-per-packet",
        "choice of a switch among equal paths: by a hash of the flow (ecmp), at random for each packet (spray), or by the load of the links, for each burst (dlb) or packet (dlb-per-packet); default ecmp",
    ),
    option("--mtu", "BYTES", "payload of a full packet in bytes (4096)"),
    option(
        "--window",
        "PACKETS|none",
        "largest number of unacknowledged packets of a queue pair; none: no limit (none)",
    ),
    option(
        "--buffer",
        "SIZE",
        "packet buffer of each switch, such as 64MB, divided among traffic classes as on a Junos switch (default: the pool sizes that --help-parameters prints)",
    ),
    option("--lossy", "", "turn PFC off, so that switches drop packets of the data class if a buffer is full"),
    option("--seed", "NUMBER", "seed of the random numbers for ECMP hashes and ECN marks (1)"),
    option("--until", "TIME", "end the run at this simulated time, such as 5ms (when all flows have finished)"),
    option(
        "--set",
        "NAME=VALUE",
        "set a parameter of the table that --help-parameters prints; may be given several times",
    ),
    option("--json", "", "print the result as one JSON object"),
    option("--output", "FILE", "write the result to this file instead of printing it"),
    option(
        "--verb",
        "write|write-imm|send",
        "RDMA operation of all flows: write, write with immediate, or send (write)",
    ),
    option(
        "--fault",
        "FAULT",
        "fault to inject, such as link-down:link=leaf0-spine0,at=100us; may be given several times",
    ),
    option(
        "--reroute",
        "TIME",
        "time after the beginning or end of a fault at which routes change (default: they never change)",
    ),
    option("--series", "FILE", "write the counters of every port for each interval, as CSV"),
    option(
        "--queue-series",
        "FILE",
        "write the bytes in every queue that is not empty at the end of each interval, as CSV",
    ),
    option("--flow-series", "FILE", "write the delivered bytes and rate of every flow for each interval, as CSV"),
    option("--series-every", "TIME", "length of the intervals of all series (10us)"),
    option("--series-of", "NODE[,NODE]", "limit --series and --queue-series to ports of these nodes"),
    option("--quiet", "", "do not show progress"),
    option("--help-parameters", "", "print all parameters as a table"),
    option("--help", "", "print this help"),
    option("--version", "", "print the version"),
];

/// What was given.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(&'static str, String)>);

impl Given {
    /// Read the words of a command line.
    ///
    /// # Errors
    /// Where an option is unknown, lacks its value, has one it does not take, or is there twice.
    pub fn read(words: impl IntoIterator<Item = String>) -> Result<Self, InputError> {
        let mut given = Given::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let name = SHORT.iter().find(|short| short.0 == name).map_or(name, |short| short.1);
            let Some(known) = OPTIONS.iter().find(|one| one.name == name) else {
                if !name.starts_with('-') {
                    let right = "give the network with --topology, and what it carries with --flows or --traffic";
                    return Err(InputError::new(word, "options only are understood", right));
                }
                let names: Vec<&str> = OPTIONS.iter().map(|one| one.name).collect();
                return Err(InputError::new(name, "there is no such option", suggestion(name, names)));
            };
            let value = match (known.value.is_empty(), attached) {
                (true, None) => String::new(),
                (true, Some(_)) => {
                    return Err(InputError::new(name, "the option takes no value", format!("write {name}")));
                }
                (false, Some(value)) => value,
                (false, None) => {
                    let right = format!("write {name} {}", known.value);
                    words.next().ok_or_else(|| InputError::new(name, "the option needs a value", right))?
                }
            };
            if !SEVERAL.contains(&known.name) && given.has(known.name) {
                return Err(InputError::new(name, "the option is given twice", "give it once"));
            }
            given.0.push((known.name, value));
        }
        Ok(given)
    }

    /// Whether an option is there.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|one| one.0 == name).map(|one| one.1.as_str())
    }

    /// All values of an option.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |one| one.0 == name).map(|one| one.1.as_str())
    }
}

/// The text of `--help`.
pub fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} --topology SHAPE|FILE (--flows FILE | --traffic PATTERN) [OPTION …]\n\n\
        Simulate RDMA transfers (flows) packet by packet on a network with PFC and ECN, and print when each flow ends.\n\
        Defaults are in parentheses.\n\n"
    );
    for one in &OPTIONS {
        let letter =
            SHORT.iter().find(|short| short.1 == one.name).map_or(String::new(), |short| format!("{}, ", short.0));
        let left = format!("{letter}{} {}", one.name, one.value);
        text += &if left.len() > 26 {
            format!("  {left}\n{:30}{}\n", "", one.help)
        } else {
            format!("  {left:<28}{}\n", one.help)
        };
    }
    text += "\nShapes (k: ports of each switch; links, cables: parallel cables; uplink, between: speed of links between switches;\n\
        delay: one-way delay of each link):\n";
    crate::input::shapes::SHAPES.iter().for_each(|shape| text += &format!("  {}\n", shape.1));
    text += "\nFaults (without at: from the beginning; without until: to the end of the run):\n";
    crate::input::faults::FAULTS.iter().for_each(|fault| text += &format!("  {}\n", fault.1));
    text += "\nSizes: 8M is 8 x 2^20 bytes, 8MB is 8 x 10^6; speeds: 400G is 4 x 10^11 bit/s.\n";
    text += "Exit: 0 all flows finished, 1 some did not, 2 bad input, 130 interrupted (partial result).\n";
    text
}
