//! Regular topologies, written as `name:key=value,…`.

use super::error::InputError;
use super::error::Wrong;
use super::network::{Network, fits};
use super::spec::{Spec, count};
use crate::packet::Ps;
use crate::topology::{Cable, NodeKind, Topology};

/// Names of shapes, and an example of each.
pub const SHAPES: [(&str, &str); 4] = [
    ("fat-tree", "fat-tree:k=8,speed=400G,delay=1us"),
    ("leaf-spine", "leaf-spine:leaves=4,spines=4,hosts=8,links=2,speed=400G,uplink=400G,delay=1us"),
    ("star", "star:hosts=16,speed=400G,delay=1us"),
    ("dumbbell", "dumbbell:hosts=8,cables=1,speed=400G,between=400G,delay=1us"),
];

/// The standard delay of a link.
const DELAY: Ps = 1_000_000;

/// The most cables between leaves and spines.
const MOST_CABLES: u64 = 2_000_000;

fn keys(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "fat-tree" => &["k", "speed", "delay"],
        "leaf-spine" => &["leaves", "spines", "hosts", "links", "speed", "uplink", "delay"],
        "star" => &["hosts", "speed", "delay"],
        "dumbbell" => &["hosts", "cables", "speed", "between", "delay"],
        _ => return None,
    })
}

/// Whether a text begins with the name of a shape (and is no file's path).
pub fn is_shape(text: &str) -> bool {
    SHAPES.iter().any(|shape| text.split(':').next() == Some(shape.0))
}

/// A network from its shape.
///
/// # Errors
/// Where a key is unknown, missing or absurd, or the network is too large.
pub fn network(option: &str, text: &str) -> Result<Network, InputError> {
    let spec = Spec::new(option, text, keys, &SHAPES.map(|shape| shape.0))?;
    let speed = spec.speed("speed", Some(400_000))?;
    let delay = spec.delay("delay", Some(DELAY))?;
    let wrong = |wrong: Wrong| wrong.at(option);
    match spec.name.as_str() {
        "fat-tree" => {
            let k = spec.get("k", None, |text| match count(text, 2, 64)? {
                odd if odd % 2 == 1 => {
                    Err(Wrong::new(format!("{odd} is odd"), "half of a switch's ports go up: give an even k"))
                }
                even => Ok(even as u32),
            })?;
            let hosts = (k * k * k / 4) as usize;
            fits(hosts + (k * k * 5 / 4) as usize, hosts).map_err(wrong)?;
            Ok(Network::of(Topology::fat_tree(k, speed, delay)))
        }
        "leaf-spine" => leaf_spine(&spec, speed, delay),
        "star" => {
            let hosts = spec.count("hosts", None, 2, 20_000)? as u32;
            let mut plan = Plan::new(hosts);
            let switch = plan.switch("switch".to_owned());
            (0..hosts).for_each(|host| plan.join(host, switch, speed, delay));
            plan.network().map_err(wrong)
        }
        _ => {
            let hosts = spec.count("hosts", None, 1, 10_000)? as u32;
            let cables = spec.count("cables", Some(1), 1, 1024)?;
            let between = spec.speed("between", Some(speed))?;
            let mut plan = Plan::new(2 * hosts);
            let sides = [plan.switch("left".to_owned()), plan.switch("right".to_owned())];
            (0..2 * hosts).for_each(|host| plan.join(host, sides[(host / hosts) as usize], speed, delay));
            (0..cables).for_each(|_| plan.join(sides[0], sides[1], between, delay));
            plan.network().map_err(wrong)
        }
    }
}

fn leaf_spine(spec: &Spec, speed: u64, delay: Ps) -> Result<Network, InputError> {
    let leaves = spec.count("leaves", None, 1, 4096)? as u32;
    let spines = spec.count("spines", None, 1, 1024)? as u32;
    let hosts = spec.count("hosts", None, 1, 1024)? as u32;
    let links = spec.count("links", Some(1), 1, 64)?;
    let uplink = spec.speed("uplink", Some(speed))?;
    let total = (leaves * hosts) as usize;
    // before anything is laid out
    fits(total + (leaves + spines) as usize, total).map_err(|wrong| spec.wrong(wrong.what, wrong.right))?;
    if u64::from(leaves.max(spines)) * links + u64::from(hosts) > 60_000 {
        return Err(spec.wrong("a switch would have more than 60000 ports", "give fewer leaves, spines or links"));
    }
    if u64::from(leaves) * u64::from(spines) * links > MOST_CABLES {
        let what = format!("there would be more than {MOST_CABLES} cables");
        return Err(spec.wrong(what, "give fewer leaves, spines or links"));
    }
    let mut plan = Plan::new(leaves * hosts);
    let first = plan.nodes.len() as u32;
    (0..leaves).for_each(|leaf| _ = plan.switch(format!("leaf{leaf}")));
    (0..spines).for_each(|spine| _ = plan.switch(format!("spine{spine}")));
    (0..leaves * hosts).for_each(|host| plan.join(host, first + host / hosts, speed, delay));
    for leaf in 0..leaves {
        for spine in 0..spines {
            (0..links).for_each(|_| plan.join(first + leaf, first + leaves + spine, uplink, delay));
        }
    }
    plan.network().map_err(|wrong| spec.wrong(wrong.what, wrong.right))
}

/// A network while it is laid out: hosts `h0`, `h1`, … first.
struct Plan {
    nodes: Vec<(String, NodeKind)>,
    cables: Vec<Cable>,
}

impl Plan {
    fn new(hosts: u32) -> Self {
        let nodes = (0..hosts).map(|host| (format!("h{host}"), NodeKind::Host)).collect();
        Plan { nodes, cables: Vec::new() }
    }

    fn switch(&mut self, name: String) -> u32 {
        self.nodes.push((name, NodeKind::Switch));
        self.nodes.len() as u32 - 1
    }

    fn join(&mut self, a: u32, b: u32, rate_mbps: u64, delay: Ps) {
        self.cables.push(Cable { a, b, rate_mbps, delay });
    }

    fn network(self) -> Result<Network, Wrong> {
        Network::new(self.nodes, &self.cables)
    }
}
