//! `msctp serve`: takes associations and exchanges their bytes with standard input and output, as netcat does.

use std::pin::pin;

use msctp::{Association, Endpoint};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{block_on, failed, options::NetArgs};
use crate::Failure;

/// Wait for an association and connect it to standard input and output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp serve                                    wait at every address, UDP port 9899
  msctp serve --bind 192.0.2.1 --bind 198.51.100.1
  msctp serve --keep > log                       one association after another

SCTP has no half-closed state: when the peer has sent everything it shuts the association down.
Exit codes: 0 the peer shut down, 1 the association was lost or the port is taken, 2 wrong arguments.")]
pub(crate) struct Args {
    #[command(flatten)]
    net: NetArgs,
    /// Take the next association when one is over, instead of ending.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    block_on(async {
        let endpoint = args.net.server()?;
        announce(&endpoint, args.net.sctp_port());
        loop {
            let Some(association) = endpoint.accept(args.net.sctp_port()).await else {
                return Err(Failure::Run("the endpoint is gone".to_owned()));
            };
            let result = exchange(&association, false).await;
            if !args.keep {
                return result;
            }
            if let Err(Failure::Run(error) | Failure::Input(error)) = result {
                eprintln!("msctp: {error}");
            }
        }
    })
}

/// Says where it listens.
pub(crate) fn announce(endpoint: &Endpoint, sctp_port: u16) {
    let addresses: Vec<String> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
    eprintln!("listening at {}, SCTP port {sctp_port}", addresses.join(", "));
}

/// Standard input to stream 0, every message to standard output. `end`: shut down at the end of the input.
pub(crate) async fn exchange(association: &Association, end: bool) -> Result<(), Failure> {
    let outward = async {
        let (mut input, mut buffer) = (tokio::io::stdin(), vec![0; 1 << 16]);
        loop {
            let len = input.read(&mut buffer).await.map_err(|e| failed("standard input")(&e))?;
            if len == 0 {
                break;
            }
            let data = bytes::Bytes::copy_from_slice(&buffer[..len]);
            association.send_bytes(0, data).await.map_err(|e| failed("sending")(&e))?;
        }
        if end {
            association.shutdown().await.map_err(|e| failed("shutting down")(&e))?;
        }
        Ok(())
    };
    let inward = async {
        let mut output = tokio::io::stdout();
        while let Some(message) = association.recv().await.map_err(|e| failed("receiving")(&e))? {
            output.write_all(&message.data).await.map_err(|e| failed("standard output")(&e))?;
            output.flush().await.map_err(|e| failed("standard output")(&e))?;
        }
        Ok(())
    };
    // Over when the peer has shut down, or something failed; not when the input ends.
    let (mut outward, mut inward) = (pin!(outward), pin!(inward));
    let mut sending = true;
    std::future::poll_fn(|cx| {
        if sending && let std::task::Poll::Ready(result) = outward.as_mut().poll(cx) {
            sending = false;
            if result.is_err() {
                return std::task::Poll::Ready(result);
            }
        }
        inward.as_mut().poll(cx)
    })
    .await
}
