//! The command, from outside: output, exit codes, signals.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use railweave_sim::command::progress::{Standing, line};
use serde_json::Value;

fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railweave-sim"));
    command.args(words.split_whitespace());
    command
}

fn run(words: &str) -> Output {
    command(words).output().expect("the binary was built")
}

fn json(words: &str) -> Value {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn fails(words: &str) -> (Option<i32>, String) {
    let output = run(words);
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a folder of cargo's own");
    path
}

const SMALL: &str = "--topology fat-tree:k=4 --traffic permutation:bytes=1MB";

#[test]
fn json_has_the_fixed_names() {
    let result = json(&format!("{SMALL} --json"));
    for name in [
        "time_us",
        "engine",
        "data_packet_hops",
        "packet_hops",
        "events",
        "wall_s",
        "peak_memory_MB",
        "delivered_packets",
        "dropped_packets",
        "retransmitted_packets",
        "ecn_marked_packets",
        "cnps",
        "pfc_pauses",
        "pfc_pause_us",
        "trace_checksum",
        "flows",
        "parameters",
        "seed",
        "complete",
    ] {
        assert!(!result[name].is_null(), "{name} is missing");
    }
    assert_eq!(result["engine"], "packet");
    assert_eq!(result["complete"], true);
    let flows = result["flows"].as_array().expect("a list");
    assert_eq!(flows.len(), 16);
    let mut names: Vec<&String> = flows[0].as_object().expect("an object").keys().collect();
    names.sort();
    assert_eq!(names, ["bytes", "dst", "fct_us", "src", "start_us"]);
    let last = flows.iter().filter_map(|flow| flow["fct_us"].as_f64()).fold(0.0, f64::max);
    assert_eq!(result["time_us"].as_f64(), Some(last), "all start at 0");
    let packets = 16 * 1_000_000u64.div_ceil(4096);
    assert_eq!(result["delivered_packets"].as_u64(), Some(packets));
    assert_eq!(result["trace_checksum"].as_str().map(str::len), Some(16));
}

#[test]
fn a_lone_flow_takes_what_arithmetic_says() {
    let flows = file("lone.csv", "src,dst,bytes,start_us\nh0,h1,4096,2.5\n");
    let result = json(&format!("--topology star:hosts=2,speed=400G,delay=1us --json --flows {}", flows.display()));
    // a frame of 4096 + 62 + 16 bytes and a gap of 20, twice (store and forward), and two delays
    let expected = 2.0 * (4194.0 * 8.0 / 400e3 + 1.0);
    let flow = &result["flows"][0];
    assert!((flow["fct_us"].as_f64().expect("it finished") - expected).abs() < 1e-5, "{flow}");
    assert_eq!(flow["start_us"], 2.5);
    assert_eq!((&result["data_packet_hops"], &result["packet_hops"]), (&Value::from(2), &Value::from(4)));
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let sum = |seed: u32| json(&format!("{SMALL} --json --seed {seed}"))["trace_checksum"].clone();
    assert_eq!(sum(1), sum(1));
    assert_ne!(sum(1), sum(2));
}

#[test]
fn load_balancing_and_congestion_control_matter() {
    let sum = |options: &str| json(&format!("{SMALL} --json {options}"))["trace_checksum"].to_string();
    let mut sums: Vec<String> = [
        "--lb ecmp",
        "--lb spray",
        "--lb dlb --set dlb.period=1us --set dlb.inactivity=1us",
        "--lb dlb-per-packet --set dlb.period=1us",
        "--cc none",
        "--dcqcn hpcc",
        "--mtu 1024",
        "--window 16",
    ]
    .map(sum)
    .into();
    sums.sort();
    sums.dedup();
    assert_eq!(sums.len(), 8);
}

#[test]
fn without_pfc_an_incast_drops() {
    let incast = "--topology star:hosts=16 --traffic incast:degree=15,bytes=4MB --cc none --buffer 16MB --json";
    let lossless = json(incast);
    assert_eq!(lossless["dropped_packets"], 0);
    assert!(lossless["pfc_pauses"].as_u64() > Some(0));
    let lossy = json(&format!("{incast} --lossy"));
    assert_eq!(lossy["pfc_pauses"], 0);
    assert!(lossy["dropped_packets"].as_u64() > Some(0));
    assert!(lossy["retransmitted_packets"].as_u64() > Some(0));
}

#[test]
fn a_topology_file_runs() {
    let net = file(
        "net.txt",
        "default link speed=400G delay=1us\ndefault switch buffer=64MB alpha=8\n\
         switch s0\nswitch s1\nhost a\nhost b\nlink a s0\nlink b s1\nlink s0 s1 cables=2\n",
    );
    let flows = file("ab.csv", "src,dst,bytes,start_us\na,b,8M,0\n");
    let output = run(&format!("--topology {} --flows {}", net.display(), flows.display()));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(table.starts_with("flows           1\ncompletion, us  min "), "{table}");
}

#[test]
fn every_switch_has_its_own_parameters() {
    let marked = |s0: &str, s1: &str| {
        let text = format!(
            "default link speed=400G delay=1us\nswitch s0 {s0}\nswitch s1 {s1}\nhost a\nhost b\nhost c\n\
            link a s0\nlink b s0\nlink c s1\nlink s0 s1\n"
        );
        let net = file("differ.txt", &text);
        let flows = file("differ.csv", "src,dst,bytes,start_us\na,c,8M,0\nb,c,8M,0\n");
        json(&format!("--topology {} --flows {} --json", net.display(), flows.display()))["ecn_marked_packets"].as_u64()
    };
    // two hosts meet at s0; nothing ever waits at s1
    assert!(marked("", "") > Some(0));
    assert_eq!(marked("ecn=off", ""), Some(0));
    assert_eq!(marked("", "ecn=off"), marked("", ""));
}

#[test]
fn what_does_not_finish_is_told() {
    let output = run(&format!("{SMALL} --json --until 20us"));
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(
        (&result["complete"], &result["end"], &result["time_us"]),
        (&false.into(), &"until".into(), &20.0.into())
    );
    assert!(result["flows"][0]["fct_us"].is_null());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "railweave-sim: 16 of 16 flows did not finish (until)\n");
}

#[test]
fn a_run_that_is_stuck_ends() {
    // no packet ever fits the buffer
    let output = run(
        "--topology star:hosts=2 --traffic permutation:bytes=1MB --set switch.egress-pool-lossless=1KB --set alpha=0.1 --json",
    );
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&result["end"], &result["delivered_packets"]), (&"stuck".into(), &0.into()));
}

#[test]
fn mistakes_have_file_line_and_exit_code() {
    let flows = file("bad.csv", "src,dst,bytes,start_us\nh0,h1,8M,0\nh0,h77,8M,0\n");
    let (code, text) = fails(&format!("--topology star:hosts=16 --flows {}", flows.display()));
    assert_eq!(code, Some(2));
    assert_eq!(text, format!("railweave-sim: {}:3: no host is named \"h77\"; did you mean \"h7\"?\n", flows.display()));
    for (words, error) in [
        ("--topologie x", "--topologie: there is no such option; did you mean \"--topology\"?"),
        ("--json --json", "--json: the option is given twice; give it once"),
        ("--json=1", "--json: the option takes no value; write --json"),
        ("--until", "--until: the option needs a value; write --until TIME"),
        (
            "star",
            "star: options only are understood; give the network with --topology, and what it carries with --flows or --traffic",
        ),
        (
            "--json",
            "--topology: there is no network; give a shape such as fat-tree:k=8,speed=400G,delay=1us, or a file",
        ),
        (
            "--topology star:hosts=4",
            "--flows: there is nothing to send; give --flows FILE, or --traffic such as permutation:bytes=4MB",
        ),
        (
            "--topology star:hosts=4 --cc none --dcqcn hpcc",
            "--dcqcn: there is no DCQCN with --cc none; leave one of both out",
        ),
        ("--topology star:hosts=4 --cc dcqnc", "--cc: \"dcqnc\" is unknown; did you mean \"dcqcn\"?"),
        ("--topology star:hosts=4 --mtu 1", "--mtu: host.mtu: 1 is too small; give 256 to 9KB"),
        (
            "--topology star:hosts=4 --set dlb.min=90",
            "--set: dlb.min (90%) is not below dlb.max (50%); give a dlb.max above dlb.min",
        ),
        ("--topology star:hosts=4 --set x", "--set: \"x\" is no NAME=VALUE; write --set host.mtu=4096"),
        (
            "--topology star:hosts=4 --traffic incast:degree=2,bytes=8 --until 0ms",
            "--until: nothing happens before 0; give a time such as 5ms",
        ),
        ("--topology sar:hosts=4", "--topology: \"sar\" is unknown; did you mean \"star\"?"),
        (
            "--topology no-such-file",
            "--topology: no-such-file: No such file or directory (os error 2); give a file that can be read",
        ),
    ] {
        assert_eq!(fails(words), (Some(2), format!("railweave-sim: {error}\n")), "{words}");
    }
}

#[test]
fn an_interrupt_leaves_a_partial_result() {
    let words = "--topology fat-tree:k=8 --traffic permutation:bytes=100GB --cc none --json --quiet";
    let mut child = command(words).stdout(Stdio::piped()).spawn().expect("the binary was built");
    // wait for the handler: the signals that Linux says are caught, SIGINT (2) among them
    let caught = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("SigCgt:").map(str::trim).map(str::to_owned));
        line.and_then(|mask| u64::from_str_radix(&mask, 16).ok()).is_some_and(|mask| mask >> 1 & 1 == 1)
    };
    let begin = Instant::now();
    while !std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(caught) {
        assert!(begin.elapsed() < Duration::from_secs(30), "the signal is never caught");
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let mut text = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("UTF-8");
    assert_eq!(child.wait().expect("it ended").code(), Some(130));
    let result: Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!((&result["complete"], &result["end"]), (&false.into(), &"interrupted".into()));
}

#[test]
fn progress_says_how_far_a_run_is() {
    let standing = Standing { hops: 12_345_678, bytes: 25, total: 100, now: 1_500_000_000 };
    let text = line(&standing, Duration::from_secs(60));
    assert_eq!(text, "25.0 % of payload, 12.3 M packet hops, 1.500 ms simulated, 3 min left");
    let text = line(&Standing { bytes: 0, ..standing }, Duration::from_secs(60));
    assert_eq!(text, "0.0 % of payload, 12.3 M packet hops, 1.500 ms simulated, ? left");
}

#[test]
fn the_page_holds_every_parameter_and_field() {
    let page = include_str!("../../../docs/engine.md");
    let table = String::from_utf8(run("--help-parameters").stdout).expect("UTF-8");
    assert!(page.contains(&table), "docs/engine.md has not the table that --help-parameters prints");
    for name in json(&format!("{SMALL} --json")).as_object().expect("an object").keys() {
        assert!(page.contains(&format!("| `{name}` |")), "docs/engine.md does not say what {name} is");
    }
    let help = String::from_utf8(run("--help").stdout).expect("UTF-8");
    for word in help.split_whitespace().filter(|word| word.starts_with("--") && !word.ends_with(':')) {
        let name: String = word.chars().filter(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
        assert!(page.contains(&format!("`{name}")), "docs/engine.md does not have {name}");
    }
}

#[test]
fn the_example_of_the_page_gives_what_the_page_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/raw");
    let output = run(&format!("--topology {folder}/two-leaves.txt --flows {folder}/flows.csv"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    let page = include_str!("../../../docs/engine.md");
    for line in table.lines().filter(|line| !line.starts_with("speed")) {
        assert!(page.contains(line), "docs/engine.md has not: {line}");
    }
    for name in ["two-leaves.txt", "flows.csv"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("it was just read");
        assert!(page.contains(text.trim_end()), "docs/engine.md has not {name} as it is");
    }
}
