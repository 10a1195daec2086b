//! A protected peer whose packets come from another address, without any request: its router has another
//! public one, or another network gave it the address that it had.

use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;

use msctp_proto::{AuthConfig, AuthPolicy, Config, Event, PathAddr, SharedKey};
use msctp_units::{Span, Time};

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, text_message};

/// Public addresses of A's router.
fn public(n: u8) -> IpAddr {
    IpAddr::from([203, 0, 113, n])
}

/// A behind a router whose public address changes, and B on the Internet.
struct World {
    pair: Pair,
    /// The router's address.
    at: Rc<Cell<IpAddr>>,
}

impl World {
    fn new(config: &Config, udp: bool) -> Self {
        let at = Rc::new(Cell::new(public(1)));
        let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
        pair.translate = Some((a_ip(0), public(1)));
        pair.udp = udp.then_some([1000, 9899]);
        pair.log = Some(Vec::new());
        let mut world = Self { pair, at };
        world.route();
        world.pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
        world.pair.run_for(Span::from_secs(5));
        world.pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        world.pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
        world
    }

    /// Drops what goes to an address that the router no longer has.
    fn route(&mut self) {
        let at = Rc::clone(&self.at);
        self.pair.drop_if(move |flight: &Flight| flight.from == Side::B && flight.at.remote != at.get());
    }

    /// The router has another address and, over UDP, another port.
    fn move_to(&mut self, address: IpAddr) {
        self.at.set(address);
        self.pair.translate = Some((a_ip(0), address));
        if let Some([port, _]) = &mut self.pair.udp {
            *port += 1;
        }
    }

    /// Sends data from one end, and returns the longest time without an arrival in the next ten seconds.
    fn longest_gap(&mut self, from: Side, count: u32) -> Span {
        let (mut waiting, end) = ((0..count).collect(), self.pair.now + Span::from_secs(10));
        let (mut gap, mut last, mut arrived) = (Span::ZERO, self.pair.now, 0);
        while arrived < count as usize {
            self.pair.feed(from, &mut waiting, 1000);
            let before = self.pair.host(from.other()).received.len();
            let more = self.pair.step(end);
            let now = self.pair.host(from.other()).received.len();
            if now > before {
                (gap, last, arrived) =
                    (gap.max(self.pair.now.since(last)), self.pair.now, arrived + now - before);
            }
            if !more {
                return gap.max(self.pair.now.since(last));
            }
        }
        gap
    }

    fn addresses(&mut self) -> Vec<IpAddr> {
        self.pair.with(Side::B, |b, _| b.paths().map(|path| path.at.remote).collect())
    }

    fn is_up(&self) -> bool {
        ![&self.pair.a, &self.pair.b].iter().any(|host| host.saw(|event| matches!(event, Event::Lost(_))))
    }
}

#[test]
fn data_goes_on_behind_a_router_with_a_new_address() {
    for udp in [false, true] {
        for from in [Side::A, Side::B] {
            let mut world = World::new(&psk(), udp);
            world.pair.rate = Some(msctp_units::Rate::from_mbps(8));
            for n in 2..6 {
                let mut waiting = (0..1000).collect();
                world.pair.feed(from, &mut waiting, 1000);
                world.pair.run_for(Span::from_millis(300));
                world.move_to(public(n));
                let gap = world.longest_gap(from, 3000);
                assert!(gap <= Span::from_secs(3), "{from:?}, udp {udp}: {gap}");
                world.pair.run_for(Span::from_secs(5));
            }
            assert!(world.is_up());
        }
    }
}

#[test]
fn an_idle_association_goes_on_at_its_next_use() {
    let mut world = World::new(&psk(), true);
    for n in 2..6 {
        world.move_to(public(n));
        let (began, before) = (world.pair.now, world.pair.a.received.len());
        world.pair.send(Side::A, text_message("question"));
        world.pair.run_for(Span::from_millis(25));
        world.pair.send(Side::B, text_message("answer"));
        assert!(world.pair.run_until(Span::from_secs(60), |pair| pair.a.received.len() > before));
        let took = world.pair.now.since(began);
        assert!(took <= Span::from_secs(1), "{took}");
        world.pair.run_for(Span::from_secs(30));
    }
    assert!(world.is_up());
}

/// More addresses than an association has room for, one after another.
#[test]
fn dead_addresses_make_room_for_new_ones() {
    let mut world = World::new(&psk(), true);
    for n in 2..40 {
        world.move_to(public(n));
        world.pair.transfer(Side::A, 20, 1000, Span::from_secs(10));
        world.pair.transfer(Side::B, 20, 1000, Span::from_secs(10));
        assert!(world.addresses().contains(&public(n)));
        // Dead ones are found dead.
        world.pair.run_for(Span::from_secs(120));
    }
    assert!(world.addresses().len() <= 16 && world.is_up());
}

/// Only keys of the association prove the sender: in clear, and with keys that RFC 4895 shares, an ASCONF
/// adds addresses.
#[test]
fn nothing_is_asked_or_added_in_clear() {
    let keys = AuthConfig {
        policy: AuthPolicy::Required,
        keys: vec![SharedKey { id: 1, secret: vec![7; 32] }],
        ..AuthConfig::default()
    };
    for config in [Config::mobile(), Config { auth: keys, ..Config::mobile() }] {
        let mut world = World::new(&config, false);
        world.move_to(public(2));
        let began = world.pair.now;
        world.pair.send(Side::A, text_message("from elsewhere"));
        world.pair.run_for(Span::from_secs(20));
        assert_eq!(world.addresses(), [public(1)]);
        let log = world.pair.log.as_ref().unwrap().iter();
        let asked = log.filter(|f| f.sent >= began && f.at.remote == public(2) && f.has(chunk::HEARTBEAT));
        assert_eq!(asked.count(), 0);
    }
}

/// An observer sends a copy of each packet first, from an address of its own.
#[test]
fn copies_that_overtake_add_no_address_and_draw_little() {
    let mut world = World::new(&psk(), false);
    let victim = public(200);
    world.pair.copied_from = Some(victim);
    let began = world.pair.now;
    for _ in 0..40 {
        world.pair.send(Side::A, text_message("copied"));
        world.pair.send(Side::B, text_message("and answered"));
        world.pair.run_for(Span::from_millis(500));
    }
    assert_eq!(world.addresses(), [public(1)]);
    let log = world.pair.log.as_ref().unwrap();
    let sum = |flights: &mut dyn Iterator<Item = &Flight>| flights.map(|f| f.bytes.len() + 20).sum::<usize>();
    let drawn = sum(&mut log.iter().filter(|f| f.sent >= began && f.at.remote == victim));
    let sent = sum(&mut log.iter().filter(|f| f.sent >= began && f.from == Side::A));
    assert!(drawn > 0 && drawn <= 3 * sent, "{drawn} bytes for {sent}");
    assert!(world.is_up());
}

/// The genuine packets come second, from a new address: they tell it all the same.
#[test]
fn a_new_address_is_noticed_behind_copies() {
    let mut world = World::new(&psk(), false);
    world.pair.copied_from = Some(public(200));
    world.move_to(public(2));
    world.pair.send(Side::A, text_message("overtaken"));
    world.pair.run_for(Span::from_millis(500));
    assert!(world.addresses().contains(&public(2)), "{:?}", world.addresses());
    assert!(!world.addresses().contains(&public(200)));
    world.pair.transfer(Side::B, 200, 1000, Span::from_secs(5));
}

/// The observer also passes on what is sent to its address: there is a path, and data stays where it was.
#[test]
fn an_address_that_passes_packets_on_attracts_no_data() {
    let mut world = World::new(&psk(), false);
    let relay = public(200);
    world.pair.copied_from = Some(relay);
    world.pair.filter = Box::new(move |flight: &mut Flight| {
        if flight.from == Side::B && flight.at.remote == relay {
            flight.at.remote = public(1);
        }
        Fate::Pass
    });
    world.pair.transfer(Side::A, 50, 1000, Span::from_secs(5));
    world.pair.run_for(Span::from_secs(2));
    let began = world.pair.now;
    world.pair.transfer(Side::B, 2000, 1000, Span::from_secs(20));
    let log = world.pair.log.as_ref().unwrap().iter();
    let (there, all) = log
        .filter(|f| f.sent >= began && f.from == Side::B && f.bytes.len() > 500)
        .fold((0, 0), |(there, all), flight| (there + usize::from(flight.at.remote == relay), all + 1));
    assert!(there * 10 < all, "{there} of {all} packets of data went to the relay");
    assert!(world.is_up());
}

/// One packet in many copies, from an address each.
#[test]
fn thousands_of_addresses_are_asked_seldom() {
    let mut world = World::new(&psk(), false);
    let began = world.pair.now;
    for n in 0..2000_u16 {
        world.pair.send(Side::A, text_message("copied"));
        let bytes = world.pair.log.as_ref().unwrap().last().unwrap().bytes.clone();
        let [high, low] = n.to_be_bytes();
        let remote = IpAddr::from([198, 18, high, low]);
        world.pair.inject(Side::B, PathAddr { local: b_ip(0), remote }, &bytes);
        world.pair.run_for(Span::from_millis(50));
    }
    let log = world.pair.log.as_ref().unwrap().iter();
    let elsewhere = |f: &&Flight| f.sent >= began && f.from == Side::B && f.at.remote != public(1);
    let asked = log.filter(elsewhere).count();
    // A minute has thirty, of opened packets and of replays each; replies to the packets themselves apart.
    let minutes = world.pair.now.since(began).as_nanos() / 60_000_000_000 + 1;
    assert!(asked as u64 <= 60 * minutes, "{asked} in {minutes} minutes");
    assert_eq!(world.addresses(), [public(1)]);
    world.pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
}

/// When data stops, its receiver sends a HEARTBEAT: it may have moved without knowing it.
#[test]
fn a_receiver_sends_a_heartbeat_when_data_stops() {
    let mut world = World::new(&psk(), false);
    world.pair.transfer(Side::B, 100, 1000, Span::from_secs(5));
    let began: Time = world.pair.now;
    world.pair.run_for(Span::from_secs(5));
    let sent = |world: &World, from: Side| {
        world.pair.log.as_ref().unwrap().iter().filter(|f| f.sent > began && f.from == from).count()
    };
    assert!((1..=3).contains(&sent(&world, Side::A)), "{}", sent(&world, Side::A));
}
