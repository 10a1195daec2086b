//! Requests and answers, each on a stream of its own, with one that is abandoned:
//! `cargo run --example requests`.

use std::error::Error;
use std::time::Duration;

use msctp::security::{Identity, Pinned, Tls, provider};
use msctp::{Association, Config, Endpoint, EndpointOptions, Peer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Answers requests, several at a time, and drops those that the peer gives up.
async fn serve(association: Association) -> Result<(), Box<dyn Error + Send + Sync>> {
    while let Some(stream) = association.accept_stream().await? {
        tokio::spawn(async move {
            let (mut send, mut recv) = stream.into_split();
            let mut request = String::new();
            recv.read_to_string(&mut request).await?;
            tokio::select! {
                answer = work(&request) => send.write_all(answer.as_bytes()).await?,
                _ = send.stopped() => println!("nobody waits for the answer to {request:?} any more"),
            }
            send.finish().await?;
            std::io::Result::Ok(())
        });
    }
    Ok(())
}

async fn work(request: &str) -> String {
    if request == "slow" {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    format!("answer to {request}")
}

/// Sends a request and reads its answer. Dropping this future gives the request up at both ends.
async fn call(association: &Association, request: &str) -> Result<String, Box<dyn Error>> {
    let (mut send, mut recv) = association.open_stream().await?.into_split();
    send.write_all(request.as_bytes()).await?;
    drop(send); // ends this direction: the server reads to the end
    let mut answer = String::new();
    recv.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (ours, theirs) = (Identity::generate(provider())?, Identity::generate(provider())?);
    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(7, Tls::new(&theirs, Pinned(vec![ours.fingerprint()]))?, Config::mobile())?;
    let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    let peer = Peer { port: 7, ..Peer::new(server.local_addresses()[0]) };
    let tls = Tls::new(&ours, Pinned(vec![theirs.fingerprint()]))?;
    let association = client.connect(peer, tls, Config::mobile()).await?;
    tokio::spawn(serve(server.accept(7).await.ok_or("nobody came")?));

    let slow = tokio::time::timeout(Duration::from_millis(100), call(&association, "slow")).await;
    println!("slow: {}", if slow.is_err() { "abandoned" } else { "answered" });
    for request in ["one", "two"] {
        println!("{}", call(&association, request).await?);
    }
    client.close().await?;
    Ok(())
}
