//! The memory of an association, counted by the allocator on an endpoint with many idle ones. In its own
//! process on its main thread, so that nothing else allocates: the thread of the test runner allocates some
//! kilobytes while it starts a test on another one, or a little later.

use std::alloc::System;
use std::process::Command;
use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    Config, Endpoint, EndpointConfig, Handle, KeyManagement, LocalAddrs, OutMessage, PathAddr, Protection,
    RemoteAddrs,
};
use msctp_units::{Span, Time};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Largest memory of an idle association per end in bytes, its entries in the endpoint's tables included.
const IDLE: usize = 3347;
/// As [`IDLE`], of an association with a pre-shared key.
const IDLE_PROTECTED: usize = 8164;
/// Largest memory of an association with constant traffic per end in bytes, its queued data not counted.
const BUSY: usize = 32_000;
const ASSOCIATIONS: u16 = 1000;

struct Pair {
    ends: [Endpoint; 2],
    config: Arc<Config>,
    now: Time,
    next_port: u16,
}

impl Pair {
    fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let mut ends = [1, 2].map(|seed| Endpoint::new(EndpointConfig::default(), [seed; 32]).unwrap());
        ends[1].listen(LocalAddrs { port: 5000, addresses: vec![ip(2)] }, Arc::clone(&config)).unwrap();
        Self { ends, config, now: Time::ZERO, next_port: 6000 }
    }

    fn connect(&mut self) -> Handle {
        let local = LocalAddrs { port: self.next_port, addresses: vec![ip(1)] };
        let remote = RemoteAddrs { port: 5000, addresses: vec![ip(2)] };
        self.next_port += 1;
        let handle = self.ends[0].connect(self.now, Arc::clone(&self.config), local, remote).unwrap();
        self.settle();
        handle
    }

    /// Runs until neither end has anything to send; received messages are read.
    fn settle(&mut self) {
        let mut bytes = Vec::new();
        let mut moved = true;
        while moved {
            moved = false;
            self.now += Span::from_micros(100);
            for end in [0, 1] {
                self.ends[end].handle_timeout(self.now);
                while let Some(transmit) = self.ends[end].poll_transmit(self.now, &mut bytes) {
                    let at = PathAddr { local: transmit.at.remote, remote: transmit.at.local };
                    self.ends[1 - end].handle_datagram(self.now, at, &mut bytes);
                    bytes.clear();
                    moved = true;
                }
                while let Some((handle, _)) = self.ends[end].poll_event() {
                    while self.ends[end]
                        .association_mut(handle)
                        .is_some_and(|it| it.recv().unwrap().is_some())
                    {}
                }
            }
        }
    }
}

fn ip(last: u8) -> std::net::IpAddr {
    std::net::IpAddr::from([10, 0, 0, last])
}

/// Returns the options of an association with a pre-shared key.
fn protected() -> Config {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Config { protection: Protection::Required(Arc::new(keys)), ..Config::default() }
}

/// Returns the bytes allocated since the region began.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

#[test]
fn the_memory_of_an_idle_and_of_a_busy_association_is_bounded() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--test-threads=1", "--ignored", "--exact", "inside_the_memory_is_bounded"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "runs on a main thread: the_memory_of_an_idle_and_of_a_busy_association_is_bounded"]
fn inside_the_memory_is_bounded() {
    for (config, most) in [(Config::default(), IDLE), (protected(), IDLE_PROTECTED)] {
        let mut pair = Pair::new(config);
        // Allocate the endpoints' own memory first.
        pair.connect();
        let region = Region::new(ALLOCATOR);
        for _ in 0..ASSOCIATIONS {
            pair.connect();
        }
        let idle = held(&region) / (2 * usize::from(ASSOCIATIONS));
        assert!(idle <= most, "{idle} bytes per idle association and end, at most {most}");
    }

    let mut pair = Pair::new(Config::default());
    let region = Region::new(ALLOCATOR);
    let handle = pair.connect();
    let data = bytes::Bytes::from(vec![0; 1000]);
    for _ in 0..2000 {
        let association = pair.ends[0].association_mut(handle).unwrap();
        let message = OutMessage { data: data.clone(), ..OutMessage::default() };
        association.send(pair.now, message).unwrap();
        pair.settle();
    }
    let busy = held(&region) / 2;
    assert!(busy <= BUSY, "{busy} bytes per busy association and end, at most {BUSY}");
}
