//! The kernel's TCP with blocking calls; a write stands for a message.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use crate::job::{Job, Tally, failed, ready};

pub fn server(job: &Job) -> Result<(), String> {
    let listener = TcpListener::bind(job.address).map_err(|e| failed("bind")(&e))?;
    ready();
    let (mut stream, _) = listener.accept().map_err(|e| failed("accept")(&e))?;
    let (mut buffer, mut tally) = (vec![0; 256 << 10], Tally::default());
    loop {
        match stream.read(&mut buffer).map_err(|e| failed("reading")(&e))? {
            0 => break,
            len => tally.add(len),
        }
    }
    tally.report();
    Ok(())
}

pub fn client(job: &Job) -> Result<(), String> {
    let mut stream = TcpStream::connect(job.address).map_err(|e| failed("connecting")(&e))?;
    let message = vec![0x5a; job.len];
    let begin = Instant::now();
    while begin.elapsed() < job.time {
        stream.write_all(&message).map_err(|e| failed("writing")(&e))?;
    }
    Ok(())
}
