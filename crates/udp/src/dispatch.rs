//! [`Dispatch`]: which of the sockets of one address receives a datagram. The kernel runs the same function
//! as a classic BPF program.

/// Assigns datagrams to several sockets by a keyed hash of their first four bytes, which are the two ports of
/// an SCTP packet. The datagrams of an association thus have one receiver, regardless of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    sockets: u16,
    key: u32,
}

/// Multipliers and shifts of the hash "lowbias32" (Wellons), without its last shift: only the upper half of
/// the result is used.
const MULTIPLIERS: [u32; 2] = [0x7feb_352d, 0x846c_a68b];
const SHIFTS: [u32; 2] = [16, 15];

impl Dispatch {
    /// Creates the dispatch over this number of sockets, at least 1. A secret `key` prevents an attacker from
    /// choosing ports that all have one receiver.
    #[must_use]
    pub fn new(sockets: u16, key: u32) -> Self {
        Self { sockets: sockets.max(1), key }
    }

    /// Returns the number of sockets.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.sockets.into()
    }

    /// Returns the index of the socket for a datagram; 0 if the datagram is shorter than four bytes.
    #[must_use]
    pub fn index_of(&self, datagram: &[u8]) -> usize {
        datagram.first_chunk().map_or(0, |bytes| self.index(u32::from_be_bytes(*bytes)))
    }

    /// Returns the index of the socket for the SCTP packets from one port to another.
    #[must_use]
    pub fn index_of_ports(&self, from: u16, to: u16) -> usize {
        self.index(u32::from(from) << 16 | u32::from(to))
    }

    fn index(&self, word: u32) -> usize {
        let mut hash = word ^ self.key;
        for (shift, multiplier) in SHIFTS.into_iter().zip(MULTIPLIERS) {
            hash = (hash ^ hash >> shift).wrapping_mul(multiplier);
        }
        (((hash >> 16) * u32::from(self.sockets)) >> 16) as usize
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::io;

    use nix::libc::{self, sock_filter, sock_fprog};
    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::AttachReusePortCbpf;

    use super::{Dispatch, MULTIPLIERS, SHIFTS};

    impl Dispatch {
        /// Makes the kernel dispatch to the sockets that share this one's address and port (Linux 4.5), in
        /// the order in which they were bound.
        pub(crate) fn attach(&self, socket: &socket2::Socket) -> io::Result<()> {
            let mut program = self.program();
            let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
            setsockopt(socket, AttachReusePortCbpf, &program).map_err(io::Error::from)
        }

        /// Returns [`index`](Dispatch::index) as a BPF program. The kernel passes it the datagram without its
        /// headers.
        fn program(&self) -> Vec<sock_filter> {
            use libc::{BPF_A, BPF_ABS, BPF_ALU, BPF_K, BPF_LD, BPF_MISC, BPF_MUL, BPF_RET, BPF_RSH};
            use libc::{BPF_TAX, BPF_W, BPF_X, BPF_XOR};
            let step = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
            let mut program =
                vec![step(BPF_LD | BPF_W | BPF_ABS, 0), step(BPF_ALU | BPF_XOR | BPF_K, self.key)];
            for (shift, multiplier) in SHIFTS.into_iter().zip(MULTIPLIERS) {
                program.extend([
                    step(BPF_MISC | BPF_TAX, 0),
                    step(BPF_ALU | BPF_RSH | BPF_K, shift),
                    step(BPF_ALU | BPF_XOR | BPF_X, 0),
                    step(BPF_ALU | BPF_MUL | BPF_K, multiplier),
                ]);
            }
            program.extend([
                step(BPF_ALU | BPF_RSH | BPF_K, 16),
                step(BPF_ALU | BPF_MUL | BPF_K, self.sockets.into()),
                step(BPF_ALU | BPF_RSH | BPF_K, 16),
                step(BPF_RET | BPF_A, 0),
            ]);
            program
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_differ_little_are_spread_evenly() {
        for (sockets, key) in [(1, 0), (2, 0), (3, 0x1234_5678), (8, 7), (64, u32::MAX)] {
            let dispatch = Dispatch::new(sockets, key);
            for step in [1, 2, 64] {
                let mut counts = vec![0; dispatch.sockets()];
                let ports = (0..u16::MAX).step_by(step);
                let mean = ports.len() / dispatch.sockets();
                for port in ports {
                    counts[dispatch.index_of_ports(port, 5001)] += 1;
                }
                let most = *counts.iter().max().unwrap();
                // Six standard deviations.
                let bound = mean + 6 * mean.isqrt() + 6;
                assert!(most <= bound, "{sockets} sockets, every {step}th port: {most} > {bound}");
            }
        }
    }

    #[test]
    fn a_datagram_goes_where_its_ports_say() {
        let dispatch = Dispatch::new(16, 99);
        let datagram = [0x12, 0x34, 0x56, 0x78, 9, 9];
        assert_eq!(dispatch.index_of(&datagram), dispatch.index_of_ports(0x1234, 0x5678));
        assert_eq!(dispatch.index_of(&datagram[..3]), 0);
        let other = |key| (0..64).filter(|port| Dispatch::new(2, key).index_of_ports(*port, 7) == 1).count();
        assert!((1..=4).map(other).any(|count| count != other(0)), "the key has no effect");
    }
}
