//! Input: every mistake has its text, and every quantity reads back as it was printed.

use railweave_sim::config::{Config, Ecn};
use railweave_sim::input::flows::{Flow, flows};
use railweave_sim::input::network::Network;
use railweave_sim::input::{parameters, patterns, shapes, topology_file, units};
use railweave_sim::topology::NodeKind;

fn shape(text: &str) -> Network {
    shapes::network("--topology", text).expect("a good shape")
}

fn shape_error(text: &str) -> String {
    shapes::network("--topology", text).expect_err("a bad shape").to_string()
}

fn file_error(text: &str) -> String {
    topology_file::network("net.txt", text).expect_err("a bad file").to_string()
}

fn flow_error(text: &str) -> String {
    flows("f.csv", text.as_bytes(), &shape("star:hosts=16")).expect_err("bad flows").to_string()
}

fn set_error(name: &str, value: &str) -> String {
    let wrong = parameters::set(&mut Config::default(), name, value).expect_err("a bad value");
    wrong.at("--set").to_string()
}

#[test]
fn mistakes_in_shapes() {
    for (text, error) in [
        ("fat-tee:k=4", r#"--topology: "fat-tee" is unknown; did you mean "fat-tree"?"#),
        ("fat-tree:k=5", "--topology: k: 5 is odd; half of a switch's ports go up: give an even k"),
        ("fat-tree:k=0", "--topology: k: 0 is too small; give a whole number from 2 to 64"),
        ("fat-tree", "--topology: fat-tree needs k (nothing is given); add k=…"),
        ("fat-tree:k=4,sped=400G", r#"--topology: fat-tree has no "sped"; did you mean "speed"?"#),
        ("fat-tree:k=4,k=8", "--topology: k is given twice; give it once"),
        ("fat-tree:k", r#"--topology: "k" is no key=value; write fat-tree:k=…"#),
        ("fat-tree:k=4,speed=0G", "--topology: speed: 0G is no speed of a link; give 1M to 10T"),
        (
            "fat-tree:k=4,speed=400X",
            r#"--topology: speed: "400X" is no speed; give a number and a unit, such as 400G; units: M, G, T"#,
        ),
        ("fat-tree:k=4,delay=2s", "--topology: delay: 2s is no delay of a link; give 0ns to 1s"),
        (
            "fat-tree:k=64",
            "--topology: 65536 hosts and 5120 switches need forwarding tables of more than 1 GB; make the network smaller",
        ),
        ("star:hosts=1", "--topology: hosts: 1 is too small; give a whole number from 2 to 20000"),
        (
            "leaf-spine:leaves=1,spines=1,hosts=1",
            "--topology: a network of 1 hosts has nobody to send to; give at least 2 hosts",
        ),
    ] {
        assert_eq!(shape_error(text), error);
    }
}

#[test]
fn mistakes_in_topology_files() {
    let link = "default link speed=400G delay=1us\n";
    for (text, error) in [
        ("", "net.txt:1: there is nothing in it; write host, switch and link statements"),
        ("hots h0", r#"net.txt:1: "hots" is no statement; did you mean "host"?"#),
        ("host", "net.txt:1: host needs one name; write host NAME"),
        ("host a\nhost a", r#"net.txt:2: "a" is in line 1 already; give every node a name of its own"#),
        ("host a mtu=9000", "net.txt:1: hosts have no parameters of their own; give those of all with --set host.…"),
        ("host a\nhost b\nlink a c speed=400G delay=1us", r#"net.txt:3: no node is named "c"; known: a, b"#),
        ("host a\nhost b\nlink a b delay=1us", "net.txt:3: the link has no speed; add speed=400G, or a default link"),
        (
            "host a\nhost b\nlink a b speed=400G",
            "net.txt:3: the link has neither delay nor length; add delay=1us or length=30m, or a default link",
        ),
        ("host a\nlink a a speed=400G delay=1us", r#"net.txt:2: "a" is linked to itself; name two nodes"#),
        ("link a b sped=400G", r#"net.txt:1: links have no "sped"; did you mean "speed"?"#),
        ("link a b speed=400G x", r#"net.txt:1: "x" is no key=value; names come before keys"#),
        (
            "switch s bufer=64MB\nhost a\nhost b\n@link a s\nlink b s",
            r#"net.txt:1: switches have no "bufer"; did you mean "buffer"?"#,
        ),
        ("host a\nhost b\nhost c\n@link a b", r#"net.txt:3: "c" has no link; add a link statement for it"#),
        ("switch a,b", r#"net.txt:1: "a,b" is no name; names have no commas and no quotes: tables do"#),
        (
            "host a\nswitch s\nswitch t\n@link a s\nlink a t",
            r#"net.txt:6: host "a" has a second cable; a host has one port: make every NIC of a server a host"#,
        ),
        ("default link speed=1G\ndefault link speed=2G", "net.txt:2: speed has a default already; give it once"),
        ("default", "net.txt:1: default of what?; write default link key=value or default switch key=value"),
    ] {
        assert_eq!(file_error(&text.replace('@', link)), error);
    }
}

#[test]
fn mistakes_of_a_switch_in_a_file_have_their_line() {
    let text = "default link speed=400G delay=1us\nswitch s ecn=9KB..3KB@5%\nhost a\nhost b\nlink a s\nlink b s";
    let network = topology_file::network("net.txt", text).expect("values are read when parameters are known");
    let error = network.profiles(&Config::default()).expect_err("thresholds are the wrong way round");
    let expected = r#"net.txt:2: ecn: "9KB..3KB@5%" ends before it begins; give the lower threshold first"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn fields_of_flow_files_may_stand_in_quotes() {
    let network = shape("star:hosts=4");
    let plain = flows("f.csv", b"src,dst,bytes,start_us\nh0,h1,8M,0\nh2,h3,4096,1.5\n", &network).expect("plain");
    let quoted =
        b"\"src\",\"dst\",\"bytes\",\"start_us\"\r\n\"h0\",\"h1\",\"8M\",\"0\"\r\n\"h2\",h3, 4096 ,\"1.5\"\r\n";
    assert_eq!(flows("f.csv", quoted, &network).expect("as spreadsheets write it"), plain);
}

#[test]
fn mistakes_in_flow_files() {
    let header = "src,dst,bytes,start_us\n";
    for (text, error) in [
        ("", "f.csv:1: the file is empty; begin with the line src,dst,bytes,start_us"),
        ("h0,h1,8,0", r#"f.csv:1: "h0,h1,8,0" is no header; begin with the line src,dst,bytes,start_us"#),
        ("src,dst,bytes", "f.csv:1: column start_us is missing; the columns are src,dst,bytes,start_us, in any order"),
        ("src,dst,bytes,start_us,prio", r#"f.csv:1: there is no column "prio"; known: src, dst, bytes, start_us"#),
        ("src,dst,byte,start_us", r#"f.csv:1: there is no column "byte"; did you mean "bytes"?"#),
        ("src,src,bytes,start_us", "f.csv:1: column src is there twice; give it once"),
        ("@", "f.csv: there is no flow in it; add a line such as h0,h1,8M,0"),
        ("@@", "f.csv:2: the header is there twice; leave this line out"),
        ("@h0,h1,8", "f.csv:2: 3 fields, and the header has 4; write a field for each column"),
        ("@h0,h111,8,0", r#"f.csv:2: no host is named "h111"; did you mean "h11"?"#),
        ("@h0,switch,8,0", r#"f.csv:2: "switch" is a switch; name a host"#),
        ("@h0,h0,8,0", r#"f.csv:2: src and dst are both "h0"; name two hosts that links join"#),
        ("@# a comment\n\nh0,h1,0,0", "f.csv:4: a flow of 0 bytes; give 1 byte or more"),
        ("@\"h0\",\"h1\",0,0", "f.csv:2: a flow of 0 bytes; give 1 byte or more"),
        ("@  # a comment, with\n\r\n  \nh0,h1,0,0", "f.csv:5: a flow of 0 bytes; give 1 byte or more"),
        ("@\"h0,h1,8,0\nh0,h1,8,0", "f.csv:2: 1 fields, and the header has 4; write a field for each column"),
        ("@h0,h1,-8,0", r#"f.csv:2: "-8" is negative; give bytes, such as 4096, 8M (8 x 2^20) or 64MB (64 x 10^6)"#),
        (
            "@h0,h1,2TB,0",
            r#"f.csv:2: "2TB" is no size; give bytes, such as 4096, 8M (8 x 2^20) or 64MB (64 x 10^6); units: B, KB, MB, GB, KiB, MiB, GiB, K, M, G"#,
        ),
        ("@h0,h1,2000GB,0", "f.csv:2: a flow of 2000GB bytes is too large; give 1TB (10^12 bytes) at most"),
        (
            "@h0,h1,0.5,0",
            r#"f.csv:2: "0.5" is finer than a byte; give bytes, such as 4096, 8M (8 x 2^20) or 64MB (64 x 10^6)"#,
        ),
        ("@h0,h1,8,-1", r#"f.csv:2: start_us "-1" is negative; give microseconds, such as 0, 12 or 0.000001"#),
        ("@h0,h1,8,1us", r#"f.csv:2: start_us "1us" is no number; give microseconds, such as 0, 12 or 0.000001"#),
        (
            "@h0,h1,8,0.0000001",
            r#"f.csv:2: start_us "0.0000001" is finer than a picosecond; give microseconds, such as 0, 12 or 0.000001"#,
        ),
        ("@h0,h1,8,1e9", r#"f.csv:2: start_us "1e9" is no number; give microseconds, such as 0, 12 or 0.000001"#),
        (
            "@h0,h1,8,2000000000",
            r#"f.csv:2: start_us "2000000000" is later than 1000 seconds; give microseconds, such as 0, 12 or 0.000001"#,
        ),
    ] {
        assert_eq!(flow_error(&text.replace('@', header)), error);
    }
    let error =
        flows("f.csv", b"src,dst,bytes,start_us\nh0,\xff,8,0\n", &shape("star:hosts=2")).expect_err("not UTF-8");
    assert_eq!(error.to_string(), "f.csv:2: the file is not UTF-8; save it as UTF-8 text");
}

#[test]
fn hosts_that_no_link_joins_are_told() {
    let text = "default link speed=400G length=30m\nhost a\nhost b\nhost c\nhost d\nlink a b\nlink c d";
    let network = topology_file::network("net.txt", text).expect("two networks in one");
    let error = flows("f.csv", b"src,dst,bytes,start_us\na,d,8,0\n", &network).expect_err("no way from a to d");
    assert_eq!(error.to_string(), r#"f.csv:2: no links lead from "a" to "d"; name two hosts that links join"#);
    let error = patterns::flows("--traffic", "all-to-all:bytes=8", &network).expect_err("the same");
    assert_eq!(error.to_string(), "--traffic: links do not join all hosts; give flows in a file");
}

#[test]
fn mistakes_in_parameters() {
    for (name, value, error) in [
        ("host.mtuu", "4096", r#"--set: there is no parameter "host.mtuu"; did you mean "host.mtu"?"#),
        ("host.mtu", "10", "--set: host.mtu: 10 is too small; give 256 to 9KB"),
        ("host.mtu", "1MB", "--set: host.mtu: 1MB is too large; give 256 to 9KB"),
        ("host.recovery", "selectiv", r#"--set: host.recovery: "selectiv" is unknown; did you mean "selective"?"#),
        ("dcqcn.g", "2", "--set: dcqcn.g: 2 is out of range; give 0 to 1"),
        ("dcqcn.additive", "5", r#"--set: dcqcn.additive: "5" is no rate; give 0M to 1000000M"#),
        (
            "dlb.flowsets",
            "100",
            r#"--set: dlb.flowsets: "100" is no power of two; give a power of two from 1 to 65536"#,
        ),
        (
            "class.3.ecn",
            "5%",
            r#"--set: class.3.ecn: "5%" is no marking; give off, 400KB..1600KB@20% or 55%..90%@100%"#,
        ),
        ("class.9.ecn", "off", r#"--set: there is no parameter "class.9.ecn"; did you mean "class.N.ecn"?"#),
        ("alpha", "0", "--set: alpha: 0 is out of range; give 1/1024 (0.001) to 128"),
        ("buffer", "1", "--set: buffer: 1 is too small; give 100KB to 100GB"),
    ] {
        assert_eq!(set_error(name, value), error);
    }
    let mut config = Config::default();
    config.host.dcqcn = None;
    let wrong = parameters::set(&mut config, "dcqcn.g", "0.5").expect_err("there is no DCQCN");
    assert_eq!(wrong.at("--set").to_string(), "--set: dcqcn.g is of no use: there is no DCQCN; give --cc dcqcn");
}

#[test]
fn quantities_are_read_exactly() {
    assert_eq!(units::time("1us"), Ok(1_000_000));
    assert_eq!(units::time("50ns"), Ok(50_000));
    assert_eq!(units::time("1.5ms"), Ok(1_500_000_000));
    assert_eq!(units::time("0.001ns"), Ok(1));
    assert_eq!(units::speed_mbps("400G"), Ok(400_000));
    assert_eq!(units::speed_mbps("1.6T"), Ok(1_600_000));
    assert_eq!(units::size("8M"), Ok(8 << 20));
    assert_eq!(units::size("64MB"), Ok(64_000_000));
    assert_eq!(units::size("51MiB"), Ok(51 << 20));
    assert_eq!(units::fiber("100m"), Ok(505_400));
    assert!(units::size("64Mb").is_err(), "Mb would be bits");
}

#[test]
fn quantities_read_back_as_printed() {
    for value in [0, 1, 999, 1_000, 50_000, 1_000_000, 1_500_000, 300_000_000, 4_000_000_000_000, u64::MAX] {
        assert_eq!(units::time(&units::time_text(value)), Ok(value));
        assert_eq!(units::speed_mbps(&units::speed_text(value)), Ok(value));
        assert_eq!(units::size(&units::size_text(value)), Ok(value));
    }
}

#[test]
fn every_parameter_reads_back_as_printed() {
    let mut config = Config::default();
    config.switch.classes[2].ecn = Ecn::Percent { min: 55, max: 90, most: 65_536 };
    config.switch.classes[4].ecn = Ecn::Bytes { min: 1, max: 7, most: 1 };
    config.switch.watchdog = Some(Default::default());
    parameters::set(&mut config, "switch.vxlan", "yes").expect("a good value");
    let before = parameters::all(&config);
    let mut again = Config { seed: 99, ..Config::default() };
    for (name, text) in &before {
        parameters::set(&mut again, name, text).expect("what was printed is right");
    }
    assert_eq!(parameters::all(&again), before);
    assert_eq!(again.switch.classes[4].ecn, config.switch.classes[4].ecn);
}

#[test]
fn a_topology_file_says_what_it_says() {
    let text = "\
        default link   speed=400G delay=600ns   # transceivers and FEC\n\
        default switch alpha=4 buffer=64MB\n\
        link gpu0 leaf0 length=30m\n\
        host gpu0\nhost gpu1\n\
        switch leaf0 headroom=300KB ecn=off seed=7\n\
        switch leaf1\n\
        link leaf0 leaf1 cables=2 speed=800G\n\
        link gpu1 leaf1\n";
    let network = topology_file::network("net.txt", text).expect("a good file");
    let topology = &network.topology;
    assert_eq!(topology.names, ["gpu0", "gpu1", "leaf0", "leaf1"]);
    assert_eq!(topology.kinds[..2], [NodeKind::Host; 2]);
    assert_eq!(topology.ports(2).len(), 3);
    assert_eq!(topology.wires[0].delay, 600_000 + 151_620);
    assert_eq!(topology.wires[1].delay, 600_000);
    assert_eq!(network.host_speed_mbps(), 400_000);
    let (profiles, of) = network.profiles(&Config::default()).expect("good values");
    let (leaf0, leaf1) = (&profiles[usize::from(of[2])], &profiles[usize::from(of[3])]);
    assert_eq!((leaf0.seed, leaf1.seed), (7, 1));
    assert_eq!((leaf0.switch.headroom, leaf1.switch.headroom), (300_000, 200_000));
    assert_eq!(leaf0.switch.classes[3].ecn, Ecn::Off);
    assert_eq!(leaf1.switch.classes[3].egress_alpha, 4 << 10);
    assert_eq!(leaf1.switch.egress_pool, [6_400_000, 64_000_000]);
}

#[test]
fn flows_are_read_in_any_order_of_columns() {
    let network = shape("leaf-spine:leaves=2,spines=2,hosts=2");
    let text = "\u{feff}start_us,bytes, dst ,src\r\n0.000001,8M,h3,h0\r\n12,4096,h0,h1\r\n";
    let read = flows("f.csv", text.as_bytes(), &network).expect("good flows");
    let expected =
        [Flow { src: 0, dst: 3, bytes: 8 << 20, start: 1 }, Flow { src: 1, dst: 0, bytes: 4096, start: 12_000_000 }];
    assert_eq!(read, expected);
}

#[test]
fn patterns_are_what_they_are_called() {
    let network = shape("fat-tree:k=4");
    let flows = |text: &str| patterns::flows("--traffic", text, &network).expect("a good pattern");
    let permutation = flows("permutation:bytes=4MB,seed=3");
    let mut met: Vec<u32> = permutation.iter().map(|flow| flow.dst).collect();
    met.sort_unstable();
    assert_eq!(met, (0..16).collect::<Vec<u32>>());
    assert!(permutation.iter().all(|flow| flow.src != flow.dst && flow.bytes == 4_000_000));
    assert_ne!(permutation, flows("permutation:bytes=4MB,seed=4"));
    assert_eq!(flows("incast:degree=15,bytes=1").iter().filter(|flow| flow.dst == 0).count(), 15);
    assert_eq!(flows("all-to-all:bytes=1").len(), 16 * 15);
    let error = patterns::flows("--traffic", "incast:degree=16,bytes=1", &network).expect_err("16 hosts in all");
    assert_eq!(error.to_string(), "--traffic: degree: 16 is too large; give a whole number from 1 to 15");
}

#[test]
fn shapes_have_the_links_they_say() {
    let network = shape("leaf-spine:leaves=4,spines=2,hosts=8,links=3,uplink=800G");
    assert_eq!(network.host_count(), 32);
    assert_eq!(network.topology.ports(32).len(), 8 + 6);
    assert_eq!(network.topology.names[36], "spine0");
    assert_eq!(network.topology.ports(36).len(), 12);
    let network = shape("dumbbell:hosts=3,cables=2,speed=100G,between=50G");
    assert_eq!((network.host_count(), network.topology.ports(6).len()), (6, 5));
    assert_eq!(network.host_speed_mbps(), 100_000);
    assert!(network.joined(0, 5));
}
