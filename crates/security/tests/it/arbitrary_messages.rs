//! Messages from anybody, lost, repeated and changed: no panic, no epoch twice, and no end seals by keys that
//! its peer does not have.

use proptest::prelude::*;

use crate::support;

/// With and without a code, keys are replaced as often as the script requests.
#[test]
fn in_order() {
    for choice in [0, 1] {
        let round = [[0, 0x10].repeat(10), vec![15]].concat();
        assert_eq!(support::play::play(&[vec![choice], round.repeat(4)].concat()), 4);
    }
    for (choice, why) in [(0x91, "the server has no code"), (0xa1, "another code")] {
        let script = [vec![choice], [0, 0x10].repeat(30)].concat();
        assert_eq!(support::play::play(&script), 0, "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn of_any_kind(script in prop::collection::vec(any::<u8>(), 0..120)) {
        support::play::play(&script);
    }

    /// Most messages arrive as they were sent, so that keys are replaced several times.
    #[test]
    fn mostly_in_order(script in prop::collection::vec(
        prop_oneof![9 => prop_oneof![Just(0u8), Just(0x10)], 1 => Just(15u8), 1 => Just(31u8), 1 => any::<u8>()],
        0..200,
    )) {
        support::play::play(&script);
    }
}
