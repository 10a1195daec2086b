//! Scenarios of many copies: the work of reading, checking and building one grows with their number, not with
//! its square. Counts instructions, which are the same on a busy machine.

use std::process::Command;

use msctp_sim::Simulation;
use msctp_sim::scenario::Scenario;

/// Copies of every kind of item whose check looks at other items. Half of the applications' hosts are behind
/// a NAT.
const COPIES: &str = r#"
duration = "1s"
node = [
    { name = "server", kind = "host" },
    { name = "r", kind = "router" },
    { name = "box", kind = "nat", nat = { outside = "outside" } },
    { name = "m{i}", kind = "host", count = COUNT },
    { name = "n{i}", kind = "host", count = COUNT },
]
link = [
    { name = "core", a = "server", b = "r", address_a = "fd00::1", rate = "1Gbps", delay = "1ms" },
    { name = "outside", a = "r", b = "box", address_b = "fd00::2", rate = "1Gbps", delay = "1ms" },
    { name = "cell{i}", type = "cellular", cell = "c{i}", a = "r", b = "m{i}", address_b = "fd01::{i/1000}:{i%1000}", rate = "1Mbps", count = COUNT },
    { name = "wlan{i}", type = "wlan", cell = "w{i}", a = "r", b = "m{i}", address_b = "fd02::{i/1000}:{i%1000}", rate = "11Mbps", count = COUNT },
    { name = "inside{i}", a = "box", b = "n{i}", address_b = "fd03::{i/1000}:{i%1000}", rate = "1Mbps", delay = "1ms", count = COUNT },
]
[sctp.own]
profile = "mobile"
[[association]]
name = "a{i}"
client = "m{i}"
server = "server"
client_addresses = ["fd01::{i/1000}:{i%1000}"]
server_addresses = ["fd00::1"]
sctp = "own"
count = COUNT
[[association]]
name = "b{i}"
client = "n{i}"
server = "server"
client_addresses = ["fd03::{i/1000}:{i%1000}"]
server_addresses = ["fd00::1"]
server_port = 5001
sctp = "own"
count = COUNT
[[tcp]]
name = "t{i}"
client = "m{i}"
server = "server"
client_address = "fd02::{i/1000}:{i%1000}"
server_address = "fd00::1"
count = COUNT
[[app]]
name = "file{i}"
type = "bulk"
association = "a{i}"
from = "server"
count = COUNT
[[app]]
name = "transfer{i}"
type = "bulk"
tcp = "t{i}"
from = "server"
count = COUNT
[[app]]
name = "noise{i}"
type = "cbr"
from = "fd00::1"
to = "fd02::{i/1000}:{i%1000}"
rate = "10kbps"
count = COUNT
[[action]]
name = "add{i}"
at = "500ms"
do = "add-address"
association = "a{i}"
address = "fd02::{i/1000}:{i%1000}"
count = COUNT
[[action]]
name = "move{i}"
at = "600ms"
do = "request-primary"
association = "a{i}"
address = "fd02::{i/1000}:{i%1000}"
count = COUNT
[[action]]
name = "stop{i}"
at = "700ms"
do = "stop-app"
app = "file{i}"
count = COUNT
[[action]]
name = "down{i}"
at = "800ms"
do = "link-down"
link = "cell{i}"
count = COUNT
"#;

/// Mobiles of Mobile IP.
const MOBILES: &str = r#"
duration = "1s"
node = [
    { name = "home", kind = "home-agent" },
    { name = "foreign", kind = "foreign-agent" },
    { name = "m{i}", kind = "host", mobile = { home_agent = "home" }, count = COUNT },
]
link = [
    { name = "core", a = "home", b = "foreign", address_a = "10.255.0.1", address_b = "10.255.0.2", rate = "1Gbps", delay = "1ms" },
    { name = "home{i}", a = "home", b = "m{i}", address_b = "10.1.{i/250}.{i%250}", rate = "1Mbps", delay = "1ms", count = COUNT },
    { name = "foreign{i}", a = "foreign", b = "m{i}", rate = "1Mbps", delay = "1ms", count = COUNT },
]
"#;

/// Variable that sets the number of copies.
const COUNT: &str = "MSCTP_TEST_COPIES";

#[test]
fn copies_are_read_checked_and_built() {
    let count: usize = std::env::var(COUNT).map_or(100, |count| count.parse().expect("a number"));
    for (text, nodes, associations) in [(COPIES, 2 * count + 3, 2 * count), (MOBILES, count + 2, 0)] {
        let text = text.replace("COUNT", &count.to_string());
        let scenario =
            Scenario::from_toml(&text, "copies.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((scenario.nodes.len(), scenario.associations.len()), (nodes, associations));
        assert_eq!(scenario.unused(), [""; 0]);
        let simulation = Simulation::new(&scenario, None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(simulation.directions().len(), 2 * scenario.links.len());
    }
}

/// Returns the instructions of the test above.
fn instructions(count: usize) -> u64 {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("the path of this test"))
        .args(["--exact", "copies::copies_are_read_checked_and_built"])
        .env(COUNT, count.to_string())
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    let text = String::from_utf8_lossy(&run.stderr);
    let (_, rest) = text.split_once("Collected :").unwrap_or_else(|| panic!("no count in {text}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no count in {text}"))
}

/// Checks that the work for `few`, twice and four times as many copies grows with their number.
fn check_growth(few: usize) {
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(std::env::var_os("MSCTP_NEED_VALGRIND").is_none(), "valgrind is not installed");
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let [few, more, many] = [few, 2 * few, 4 * few].map(instructions);
    let ratio = (many - more) as f64 / (more - few) as f64;
    println!("{few}, {more}, {many}: the steps differ by a factor of {ratio:.2}");
    // 2 for linear work, 4 for quadratic. The maps add a logarithm: it was 2.05. A search of 50 instructions
    // for each pair of copies would make it 2.15.
    assert!(
        ratio < 2.15,
        "the work grows faster than the number of copies: {few}, {more}, {many}. Find the part with `valgrind \
         --tool=callgrind` and 1000 and 2000 copies; a search through a list for each copy is quadratic, use a map"
    );
}

#[test]
fn the_work_of_few_copies_grows_with_their_number() {
    check_growth(50);
}

#[test]
#[ignore = "a minute under valgrind"]
fn slow_the_work_of_copies_grows_with_their_number() {
    check_growth(500);
}
