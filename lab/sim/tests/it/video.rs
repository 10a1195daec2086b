//! Live sources in complete runs: the transfer times of messages, and generation independent of the
//! transport.

use msctp_sim::scenario::Scenario;
use msctp_sim::summary::VideoSummary;
use msctp_sim::{Series, Simulation};
use msctp_units::{Span, Time};

/// A video from client to server over client — 10 Mbps, 10 ms — server.
const VIDEO: &str = r#"duration = "10s"
[[node]]
name = "client"
kind = "host"
[[node]]
name = "server"
kind = "host"
[[link]]
name = "wire"
a = "client"
b = "server"
address_a = "10.0.0.1"
address_b = "10.0.0.2"
rate = "10Mbps"
delay = "10ms"
[sctp.default]
send_buffer = 20000
[[association]]
name = "x"
client = "client"
server = "server"
client_addresses = "10.0.0.1"
server_addresses = "10.0.0.2"
sctp = "default"
[[app]]
name = "clip"
type = "video"
association = "x"
from = "client"
size = 1000
interval = "20ms"
start = "1s"
stop = "9s"
random_phase = false
[probes]
messages = true
"#;

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|&pair| pair.to_owned()).collect();
    Scenario::from_toml(VIDEO, "video.toml", &set).unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario) -> (VideoSummary, Series) {
    let mut simulation = Simulation::new(scenario, None).expect("right");
    simulation.run();
    let [video] = &simulation.summary().video[..] else { panic!("one video") };
    (video.clone(), simulation.into_series())
}

#[test]
fn on_an_idle_path_a_transfer_takes_transmission_and_propagation() {
    let (video, series) = run(&scenario(&[]));
    assert_eq!((video.generated, video.delivered, video.undelivered), (400, 400, 0));
    assert_eq!(video.generated_bytes, 400_000);
    assert_eq!(video.longest_wait, 1);
    // 1000 bytes of data, 16 of DATA chunk, 12 of SCTP, 20 of IP at 10 Mbps: 838.4 us.
    let expected = 0.010_838_4;
    for time in [video.mean_transfer, video.p95_transfer, video.max_transfer] {
        assert!((time.unwrap() - expected).abs() < 1e-9, "{time:?}");
    }
    let [messages] = &series.messages[..] else { panic!("one series") };
    let third = Time::ZERO + Span::from_millis(1040);
    assert_eq!(messages.generated[2], third);
    assert_eq!(messages.delivered[2], Some(third + Span::from_nanos(10_838_400)));
    let mut csv = Vec::new();
    series.write_message_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("app,number,generated_s,delivered_s\nclip,0,1.000000000,1.010838400\n"), "{csv}");
}

#[test]
fn a_slow_path_does_not_delay_the_source() {
    // 400 kbps of video on a link of 200 kbps: half of it is not delivered, and messages beyond the 20,000
    // bytes of the send buffer wait in the source.
    let (video, series) = run(&scenario(&["link.wire.rate=200kbps"]));
    assert_eq!(video.generated, 400);
    assert!((200..230).contains(&video.delivered), "{video:?}");
    assert_eq!(video.undelivered, 400 - video.delivered);
    assert!(video.longest_wait > 100, "{video:?}");
    // The transfer times grow by the 20 ms by which each message is too early.
    let messages = &series.messages[0];
    let time = |n: usize| messages.delivered[n].unwrap().since(messages.generated[n]).as_secs_f64();
    assert!(time(150) - time(50) > 1.5, "{} {}", time(50), time(150));
    assert_eq!(messages.delivered.last(), Some(&None));
}

#[test]
fn messages_generated_before_the_association_is_up_count_from_their_generation() {
    let (video, series) = run(&scenario(&["association.x.start=2s"]));
    assert_eq!((video.generated, video.undelivered), (400, 0));
    let first = series.messages[0].delivered[0].unwrap();
    assert!(first > Time::ZERO + Span::from_secs(2));
    assert!(video.max_transfer.unwrap() > 1.0);
    assert!(video.longest_wait >= 50, "{video:?}");
    // 400 messages, of which some 60 waited: the 95th percentile is below the longest, the mean is below
    // that.
    assert!(video.mean_transfer < video.p95_transfer && video.p95_transfer < video.max_transfer);
}

#[test]
fn frames_come_from_a_trace() {
    let text = VIDEO.replace("size = 1000\n", "trace = \"clip.txt\"\n");
    let open = |name: &str| match name {
        "clip.txt" => Ok("3000\n100 80ms\n".to_owned()),
        other => Err(format!("{other}?")),
    };
    let scenario = Scenario::from_toml_and_files(&text, "video.toml", &[], &open).unwrap();
    let (video, series) = run(&scenario);
    // Two frames every 100 ms.
    assert_eq!((video.generated, video.generated_bytes), (160, 80 * 3100));
    assert_eq!(series.messages[0].generated[3], Time::ZERO + Span::from_millis(1120));
}

#[test]
fn the_sample_trace_can_be_read() {
    let text = include_str!("../../../../scenarios/traces/sample-video.txt");
    let frames = msctp_sim::scenario::read_frames(text, Span::from_micros(33_333)).unwrap();
    assert_eq!(frames.len(), 30);
    assert_eq!(frames[24].interval, Span::from_millis(40));
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    let error = |from: &str, to: &str| {
        assert!(VIDEO.contains(from), "{from}");
        let text = VIDEO.replacen(from, to, 1);
        let open = |name: &str| match name {
            "bad.txt" => Ok("6395\nlarge\n".to_owned()),
            other => Err(format!("no file {other}")),
        };
        Scenario::from_toml_and_files(&text, "video.toml", &[], &open).unwrap_err().to_string()
    };
    assert_eq!(
        error("size = 1000\n", ""),
        "video.toml:25: app.clip.size: missing: want size = 6395, or trace = \"a file\""
    );
    assert_eq!(
        error("size = 1000", "size = 3"),
        "video.toml:30: app.clip.size: 3 is out of range: want a whole number from 4 to 16777216"
    );
    assert_eq!(
        error("interval = \"20ms\"\n", ""),
        "video.toml:25: app.clip.interval: missing: want interval = \"33ms\""
    );
    assert_eq!(
        error("\"20ms\"", "\"0s\""),
        "video.toml:31: app.clip.interval: 0s: want more, such as \"33ms\""
    );
    assert_eq!(
        error("size = 1000", "size = 1000\ntrace = \"bad.txt\""),
        "video.toml:30: app.clip.size: the trace has the frames' sizes: want either size or trace"
    );
    assert_eq!(
        error("size = 1000", "trace = \"bad.txt\""),
        "video.toml:30: app.clip.trace: bad.txt:2: \"large\": want a frame's bytes, 4 to 16777216"
    );
    assert_eq!(
        error("size = 1000", "trace = \"gone.txt\""),
        "video.toml:30: app.clip.trace: gone.txt: no file gone.txt"
    );
    assert_eq!(
        error("size = 1000", "sise = 1000"),
        "video.toml:30: app.clip.sise: unknown key; did you mean \"size\"?"
    );
    assert_eq!(
        error("association = \"x\"\nfrom", "association = \"y\"\nfrom"),
        "video.toml:28: app.clip.association: there is no association \"y\"; want one of x"
    );
    let text = VIDEO.replace("size = 1000\n", "trace = \"clip.txt\"\n");
    assert_eq!(
        Scenario::from_toml(&text, "video.toml", &[]).unwrap_err().to_string(),
        "video.toml:30: app.clip.trace: clip.txt: no other files can be read here"
    );
}

/// `scenarios/video-lifetime.toml`: frames with a lifetime are never late. Without one all arrive, some of
/// them late.
#[test]
fn frames_beyond_their_lifetime_are_not_sent() {
    let text = include_str!("../../../../scenarios/video-lifetime.toml");
    let scenario = Scenario::from_toml(text, "video-lifetime.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(&scenario, None).expect("right");
    simulation.run();
    let summary = simulation.summary();
    let [live, reliable] = &summary.video[..] else { panic!("two videos") };
    assert_eq!((live.generated, reliable.generated), (2400, 2400));
    assert_eq!(reliable.undelivered, 0);
    assert!(live.undelivered > 0 && live.undelivered < 1200, "{live:?}");
    // A message sent at the end of its lifetime still has to pass the queue and the link: 30 packets of 1500
    // bytes at 4 Mbps take 90 ms, and the link 40 ms.
    let (oldest, insisted) = (live.max_transfer.unwrap(), reliable.p95_transfer.unwrap());
    assert!(oldest <= 0.250 + 0.090 + 0.040 + 0.010, "{live:?}");
    assert!(insisted > 2.0 * live.p95_transfer.unwrap(), "{live:?} {reliable:?}");
}

/// The association applies a limit of the messages: a frame without retransmissions is lost with its packet
/// (RFC 7496 §3.1).
#[test]
fn frames_without_retransmissions_are_lost_with_their_packets() {
    // Long enough for the last timeout.
    let (reliable, _) = run(&scenario(&["link.wire.loss=0.05", "duration=30s"]));
    assert_eq!(reliable.undelivered, 0);
    let (limited, _) =
        run(&scenario(&["link.wire.loss=0.05", "duration=30s", "app.clip.max_retransmissions=0"]));
    assert_eq!(limited.generated, reliable.generated);
    // About 20 of 400 packets are lost.
    assert!((1..=100).contains(&limited.undelivered), "{limited:?}");
}
