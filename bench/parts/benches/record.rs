//! Sealing and opening packets of 1,200 bytes with each provider and suite.
//!
//!     cargo bench --manifest-path bench/parts/Cargo.toml --bench record --features aws-lc-rs

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use msctp_protection::{CipherSuite, FIRST_EPOCH, KeyContext, KeyMaterial, Opener, Provider, Sealer, Secret};

/// Bytes after the common header.
const PACKET: usize = 1200;

fn providers() -> Vec<(&'static str, &'static dyn Provider)> {
    vec![
        #[cfg(feature = "aws-lc-rs")]
        ("aws-lc-rs", &msctp_protection::AwsLcRs),
        ("ring", &msctp_protection::Ring),
    ]
}

fn records(c: &mut Criterion) {
    for (name, provider) in providers() {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(PACKET as u64));
        for suite in CipherSuite::ALL {
            let secret = Secret::from(&[1; 48][..suite.hash().len()]);
            let keys = KeyMaterial::from_traffic_secret(provider, suite, &secret);
            let sealer = || {
                let mut sealer = Sealer::new();
                sealer.establish(KeyContext::Primary, FIRST_EPOCH, &keys, provider).expect("an epoch");
                sealer
            };
            let mut bytes = vec![0; PACKET];
            let mut first = sealer();
            group.bench_function(format!("seal {suite}"), |b| b.iter(|| first.seal(&mut bytes)));
            // The opener receives every packet of a sealer of its own.
            let (mut sealer, mut opener) = (sealer(), Opener::default());
            opener.establish(KeyContext::Primary, FIRST_EPOCH, &keys, provider).expect("an epoch");
            group.bench_function(format!("open {suite}"), |b| {
                b.iter_batched_ref(
                    || {
                        sealer.seal(&mut bytes).expect("room in the key");
                        bytes.clone()
                    },
                    |bytes| opener.open(bytes).expect("a genuine packet"),
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

criterion_group!(benches, records);
criterion_main!(benches);
