//! quinn with one stream; a write stands for a message. Encrypts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};

use crate::job::{Job, Tally, block_on, failed, ready};

const NAME: &str = "localhost";
/// The larger windows, in bytes.
const LARGE: u32 = 16 << 20;

/// Returns the path at which the server stores its certificate for the client.
fn certificate_file(address: SocketAddr) -> PathBuf {
    std::env::temp_dir().join(format!("msctp-loopback-{}.der", address.port()))
}

fn transport(large: bool) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    if large {
        transport.stream_receive_window(VarInt::from_u32(LARGE));
        transport.receive_window(VarInt::from_u32(LARGE));
        transport.send_window(u64::from(LARGE));
    }
    Arc::new(transport)
}

pub fn server(job: &Job, large: bool) -> Result<(), String> {
    let made =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|e| failed("certificate")(&e))?;
    let file = certificate_file(job.address);
    std::fs::write(&file, made.cert.der()).map_err(|e| failed("certificate")(&e))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())
        .map_err(|e| failed("certificate")(&e))?;
    config.transport_config(transport(large));
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
        let _ = std::fs::remove_file(file);
        Ok(())
    })
}

pub fn client(job: &Job, large: bool) -> Result<(), String> {
    let certificate = std::fs::read(certificate_file(job.address)).map_err(|e| failed("certificate")(&e))?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate)).map_err(|e| failed("certificate")(&e))?;
    let mut config =
        ClientConfig::with_root_certificates(Arc::new(roots)).map_err(|e| failed("certificate")(&e))?;
    config.transport_config(transport(large));
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
