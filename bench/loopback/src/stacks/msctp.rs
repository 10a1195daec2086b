//! The project's asynchronous crate, as `msctp perf` uses it: encrypted with keys from TLS 1.3, or in clear.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use msctp::security::{AnyPeer, Identity, Tls, provider};
use msctp::{Association, Config, DEFAULT_PORT, Endpoint, EndpointOptions, Pmtu, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinSet, LocalSet};

use crate::job::{AT_ONCE, Job, MESSAGES, MTU, SMALL, STEADY, Tally, block_on, failed, pause, ready};
use crate::requests::{Calls, LEN};

fn config() -> Config {
    Config { pmtu: Pmtu::UpTo(MTU), ..Config::mobile() }
}

/// Returns the security of an end. `encrypted`: with a new key of its own, for a peer with any key.
fn security(encrypted: bool) -> Result<Security, String> {
    if !encrypted {
        return Ok(Security::insecure());
    }
    let identity = Identity::generate(provider()).map_err(|e| failed("key")(&e))?;
    Ok(Tls::new(&identity, AnyPeer).map_err(|e| failed("key")(&e))?.into())
}

pub fn server(job: &Job, encrypted: bool) -> Result<(), String> {
    let security = security(encrypted)?;
    block_on(async {
        let endpoint =
            Endpoint::bind(&EndpointOptions::new([job.address])).map_err(|e| failed("bind")(&e))?;
        endpoint.listen(DEFAULT_PORT, security, config()).map_err(|e| failed("listen")(&e))?;
        ready();
        let association = endpoint.accept(DEFAULT_PORT).await.ok_or("the endpoint has ended")?;
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

pub fn client(job: &Job, encrypted: bool) -> Result<(), String> {
    let security = security(encrypted)?;
    block_on(async {
        let endpoint = Endpoint::bind(&EndpointOptions::new([job.own()])).map_err(|e| failed("bind")(&e))?;
        let association =
            endpoint.connect(job.address, security, config()).await.map_err(|e| failed("connecting")(&e))?;
        let message = Bytes::from(vec![0x5a; job.len]);
        let begin = Instant::now();
        while begin.elapsed() < job.time {
            association.send_bytes(0, message.clone()).await.map_err(|e| failed("sending")(&e))?;
        }
        association.shutdown().await.map_err(|e| failed("shutting down")(&e))
    })
}

/// Accepts `len` associations, each read by its own task.
pub fn hold(job: &Job, encrypted: bool) -> Result<(), String> {
    let security = security(encrypted)?;
    let tally = Rc::new(RefCell::new(Tally::default()));
    let readers = LocalSet::new();
    block_on(readers.run_until(async {
        let mut options = EndpointOptions::new([job.address]);
        options.core.max_associations_per_peer = options.core.max_associations;
        // The default protects from floods: 10,000 answers to INITs per second.
        options.core.max_replies_per_second = u32::MAX;
        let endpoint = Endpoint::bind(&options).map_err(|e| failed("bind")(&e))?;
        endpoint.listen(DEFAULT_PORT, security, config()).map_err(|e| failed("listen")(&e))?;
        ready();
        for _ in 0..job.len {
            let association = endpoint.accept(DEFAULT_PORT).await.ok_or("the endpoint has ended")?;
            let tally = Rc::clone(&tally);
            tokio::task::spawn_local(async move {
                while let Ok(Some(message)) = association.recv().await {
                    tally.borrow_mut().add(message.data.len());
                }
            });
        }
        endpoint.idle().await;
        tally.borrow().report();
        Ok(())
    }))
}

/// Sets up `len` associations, sends small messages over all of them in turn, and ends them.
pub fn open(job: &Job, encrypted: bool) -> Result<(), String> {
    let security = security(encrypted)?;
    block_on(async {
        let endpoint = Endpoint::bind(&EndpointOptions::new([job.own()])).map_err(|e| failed("bind")(&e))?;
        pause("begin", 0)?;
        let begin = Instant::now();
        let associations = set_up(&endpoint, job, &security).await?;
        pause("opened", begin.elapsed().as_nanos())?;
        let sent = send_in_turn(&associations).await?;
        pause("sent", u128::from(sent))?;
        let begin = Instant::now();
        drop(associations);
        endpoint.idle().await;
        pause("closed", begin.elapsed().as_nanos())
    })
}

async fn set_up(endpoint: &Endpoint, job: &Job, security: &Security) -> Result<Vec<Association>, String> {
    let (mut begun, mut up) = (JoinSet::new(), Vec::with_capacity(job.len));
    while up.len() < job.len {
        while begun.len() < AT_ONCE && up.len() + begun.len() < job.len {
            let (endpoint, address, security) = (endpoint.clone(), job.address, security.clone());
            begun.spawn(async move { endpoint.connect(address, security, config()).await });
        }
        let Some(connected) = begun.join_next().await else { break };
        up.push(connected.map_err(|e| failed("connecting")(&e))?.map_err(|e| failed("connecting")(&e))?);
    }
    Ok(up)
}

async fn send_in_turn(associations: &[Association]) -> Result<u32, String> {
    let message = Bytes::from(vec![0x5a; SMALL]);
    let (begin, mut sent) = (Instant::now(), 0);
    let mut turn = associations.iter().cycle();
    while begin.elapsed() < STEADY {
        let due = (begin.elapsed().as_secs_f64() * f64::from(MESSAGES)) as u32;
        while sent < due
            && let Some(association) = turn.next()
        {
            association.send_bytes(0, message.clone()).await.map_err(|e| failed("sending")(&e))?;
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(sent)
}

/// A client whose calls are streams.
#[derive(Debug)]
pub struct Requests {
    association: Association,
    _endpoint: Endpoint,
}

impl Calls for Requests {
    async fn call(&self, request: [u8; LEN]) -> Result<(), String> {
        let stream = self.association.open_stream().await.map_err(|e| failed("stream")(&e))?;
        let (mut send, mut recv) = stream.into_split();
        send.write_all(&request).await.map_err(|e| failed("writing")(&e))?;
        // Ends the direction.
        drop(send);
        let mut answer = Vec::with_capacity(LEN);
        recv.read_to_end(&mut answer).await.map_err(|e| failed("reading")(&e))?;
        if answer == request { Ok(()) } else { Err("another's answer".to_owned()) }
    }
}

/// Starts a server that answers each request with itself, and a client whose packets go through `way`.
pub async fn requests<W: Future<Output = Result<SocketAddr, String>>>(
    way: impl FnOnce(SocketAddr) -> W,
) -> Result<(Endpoint, Requests), String> {
    let bind = || {
        let any = EndpointOptions::new([SocketAddr::from(([127, 0, 0, 1], 0))]);
        Endpoint::bind(&any).map_err(|e| failed("bind")(&e))
    };
    let (server, client) = (bind()?, bind()?);
    server.listen(DEFAULT_PORT, security(true)?, config()).map_err(|e| failed("listen")(&e))?;
    let at = way(server.local_addresses()[0]).await?;
    let (connected, accepted) = tokio::join!(
        async { client.connect(at, security(true)?, config()).await.map_err(|e| failed("connecting")(&e)) },
        server.accept(DEFAULT_PORT)
    );
    let accepted = accepted.ok_or("the endpoint has ended")?;
    tokio::task::spawn_local(async move {
        while let Ok(Some(mut stream)) = accepted.accept_stream().await {
            tokio::task::spawn_local(async move {
                let mut request = Vec::with_capacity(LEN);
                if stream.read_to_end(&mut request).await.is_ok() {
                    let _ = stream.write_all(&request).await;
                }
            });
        }
    });
    Ok((server, Requests { association: connected?, _endpoint: client }))
}
