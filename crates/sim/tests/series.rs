//! Series of the command: their sums are what the result says, and collecting them changes nothing.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn run(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railweave-sim"));
    command.args(words.split_whitespace()).output().expect("the binary was built")
}

fn json(words: &str) -> Value {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// A file in a folder of cargo's own, which is not there yet.
fn path(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_file(&path);
    path
}

/// Header and rows of a file.
fn rows(path: &PathBuf) -> (String, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(path).expect("it was written");
    let mut lines = text.lines().map(str::to_owned);
    let header = lines.next().expect("a header");
    let rows: Vec<Vec<String>> = lines.map(|line| line.split(',').map(str::to_owned).collect()).collect();
    assert!(!rows.is_empty(), "{header}");
    (header, rows)
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

fn sum(rows: &[Vec<String>], column: usize) -> f64 {
    rows.iter().map(|row| number(&row[column])).sum()
}

const INCAST: &str = "--topology leaf-spine:leaves=2,spines=2,hosts=4 --traffic incast:degree=7,bytes=1MB --set switch.ingress-pool-lossless=300KB";

#[test]
fn sums_of_series_are_the_totals_of_the_result() {
    let (ports, queues, flows) = (path("ports.csv"), path("queues.csv"), path("flows.csv"));
    let plain = json(&format!("{INCAST} --json"));
    let result = json(&format!(
        "{INCAST} --json --series {} --queue-series {} --flow-series {} --series-every 3us",
        ports.display(),
        queues.display(),
        flows.display()
    ));
    assert_eq!(result["trace_checksum"], plain["trace_checksum"], "series change nothing");
    let (header, of_ports) = rows(&ports);
    assert_eq!(
        header,
        "time_us,node,port,peer,tx_bytes,utilisation,queued_bytes,ecn_ce_packets,dropped_packets,pfc_tx,pfc_rx,paused_us"
    );
    let total = |name: &str| result[name].as_f64().expect("a number");
    assert_eq!(sum(&of_ports, 7), total("ecn_marked_packets"));
    assert_eq!(sum(&of_ports, 8), total("dropped_packets"));
    assert_eq!(sum(&of_ports, 9), total("pfc_pauses"));
    assert_eq!(sum(&of_ports, 10), total("pfc_pauses"), "every pause is received");
    assert!(total("ecn_marked_packets") > 0.0 && total("pfc_pauses") > 0.0, "there is something to compare");
    let utilisation = of_ports.iter().map(|row| number(&row[5])).fold(0.0, f64::max);
    assert!(utilisation > 0.98 && utilisation <= 1.0, "frames without gaps: {utilisation}");
    assert!(of_ports.iter().all(|row| (number(&row[0]) / 3.0).fract() == 0.0), "times are multiples of the interval");
    // the receiver's port carries every packet, headers and all, and nothing but data, in its direction
    let packets = 7.0 * 1_000_000f64 / 4096.0;
    let down: Vec<Vec<String>> = of_ports.iter().filter(|row| row[1] == "leaf0" && row[3] == "h0").cloned().collect();
    let data = 7.0 * (1_000_000.0 + (packets / 7.0).ceil() * 62.0 + 16.0);
    assert_eq!(sum(&down, 4), data);

    let (header, of_queues) = rows(&queues);
    assert_eq!(header, "time_us,node,port,peer,class,queued_bytes");
    let queued = |row: &Vec<String>, column: usize| number(&row[column]);
    let (by_port, by_queue): (f64, f64) =
        (of_ports.iter().map(|row| queued(row, 6)).sum(), of_queues.iter().map(|row| queued(row, 5)).sum());
    assert_eq!(by_port, by_queue);
    assert!(of_queues.iter().any(|row| row[4] == "3"));

    let (header, of_flows) = rows(&flows);
    assert_eq!(header, "time_us,flow,src,dst,delivered_bytes,rate_gbps");
    for flow in 0..7 {
        let own: Vec<Vec<String>> = of_flows.iter().filter(|row| row[1] == flow.to_string()).cloned().collect();
        assert_eq!(sum(&own, 4), 1e6, "flow {flow}");
        assert_eq!((own[0][2].as_str(), own[0][3].as_str()), (&*format!("h{}", flow + 1), "h0"));
        assert_eq!(own[0][5], "400.000000", "it begins at line rate");
    }
    assert!(of_flows.iter().any(|row| number(&row[5]) < 400.0), "some are told to slow down");
}

#[test]
fn series_of_some_nodes_have_these_only() {
    let file = path("some.csv");
    json(&format!("{INCAST} --json --series {} --series-of leaf0,spine1", file.display()));
    let (_, rows) = rows(&file);
    assert!(rows.iter().all(|row| row[1] == "leaf0" || row[1] == "spine1"));
    assert!(rows.iter().any(|row| row[1] == "leaf0") && rows.iter().any(|row| row[1] == "spine1"));
}

#[test]
fn a_silence_between_flows_has_no_rows() {
    let (flows, file) = (path("silence.csv"), path("silence-series.csv"));
    std::fs::write(&flows, "src,dst,bytes,start_us\nh0,h1,4096,0\nh0,h1,4096,5000000\n").expect("cargo's own folder");
    json(&format!("--topology star:hosts=2 --flows {} --json --series {}", flows.display(), file.display()));
    let (_, rows) = rows(&file);
    let times: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(times, ["10", "10", "10", "10", "5000010", "5000010", "5000010", "5000010"]);
    // in an interval of 10 us at 400 Gb/s a port can send 500,000 bytes
    assert_eq!((rows[0][4].as_str(), rows[0][5].as_str()), ("4174", "0.008348"));
}

#[test]
fn a_run_until_a_time_has_series_until_then() {
    let file = path("until.csv");
    let output = run(&format!("{INCAST} --json --until 25us --series {}", file.display()));
    assert_eq!(output.status.code(), Some(1));
    let (_, rows) = rows(&file);
    assert_eq!(rows.last().expect("a row")[0], "25");
    let busy = rows.iter().map(|row| number(&row[5])).fold(0.0, f64::max);
    assert!(busy <= 1.0, "the last interval is shorter: {busy}");
}

#[test]
fn series_change_nothing_where_things_break() {
    let words = "--topology leaf-spine:leaves=2,spines=2,hosts=4,links=2 --traffic permutation:bytes=2MB --json \
        --fault rate:link=leaf0-spine0,speed=1T,at=7us,until=90us --fault loss:from=leaf1,to=spine1,chance=2%,at=3us \
        --fault node-down:node=spine0,at=30us,until=1ms --reroute 100us --fault pfc-storm:host=h3,at=9us,until=200us \
        --fault link-down:link=leaf0-spine1,cable=1,at=2us,until=7us --fault slow-receiver:host=h2,speed=40G,until=500us";
    let (plain, file) = (json(words), path("broken.csv"));
    let result = json(&format!("{words} --series {} --series-every 700ns", file.display()));
    assert_eq!(result["trace_checksum"], plain["trace_checksum"]);
    let (_, of_ports) = rows(&file);
    // ports count what switches drop; the result has besides what hosts would have answered with
    let dropped = &result["dropped_by_reason"]["link_down"];
    assert!(dropped.as_u64() > Some(0));
    assert!(
        sum(&of_ports, 8) <= dropped.as_f64().expect("a count"),
        "but hosts drop what they would have answered with"
    );
}

#[test]
fn rates_do_not_depend_on_how_often_they_are_looked_at() {
    let rates = |every: &str| {
        let file = path(&format!("looked-at-{every}.csv"));
        json(&format!(
            "{INCAST} --json --fault node-down:node=spine0,at=30us,until=1ms --reroute 100us --flow-series {} --series-every {every}",
            file.display()
        ));
        rows(&file).1.into_iter().map(|row| ((row[0].clone(), row[1].clone()), row[5].clone()))
    };
    let often: std::collections::HashMap<_, _> = rates("1us").collect();
    // a queue pair that has nothing under way has no row of the last microsecond, but may have one of the last 20
    let both: Vec<_> = rates("20us").filter_map(|(place, rate)| Some((often.get(&place)?, rate))).collect();
    assert!(both.len() > 10, "queue pairs wait for a timeout: {}", both.len());
    assert!(both.iter().any(|(_, rate)| number(rate) < 400.0), "some have slowed down");
    assert!(both.iter().all(|(often, rate)| *often == rate));
}

#[test]
fn mistakes_about_series_are_told_before_the_run() {
    for (words, error) in [
        ("--series-every 1us", "--series-every: there is no series; give --series FILE.csv with it"),
        ("--series s.csv --series-every 0us", "--series-every: 0us is too small; give 1ns to 1000s"),
        ("--series s.csv --series-of leaf9", "--series-of: no node is named \"leaf9\"; did you mean \"leaf0\"?"),
        (
            "--series no-such-folder/s.csv",
            "--series: no-such-folder/s.csv: there is no folder \"no-such-folder\"; give a file that can be written",
        ),
        (
            "--series same.csv --flow-series same.csv",
            "--series: same.csv is to hold another output too; give every output a file of its own",
        ),
        ("--output /", "--output: \"/\" is no file; give a file that can be written"),
    ] {
        let output = run(&format!("{INCAST} {words}"));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("railweave-sim: {error}\n"));
    }
}

#[test]
fn an_interrupted_series_says_so() {
    let file = path("interrupted.csv");
    let words = format!(
        "--topology fat-tree:k=4 --traffic permutation:bytes=100GB --cc none --json --quiet --series {}",
        file.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_railweave-sim"));
    let mut child = command.args(words.split_whitespace()).stdout(Stdio::null()).spawn().expect("the binary was built");
    // once the process has computed for a fifth of a second it catches signals and has sent something
    let ticks = |text: String| text.rsplit(')').next()?.split_whitespace().nth(11)?.parse::<u64>().ok();
    let begin = Instant::now();
    while std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok().and_then(ticks) < Some(20) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never runs");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!file.exists(), "nothing is written before the end");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    assert_eq!(child.wait().expect("it ended").code(), Some(130));
    let text = std::fs::read_to_string(&file).expect("it was written");
    let last = text.lines().last().expect("a line");
    assert!(last.starts_with("# partial: interrupted at ") && last.ends_with(" us"), "{last}");
    assert!(text.lines().count() > 2, "and there are rows");
}

#[test]
fn intervals_do_not_end_by_the_clock_on_the_wall() {
    let file = path("long.csv");
    let run = |every: &str, more: &str| {
        let output =
            run(&format!("{INCAST} --series {} --series-of leaf0 --series-every {every} {more}", file.display()));
        assert!(output.status.code().is_some_and(|code| code < 2));
        rows(&file).1
    };
    let times = |rows: &[Vec<String>]| -> Vec<f64> { rows.iter().map(|row| number(&row[0])).collect() };
    let long = run("100ms", "");
    assert!(
        times(&long).iter().all(|&time| time == 100_000.0),
        "longer than the run: one interval, which ends at its end"
    );
    let short = run("7us", "");
    assert!(times(&short).iter().all(|time| time % 7.0 == 0.0));
    assert_eq!(sum(&short, 4), sum(&long, 4));
    let cut = run("7us", "--until 30us");
    assert_eq!(times(&cut).last(), Some(&30.0));
}
