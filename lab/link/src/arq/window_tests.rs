//! The window against the rules of TS 44.060 §9.1.

use super::*;

fn window(size: u64, blocks: u64) -> Window<()> {
    let mut window = Window::new(size);
    for n in 0..blocks {
        let number = window.push(Block::new(n * 10..n * 10 + 10, ()));
        window.get_mut(number).unwrap().note_sent(Time::ZERO, 1);
    }
    window
}

fn arrives(window: &mut Window<()>, number: u64) -> bool {
    window.part_arrives(number, Part::WHOLE, Time::from_nanos(number + 1))
}

#[test]
fn the_receive_window_advances_over_received_blocks() {
    let mut window = window(8, 5);
    assert_eq!((window.vq(), window.vr(), window.in_order_end()), (0, 0, None));
    assert!(arrives(&mut window, 2) && !arrives(&mut window, 2), "once");
    assert_eq!((window.vq(), window.vr()), (0, 3));
    assert!(arrives(&mut window, 0));
    assert_eq!((window.vq(), window.vr(), window.in_order_end()), (1, 3, Some(10)));
    assert!(arrives(&mut window, 1));
    assert_eq!((window.vq(), window.vr(), window.in_order_end()), (3, 3, Some(30)));
}

#[test]
fn the_send_window_advances_over_acknowledged_blocks() {
    let mut window = window(4, 4);
    assert!(window.is_full());
    for number in [0, 1, 3] {
        arrives(&mut window, number);
        window.is_there(number);
    }
    assert!(window.advance() && !window.advance());
    assert_eq!((window.va(), window.vs(), window.vq()), (2, 4, 2));
    assert!(!window.is_full());
    assert_eq!(window.in_order_end(), None, "block 1 is forgotten");
    assert!(window.is_missing(2) && !window.is_missing(2) && !window.is_missing(3) && !window.is_missing(1));
    assert_eq!(window.next_missing(), Some(2));
    window.get_mut(2).unwrap().note_sent(Time::ZERO, 1);
    assert_eq!(window.next_missing(), None);
    assert!(window.is_missing(2), "missing again, after its retransmission");
    assert_eq!(window.next_missing(), Some(2));
}

#[test]
fn pending_blocks_come_round_oldest_first() {
    let mut window = window(8, 4);
    arrives(&mut window, 1);
    window.is_there(1);
    let rounds: Vec<_> = (0..5).map(|_| window.next_pending().unwrap()).collect();
    assert_eq!(rounds, [0, 2, 3, 0, 2]);
}

#[test]
fn a_block_in_parts_needs_all_of_them() {
    let part = |index, of| Part { index, of };
    let mut window = window(8, 2);
    let again = |window: &mut Window<()>, parts| window.get_mut(0).unwrap().note_sent(Time::ZERO, parts);
    again(&mut window, 2);
    assert!(
        !window.part_arrives(0, part(1, 2), Time::ZERO) && !window.part_arrives(0, part(1, 2), Time::ZERO)
    );
    again(&mut window, 2);
    assert!(window.part_arrives(0, part(0, 2), Time::ZERO), "the other half of the sending before");
    again(&mut window, 2);
    assert!(!window.part_arrives(0, part(0, 2), Time::ZERO), "once");
    // cut otherwise
    window.get_mut(1).unwrap().note_sent(Time::ZERO, 2);
    assert!(!window.part_arrives(1, part(0, 2), Time::ZERO));
    window.get_mut(1).unwrap().note_sent(Time::ZERO, 128);
    assert!(!window.part_arrives(1, part(1, 2), Time::ZERO));
    assert!((0..127).all(|n| !window.part_arrives(1, part(n, 128), Time::ZERO)));
    assert!(window.part_arrives(1, part(127, 128), Time::ZERO));
}

#[test]
fn numbers_go_on_after_all_is_forgotten() {
    let mut window = window(8, 5);
    window.is_missing(3);
    window.clear();
    assert!(window.is_empty() && window.next_missing().is_none() && window.next_pending().is_none());
    assert_eq!((window.va(), window.vs(), window.vq(), window.vr()), (5, 5, 5, 5));
    assert_eq!(window.push(Block::new(0..10, ())), 5);
    assert!(!window.part_arrives(4, Part::WHOLE, Time::ZERO), "an old block's late arrival");
}
