//! msctp in its mobile profile, encrypted. It follows the interfaces itself and receives no hint.

use msctp::security::{AnyPeer, Identity, Tls, provider};
use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions, Mobility, Peer};
use msctp_lab_schemes::policies::{PolicyConfig, policy};
use tokio::signal::unix::{SignalKind, signal};

use super::{MESSAGE, Receiver, server};
use crate::Failure;
use crate::arrivals::Log;
use crate::capture::{Capture, Wanted};

fn config(name: Option<&str>) -> Result<Config, Failure> {
    let mut config = Config::mobile();
    if let Some(name) = name {
        config.handover_policy = policy(name, &PolicyConfig::default())?;
    }
    Ok(config)
}

fn tls() -> Result<Tls, Failure> {
    Ok(Tls::new(&Identity::generate(provider())?, AnyPeer)?)
}

/// Serves until it is stopped, or the receiver is gone.
pub(super) async fn serve(policy: Option<&str>, capture: &Wanted) -> Result<(), Failure> {
    let mut stop = signal(SignalKind::terminate())?;
    let capture = capture.open("server")?;
    let ended = tokio::select! {
        ended = send(policy, capture.as_ref()) => ended,
        _ = stop.recv() => Ok(()),
    };
    capture.map_or(Ok(()), Capture::finish)?;
    ended
}

fn traced(options: EndpointOptions, capture: Option<&Capture>) -> EndpointOptions {
    match capture {
        Some(capture) => options.traced(capture.sink()),
        None => options,
    }
}

async fn send(policy: Option<&str>, capture: Option<&Capture>) -> Result<(), Failure> {
    let endpoint = Endpoint::bind(&traced(EndpointOptions::new([server()?]), capture))?;
    endpoint.listen(DEFAULT_PORT, tls()?, config(policy)?)?;
    let association = endpoint.accept(DEFAULT_PORT).await.ok_or("the endpoint has ended")?;
    let message = vec![0x5a; MESSAGE];
    loop {
        association.send_bytes(0, message.clone()).await?;
    }
}

pub(super) async fn receive(
    receiver: &Receiver,
    capture: Option<&Capture>,
    log: &mut Log,
) -> Result<(), Failure> {
    let mobility = Mobility { prefer: receiver.prefer.clone(), ..Mobility::default() };
    let options = EndpointOptions::new(["0.0.0.0:0".parse()?]).mobile(mobility);
    let endpoint = Endpoint::bind(&traced(options, capture))?;
    let association =
        endpoint.connect(Peer::new(server()?), tls()?, config(receiver.policy.as_deref())?).await?;
    while let Some(message) = association.recv().await? {
        log.add(message.data.len())?;
    }
    Ok(())
}
