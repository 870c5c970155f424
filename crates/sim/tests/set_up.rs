//! Setting up an engine: what messages share is worked out once, and the work can be stopped.

use std::sync::Arc;

use railweave_sim::config::Config;
use railweave_sim::engine::Engine;
use railweave_sim::flow::{FlowEngine, Options};
use railweave_sim::hashing::mix;
use railweave_sim::input::shapes;
use railweave_sim::routing::Fib;
use railweave_sim::topology::Topology;
use railweave_sim::traffic::{Message, QueuePair, Traffic, Verb, Wait};
use railweave_sim::work::{Stopped, Work, whole};

/// Every host sends to every other over so many queue pairs; the parts of a transfer wait for those that its host received
/// in the round before.
fn all_to_all(hosts: u32, parts: u32) -> Traffic {
    let mut traffic = Traffic::default();
    for round in 1..hosts {
        for src in 0..hosts {
            let dst = (src + round) % hosts;
            let wait = |part: u32| {
                let sender = (src + hosts - (round - 1)) % hosts;
                Wait { message: ((round - 2) * hosts + sender) * parts + part, delay: 1_000_000 }
            };
            let after: Arc<[Wait]> = if round == 1 { Arc::default() } else { (0..parts).map(wait).collect() };
            for _ in 0..parts {
                let qp = traffic.pairs.len() as u32;
                traffic.pairs.push(QueuePair { src, dst, to: dst, back: src });
                let message = Message { verb: Verb::Write, qp, bytes: 4096, start: 0, after: after.clone() };
                traffic.messages.push(message);
            }
        }
    }
    traffic
}

fn star(hosts: u32) -> Topology {
    shapes::network("--topology", &format!("star:hosts={hosts},delay=500ns")).expect("a good shape").topology
}

type SetUp = fn(&Topology, &Traffic, &mut Work<'_>) -> Result<(), Stopped>;

fn packets(topology: &Topology, traffic: &Traffic, work: &mut Work<'_>) -> Result<(), Stopped> {
    let (config, of) = (Config::default(), vec![0; topology.kinds.len()]);
    let fib = Fib::find_shortest(topology, work)?;
    assert_eq!(traffic.circle(work)?, None);
    Engine::set_up((config, vec![config], &of), topology, fib, traffic, work).map(drop)
}

fn flows(topology: &Topology, traffic: &Traffic, work: &mut Work<'_>) -> Result<(), Stopped> {
    let (config, of) = (Config::default(), vec![0; topology.kinds.len()]);
    let fib = Fib::find_shortest(topology, work)?;
    let set_up = ((config, &[config][..], &of[..]), traffic.clone());
    FlowEngine::set_up(set_up.0, topology, fib.into(), set_up.1, Options::default(), work).map(drop)
}

const ENGINES: [(&str, SetUp); 2] = [("packets", packets), ("flows", flows)];

fn steps(set_up: SetUp, hosts: u32, parts: u32) -> u64 {
    let mut never = || false;
    let mut work = Work::new(&mut never);
    set_up(&star(hosts), &all_to_all(hosts, parts), &mut work).expect("nobody stops it");
    work.steps()
}

#[test]
fn a_message_of_a_larger_all_to_all_takes_as_many_steps() {
    for (name, set_up) in ENGINES {
        for parts in [1, 8] {
            let each = |hosts: u32| steps(set_up, hosts, parts) as f64 / f64::from(hosts * (hosts - 1) * parts);
            let (small, large) = (each(12), each(24));
            assert!(
                large <= 1.2 * small,
                "{name}, {parts} parts: {small} steps a message, and {large} of twice the hosts"
            );
            assert!(small >= 3.0, "{name}: no loop is left out: {small}");
        }
        // all parts of a transfer wait for all parts of another: they look at them once, not each
        let each = |parts: u32| steps(set_up, 16, parts) as f64 / f64::from(16 * 15 * parts);
        assert!(each(32) <= 1.2 * each(4), "{name}: {} steps with 32 parts, {} with 4", each(32), each(4));
    }
}

#[test]
fn set_up_ends_wherever_it_is_stopped() {
    let (topology, traffic) = (star(32), all_to_all(32, 8));
    for (name, set_up) in ENGINES {
        let mut asked = 0;
        let mut count = || {
            asked += 1;
            false
        };
        set_up(&topology, &traffic, &mut Work::new(&mut count)).expect("nobody stops it");
        assert!(asked >= 4, "{name} asks {asked} times");
        for last in 1..=asked {
            let mut left = last;
            let mut stop = || {
                left -= 1; // asked once more after that, it would be below zero
                left == 0
            };
            assert_eq!(set_up(&topology, &traffic, &mut Work::new(&mut stop)), Err(Stopped), "{name}: {last}");
        }
    }
}

/// Whether messages can be sent one after another: a plain reading of what `Traffic::circle` looks for.
fn can_be_sent(traffic: &Traffic) -> bool {
    let mut sent = vec![false; traffic.messages.len()];
    loop {
        let ready = |(number, message): (usize, &Message)| {
            let earlier = traffic.messages[..number].iter().zip(&sent).filter(|one| one.0.qp == message.qp);
            !sent[number]
                && message.after.iter().all(|wait| sent[wait.message as usize])
                && earlier.into_iter().all(|one| *one.1)
        };
        match traffic.messages.iter().enumerate().find(|&one| ready(one)) {
            Some((number, _)) => sent[number] = true,
            None => return sent.iter().all(|&sent| sent),
        }
    }
}

/// All that must be sent before a message.
fn before(traffic: &Traffic, message: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut look = vec![message];
    while let Some(one) = look.pop() {
        let own = &traffic.messages[one as usize];
        let queued = (0..one).filter(|&other| traffic.messages[other as usize].qp == own.qp);
        for other in own.after.iter().map(|wait| wait.message).chain(queued) {
            if !found.contains(&other) {
                found.push(other);
                look.push(other);
            }
        }
    }
    found
}

#[test]
fn circles_are_found_through_lists_that_messages_share() {
    let mut circles = 0;
    for index in 0..2_000 {
        let mut drawn = (0..).map(|number| mix(index, number));
        let mut below = |count: u64| (drawn.next().expect("it is endless") % count) as u32;
        let pair = QueuePair { src: 0, dst: 1, to: 1, back: 0 };
        let mut traffic = Traffic { pairs: vec![pair; 4], ..Traffic::default() };
        let count = 2 + below(6);
        let mut after: Arc<[Wait]> = Arc::default();
        for _ in 0..count {
            if below(2) == 0 {
                after = (0..below(3)).map(|_| Wait { message: below(count.into()), delay: 0 }).collect();
            }
            let message = Message { verb: Verb::Send, qp: below(4), bytes: 1, start: 0, after: after.clone() };
            traffic.messages.push(message);
        }
        let circle = whole(|work| traffic.circle(work));
        assert_eq!(circle.is_none(), can_be_sent(&traffic), "{index}: {circle:?} of {traffic:?}");
        if let Some(message) = circle {
            circles += 1;
            assert!(before(&traffic, message).contains(&message), "{index}: {message} of {traffic:?}");
        }
    }
    assert!((200..1_800).contains(&circles), "{circles} of 2,000 have one");
}
