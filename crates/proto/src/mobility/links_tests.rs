use core::time::Duration;

use super::*;

fn ip(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

fn secs(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// The report of an interface with one address, whose number is that of the address.
fn link(n: u8, name: &str) -> LinkChange {
    LinkChange::new(n.into(), name).with_addresses([ip(n)])
}

fn up(links: &mut Links, at: u64, n: u8, name: &str) -> Vec<Step> {
    links.change(secs(at), &[link(n, name).with_carrier(true)])
}

fn down(links: &mut Links, at: u64, n: u8, name: &str) -> Vec<Step> {
    links.change(secs(at), &[link(n, name)])
}

fn gone(links: &mut Links, at: u64, n: u8, name: &str) -> Vec<Step> {
    links.change(secs(at), &[LinkChange::new(n.into(), name)])
}

fn follow(options: Mobility) -> Links {
    Links::new(options, &[])
}

#[test]
fn a_new_address_is_used_at_once_and_ranked_by_its_interface() {
    let mut links = follow(Mobility::default());
    assert_eq!(up(&mut links, 0, 1, "wwan0"), [Step::Use(ip(1))]);
    assert_eq!(up(&mut links, 1, 2, "wlan0"), [Step::Use(ip(2))]);
    assert_eq!(up(&mut links, 1, 2, "wlan0"), [], "told already");
    assert!(links.rank(ip(2)) < links.rank(ip(1)) && links.rank(ip(3)).is_none());
    assert_eq!(links.next_timeout(), None);
    let link_local = LinkChange::new(4, "wlan1").with_addresses([[169, 254, 0, 4].into()]).with_carrier(true);
    assert_eq!(links.change(secs(1), &[link_local]), []);
    let renamed = LinkChange { name: "wwan1".to_owned(), ..link(2, "wlan0") }.with_carrier(true);
    assert_eq!(links.change(secs(1), &[renamed]), []);
    assert_eq!(links.rank(ip(2)), links.rank(ip(1)), "it has another name now");
}

#[test]
fn a_link_that_flaps_waits_longer_each_time_while_another_works() {
    let mut links = follow(Mobility::default());
    up(&mut links, 0, 1, "wwan0");
    up(&mut links, 0, 2, "wlan0");
    let mut now = 10;
    for hold in [1, 2, 4, 8, 16, 32, 32] {
        assert_eq!(down(&mut links, now, 2, "wlan0"), [Step::Down(ip(2))]);
        assert_eq!(up(&mut links, now, 2, "wlan0"), []);
        assert_eq!(links.rank(ip(2)), None);
        // Down and up again meanwhile: nothing was announced, so nothing is to be announced.
        let due = links.known[&ip(2)].held_until.unwrap();
        assert_eq!(due, secs(now + hold));
        now += hold;
        assert_eq!(links.timeout(secs(now)), [Step::Use(ip(2))]);
    }
    now += 30;
    down(&mut links, now, 2, "wlan0");
    up(&mut links, now, 2, "wlan0");
    assert_eq!(links.known[&ip(2)].held_until, Some(secs(now + 1)), "it was calm for long");
}

#[test]
fn nothing_waits_when_nothing_else_works() {
    let mut links = follow(Mobility::default());
    up(&mut links, 0, 1, "wwan0");
    up(&mut links, 0, 2, "wlan0");
    down(&mut links, 1, 2, "wlan0");
    assert_eq!(up(&mut links, 1, 2, "wlan0"), [], "held");
    assert_eq!(gone(&mut links, 1, 1, "wwan0"), [Step::Down(ip(1)), Step::Gone(ip(1)), Step::Use(ip(2))]);
    down(&mut links, 2, 2, "wlan0");
    assert_eq!(up(&mut links, 2, 2, "wlan0"), [Step::Use(ip(2))], "the only one");
}

#[test]
fn an_address_that_stays_down_is_deleted_one_that_comes_back_is_not() {
    let mut links = follow(Mobility { delete_after: Duration::from_secs(3), ..Mobility::default() });
    up(&mut links, 0, 1, "wwan0");
    up(&mut links, 0, 2, "wlan0");
    down(&mut links, 5, 2, "wlan0");
    assert_eq!(links.next_timeout(), Some(secs(8)));
    assert!(!links.is_doomed(ip(2)));
    assert_eq!(links.timeout(secs(8)), [Step::Delete(ip(2))]);
    assert!(links.is_doomed(ip(2)));
    up(&mut links, 9, 2, "wlan0");
    assert_eq!(links.timeout(secs(10)), [Step::Use(ip(2))]);
    down(&mut links, 50, 2, "wlan0");
    up(&mut links, 51, 2, "wlan0");
    assert_eq!(links.timeout(secs(52)), [Step::Use(ip(2))]);
    assert_eq!((links.timeout(secs(60)), links.next_timeout()), (vec![], None));
}

#[test]
fn addresses_that_are_gone_do_not_fill_the_memory() {
    let mut links = follow(Mobility::default());
    for n in 0..=255 {
        up(&mut links, n.into(), n, "wlan0");
        assert_eq!(gone(&mut links, n.into(), n, "wlan0"), [Step::Down(ip(n)), Step::Gone(ip(n))]);
    }
    assert_eq!((links.known.len(), links.links.len(), links.holders.len()), (MAX_GONE, 0, 0));
    assert_eq!(gone(&mut links, 300, 0, "wlan0"), []);
}

/// As an interface that becomes a bridge's port loses its address to the bridge.
#[test]
fn an_address_of_two_interfaces_stays_while_one_has_it() {
    let mut links = follow(Mobility::default());
    let both = |n: u32| LinkChange::new(n, format!("wlan{n}")).with_addresses([ip(9)]);
    let none = |n: u32| LinkChange::new(n, format!("wlan{n}"));
    assert_eq!(links.change(secs(0), &[both(2).with_carrier(true)]), [Step::Use(ip(9))]);
    assert_eq!(links.change(secs(0), &[both(3).with_carrier(true)]), [], "used already");
    assert_eq!(links.change(secs(0), &[none(3)]), [], "the first still has it");
    links.change(secs(0), &[both(3).with_carrier(true)]);
    let steps = links.change(secs(0), &[none(2)]);
    assert_eq!(steps, [Step::Down(ip(9)), Step::Gone(ip(9)), Step::Use(ip(9))]);
    assert_eq!(links.interface_of(ip(9)), Some("wlan3"));
    assert_eq!(links.change(secs(1), &[both(3)]), [Step::Down(ip(9))]);
    assert_eq!(links.change(secs(1), &[none(3)]), [Step::Gone(ip(9))]);
}

#[test]
fn reports_that_belong_together_count_losses_first() {
    let mut links = follow(Mobility::default());
    up(&mut links, 0, 9, "wlan0");
    let steps = links.change(secs(1), &[link(2, "wwan0").with_carrier(true), LinkChange::new(9, "wlan0")]);
    assert_eq!(steps, [Step::Down(ip(9)), Step::Gone(ip(9)), Step::Use(ip(2))]);
}

#[test]
fn a_named_address_is_used_whatever_its_interface_and_follows_its_link() {
    let mut links = follow(Mobility { only: vec!["wlan".to_owned()], ..Mobility::default() });
    assert_eq!(up(&mut links, 0, 1, "eth0"), [], "of no interest");
    assert_eq!(links.add(secs(0), ip(1), "eth0"), [Step::Use(ip(1))]);
    assert_eq!(up(&mut links, 0, 1, "eth0"), []);
    assert_eq!(down(&mut links, 1, 1, "eth0"), [Step::Down(ip(1))]);
    assert_eq!(up(&mut links, 2, 1, "eth0"), [Step::Use(ip(1))]);
    assert_eq!(links.remove(secs(3), ip(1)), [Step::Down(ip(1)), Step::Gone(ip(1))]);
    assert_eq!(up(&mut links, 4, 1, "eth0"), [], "it is removed");
}

/// Reports of two interfaces that have the same address.
fn twins(wifi: bool, cellular: bool) -> [LinkChange; 2] {
    [(3, "wlan0", wifi), (2, "wwan0", cellular)]
        .map(|(n, name, up)| LinkChange::new(n, name).with_addresses([ip(1)]).with_carrier(up))
}

#[test]
fn an_address_of_two_interfaces_is_used_through_the_better_one() {
    let mut links = follow(Mobility::default());
    assert_eq!(links.change(secs(0), &twins(true, true)), [Step::Use(ip(1))]);
    assert_eq!(links.interface_of(ip(1)), Some("wlan0"));
    let moved = [Step::Down(ip(1)), Step::Gone(ip(1)), Step::Use(ip(1))];
    assert_eq!(links.change(secs(40), &twins(false, true)), moved);
    assert_eq!(links.interface_of(ip(1)), Some("wwan0"));
    // It waits, longer each time, for the better one may flap.
    for (at, wait) in [(50, 1), (60, 2), (70, 4)] {
        assert_eq!(links.change(secs(at), &twins(true, true)), []);
        assert_eq!(links.next_timeout(), Some(secs(at + wait)));
        assert_eq!(links.timeout(secs(at + wait)), moved);
        assert_eq!(links.interface_of(ip(1)), Some("wlan0"));
        assert_eq!(links.change(secs(at + wait + 1), &twins(false, true)), moved);
    }
    // It went again meanwhile.
    assert_eq!(links.change(secs(80), &twins(true, true)), []);
    assert_eq!(links.change(secs(81), &twins(false, true)), []);
    assert_eq!(links.next_timeout(), None);
}

#[test]
fn an_interface_that_carries_nothing_makes_way_for_another_with_its_address() {
    let mut links = follow(Mobility::default());
    links.change(secs(0), &twins(true, true));
    assert!(links.is_shared(ip(1)) && !links.is_shared(ip(2)));
    assert_eq!(links.note_stranded(secs(10), ip(1), true), Some(secs(12)));
    assert_eq!(links.note_stranded(secs(11), ip(1), false), None, "a moment");
    assert_eq!(links.note_stranded(secs(20), ip(1), true), Some(secs(22)));
    assert_eq!(links.note_stranded(secs(22), ip(1), true), Some(secs(24)));
    assert_eq!(links.timeout(secs(22)), [Step::Down(ip(1)), Step::Gone(ip(1)), Step::Use(ip(1))]);
    assert_eq!(links.interface_of(ip(1)), Some("wwan0"));
    // The better one carried nothing: not again unless it changes, or the other carries nothing either.
    assert_eq!(links.change(secs(30), &twins(true, true)), []);
    assert_eq!(links.next_timeout(), None);
    links.note_stranded(secs(40), ip(1), true);
    links.note_stranded(secs(42), ip(1), true);
    assert_ne!(links.timeout(secs(42)), []);
    assert_eq!(links.interface_of(ip(1)), Some("wlan0"));
    links.note_stranded(secs(50), ip(1), true);
    links.note_stranded(secs(52), ip(1), true);
    links.timeout(secs(52));
    assert_eq!(links.interface_of(ip(1)), Some("wwan0"));
    links.change(secs(60), &twins(false, true));
    links.change(secs(61), &twins(true, true));
    assert_ne!(links.next_timeout(), None, "it changed");
}
