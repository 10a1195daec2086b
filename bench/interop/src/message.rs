//! Contents of messages: both ends generate them, so that only hashes need to be compared.

use std::collections::BTreeMap;

/// A message as an end received it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Got {
    pub stream: u16,
    pub unordered: bool,
    pub ppid: u32,
    pub len: usize,
    pub hash: u64,
}

/// Messages of one stream: `count` of them, `size` bytes each, numbered from `first`.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub stream: u16,
    pub unordered: bool,
    pub count: u32,
    pub size: usize,
    pub first: u32,
}

/// Returns the content of message `number` of a stream. The peers have the same function.
pub fn fill(stream: u16, number: u32, size: usize) -> Vec<u8> {
    let mut x = number.wrapping_mul(2_654_435_761).wrapping_add(stream.into());
    let next = |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    (0..size).map(next).collect()
}

/// FNV-1a of 64 bits.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the payload protocol identifier of messages. It encodes whether they are unordered, because not
/// every receiver reports that.
pub fn ppid_of(stream: u16, unordered: bool) -> u32 {
    u32::from(stream) + 100 + if unordered { 1000 } else { 0 }
}

impl Got {
    /// Describes a message of these bytes.
    pub fn new(stream: u16, unordered: bool, ppid: u32, bytes: &[u8]) -> Self {
        Self { stream, unordered, ppid, len: bytes.len(), hash: hash(bytes) }
    }

    /// Parses the rest of a peer's line: `STREAM o|u PPID LEN HASH`.
    pub fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [stream, order, ppid, len, hash] = words[..] else { return None };
        Some(Self {
            stream: stream.parse().ok()?,
            unordered: order == "u",
            ppid: ppid.parse().ok()?,
            len: len.parse().ok()?,
            hash: u64::from_str_radix(hash, 16).ok()?,
        })
    }
}

impl Batch {
    pub const fn new(stream: u16, count: u32, size: usize) -> Self {
        Self { stream, unordered: false, count, size, first: 0 }
    }

    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    pub fn from(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// Returns the messages that the receiver must get.
    pub fn expected(&self) -> impl Iterator<Item = Got> + use<> {
        let batch = *self;
        (0..batch.count).map(move |i| {
            let bytes = fill(batch.stream, batch.first + i, batch.size);
            Got::new(batch.stream, batch.unordered, ppid_of(batch.stream, batch.unordered), &bytes)
        })
    }

    /// Returns the command that makes the peer send the batch.
    pub fn command(&self) -> String {
        let order = if self.unordered { 'u' } else { 'o' };
        format!("send {} {order} {} {} {}", self.stream, self.count, self.size, self.first)
    }
}

/// Compares received with sent messages: ordered ones in the order of their stream, unordered ones in any
/// order, each exactly once.
pub fn compare(got: &[Got], sent: &[Batch]) -> Result<(), String> {
    let sorted = |messages: Vec<Got>| {
        let mut queues: BTreeMap<(u16, bool), Vec<Got>> = BTreeMap::new();
        for message in messages {
            queues.entry((message.stream, message.unordered)).or_default().push(message);
        }
        for ((_, unordered), queue) in &mut queues {
            if *unordered {
                queue.sort();
            }
        }
        queues
    };
    let (got, want) = (sorted(got.to_vec()), sorted(sent.iter().flat_map(Batch::expected).collect()));
    for (key @ (stream, _), want) in &want {
        let got = got.get(key).map_or(&[][..], Vec::as_slice);
        if got.len() != want.len() {
            return Err(format!("stream {stream}: {} of {} messages arrived", got.len(), want.len()));
        }
        if let Some(n) = got.iter().zip(want).position(|(got, want)| got != want) {
            return Err(format!("stream {stream}, message {n}: {:?} came, {:?} was sent", got[n], want[n]));
        }
    }
    match got.keys().find(|key| !want.contains_key(key)) {
        Some((stream, _)) => Err(format!("stream {stream}: messages that nobody sent")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_changed_doubled_or_out_of_order_is_found() {
        let sent = [Batch::new(1, 3, 100), Batch::new(2, 2, 50).unordered()];
        let right: Vec<Got> = sent.iter().flat_map(Batch::expected).collect();
        assert_eq!(compare(&right, &sent), Ok(()));
        let wrong = |change: fn(&mut Vec<Got>)| {
            let mut got = right.clone();
            change(&mut got);
            compare(&got, &sent)
        };
        assert_eq!(wrong(|got| got.swap(3, 4)), Ok(()), "unordered");
        assert!(wrong(|got| got.swap(0, 1)).is_err());
        assert!(wrong(|got| got.truncate(4)).is_err());
        assert!(wrong(|got| got.push(got[0].clone())).is_err());
        assert!(wrong(|got| got[0].hash ^= 1).is_err());
        assert!(wrong(|got| got[0].stream = 7).is_err());
    }

    #[test]
    fn a_peers_line_is_read() {
        let got = Got::new(3, true, 103, b"abc");
        let line = format!("3 u 103 3 {:016x}", hash(b"abc"));
        assert_eq!((Got::read(&line), Got::read("3 u")), (Some(got), None));
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c, "the published value");
    }
}
