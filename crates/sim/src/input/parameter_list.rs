//! The parameters there are: each one's name, meaning and range, declared once.

use super::value::{Kind, Value};
use crate::config::{CnpLimit, Config, LOSSLESS, LOSSY, Recovery, Vxlan, Watchdog};

/// A parameter. Where its name has an `N` between points, there is one for every class.
pub struct Parameter {
    /// Its name: the part of the network it belongs to, a point, what it is.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What it can be.
    pub kind: Kind,
    /// Its value in a configuration, for a class; None: there is nothing there that has it.
    pub(super) get: fn(&Config, usize) -> Option<Value>,
    /// Give it a value.
    pub(super) set: fn(&mut Config, usize, Value),
}

const US: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000_000;
const YES: Kind = Kind::Choice(&["no", "yes"]);
const POOL: Kind = Kind::Size(0, 100_000_000_000);

fn whole(value: Value) -> u64 {
    if let Value::Whole(number) = value { number } else { 0 }
}

fn real(value: Value) -> f64 {
    if let Value::Real(number) = value { number } else { 0.0 }
}

macro_rules! whole {
    ($name:literal, $kind:expr, $meaning:literal, $($path:tt)+) => {
        Parameter {
            name: $name, meaning: $meaning, kind: $kind,
            get: |config, _| Some(Value::Whole(config.$($path)+ as u64)),
            set: |config, _, value| config.$($path)+ = whole(value) as _,
        }
    };
}

macro_rules! flag {
    ($name:literal, $words:expr, $meaning:literal, $($path:tt)+) => {
        Parameter {
            name: $name, meaning: $meaning, kind: Kind::Choice($words),
            get: |config, _| Some(Value::Whole(u64::from(config.$($path)+))),
            set: |config, _, value| config.$($path)+ = whole(value) == 1,
        }
    };
}

/// Of something that there may not be: DCQCN, the watchdog.
macro_rules! part {
    ($name:literal, $variant:ident, $kind:expr, $meaning:literal, $($path:ident).+ => $field:ident) => {
        Parameter {
            name: $name,
            meaning: $meaning,
            kind: $kind,
            get: |config, _| config.$($path).+.as_ref().map(|one| part!(@get $variant one.$field)),
            set: |config, _, value| {
                if let Some(one) = &mut config.$($path).+ {
                    part!(@set $variant one.$field, value)
                }
            },
        }
    };
    (@get Whole $value:expr) => { Value::Whole($value as u64) };
    (@get Flag $value:expr) => { Value::Whole(u64::from($value)) };
    (@set Flag $field:expr, $value:expr) => { $field = whole($value) == 1 };
    (@get Real $value:expr) => { Value::Real($value) };
    (@set Whole $field:expr, $value:expr) => { $field = whole($value) as _ };
    (@set Real $field:expr, $value:expr) => { $field = real($value) };
}

macro_rules! class {
    ($name:literal, $variant:ident, $kind:expr, $meaning:literal, $field:ident) => {
        Parameter {
            name: $name,
            meaning: $meaning,
            kind: $kind,
            get: |config, class| Some(Value::$variant(config.switch.classes[class].$field)),
            set: |config, class, value| {
                if let Value::$variant(value) = value {
                    config.switch.classes[class].$field = value
                }
            },
        }
    };
}

/// All parameters.
#[rustfmt::skip]
pub const PARAMETERS: &[Parameter] = &[
    whole!("host.mtu", Kind::Size(256, 9000), "payload of a full packet", host.mtu),
    whole!("host.header", Kind::Size(18, 256), "header bytes of a data packet's frame (62: Ethernet, IPv4, UDP, BTH, ICRC, FCS)", host.header),
    whole!("host.ack-bytes", Kind::Size(64, 1500), "frame length of an acknowledgement", host.ack_bytes),
    whole!("host.cnp-bytes", Kind::Size(64, 1500), "frame length of a congestion notification packet", host.cnp_bytes),
    whole!("host.ack-every", Kind::Count(1, 4096), "number of packets after which a receiver acknowledges; it also acknowledges the end of a message", host.ack_every),
    whole!("host.window", Kind::CountOrNone(1), "packets a queue pair may have outstanding", host.window),
    Parameter {
        name: "host.recovery",
        meaning: "how a sender recovers from loss",
        kind: Kind::Choice(&["go-back-n", "selective"]),
        get: |config, _| Some(Value::Whole(u64::from(config.host.recovery == Recovery::Selective))),
        set: |config, _, value| {
            config.host.recovery = if whole(value) == 1 { Recovery::Selective } else { Recovery::GoBackN };
        },
    },
    whole!("host.reorder", Kind::Count(0, 4095), "selective recovery: packets by which a packet may arrive early before the receiver reports a gap", host.reorder),
    flag!("host.reth", &["first", "every"], "packets of a write that carry its RDMA header (16 bytes): the first, or every packet, as adaptive routing needs", host.reth_on_every_packet),
    whole!("host.post-cost", Kind::Time(0, SECOND), "time in which a NIC's proxy prepares a message; it prepares one message after another", host.post_cost),
    whole!("host.receive-buffer", Kind::Size(10_000, 1_000_000_000), "receive buffer of a host: it fills if the host takes packets more slowly than they arrive", host.receive_buffer),
    whole!("host.receive-xoff", Kind::Size(1, 1_000_000_000), "fill of the receive buffer at which the host pauses the switch; it resumes the switch at half of that", host.receive_xoff),
    whole!("host.timeout", Kind::Time(US, 10_000 * SECOND), "retransmission timeout", host.timeout),
    whole!("host.retries", Kind::CountOrNone(0), "number of timeouts after which a queue pair without an answer gives up; none: it never gives up", host.retries),
    whole!("host.data-class", Kind::Count(0, 7), "class of data and acknowledgements", host.data_class),
    whole!("host.cnp-class", Kind::Count(0, 7), "class of congestion notification packets", host.cnp_class),
    flag!("host.cnp", &["packet", "ack"], "form of a congestion notification: a packet, or a flag on acknowledgements (the HPCC simulator)", host.cnp_on_ack),
    Parameter {
        name: "host.cnp-limit",
        meaning: "scope of dcqcn.cnp-interval: each queue pair, each address of a sender, or all notifications that leave the receiver's port",
        kind: Kind::Choice(&["queue-pair", "address", "port"]),
        get: |config, _| Some(Value::Whole(config.host.cnp_limit as u64)),
        set: |config, _, value| {
            config.host.cnp_limit = [CnpLimit::QueuePair, CnpLimit::Address, CnpLimit::Port][whole(value) as usize];
        },
    },
    part!("dcqcn.g", Real, Kind::Part, "gain of alpha", host.dcqcn => g),
    part!("dcqcn.alpha-timer", Whole, Kind::Time(1000, SECOND), "time without a notification after which alpha decays", host.dcqcn => alpha_timer),
    part!("dcqcn.cut-interval", Whole, Kind::Time(0, SECOND), "the rate is cut at most once in this time", host.dcqcn => cut_interval),
    part!("dcqcn.clamp-target", Flag, YES, "whether every cut takes the present rate as the new target, not only one after an increase", host.dcqcn => clamp_target),
    part!("dcqcn.max-cut", Real, Kind::Part, "the largest cut, as a part of the rate", host.dcqcn => max_cut),
    part!("dcqcn.increase-timer", Whole, Kind::Time(1000, SECOND), "rate-increase timer", host.dcqcn => increase_timer),
    part!("dcqcn.byte-counter", Whole, Kind::SizeOrNone(1000, 1_000_000_000_000), "bytes after which the byte counter counts a stage", host.dcqcn => byte_counter),
    part!("dcqcn.threshold", Whole, Kind::Count(0, 1000), "stages of fast recovery before the rate is probed", host.dcqcn => threshold),
    part!("dcqcn.additive", Real, Kind::Rate(0.0, 1e6), "additive increase", host.dcqcn => additive_mbps),
    part!("dcqcn.hyper", Real, Kind::Rate(0.0, 1e6), "hyper increase", host.dcqcn => hyper_mbps),
    part!("dcqcn.minimum", Real, Kind::Rate(0.001, 1e6), "the rate never falls below this", host.dcqcn => minimum_mbps),
    part!("dcqcn.cnp-interval", Whole, Kind::Time(0, SECOND), "a receiver sends a notification at most once in this time (host.cnp-limit: for a queue pair, to an address, or at all)", host.dcqcn => cnp_interval),
    whole!("switch.ingress-pool-lossy", POOL, "ingress pool of lossy classes", switch.ingress_pool[LOSSY]),
    whole!("switch.ingress-pool-lossless", POOL, "ingress pool of lossless classes", switch.ingress_pool[LOSSLESS]),
    whole!("switch.egress-pool-lossy", POOL, "egress pool of lossy classes", switch.egress_pool[LOSSY]),
    whole!("switch.egress-pool-lossless", POOL, "egress pool of lossless classes", switch.egress_pool[LOSSLESS]),
    whole!("switch.reserved", Kind::Size(0, 10_000_000), "bytes guaranteed to every ingress port and class, in addition to its pool", switch.reserved),
    whole!("switch.headroom", POOL, "headroom of every ingress port and lossless class", switch.headroom),
    whole!("switch.ingress-alpha-lossy", Kind::Share(128), "alpha of an ingress port and lossy class: its share of the free ingress pool", switch.ingress_alpha[LOSSY]),
    whole!("switch.ingress-alpha-lossless", Kind::Share(128), "alpha of an ingress port and lossless class; beyond that share the sender is paused", switch.ingress_alpha[LOSSLESS]),
    whole!("switch.xon-offset", Kind::Size(0, 1_000_000_000), "XON: bytes below XOFF at which a paused sender is resumed", switch.xon_offset),
    Parameter {
        name: "switch.watchdog",
        meaning: "what the PFC watchdog does to a queue that has been paused for too long",
        kind: Kind::Choice(&["off", "drop", "forward"]),
        get: |config, _| Some(Value::Whole(config.switch.watchdog.map_or(0, |one| if one.drop { 1 } else { 2 }))),
        set: |config, _, value| {
            let watchdog = config.switch.watchdog.unwrap_or_default();
            let action = whole(value);
            config.switch.watchdog = if action == 0 { None } else { Some(Watchdog { drop: action == 1, ..watchdog }) };
        },
    },
    part!("switch.watchdog-poll", Whole, Kind::Time(US, 100 * SECOND), "time between the watchdog's looks", switch.watchdog => poll),
    part!("switch.watchdog-detection", Whole, Kind::Count(1, 100), "looks in a row that find a queue paused before it acts", switch.watchdog => detection),
    part!("switch.watchdog-recovery", Whole, Kind::Time(US, 100 * SECOND), "how long it acts", switch.watchdog => recovery),
    Parameter {
        name: "switch.vxlan",
        meaning: "whether what goes from one switch with hosts to another is put into a tunnel",
        kind: YES,
        get: |config, _| Some(Value::Whole(u64::from(config.switch.vxlan.is_some()))),
        set: |config, _, value| {
            let standard = Vxlan { overhead: 50, copy_in: true, copy_out: true };
            let vxlan = config.switch.vxlan.unwrap_or(standard);
            config.switch.vxlan = if whole(value) == 1 { Some(vxlan) } else { None };
        },
    },
    part!("switch.vxlan-overhead", Whole, Kind::Size(50, 256), "bytes the tunnel adds to a frame: 50 over IPv4, 70 over IPv6", switch.vxlan => overhead),
    part!("switch.vxlan-copy-in", Flag, YES, "whether the tunnel's header says that the packet can be marked, as the packet does", switch.vxlan => copy_in),
    part!("switch.vxlan-copy-out", Flag, YES, "whether a mark on the tunnel's header is carried over to the packet at the end", switch.vxlan => copy_out),
    Parameter {
        name: "class.N.lossless",
        meaning: "whether senders of the class are paused in time (PFC), so that nothing is dropped",
        kind: YES,
        get: |config, class| Some(Value::Whole(u64::from(config.switch.classes[class].lossless))),
        set: |config, class, value| config.switch.classes[class].lossless = whole(value) == 1,
    },
    class!("class.N.service", Service, Kind::Service, "how ports serve the class: strict, or by weight", service),
    class!("class.N.egress-alpha", Whole, Kind::Share(128), "share of the free egress pool a queue may take", egress_alpha),
    class!("class.N.ecn", Ecn, Kind::Ecn, "marking: from the first threshold on with a chance that grows to the last number at the second, then always; by bytes, or percent of the queue's present share", ecn),
    Parameter {
        name: "class.N.ecn-at",
        meaning: "whether a packet is marked by what its queue holds when it comes, or when it leaves (thresholds in bytes only)",
        kind: Kind::Choice(&["enqueue", "dequeue"]),
        get: |config, class| Some(Value::Whole(u64::from(config.switch.classes[class].ecn_at_dequeue))),
        set: |config, class, value| config.switch.classes[class].ecn_at_dequeue = whole(value) == 1,
    },
    whole!("dlb.inactivity", Kind::Time(1000, SECOND), "idle time after which a flowlet may move", dlb.inactivity),
    whole!("dlb.flowsets", Kind::PowerOfTwo(1, 65536), "flowsets of a next-hop group", dlb.flowsets),
    whole!("dlb.period", Kind::Time(100_000, SECOND), "time between samples of port load", dlb.period),
    whole!("dlb.min", Kind::Percent, "load up to this is the best band", dlb.min),
    whole!("dlb.max", Kind::Percent, "load from this on is the worst band", dlb.max),
    whole!("dlb.rate-weight", Kind::Percent, "weight of the bytes sent, against the bytes that wait", dlb.rate_weight),
    whole!("dlb.reassign-chance", Kind::Count(0, 256), "an active flowlet moves with this chance (in 1/256) if a port is clearly better; 0: never", dlb.reassign_chance),
    whole!("dlb.quality-delta", Kind::Count(1, 7), "number of bands by which a port is clearly better", dlb.quality_delta),
    whole!("seed", Kind::Count(0, u64::MAX), "seed of hashes and marking", seed),
];

/// Names for what is often given; the data class's where it is a class's.
pub const SHORT: [(&str, &str); 4] = [
    (
        "buffer",
        "the switch's buffer, divided as a Junos switch does: lossless ingress 80 %, lossless egress all, lossy 10 % each",
    ),
    ("alpha", "class.N.egress-alpha of the data class"),
    ("ecn", "class.N.ecn of the data class"),
    ("lossless", "class.N.lossless of the data class"),
];
