//! quinn with its default options. Its application watches the interfaces with the same code as msctp, and
//! calls `Endpoint::rebind` as soon as another one is up.

use std::collections::BTreeSet;
use std::fs;
use std::future::poll_fn;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use msctp_udp::InterfaceWatch;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig};

use super::{CERTIFICATE, KEY, MESSAGE, READ, Receiver, server};
use crate::Failure;
use crate::arrivals::Log;
use crate::case::SERVER;

/// Generates the server's certificate and key.
pub fn certify(folder: &Path) -> Result<(), Failure> {
    let certified = rcgen::generate_simple_self_signed([SERVER.to_owned()])?;
    fs::write(folder.join(CERTIFICATE), certified.cert.der())?;
    fs::write(folder.join(KEY), certified.signing_key.serialize_der())?;
    Ok(())
}

pub(super) async fn serve(folder: &Path) -> Result<(), Failure> {
    let certificate = CertificateDer::from(fs::read(folder.join(CERTIFICATE))?);
    let key = PrivatePkcs8KeyDer::from(fs::read(folder.join(KEY))?);
    let config = ServerConfig::with_single_cert(vec![certificate], key.into())?;
    let endpoint = Endpoint::server(config, server()?)?;
    let connection = endpoint.accept().await.ok_or("the endpoint has ended")?.await?;
    let mut stream = connection.open_uni().await?;
    let message = [0x5a; MESSAGE];
    loop {
        stream.write_all(&message).await?;
    }
}

pub(super) async fn receive(receiver: &Receiver, log: &mut Log) -> Result<(), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(receiver.folder.join(CERTIFICATE))?))?;
    let mut watch = InterfaceWatch::new()?;
    let first = watch.usable().into_iter().find(|address| !address.loopback).ok_or("no link is up")?.ip;
    let mut endpoint = Endpoint::client((first, 0).into())?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = endpoint.connect(server()?, SERVER)?.await?;
    let follow = follow(&endpoint, &mut watch, first);
    let read = async {
        let mut stream = connection.accept_uni().await?;
        while let Some(chunk) = stream.read_chunk(READ, true).await? {
            log.add(chunk.bytes.len())?;
        }
        Ok::<(), Failure>(())
    };
    tokio::select! {
        ended = read => ended,
        Err(error) = follow => Err(error),
    }
}

/// Moves to every address that comes up.
async fn follow(endpoint: &Endpoint, watch: &mut InterfaceWatch, first: IpAddr) -> Result<(), Failure> {
    let usable = |watch: &InterfaceWatch| -> BTreeSet<IpAddr> {
        watch.usable().into_iter().filter(|address| !address.loopback).map(|address| address.ip).collect()
    };
    let (mut at, mut known) = (first, usable(watch));
    loop {
        poll_fn(|cx| watch.poll_change(cx)).await?;
        let now = usable(watch);
        let new = now.difference(&known).copied().find(|ip| *ip != at);
        known = now;
        if let Some(ip) = new {
            endpoint.rebind(UdpSocket::bind((ip, 0))?)?;
            at = ip;
        }
    }
}
