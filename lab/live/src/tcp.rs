//! One end of a TCP connection of the kernel.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use msctp_lab_tcp::{Algorithm, Config};
use msctp_sim::real_stacks::{StackEvent, Step, TcpJob};
use msctp_sim::scenario::Side;
use msctp_units::{Span, Time};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};

use crate::alarm::Alarm;
use crate::stage::{Either, Stage, either};

/// Bytes read or written at a time.
const PIECE: usize = 64 << 10;

/// Returns the profile's options that apply to the whole namespace, as files below /proc/sys/net/ipv4.
pub(crate) fn settings(config: &Config) -> Vec<(&'static str, String)> {
    let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
    // The kernel advertises half of its buffer at first, and lets it grow to its limit.
    let buffer = config.receive_buffer * 2;
    vec![
        ("tcp_sack", flag(config.recovery == Algorithm::Sack)),
        ("tcp_timestamps", flag(config.timestamps)),
        ("tcp_rmem", format!("4096 131072 {}", buffer.max(131_072))),
    ]
}

/// Runs an end until the run is over.
pub(crate) async fn run(job: TcpJob, stage: Stage) {
    let name = job.spec.name.clone();
    if let Err(e) = carry(job, &stage).await {
        stage.fail(format!("tcp \"{name}\": {e}"));
    }
}

async fn carry(job: TcpJob, stage: &Stage) -> io::Result<()> {
    let mut alarm = stage.alarm();
    let stream = match job.side {
        Side::Client => {
            alarm.until(Time::ZERO + job.spec.start).await;
            let socket = socket(&job, SocketAddr::new(job.spec.client_address, job.client_port))?;
            socket.connect(SocketAddr::new(job.spec.server_address, job.spec.server_port)).await?
        }
        Side::Server => {
            let socket = socket(&job, SocketAddr::new(job.spec.server_address, job.spec.server_port))?;
            socket.listen(1)?.accept().await?.0
        }
    };
    let (connection, side) = (job.connection, job.side);
    stage.record(StackEvent::TcpEstablished { connection, side });
    let (reads, writes) = TcpStream::into_split(stream);
    tokio::task::spawn_local(read(connection, side, reads, stage.clone()));
    write(&job, writes, &mut alarm, stage).await
}

/// Creates a socket with the profile's options.
fn socket(job: &TcpJob, local: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if local.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    let options = SockRef::from(&socket);
    options.set_tcp_mss(job.config.mss.into())?;
    options.set_tcp_nodelay(!job.config.nagle)?;
    let controller = job.config.controller_name();
    options.set_tcp_congestion(controller.as_bytes()).map_err(|e| {
        io::Error::new(e.kind(), format!("the kernel's congestion controller {controller}: {e}"))
    })?;
    socket.bind(local)?;
    Ok(socket)
}

/// Reads data.
async fn read(connection: usize, side: Side, mut reads: OwnedReadHalf, stage: Stage) {
    let mut buffer = vec![0; PIECE];
    loop {
        let why = match reads.read(&mut buffer).await {
            Ok(0) => "closed in good order".to_owned(),
            Ok(bytes) => {
                stage.record(StackEvent::TcpDelivered { connection, side, bytes: bytes as u64 });
                continue;
            }
            Err(e) => format!("lost: {e}"),
        };
        return stage.record(StackEvent::TcpEnded { connection, side, why });
    }
}

/// Sends the application's data while it runs.
async fn write(job: &TcpJob, mut writes: OwnedWriteHalf, alarm: &mut Alarm, stage: &Stage) -> io::Result<()> {
    let mut steps: VecDeque<(Time, Step)> = job.steps.iter().copied().collect();
    let mut left = job.sender.and_then(|(_, bytes)| bytes).unwrap_or(u64::MAX);
    let zeros = vec![0; PIECE];
    let mut running = false;
    loop {
        while let Some((_, step)) = steps.pop_front_if(|(at, _)| *at <= stage.clock.now()) {
            if let Step::App { start, .. } = step {
                running = start;
            }
        }
        let due = steps.front().map_or(stage.end + Span::from_secs(1), |(at, _)| *at);
        if !running || left == 0 {
            alarm.until(due).await;
            continue;
        }
        let len = left.min(PIECE as u64) as usize;
        match either(writes.write(&zeros[..len]), alarm.until(due)).await {
            Either::First(Ok(written)) => left -= written as u64,
            // The peer has closed; the reader has reported that.
            Either::First(Err(_)) => return Ok(()),
            Either::Second(()) => {}
        }
        if left == 0 {
            writes.shutdown().await?;
        }
    }
}
