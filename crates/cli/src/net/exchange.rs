//! [`exchange`]: `connect` and `serve` send standard input on stream [`BYTES`] and print what they receive.
//! Each direction ends by itself (RFC 6525).

use std::io::IsTerminal;
use std::pin::pin;

use msctp::{Association, Stream};
use msctp_terminal::Failure;
use msctp_terminal::system::{cannot_read, cannot_write};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use super::failed;
use super::service::{BYTES, END_TIMEOUT, Service};

/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// Source of this end's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input.
    Standard,
    /// No source: this end has nothing to send.
    Empty,
}

impl Input {
    /// Returns `Standard`, unless standard input is a terminal and standard output is not. The user then only
    /// stores the received bytes.
    pub(crate) fn standard() -> Self {
        if std::io::stdin().is_terminal() && !std::io::stdout().is_terminal() {
            Self::Empty
        } else {
            Self::Standard
        }
    }
}

/// Exchanges bytes until both directions have ended, then shuts down.
pub(crate) async fn exchange(association: &Association, input: Input) -> Result<(), Failure> {
    let stream = association.stream(BYTES).map_err(|error| Failure::Run(error.to_string()))?;
    let (reader, writer) = tokio::io::split(stream);
    let (mut outward, mut inward) = (pin!(outward(writer, input)), pin!(inward(reader)));
    let mut others = pin!(others(association));
    let (mut sending, mut receiving, mut over) = (true, true, false);
    while receiving || sending && !over {
        tokio::select! {
            biased;
            received = &mut inward, if receiving => {
                received?;
                receiving = false;
                if sending && input == Input::Standard && std::io::stdin().is_terminal() {
                    eprintln!("the peer has sent everything; Ctrl-D ends this side");
                }
            }
            rest = &mut others, if !over => {
                rest?;
                over = true;
            }
            ended = &mut outward, if sending && !over => {
                sending = false;
                if !ended? && receiving {
                    eprintln!(
                        "the peer cannot end one direction (RFC 6525): shutting down both; data that it sends \
                         later is lost"
                    );
                    break;
                }
            }
        }
    }
    if over {
        return association.closed().await.map_err(|e| failed("receiving")(&e));
    }
    let ending = async {
        let shutdown = async { association.shutdown().await.map_err(|e| failed("shutting down")(&e)) };
        let received = async { if receiving { inward.await } else { Ok(()) } };
        tokio::try_join!(shutdown, received, others).map(|_| ())
    };
    if receiving {
        return ending.await;
    }
    // Both ends have all data, so a lost answer to the shutdown is ignored.
    tokio::time::timeout(END_TIMEOUT, ending).await.unwrap_or(Ok(()))
}

/// Sends the input and ends the direction. Returns false if the peer does not support ending it (RFC 6525).
async fn outward(mut writer: WriteHalf<Stream>, input: Input) -> Result<bool, Failure> {
    if input == Input::Standard {
        let (mut input, mut buffer) = (tokio::io::stdin(), vec![0; PIECE]);
        loop {
            let len = read(&mut input, &mut buffer).await?;
            if len == 0 {
                break;
            }
            writer.write_all(&buffer[..len]).await.map_err(|e| failed("sending")(&e))?;
        }
    }
    match writer.shutdown().await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(failed("ending the direction")(&error)),
    }
}

async fn read(input: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Result<usize, Failure> {
    input.read(buffer).await.map_err(|e| Failure::Run(cannot_read("standard input", &e)))
}

/// Prints received bytes until the peer ends its direction.
async fn inward(mut reader: ReadHalf<Stream>) -> Result<(), Failure> {
    let mut buffer = vec![0; PIECE];
    loop {
        let len = reader.read(&mut buffer).await.map_err(|e| failed("receiving")(&e))?;
        if len == 0 {
            return Ok(());
        }
        write(&buffer[..len]).await?;
    }
}

/// Prints messages of other implementations on other streams until the association ends. Rejects a client of
/// another command.
async fn others(association: &Association) -> Result<(), Failure> {
    while let Ok(Some(message)) = association.recv_part().await {
        match Service::of(&message) {
            Service::Bytes => write(&message.data).await?,
            wanted => return Err(Service::Bytes.reject(association, wanted)),
        }
    }
    Ok(())
}

async fn write(data: &[u8]) -> Result<(), Failure> {
    let mut output = tokio::io::stdout();
    let written = async {
        output.write_all(data).await?;
        output.flush().await
    };
    written.await.map_err(|e| Failure::Run(cannot_write("standard output", &e)))
}
