//! msctp in its mobile profile, encrypted. It follows the interfaces itself and receives no hint.

use std::sync::Arc;

use msctp::security::{AnyPeer, Identity, Tls, provider};
use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions, Mobility, Peer};
use msctp_schemes::policies::{PolicyConfig, policy};

use super::{MESSAGE, Receiver, server};
use crate::Failure;
use crate::arrivals::Log;

fn config(name: Option<&str>) -> Result<Config, Failure> {
    let identity = Identity::self_signed(provider(), &Identity::generate_key()?)?;
    let protection = Tls::new(identity.config(Arc::new(AnyPeer))?).required();
    let mut config = Config { protection, ..Config::mobile() };
    if let Some(name) = name {
        config.handover_policy = policy(name, &PolicyConfig::default())?;
    }
    Ok(config)
}

pub(super) async fn serve(policy: Option<&str>) -> Result<(), Failure> {
    let endpoint = Endpoint::bind(&EndpointOptions::new([server()?]))?;
    endpoint.listen(DEFAULT_PORT, config(policy)?)?;
    let association = endpoint.accept(DEFAULT_PORT).await.ok_or("the endpoint has ended")?;
    let message = vec![0x5a; MESSAGE];
    loop {
        association.send_bytes(0, message.clone()).await?;
    }
}

pub(super) async fn receive(receiver: &Receiver, log: &mut Log) -> Result<(), Failure> {
    let mobility = Mobility { prefer: receiver.prefer.clone(), ..Mobility::default() };
    let endpoint = Endpoint::bind(&EndpointOptions::new(["0.0.0.0:0".parse()?]).mobile(mobility))?;
    let association = endpoint.connect(Peer::new(server()?), config(receiver.policy.as_deref())?).await?;
    while let Some(message) = association.recv().await? {
        log.add(message.data.len())?;
    }
    Ok(())
}
