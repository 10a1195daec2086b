//! quinn with one stream; a write stands for a message. Encrypts.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use tokio::task::{JoinSet, LocalSet};

use crate::job::{AT_ONCE, Job, MESSAGES, SMALL, STEADY, Tally, block_on, failed, pause, ready};
use crate::requests::{CONCURRENT, Calls, LEN};

const NAME: &str = "localhost";
/// Time after the first connection ended at which the remaining ones are dropped.
const LOST: Duration = Duration::from_secs(5);
/// The larger windows, in bytes.
const LARGE: u32 = 16 << 20;

/// Returns the path at which the server stores its certificate for the client.
fn certificate_file(address: SocketAddr) -> PathBuf {
    std::env::temp_dir().join(format!("msctp-loopback-{}.der", address.port()))
}

fn transport(large: bool) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    // Many idle connections wait for each other.
    transport.max_idle_timeout(None);
    if large {
        transport.stream_receive_window(VarInt::from_u32(LARGE));
        transport.receive_window(VarInt::from_u32(LARGE));
        transport.send_window(u64::from(LARGE));
    }
    Arc::new(transport)
}

/// Makes a certificate, stores it for the client, and returns a server's options.
fn server_config(job: &Job, large: bool) -> Result<ServerConfig, String> {
    let made =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|e| failed("certificate")(&e))?;
    std::fs::write(certificate_file(job.address), made.cert.der()).map_err(|e| failed("certificate")(&e))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())
        .map_err(|e| failed("certificate")(&e))?;
    config.transport_config(transport(large));
    Ok(config)
}

pub fn server(job: &Job, large: bool) -> Result<(), String> {
    let config = server_config(job, large)?;
    block_on(async {
        let endpoint = Endpoint::server(config, job.address).map_err(|e| failed("bind")(&e))?;
        ready();
        let incoming = endpoint.accept().await.ok_or("the endpoint has ended")?;
        let connection = incoming.await.map_err(|e| failed("connecting")(&e))?;
        let mut stream = connection.accept_uni().await.map_err(|e| failed("stream")(&e))?;
        let mut tally = Tally::default();
        while let Some(chunk) =
            stream.read_chunk(usize::MAX, true).await.map_err(|e| failed("reading")(&e))?
        {
            tally.add(chunk.bytes.len());
        }
        tally.report();
        connection.close(0_u32.into(), b"");
        endpoint.wait_idle().await;
        let _ = std::fs::remove_file(certificate_file(job.address));
        Ok(())
    })
}

fn client_config(job: &Job, large: bool) -> Result<ClientConfig, String> {
    let certificate = std::fs::read(certificate_file(job.address)).map_err(|e| failed("certificate")(&e))?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate)).map_err(|e| failed("certificate")(&e))?;
    let mut config =
        ClientConfig::with_root_certificates(Arc::new(roots)).map_err(|e| failed("certificate")(&e))?;
    config.transport_config(transport(large));
    Ok(config)
}

pub fn client(job: &Job, large: bool) -> Result<(), String> {
    let config = client_config(job, large)?;
    block_on(async {
        let endpoint = Endpoint::client(job.own()).map_err(|e| failed("bind")(&e))?;
        let connecting =
            endpoint.connect_with(config, job.address, NAME).map_err(|e| failed("connecting")(&e))?;
        let connection = connecting.await.map_err(|e| failed("connecting")(&e))?;
        let mut stream = connection.open_uni().await.map_err(|e| failed("stream")(&e))?;
        let message = vec![0x5a; job.len];
        let begin = Instant::now();
        while begin.elapsed() < job.time {
            stream.write_all(&message).await.map_err(|e| failed("writing")(&e))?;
        }
        stream.finish().map_err(|e| failed("finishing")(&e))?;
        connection.closed().await;
        Ok(())
    })
}

/// Accepts `len` connections, each read by its own task.
pub fn hold(job: &Job) -> Result<(), String> {
    let config = server_config(job, false)?;
    let tally = Rc::new(RefCell::new(Tally::default()));
    block_on(LocalSet::new().run_until(async {
        let endpoint = Endpoint::server(config, job.address).map_err(|e| failed("bind")(&e))?;
        ready();
        let mut connected = JoinSet::new();
        for _ in 0..job.len {
            let incoming = endpoint.accept().await.ok_or("the endpoint has ended")?;
            let tally = Rc::clone(&tally);
            connected.spawn_local(async move {
                let Ok(connection) = incoming.await else { return };
                while let Ok(mut stream) = connection.accept_uni().await {
                    while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await {
                        tally.borrow_mut().add(chunk.bytes.len());
                    }
                }
            });
        }
        connected.join_next().await;
        // A connection whose CONNECTION_CLOSE was lost never ends: it has no idle timeout.
        let rest = async { while connected.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LOST, rest).await;
        tally.borrow().report();
        let _ = std::fs::remove_file(certificate_file(job.address));
        Ok(())
    }))
}

/// Sets up `len` connections, sends small messages over all of them in turn on a stream of each, and ends
/// them.
pub fn open(job: &Job) -> Result<(), String> {
    let config = client_config(job, false)?;
    block_on(async {
        let mut endpoint = Endpoint::client(job.own()).map_err(|e| failed("bind")(&e))?;
        endpoint.set_default_client_config(config);
        pause("begin", 0)?;
        let begin = Instant::now();
        let connections = set_up(&endpoint, job).await?;
        pause("opened", begin.elapsed().as_nanos())?;
        let sent = send_in_turn(&connections).await?;
        pause("sent", u128::from(sent))?;
        let begin = Instant::now();
        for connection in &connections {
            connection.close(0_u32.into(), b"");
        }
        drop(connections);
        endpoint.wait_idle().await;
        pause("closed", begin.elapsed().as_nanos())
    })
}

async fn set_up(endpoint: &Endpoint, job: &Job) -> Result<Vec<Connection>, String> {
    let (mut begun, mut up) = (JoinSet::new(), Vec::with_capacity(job.len));
    while up.len() < job.len {
        while begun.len() < AT_ONCE && up.len() + begun.len() < job.len {
            let connecting = endpoint.connect(job.address, NAME).map_err(|e| failed("connecting")(&e))?;
            begun.spawn(connecting);
        }
        let Some(connected) = begun.join_next().await else { break };
        up.push(connected.map_err(|e| failed("connecting")(&e))?.map_err(|e| failed("connecting")(&e))?);
    }
    Ok(up)
}

async fn send_in_turn(connections: &[Connection]) -> Result<u32, String> {
    let message = [0x5a; SMALL];
    let mut streams = Vec::with_capacity(connections.len());
    for connection in connections {
        streams.push(connection.open_uni().await.map_err(|e| failed("stream")(&e))?);
    }
    let (begin, mut sent, mut next) = (Instant::now(), 0, 0);
    while begin.elapsed() < STEADY {
        let due = (begin.elapsed().as_secs_f64() * f64::from(MESSAGES)) as u32;
        while sent < due {
            streams[next].write_all(&message).await.map_err(|e| failed("writing")(&e))?;
            next = (next + 1) % streams.len();
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(sent)
}

/// A client whose calls are streams.
#[derive(Debug)]
pub struct Requests {
    connection: Connection,
    _endpoint: Endpoint,
}

impl Calls for Requests {
    async fn call(&self, request: [u8; LEN]) -> Result<(), String> {
        let (mut send, mut recv) = self.connection.open_bi().await.map_err(|e| failed("stream")(&e))?;
        send.write_all(&request).await.map_err(|e| failed("writing")(&e))?;
        send.finish().map_err(|e| failed("finishing")(&e))?;
        let answer = recv.read_to_end(LEN).await.map_err(|e| failed("reading")(&e))?;
        if answer == request { Ok(()) } else { Err("another's answer".to_owned()) }
    }
}

/// Starts a server that answers each request with itself, and a client whose packets go through `way`.
pub async fn requests<W: Future<Output = Result<SocketAddr, String>>>(
    way: impl FnOnce(SocketAddr) -> W,
) -> Result<(Endpoint, Requests), String> {
    let job = Job { address: SocketAddr::from(([127, 0, 0, 1], 0)), len: LEN, time: Duration::ZERO };
    let mut config = server_config(&job, true)?;
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(CONCURRENT as u32));
    config.transport_config(Arc::new(transport));
    let server = Endpoint::server(config, job.address).map_err(|e| failed("bind")(&e))?;
    let at = way(server.local_addr().map_err(|e| failed("bind")(&e))?).await?;
    let client = Endpoint::client(job.address).map_err(|e| failed("bind")(&e))?;
    let connecting =
        client.connect_with(client_config(&job, true)?, at, NAME).map_err(|e| failed("connecting")(&e))?;
    let (connected, accepted) = tokio::join!(connecting, async { server.accept().await?.await.ok() });
    let accepted = accepted.ok_or("the endpoint has ended")?;
    tokio::task::spawn_local(async move {
        while let Ok((mut send, mut recv)) = accepted.accept_bi().await {
            tokio::task::spawn_local(async move {
                if let Ok(request) = recv.read_to_end(LEN).await {
                    let _ = send.write_all(&request).await;
                }
            });
        }
    });
    Ok((server, Requests { connection: connected.map_err(|e| failed("connecting")(&e))?, _endpoint: client }))
}
