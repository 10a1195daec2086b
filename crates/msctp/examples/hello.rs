//! The program of docs/library.md: two endpoints of this host that know each other's keys, and a message.

use msctp::security::{Identity, Pinned, Tls, provider};
use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions, Mobility};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each end knows the other's key.
    let (ours, theirs) = (Identity::generate(provider())?, Identity::generate(provider())?);
    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(DEFAULT_PORT, Tls::new(&theirs, Pinned(vec![ours.fingerprint()]))?, Config::mobile())?;

    // `mobile`: the association moves when this host's interfaces come and go.
    let options = EndpointOptions::new(["[::]:0".parse()?]).mobile(Mobility::default());
    let client = Endpoint::bind(&options)?;
    let tls = Tls::new(&ours, Pinned(vec![theirs.fingerprint()]))?;
    let association = client.connect(server.local_addresses()[0], tls, Config::mobile()).await?;
    association.send_bytes(0, "hello").await?;

    let accepted = server.accept(DEFAULT_PORT).await.ok_or("the server is closed")?;
    let message = accepted.recv().await?.ok_or("the client is gone")?;
    println!("stream {}: {:?}", message.stream, message.data);
    client.close().await?;
    Ok(())
}
