//! Code that the fuzz target and the test of arbitrary bytes share.

use msctp_protection::{
    CipherSuite, FIRST_EPOCH, HEADER_LEN, KeyContext, KeyMaterial, Opener, Provider, Sealer, Secret,
    TRAILER_LEN,
};

/// Plays a script against an opener. The first byte chooses the suite. The rest is opened as a packet, and
/// applied as changes to a genuine packet.
///
/// # Panics
/// A packet that was not sealed is opened, or a genuine one is not opened afterwards.
pub(crate) fn play(provider: &dyn Provider, script: &[u8]) {
    let [choice, bytes @ ..] = script else { return };
    let suite = CipherSuite::ALL[usize::from(*choice) % 3];
    let secret = Secret::from(&[0x5a; 48][..suite.hash().len()]);
    let keys = KeyMaterial::from_traffic_secret(provider, suite, &secret);
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new(64));
    for context in [KeyContext::Primary, KeyContext::Restart] {
        opener.establish(context, FIRST_EPOCH, &keys, provider).expect("the first epoch");
    }
    sealer.establish(KeyContext::Primary, FIRST_EPOCH, &keys, provider).expect("the first epoch");
    let chunks = [11, 0, 0, 4, 8, 0, 0, 4];
    let mut genuine = [&[0; HEADER_LEN][..], &chunks, &[0; TRAILER_LEN]].concat();
    sealer.seal(&mut genuine).expect("room for a packet");

    // Nobody can forge a record in a fuzzer's time.
    assert!(opener.open(&mut bytes.to_vec()).is_err(), "opened what was not sealed");
    let mut changed = genuine.clone();
    for change in bytes.chunks_exact(2) {
        let at = usize::from(change[0]) % changed.len();
        changed[at] ^= change[1];
    }
    let record = 5..HEADER_LEN + chunks.len() + 1 + 16;
    let same = changed[record.clone()] == genuine[record] && changed[..4] == genuine[..4];
    // The same keys serve both contexts here, so the R bit alone makes no forgery.
    let opened = opener.open(&mut changed.clone());
    assert!(same || opened.is_err() || changed[1] != genuine[1], "opened a changed record");
    if opened.is_err() {
        let opened = opener.open(&mut genuine).expect("a genuine packet");
        assert_eq!(genuine[opened.chunks], chunks);
    }
}
