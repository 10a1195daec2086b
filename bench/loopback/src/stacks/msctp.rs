//! The project's asynchronous crate, as `msctp perf` uses it.

use std::time::Instant;

use bytes::Bytes;
use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions};

use crate::job::{Job, MTU, Tally, block_on, failed, ready};

fn config() -> Config {
    Config { pmtu: MTU, ..Config::mobile() }
}

pub fn server(job: &Job) -> Result<(), String> {
    block_on(async {
        let endpoint =
            Endpoint::bind(&EndpointOptions::new([job.address])).map_err(|e| failed("bind")(&e))?;
        endpoint.listen(DEFAULT_PORT, config()).map_err(|e| failed("listen")(&e))?;
        ready();
        let association = endpoint.accept(DEFAULT_PORT).await.ok_or("the endpoint is gone")?;
        let mut tally = Tally::default();
        while let Some(message) = association.recv().await.map_err(|e| failed("receiving")(&e))? {
            tally.add(message.data.len());
        }
        tally.report();
        drop(association);
        endpoint.idle().await;
        Ok(())
    })
}

pub fn client(job: &Job) -> Result<(), String> {
    block_on(async {
        let endpoint = Endpoint::bind(&EndpointOptions::new([job.own()])).map_err(|e| failed("bind")(&e))?;
        let association =
            endpoint.connect(job.address, config()).await.map_err(|e| failed("connecting")(&e))?;
        let message = Bytes::from(vec![0x5a; job.len]);
        let begin = Instant::now();
        while begin.elapsed() < job.time {
            association.send_bytes(0, message.clone()).await.map_err(|e| failed("sending")(&e))?;
        }
        if std::env::var_os("LOOPBACK_STATS").is_some() {
            eprintln!(
                "{:?}\n{:?}\n{} send errors",
                association.stats(),
                association.paths(),
                endpoint.send_errors()
            );
        }
        association.shutdown().await.map_err(|e| failed("shutting down")(&e))
    })
}
