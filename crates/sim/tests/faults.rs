//! Faults through the command: each does what it is called, and forwarding follows where it is told to.

use std::path::PathBuf;
use std::process::{Command, Output};

use railweave_sim::fault::Change;
use railweave_sim::input::network::Network;
use railweave_sim::input::{faults, shapes, topology_file};
use railweave_sim::reroute::follow;
use railweave_sim::routing::{Fib, NO_GROUP, ONE_PORT};
use railweave_sim::work::whole;
use serde_json::Value;

fn run(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railweave-sim"));
    command.args(words.split_whitespace()).output().expect("the binary was built")
}

/// The result, and whether every flow finished.
fn json(words: &str) -> (Value, bool) {
    let output = run(&format!("{words} --json"));
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("one JSON object"), code == Some(0))
}

/// A file in a folder of cargo's own.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Two hosts and a switch, and a flow from the first to the second.
fn pair(name: &str, bytes: &str) -> String {
    let flows = path(name);
    std::fs::write(&flows, format!("src,dst,bytes,start_us\nh0,h1,{bytes},0\n")).expect("cargo's own folder");
    format!("--topology star:hosts=2 --cc none --flows {}", flows.display())
}

fn fct(result: &Value) -> f64 {
    result["flows"][0]["fct_us"].as_f64().expect("the flow finished")
}

/// The sum of a column of a series over the rows of a port from one node to another.
fn sum(file: &PathBuf, node: &str, peer: &str, column: &str) -> f64 {
    let text = std::fs::read_to_string(file).expect("it was written");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines.next().expect("a header").iter().position(|name| *name == column).expect("a column");
    let rows = lines.filter(|row| row[1] == node && row[3] == peer);
    rows.map(|row| row[place].parse::<f64>().expect("a number")).sum()
}

#[test]
fn a_broken_link_loses_what_it_carries_until_it_works_again() {
    let words = pair("down.csv", "4MB");
    let (result, complete) = json(&format!("{words} --fault link-down:link=switch-h1,at=50us,until=300us"));
    assert!(complete);
    let reasons = &result["dropped_by_reason"];
    assert!(reasons["link_down"].as_u64() > Some(0) && reasons["lost_on_wire"].as_u64() > Some(0), "{reasons}");
    // 250 us of the line, less what was on its way, is dropped or sent again; nothing is heard for a timeout of 4 ms
    assert!(fct(&result) > 4_000.0 && fct(&result) < 4_200.0, "{}", fct(&result));
    let (result, complete) = json(&format!("{words} --fault link-down:link=switch-h1,at=50us"));
    assert!(!complete);
    assert_eq!(result["end"], "stuck");
}

/// A queue pair sends again after every timeout without news, as often as it may; one that may once more sees the link work.
#[test]
fn a_queue_pair_gives_up_after_its_retries() {
    let words = pair("retries.csv", "4MB");
    let broken = format!("{words} --fault link-down:link=switch-h1,at=50us,until=1000us --set host.timeout=300us");
    let failed = |result: &Value| result["failed_queue_pairs"].as_u64().expect("it is counted");
    for retries in [0, 1, 2, 3] {
        let (result, complete) = json(&format!("{broken} --set host.retries={retries}"));
        assert!(!complete && failed(&result) == 1, "{retries} retries: {result}");
    }
    for retries in ["4", "none"] {
        let (result, complete) = json(&format!("{broken} --set host.retries={retries}"));
        assert!(complete && failed(&result) == 0, "{retries} retries: {result}");
        assert!(fct(&result) > 1_000.0, "{}", fct(&result));
    }
}

#[test]
fn a_run_waits_for_the_end_of_a_long_fault() {
    // 100 timeouts of 20 us are less than the fault lasts
    let words = pair("long.csv", "4MB");
    let words = format!("{words} --set host.timeout=20us --fault link-down:link=h0-switch,at=1us,until=10ms");
    let (result, complete) = json(&words);
    assert!(complete && fct(&result) > 10_000.0, "{}", result["end"]);
}

#[test]
fn a_node_that_fails_takes_all_its_links_with_it() {
    let words = pair("node.csv", "4MB");
    let (result, complete) = json(&format!("{words} --fault node-down:node=switch,at=50us,until=60us"));
    assert!(complete);
    assert!(result["dropped_by_reason"]["lost_on_wire"].as_u64() > Some(0));
    assert!(!json(&format!("{words} --fault node-down:node=h1,at=50us")).1);
}

#[test]
fn a_slower_link_takes_as_much_longer() {
    let words = pair("rate.csv", "4096000");
    let slow = fct(&json(&format!("{words} --fault rate:link=h0-switch,speed=100G")).0);
    // frames of 4158 bytes and gaps of 20 at 100 Gb/s, the last also at 400 Gb/s; two delays; RETH once at each
    let expected = (1000.0 * 4178.0 + 16.0) * 80e-6 + 4178.0 * 20e-6 + 2.0;
    assert!((slow - expected).abs() < 0.002, "{slow} against {expected}");
    // slow for 100 us of those that it takes at full rate: three quarters of these are lost
    let (whole, part) =
        (fct(&json(&words).0), fct(&json(&format!("{words} --fault rate:link=switch-h0,speed=100G,until=40us")).0));
    assert!((part - whole - 30.0).abs() < 0.5, "{part} against {whole}");
}

#[test]
fn a_lossy_link_loses_its_part_of_the_packets() {
    let words = pair("loss.csv", "40960000");
    let recovery = "--set host.recovery=selective";
    let (result, complete) = json(&format!("{words} {recovery} --fault loss:from=h0,to=switch,chance=1%"));
    assert!(complete);
    let lost = result["dropped_by_reason"]["lost_on_wire"].as_f64().expect("a count");
    // 10,000 packets: a hundred, and three standard deviations of a binomial draw
    assert!((lost - 100.0).abs() < 30.0, "{lost}");
    assert!(result["retransmitted_packets"].as_f64() >= Some(lost));
    // the other way go acknowledgements, each of which says what those before it did
    let (result, _) = json(&format!("{words} --fault loss:from=switch,to=h0,chance=1%"));
    assert!(result["dropped_by_reason"]["lost_on_wire"].as_u64() > Some(0));
    assert_eq!(fct(&result), fct(&json(&words).0));
}

#[test]
fn a_slow_receiver_pauses_its_switch() {
    let (words, file) = (pair("slow.csv", "8MB"), path("slow-series.csv"));
    let series = format!("--series {}", file.display());
    let (result, complete) = json(&format!("{words} {series} --fault slow-receiver:host=h1,speed=100G"));
    assert!(complete);
    assert_eq!(result["dropped_packets"], 0);
    // 8 MB in frames of 4158 bytes at 100 Gb/s; what ends its stay in the buffer has arrived
    let expected = 8e6 / 4096.0 * 4158.0 * 8.0 / 1e5;
    assert!((fct(&result) - expected).abs() < 0.02 * expected, "{} against {expected}", fct(&result));
    assert!(sum(&file, "switch", "h1", "pfc_rx") > 0.0);
    assert_eq!(sum(&file, "switch", "h1", "pfc_rx"), sum(&file, "h1", "switch", "pfc_tx"));
}

#[test]
fn a_pfc_storm_stops_a_class_for_as_long() {
    let (words, file) = (pair("storm.csv", "4MB"), path("storm-series.csv"));
    let series = format!("--series {}", file.display());
    let plain = fct(&json(&words).0);
    let storm = |class: u8| format!("{words} {series} --fault pfc-storm:host=h1,class={class},at=20us,until=120us");
    let stopped = fct(&json(&storm(3)).0);
    assert!((stopped - plain - 100.0).abs() < 1.0, "{stopped} against {plain}");
    assert!((sum(&file, "switch", "h1", "paused_us") - 100.0).abs() < 0.5);
    assert!((fct(&json(&storm(5)).0) - plain).abs() < 0.1, "another class");
}

/// Flows across two spines, by more of them than either takes alone.
const ACROSS: &str = "--topology leaf-spine:leaves=2,spines=2,hosts=8 --traffic permutation:bytes=1MB";

#[test]
fn flows_survive_a_dead_spine_where_forwarding_follows() {
    let fault = "--fault node-down:node=spine0,at=5us";
    let (dead, complete) = json(&format!("{ACROSS} {fault}"));
    assert!(!complete, "ECMP goes on to use the dead spine");
    assert_eq!(dead["end"], "stuck");
    let unfinished = |result: &Value| {
        result["flows"].as_array().expect("a list").iter().filter(|flow| flow["fct_us"].is_null()).count()
    };
    assert!(unfinished(&dead) > 0 && unfinished(&dead) < 16, "some are across the other");
    let (result, complete) = json(&format!("{ACROSS} {fault} --reroute 1ms"));
    assert!(complete, "{} unfinished", unfinished(&result));
    // those that met the dead spine wait for their timeout of 4 ms, when forwarding has followed
    let last = result["time_us"].as_f64().expect("a number");
    assert!(last > 4_000.0 && last < 4_500.0, "{last}");
    // where it follows after the first timeout the second is needed
    let late = json(&format!("{ACROSS} {fault} --reroute 6ms")).0["time_us"].as_f64().expect("a number");
    assert!(late > 8_000.0 && late < 8_500.0, "{late}");
}

fn network() -> Network {
    shapes::network("--topology", "leaf-spine:leaves=2,spines=2,hosts=2,links=2").expect("a good shape")
}

#[test]
fn forwarding_is_by_shortest_paths_over_what_works() {
    let network = network();
    let topology = &network.topology;
    let texts = [
        "link-down:link=leaf0-spine0,cable=1,at=1us,until=4us",
        "node-down:node=spine1,at=2us,until=3us",
        "link-down:link=h0-leaf0,at=2us",
        "loss:from=h1,to=leaf0,chance=1%,at=2us",
    ];
    let broken = faults::faults("--fault", texts, &network).expect("good faults");
    let mut fib = Fib::shortest(topology);
    let mut table = fib.group.clone();
    let changes = whole(|work| follow(&mut fib, topology, &broken, 500_000, work));
    let (leaf0, leaf1) =
        (network.node("leaf0").expect("it is there") as usize, network.node("leaf1").expect("and this") as usize);
    // the ports by which a switch sends to host h3 (on leaf1), or h1 (on leaf0), after all changes until a time
    let mut after = |until: u64, node: usize, host: u32| {
        for &(_, change) in changes.iter().filter(|change| change.0 <= until) {
            let Change::Route { node, address, group } = change else { panic!("{change:?}") };
            table[fib.place(node as usize, address)] = group;
        }
        match table[fib.place(node, host)] {
            NO_GROUP => vec![],
            group if group & ONE_PORT != 0 => vec![(group & !ONE_PORT) as u16],
            group => fib.ports(&fib.groups[group as usize]).to_vec(),
        }
    };
    // leaves have two hosts, then two cables to spine0 and two to spine1
    assert_eq!(after(1_000_000, leaf0, 3), [2, 3, 4, 5]);
    assert_eq!(after(1_500_000, leaf0, 3), [2, 4, 5]);
    assert_eq!(after(1_500_000, leaf1, 1), [2, 3, 4, 5], "spine0 still reaches leaf0");
    assert_eq!(after(2_500_000, leaf0, 3), [2]);
    assert_eq!(after(2_500_000, leaf1, 1), [2, 3]);
    assert_eq!(after(2_500_000, leaf1, 0), [0u16; 0], "h0 has no link");
    assert_eq!(after(3_500_000, leaf0, 3), [2, 4, 5]);
    assert_eq!(after(4_500_000, leaf0, 3), [2, 3, 4, 5]);
    assert_eq!(changes.last().expect("there are some").0, 4_500_000);
}

#[test]
fn names_with_dashes_are_told_apart() {
    let text = "default link speed=400G delay=1us\nhost a-b\nhost c\nswitch a\nswitch b-c\nswitch x\n\
        link a-b x\nlink c x\nlink a x\nlink a b-c\n";
    let network = topology_file::network("net.txt", text).expect("a good file");
    let faults = |text: &str| faults::faults("--fault", [text], &network);
    let port = network.topology.first[network.node("a").expect("it is there") as usize] + 1;
    let found = faults("link-down:link=a-b-c").expect("a and b-c: nothing joins a-b and c");
    assert_eq!(found[0].begin, [Change::LinkDown(port)]);
    assert_eq!(faults("link-down:link=b-c-a").expect("the other way round")[0].begin, [Change::LinkDown(port)]);
    let text = format!("{text}host e-f\nswitch e\nswitch f-g\nswitch g\nlink e-f g\nlink e f-g\nlink e x\nlink g x\n");
    let network = topology_file::network("net.txt", &text).expect("a good file");
    let error = faults::faults("--fault", ["link-down:link=e-f-g"], &network).expect_err("two links have that name");
    assert_eq!(
        error.to_string(),
        r#"--fault: link: "e-f-g" may be "e" and "f-g", or "e-f" and "g"; give nodes names without dashes"#
    );
}

#[test]
fn mistakes_in_faults() {
    let network = network();
    for (texts, error) in [
        (&["link-dwn:link=h0-leaf0"][..], r#"--fault: "link-dwn" is unknown; did you mean "link-down"?"#),
        (&["link-down"], "--fault: link-down needs link (nothing is given); add link=…"),
        (&["link-down:link=h0-leaf0,form=1us"], r#"--fault: link-down has no "form"; known: link, cable, at, until"#),
        (&["link-down:link=leaf0-spine9"], r#"--fault: link: no node is named "spine9"; did you mean "spine0"?"#),
        (&["link-down:link=leef0-spine1"], r#"--fault: link: no node is named "leef0"; did you mean "leaf0"?"#),
        (
            &["link-down:link=leaf0"],
            r#"--fault: link: "leaf0" is no link; write the names of two nodes, such as leaf0-spine0"#,
        ),
        (&["link-down:link=h0-leaf1"], r#"--fault: no link joins "h0" and "leaf1"; "h0" has links to: leaf0"#),
        (&["link-down:link=leaf0-spine0,cable=2"], "--fault: cable: 2 is too large; give a whole number from 0 to 1"),
        (&["node-down:node=spine0,at=2ms,until=1ms"], "--fault: until (1ms) is not after at (2ms); give a later until"),
        (
            &["node-down:node=spine0,at=5"],
            r#"--fault: at: "5" is no time; give a number and a unit, such as 1us or 50ns; units: ps, ns, us, ms, s"#,
        ),
        (
            &["node-down:node=spine0,at=2000s"],
            "--fault: at: 2000s is later than 1000 seconds; give a time such as 100us",
        ),
        (&["rate:link=h0-leaf0,speed=0G"], "--fault: speed: 0G is no speed of a link; give 1M to 10T"),
        (
            &["loss:from=h0,to=leaf0,chance=0.1"],
            r#"--fault: chance: "0.1" is no chance; give a percentage such as 0.1%, 100% at most"#,
        ),
        (
            &["loss:from=h0,to=leaf0,chance=0%"],
            r#"--fault: chance: "0%" is no chance; give a percentage such as 0.1%, 100% at most"#,
        ),
        (&["slow-receiver:host=leaf0,speed=1G"], r#"--fault: host: "leaf0" is a switch; name a host"#),
        (&["pfc-storm:host=h0,class=8"], "--fault: class: 8 is too large; give a whole number from 0 to 7"),
        (
            &["rate:link=h0-leaf0,speed=1G,until=2us", "rate:link=leaf0-h0,speed=2G,at=1us"],
            r#"--fault: "rate:link=leaf0-h0,speed=2G,at=1us" overlaps another fault of its kind at the same place; let one end before the other begins"#,
        ),
    ] {
        let found = faults::faults("--fault", texts.iter().copied(), &network).expect_err("a bad fault");
        assert_eq!(found.to_string(), error);
    }
    let output = run(&format!("{ACROSS} --reroute 1ms"));
    assert_eq!(output.status.code(), Some(2));
    let text = "railweave-sim: --reroute: there is no fault to follow; give --fault with it\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), text);
}

#[test]
fn a_fault_may_begin_when_another_ends() {
    let network = network();
    let texts = ["rate:link=h0-leaf0,speed=1G,at=2us,until=3us", "rate:link=h0-leaf0,speed=2G,at=1us,until=2us"];
    let both = faults::faults("--fault", texts, &network).expect("good faults");
    let changes = railweave_sim::fault::Fault::changes(&both);
    let at_two: Vec<Change> = changes.iter().filter(|change| change.0 == 2_000_000).map(|change| change.1).collect();
    assert_eq!(at_two, [both[1].end[0], both[0].begin[0]], "in this order");
}

#[test]
fn the_verb_decides_the_headers() {
    let words = pair("verb.csv", "4096");
    let bytes = |verb: &str| (fct(&json(&format!("{words} --verb {verb}")).0) - 2.0) / 2.0 * 400e3 / 8.0;
    // frame and gap, stored and forwarded once: a write has a RETH, with immediate 4 bytes more, a send neither
    for (verb, expected) in [("write", 4194.0), ("write-imm", 4198.0), ("send", 4178.0)] {
        assert!((bytes(verb) - expected).abs() < 0.5, "{verb}: {}", bytes(verb));
    }
}

#[test]
fn the_page_has_every_fault_and_its_example_gives_what_it_says() {
    let page = include_str!("../../../docs/engine.md");
    for (kind, example) in faults::FAULTS {
        assert!(page.contains(&format!("| `{kind}:")), "docs/engine.md does not have {kind}");
        let error = faults::faults("--fault", [example], &network()).err();
        assert_eq!(error, None, "{example}");
    }
    let script = include_str!("../../../examples/raw/dead-spine.sh");
    let call = script.split_once("target/release/railweave-sim ").expect("it calls the engine").1;
    let call = call.trim_end().trim_end_matches(" \"$@\"");
    assert!(page.contains(call), "docs/engine.md has not the call of dead-spine.sh");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let file = path("dead-spine.csv");
    let words = call.replace("\\\n", " ").replace("examples/", &format!("{root}examples/"));
    let (result, complete) = json(&words.replace("dead-spine.csv", &file.display().to_string()));
    let time = result["time_us"].to_string();
    assert!(complete && page.contains(&format!("finishes after {time} us")), "{time}");
    assert!(sum(&file, "leaf0", "spine1", "dropped_packets") > 0.0);
    assert!(sum(&file, "leaf0", "spine0", "tx_bytes") > 8e6, "everything goes by the other spine");
}
