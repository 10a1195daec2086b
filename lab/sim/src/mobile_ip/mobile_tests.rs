//! The mobile on its own: its requests and its choice of agents.

use super::super::message::registration::code;
use super::*;

const HOME: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const MOBILE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
const FOREIGN: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn mobile(switching: Switching) -> Mobile {
    Mobile::new(MOBILE, HOME, MobileOptions { switching, ..MobileOptions::default() })
}

fn advertisement(router: Ipv4Addr, sequence: u16) -> Advertisement {
    let home = router == HOME;
    Advertisement {
        router,
        lifetime: 3,
        sequence,
        registration_lifetime: 100,
        home,
        care_of: if home { Vec::new() } else { vec![router] },
    }
}

fn receives_advertisement(mobile: &mut Mobile, now: Time, router: Ipv4Addr) {
    mobile.handle_advertisement(now, &advertisement(router, (now.as_nanos() / 1_000_000_000) as u16));
}

/// Returns the requests sent since the last call, with their destinations.
fn requests(mobile: &mut Mobile) -> Vec<(Ipv4Addr, Request)> {
    std::iter::from_fn(|| mobile.poll_transmit())
        .map(|d| {
            assert_eq!((d.source, d.source_port, d.destination_port), (MOBILE, PORT, PORT));
            (d.destination, Request::parse(&d.payload).expect("a request"))
        })
        .collect()
}

fn notes(mobile: &mut Mobile) -> Vec<Note> {
    std::iter::from_fn(|| mobile.poll_note()).collect()
}

fn answer(mobile: &mut Mobile, now: Time, request: &Request, code: u8, lifetime: u16) {
    let datagram = Datagram {
        source: FOREIGN,
        source_port: PORT,
        destination: MOBILE,
        destination_port: PORT,
        payload: request.reply(code, lifetime).encode(),
    };
    mobile.handle_datagram(now, &datagram);
}

/// Runs the mobile's timers until `until`.
fn wait(mobile: &mut Mobile, until: Time) {
    while mobile.poll_timeout() <= until {
        let at = mobile.poll_timeout();
        mobile.handle_timeout(at);
    }
}

#[test]
fn at_home_nothing_is_registered() {
    let mut mobile = mobile(Switching::Lazy);
    receives_advertisement(&mut mobile, ms(0), HOME);
    assert_eq!(notes(&mut mobile), [Note::Switched { to: HOME }]);
    assert_eq!(requests(&mut mobile), []);
    assert_eq!(mobile.poll_timeout(), ms(3000));
}

#[test]
fn a_lazy_mobile_stays_until_its_agents_advertisement_expires() {
    let mut mobile = mobile(Switching::Lazy);
    receives_advertisement(&mut mobile, ms(0), HOME);
    receives_advertisement(&mut mobile, ms(1000), HOME);
    receives_advertisement(&mut mobile, ms(1500), FOREIGN);
    receives_advertisement(&mut mobile, ms(2500), FOREIGN);
    receives_advertisement(&mut mobile, ms(3500), FOREIGN);
    wait(&mut mobile, ms(3999));
    assert_eq!(requests(&mut mobile), []);
    wait(&mut mobile, ms(4000));
    let sent = requests(&mut mobile);
    assert_eq!(sent.len(), 1);
    let (to, request) = sent[0];
    assert_eq!((to, request.care_of, request.home_agent), (FOREIGN, FOREIGN, HOME));
    assert_eq!((request.home_address, request.lifetime), (MOBILE, 60));
    assert_eq!(request.identification, time_stamp(ms(4000)));
}

#[test]
fn an_eager_mobile_changes_at_once_and_stays_while_it_receives_both() {
    let mut mobile = mobile(Switching::Eager);
    receives_advertisement(&mut mobile, ms(0), HOME);
    receives_advertisement(&mut mobile, ms(500), FOREIGN);
    receives_advertisement(&mut mobile, ms(1000), HOME);
    receives_advertisement(&mut mobile, ms(1500), FOREIGN);
    let to: Vec<Note> = notes(&mut mobile);
    assert_eq!(to, [Note::Switched { to: HOME }, Note::Switched { to: FOREIGN }]);
    // Away for longer than an advertisement's lifetime: the home agent is new again.
    for at in [2500, 3500, 4500] {
        receives_advertisement(&mut mobile, ms(at), FOREIGN);
        wait(&mut mobile, ms(at));
    }
    receives_advertisement(&mut mobile, ms(5000), HOME);
    assert_eq!(notes(&mut mobile), [Note::Switched { to: HOME }]);
}

#[test]
fn a_request_is_retransmitted_with_a_new_identification_and_twice_the_wait() {
    let mut mobile = mobile(Switching::Lazy);
    receives_advertisement(&mut mobile, ms(0), FOREIGN);
    let mut at = Vec::new();
    let mut seen = Vec::new();
    for now in (0..15).map(|s| ms(s * 1000)) {
        receives_advertisement(&mut mobile, now, FOREIGN);
        wait(&mut mobile, now);
        for (_, request) in requests(&mut mobile) {
            at.push(now.as_nanos() / 1_000_000_000);
            seen.push(request.identification);
        }
    }
    assert_eq!(at, [0, 1, 3, 7]);
    seen.dedup();
    assert_eq!(seen.len(), 4);
    // A reply to an earlier request is dropped, one to the latest is accepted.
    let request = Request {
        lifetime: 60,
        home_address: MOBILE,
        home_agent: HOME,
        care_of: FOREIGN,
        identification: seen[2],
    };
    answer(&mut mobile, ms(14_500), &request, code::ACCEPTED, 60);
    assert_eq!(notes(&mut mobile).len(), 1, "the switch only");
    let latest = Request { identification: seen[3], ..request };
    answer(&mut mobile, ms(14_600), &latest, code::ACCEPTED, 60);
    let after = Span::from_millis(14_600);
    assert_eq!(notes(&mut mobile), [Note::Registered { lifetime: 60, after, attempts: 4, renewal: false }]);
}

#[test]
fn a_registration_is_renewed_at_a_quarter_of_its_lifetime_left() {
    let mut mobile = mobile(Switching::Lazy);
    receives_advertisement(&mut mobile, ms(0), FOREIGN);
    let (_, request) = requests(&mut mobile)[0];
    answer(&mut mobile, ms(800), &request, code::ACCEPTED, 20);
    for s in 1..15 {
        receives_advertisement(&mut mobile, ms(s * 1000), FOREIGN);
        wait(&mut mobile, ms(s * 1000));
        assert_eq!(requests(&mut mobile), [], "{s} s");
    }
    receives_advertisement(&mut mobile, ms(15_000), FOREIGN);
    wait(&mut mobile, ms(15_000));
    let (_, request) = requests(&mut mobile)[0];
    answer(&mut mobile, ms(15_800), &request, code::ACCEPTED, 20);
    let last = notes(&mut mobile).pop();
    let after = Span::from_millis(800);
    assert_eq!(last, Some(Note::Registered { lifetime: 20, after, attempts: 1, renewal: true }));
}

#[test]
fn a_mobile_deregisters_at_home() {
    let mut mobile = mobile(Switching::Eager);
    receives_advertisement(&mut mobile, ms(0), FOREIGN);
    let (_, request) = requests(&mut mobile)[0];
    answer(&mut mobile, ms(800), &request, code::ACCEPTED, 60);
    receives_advertisement(&mut mobile, ms(1000), HOME);
    let (to, request) = requests(&mut mobile)[0];
    assert_eq!((to, request.lifetime, request.care_of), (HOME, 0, MOBILE));
    answer(&mut mobile, ms(1400), &request, code::ACCEPTED, 0);
    let last = notes(&mut mobile).pop();
    let after = Span::from_millis(400);
    assert_eq!(last, Some(Note::Registered { lifetime: 0, after, attempts: 1, renewal: false }));
    for s in 2..120 {
        receives_advertisement(&mut mobile, ms(s * 1000), HOME);
        wait(&mut mobile, ms(s * 1000));
    }
    assert_eq!(requests(&mut mobile), [], "nothing is renewed at home");
}

#[test]
fn a_denied_request_is_retransmitted_on_time() {
    let mut mobile = mobile(Switching::Lazy);
    receives_advertisement(&mut mobile, ms(0), FOREIGN);
    let (_, request) = requests(&mut mobile)[0];
    answer(&mut mobile, ms(800), &request, code::IDENTIFICATION_MISMATCH, 0);
    assert_eq!(notes(&mut mobile).pop(), Some(Note::Denied { code: 133 }));
    wait(&mut mobile, ms(1000));
    assert_eq!(requests(&mut mobile).len(), 1);
}

#[test]
fn the_mobile_registers_again_with_a_restarted_agent() {
    let mut mobile = mobile(Switching::Lazy);
    mobile.handle_advertisement(ms(0), &advertisement(FOREIGN, 0xffff));
    let (_, request) = requests(&mut mobile)[0];
    answer(&mut mobile, ms(800), &request, code::ACCEPTED, 60);
    // Wraps to 256: no restart.
    mobile.handle_advertisement(ms(1000), &advertisement(FOREIGN, 256));
    assert_eq!(requests(&mut mobile), []);
    mobile.handle_advertisement(ms(2000), &advertisement(FOREIGN, 0));
    assert_eq!(requests(&mut mobile).len(), 1);
}

#[test]
fn frames_go_to_the_agent_in_use_or_to_the_strongest_one_in_range() {
    let mut mobile = mobile(Switching::Lazy);
    assert_eq!(mobile.attached(), None);
    mobile.set_covered(vec![HOME]);
    assert_eq!(mobile.attached(), Some(HOME));
    receives_advertisement(&mut mobile, ms(0), HOME);
    mobile.set_covered(vec![FOREIGN, HOME]);
    assert_eq!(mobile.attached(), Some(HOME), "in the overlap, the agent in use");
    mobile.set_covered(vec![FOREIGN]);
    assert_eq!(mobile.attached(), Some(FOREIGN));
    mobile.set_covered(Vec::new());
    assert_eq!(mobile.attached(), Some(HOME), "none is in range: the frames are lost");
    wait(&mut mobile, ms(3000));
    assert_eq!(notes(&mut mobile).pop(), Some(Note::Lost));
    assert_eq!(mobile.attached(), None);
}
