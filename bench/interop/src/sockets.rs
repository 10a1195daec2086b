//! Our UDP sockets, one for each address, each with a reader thread.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::input::Input;

/// Interval at which a reader checks whether to end.
const LOOK: Duration = Duration::from_millis(50);

/// The sockets. The readers end when this is dropped.
#[derive(Default)]
pub struct Sockets {
    sockets: Vec<(SocketAddr, Arc<UdpSocket>)>,
    readers: Vec<JoinHandle<()>>,
    ending: Arc<AtomicBool>,
}

impl Sockets {
    /// Opens a socket; its datagrams go to `inputs`.
    pub fn bind(&mut self, to: SocketAddr, inputs: &Sender<Input>) -> io::Result<()> {
        let socket = Arc::new(UdpSocket::bind(to)?);
        socket.set_read_timeout(Some(LOOK))?;
        let (reader, ending, inputs) = (Arc::clone(&socket), Arc::clone(&self.ending), inputs.clone());
        self.readers.push(std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while !ending.load(Ordering::Relaxed) {
                // An error is a timeout, or what an earlier packet met on its way.
                let Ok((len, from)) = reader.recv_from(&mut buffer) else { continue };
                if inputs.send(Input::Datagram { to, from, bytes: buffer[..len].to_vec() }).is_err() {
                    return;
                }
            }
        }));
        self.sockets.push((to, socket));
        Ok(())
    }

    /// Sends from one of the addresses; false if the datagram was not sent.
    pub fn send(&self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) -> bool {
        let socket = self.sockets.iter().find(|(address, _)| *address == from);
        socket.is_some_and(|(_, socket)| socket.send_to(bytes, to).is_ok())
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}
