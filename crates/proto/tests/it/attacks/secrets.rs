//! Secrets in logs: what `Debug` prints of an endpoint and its associations.

use msctp_proto::{AuthConfig, Config, Endpoint, EndpointConfig, SharedKey};

use crate::support::{Pair, Side};

#[test]
fn no_seed_and_no_key_is_in_debug_output() {
    let endpoint = Endpoint::new(EndpointConfig::default(), [0xa7; 32]).unwrap();
    let text = format!("{endpoint:?}");
    assert!(!text.contains(&format!("{:?}", [0xa7_u8; 4]).replace(['[', ']'], "")), "{text}");
    assert!(!text.contains("seed"), "{text}");
    let secret = vec![0xb3; 20];
    let auth = AuthConfig { keys: vec![SharedKey { id: 1, secret }], ..AuthConfig::default() };
    let mut pair = Pair::established(Config { auth, ..Config::default() });
    let text = pair.with(Side::A, |a, _| format!("{a:?}"));
    assert!(!text.contains("seed"), "{text}");
    assert!(!text.contains("179, 179"), "{text}");
}
