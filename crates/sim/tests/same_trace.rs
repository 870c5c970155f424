//! Both engines give the same trace, on scenarios that pause, drop, mark and time out.

mod reference;

use std::sync::Arc;

use railweave_sim::balance::Balance;
use railweave_sim::config::{CnpLimit, Config, Ecn, Recovery, Service, Vxlan, Watchdog};
use railweave_sim::engine::Engine;
use railweave_sim::fault::{Change, Timeline};
use railweave_sim::hashing::mix;
use railweave_sim::packet::Ps;
use railweave_sim::routing::Fib;
use railweave_sim::topology::{NodeKind, Topology};
use railweave_sim::traffic::{Message, QueuePair, Traffic, Verb, Wait};
use reference::Reference;

/// Hosts' parameters, the profiles of switches and each node's, and the rest.
type Scenario = (Config, (Vec<Config>, Vec<u16>), Topology, Balance, Traffic, Timeline);

fn scenario(seed: u64) -> Scenario {
    let mut drawn = 0;
    let mut pick = |below: u64| {
        drawn += 1;
        mix(seed, drawn) % below
    };
    let delay = [50_000, 200_000, 1_000_000][pick(3) as usize];
    let topology = Topology::fat_tree(4, [100_000, 400_000][pick(2) as usize], delay);
    let mut config = Config { seed, ..Config::default() };
    let pool = [300_000, 1 << 20, 4 << 20, 51 << 20][pick(4) as usize];
    config.switch.ingress_pool = [pool, pool];
    config.switch.egress_pool = [pool, [pool, 2 * pool][pick(2) as usize]];
    config.switch.headroom = [0, 20_000, 200_000][pick(3) as usize];
    config.switch.ingress_alpha = [8 << 10, [64, 512, 1024, 4096][pick(4) as usize]];
    let class = &mut config.switch.classes[3];
    class.lossless = pick(3) > 0;
    class.egress_alpha = [1 << 10, 8 << 10][pick(2) as usize];
    class.ecn = match pick(4) {
        0 => Ecn::Off,
        1 => Ecn::Percent { min: 2, max: 90, most: 65536 },
        2 => Ecn::Bytes { min: 400_000, max: 1_600_000, most: 13107 },
        _ => Ecn::Bytes { min: 20_000, max: 100_000, most: 65536 },
    };
    if pick(2) == 0 {
        config.host.cnp_class = 2; // shares the port with the data by weight
        config.switch.classes[6].service = Service::Weighted(1);
    }
    config.switch.watchdog = match pick(3) {
        0 => None,
        drop => {
            Some(Watchdog { poll: 10_000_000, detection: 2, recovery: (1 + pick(50)) * 1_000_000, drop: drop == 1 })
        }
    };
    config.switch.vxlan = match pick(4) {
        0 => Some(Vxlan { overhead: 70, copy_in: pick(3) > 0, copy_out: pick(3) > 0 }),
        _ => None,
    };
    config.dlb.period = [1_000_000, 16_000_000][pick(2) as usize];
    config.dlb.inactivity = [1_000_000, 64_000_000][pick(2) as usize];
    config.dlb.reassign_chance = [0, 128][pick(2) as usize];
    config.dlb.quality_delta = 2;
    let balance = [Balance::Hash, Balance::Spray, Balance::Packet, Balance::Flowlet][pick(4) as usize];
    config.host.window = [16, 256, u32::MAX][pick(3) as usize];
    config.host.ack_every = [1, 4][pick(2) as usize];
    config.host.timeout = [200_000_000, 1_000_000_000][pick(2) as usize];
    if pick(3) == 0 {
        config.host.dcqcn = None;
    }
    let hosts = 16;
    let sink = pick(hosts);
    config.host.recovery = [Recovery::GoBackN, Recovery::Selective][pick(2) as usize];
    config.host.reorder = [0, 3, 64][pick(3) as usize];
    config.host.reth_on_every_packet = pick(2) == 0;
    config.host.cnp_on_ack = pick(3) == 0;
    config.host.cnp_limit = [CnpLimit::QueuePair, CnpLimit::Address, CnpLimit::Port][pick(3) as usize];
    config.host.post_cost = [0, 750_000][pick(2) as usize];
    config.host.receive_buffer = [100_000, 1 << 20][pick(2) as usize];
    config.host.receive_xoff = 50_000;
    if let Ecn::Bytes { .. } = config.switch.classes[3].ecn {
        config.switch.classes[3].ecn_at_dequeue = pick(2) == 0;
    }
    let mut traffic = Traffic::default();
    for _ in 0..pick(40) + 1 {
        let src = pick(hosts);
        let dst = if pick(2) == 0 { sink } else { pick(hosts) };
        let (src, dst) = (src as u32, (if dst == src { (src + 1) % hosts } else { dst }) as u32);
        let qp = traffic.pairs.len() as u32;
        traffic.pairs.push(QueuePair { src, dst, to: dst, back: src });
        for _ in 0..pick(4) + 1 {
            let bytes = [1, 4096, 100_000, 300_001][pick(4) as usize];
            let verb = [Verb::Write, Verb::WriteWithImmediate, Verb::Send][pick(3) as usize];
            traffic.messages.push(Message { verb, qp, bytes, start: pick(30) * 1_000_000, after: Arc::default() });
        }
        if pick(3) == 0 {
            // an answer that waits for the last two messages
            let last = traffic.messages.len() as u32 - 1;
            let mut after = if pick(2) == 0 { vec![last] } else { vec![last, last.saturating_sub(1)] };
            let told = pick(2) == 0; // what arrived at another host takes time to be known
            if !told {
                after.retain(|&one| traffic.pairs[traffic.messages[one as usize].qp as usize].dst == dst);
            }
            traffic.pairs.push(QueuePair { src: dst, dst: src, to: src, back: dst });
            let (start, verb) = (pick(3) * 500_000 + if told { delay + 1_000_000 } else { 0 }, Verb::Send);
            let wait = |message| Wait { message, delay: pick(2) * 700_000 };
            let after: Arc<[Wait]> = after.into_iter().map(wait).collect();
            // parts of one message wait for the same
            let (parts, qp) = (1 + seed % 3, qp + 1);
            let part = Message { verb, qp, bytes: 50_000 / parts, start, after };
            traffic.messages.extend((0..parts).map(|_| part.clone()));
        }
    }
    let mut changes = Vec::new();
    for _ in 0..pick(6) {
        let at = pick(200) * 1_000_000;
        let port = pick(topology.wires.len() as u64) as u32;
        match pick(6) {
            0 => {
                changes.push((at, Change::LinkDown(port)));
                changes.push((at + pick(300) * 1_000_000, Change::LinkUp(port)));
            }
            1 => changes.push((at, Change::Rate(port, (80 + pick(400)) << 16))),
            2 => changes.push((at, Change::Loss(port, 1 << (20 + pick(11))))),
            3 => {
                let node = pick(topology.kinds.len() as u64) as u32;
                changes.push((at, Change::NodeDown(node)));
                changes.push((at + pick(300) * 1_000_000, Change::NodeUp(node)));
            }
            4 => {
                let host = topology.first[pick(hosts) as usize];
                changes.push((at, Change::Receive(host, (200 + pick(800)) << 16)));
                changes.push((at + pick(300) * 1_000_000, Change::Receive(host, 0)));
            }
            _ => {
                let host = topology.first[pick(hosts) as usize];
                changes.push((at, Change::Storm(host, 3, true)));
                changes.push((at + pick(300) * 1_000_000, Change::Storm(host, 3, false)));
            }
        }
    }
    let own = |node: usize| config.switch.vxlan.is_none() && node.is_multiple_of(3) && seed.is_multiple_of(2);
    let mut other = Config { seed: seed + 1, ..config };
    other.switch.classes[3].ecn = Ecn::Bytes { min: 10_000, max: 50_000, most: 30_000 };
    other.switch.ingress_pool[1] *= 2;
    other.switch.watchdog = None;
    other.dlb.inactivity *= 2;
    let of = (0..topology.kinds.len()).map(|node| u16::from(own(node))).collect();
    (config, (vec![config, other], of), topology, balance, traffic, Timeline::new(changes))
}

/// Ports of switches without PFC, and without marking: in half of all scenarios there are none.
fn without(seed: u64, topology: &Topology) -> [Vec<u32>; 2] {
    let of_switch = |port: &u32| topology.kinds[topology.owner[*port as usize] as usize] == NodeKind::Switch;
    let ports = || (0..topology.wires.len() as u32).filter(of_switch);
    [1, 2].map(|what| {
        let drawn = |port: &u32| mix(seed, what << 32 | u64::from(*port)) % 4 < mix(seed, what) % 4;
        if seed.is_multiple_of(2) { Vec::new() } else { ports().filter(drawn).collect() }
    })
}

#[test]
fn the_engines_agree() {
    let mut sums = [0u64; 12];
    // SEEDS=100000 cargo test --release --test same_trace: as long as one likes
    let seeds = std::env::var("SEEDS").map_or(400, |count| count.parse().expect("SEEDS is a number"));
    for seed in 0..seeds {
        let (config, (profiles, of), topology, balance, traffic, timeline) = scenario(seed);
        let fib = Fib::shortest(&topology).balanced(balance);
        let [without_pfc, without_ecn] = without(seed, &topology);
        let mut fast = Engine::with_profiles(config, profiles.clone(), &of, &topology, fib.clone(), &traffic)
            .with_changes(timeline.clone())
            .without_pfc(&without_pfc)
            .without_ecn(&without_ecn);
        // the reference has every list for itself
        let mut alone = traffic.clone();
        alone.messages.iter_mut().for_each(|message| message.after = message.after.iter().copied().collect());
        let plain = Reference::new(config, (profiles, of), &topology, fib, &alone, timeline);
        let mut plain = plain.without(&without_pfc, &without_ecn);
        let limit: Ps = 20_000_000_000;
        fast.run(limit);
        plain.run(limit);
        assert_eq!(fast.arrivals(), plain.arrivals(), "seed {seed}");
        assert_eq!(fast.counters, plain.counters, "seed {seed}");
        let c = fast.counters;
        for (sum, part) in sums.iter_mut().zip([
            c.dropped_ingress,
            c.dropped_egress,
            c.pauses,
            c.marked,
            c.cnps,
            c.timeouts,
            c.retransmitted,
            c.dropped_down,
            c.lost_on_wire,
            c.dropped_watchdog,
            c.watchdog_acts,
            c.dropped_receiver,
        ]) {
            *sum += part;
        }
    }
    assert!(sums.iter().all(|&sum| sum > 0), "some mechanism was never used: {sums:?}");
}
