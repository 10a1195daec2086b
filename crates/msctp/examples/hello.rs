//! The program of docs/library.md: two endpoints of this host, a message there and one back.

use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions, Mobility};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(DEFAULT_PORT, Config::mobile())?;

    // `mobile`: the association moves when this host's interfaces come and go.
    let options = EndpointOptions::new(["0.0.0.0:0".parse()?]).mobile(Mobility::default());
    let client = Endpoint::bind(&options)?;
    let association = client.connect(server.local_addresses()[0], Config::mobile()).await?;
    association.send_bytes(0, "hello").await?;

    let accepted = server.accept(DEFAULT_PORT).await.ok_or("the server is closed")?;
    let message = accepted.recv().await?.ok_or("the client is gone")?;
    println!("stream {}: {:?}", message.stream, message.data);
    association.shutdown().await?;
    Ok(())
}
