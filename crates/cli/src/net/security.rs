//! How the commands for real networks encrypt and authenticate: flags, this user's key, known hosts, codes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use msctp::protection::{CipherSuite, KeyManagement, Ring, Secret};
use msctp::security::rustls::KeyLogFile;
use msctp::security::{AnyPeer, CheckPeer, Code, Fingerprint, Pinned, Refused, Tls, provider};
use msctp::{Association, AuthConfig, ProtectionMismatch, Security, SharedKey};
use msctp_terminal::system::{cannot_write, read, read_text};
use msctp_terminal::{Failure, counted};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::identity;

/// Options of encryption.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Security options")]
pub(crate) struct SecurityArgs {
    /// One-time code that both ends have, instead of known keys. A server without PHRASE makes one and prints
    /// it. It serves one client, which may reconnect; a wrong one uses it up.
    #[arg(long, value_name = "PHRASE", num_args = 0..=1, conflicts_with_all = ["psk", "insecure"])]
    code: Option<Option<String>>,
    /// File with a pre-shared key of at least 32 bytes, which only its owner may read, instead of TLS. A peer
    /// without it is refused.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    psk: Option<PathBuf>,
    /// Send everything in clear, to a peer that does so, too. Without it everything is encrypted.
    #[arg(long)]
    insecure: bool,
    /// With --insecure: file with a shared key of at least 16 bytes (RFC 4895). Both ends sign every packet
    /// with it and drop unsigned ones.
    #[arg(long, value_name = "FILE", requires = "insecure")]
    key: Option<PathBuf>,
    /// Append the keys of packets to this file, by which `msctp decrypt` reads a capture. Whoever has it
    /// reads and forges packets.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    keylog: Option<PathBuf>,
    /// Key of the server that proved the code; later associations must be with it.
    #[arg(skip)]
    proved: Arc<OnceLock<Fingerprint>>,
}

/// Who may connect to a server.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Security options")]
pub(crate) struct ClientsArgs {
    /// Accept only clients with this key, or with those in a file that has a fingerprint a line; repeatable.
    /// `msctp identity` shows a client's.
    #[arg(long, value_name = "FINGERPRINT|FILE", conflicts_with_all = ["psk", "insecure", "code"])]
    only_clients: Vec<String>,
    /// Serve clients on networks without UDP over TCP as well, at this port or address. Clients
    /// fall back to it if the TCP port equals the UDP port (9899).
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::tcp::parse_address, help_heading = "Network options")]
    tcp: Option<SocketAddr>,
}

impl ClientsArgs {
    /// Rejects the options where this end is the client.
    pub(crate) fn check_unused(&self) -> Result<(), Failure> {
        if let Some(tcp) = self.tcp {
            return Err(Failure::Input(format!("--tcp {tcp}: want it with --server only")));
        }
        match self.only_clients.first() {
            None => Ok(()),
            Some(given) => Err(Failure::Input(format!("--only-clients {given}: want it with --server only"))),
        }
    }

    /// Returns where to serve clients over TCP.
    pub(crate) const fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Returns the accepted keys; `None` accepts all. Files without a key accept nobody.
    fn accepted(&self) -> Result<Option<Vec<Fingerprint>>, Failure> {
        let mut accepted = Vec::new();
        for given in &self.only_clients {
            if let Ok(fingerprint) = given.parse() {
                accepted.push(fingerprint);
                continue;
            }
            if given.starts_with("SHA256:") {
                let error = given.parse::<Fingerprint>().expect_err("it was parsed before");
                return Err(Failure::Input(format!("--only-clients: {error}")));
            }
            let what = format!("--only-clients {given}");
            let text = read_text(&what, Path::new(given))?;
            for (i, line) in text.lines().enumerate() {
                match line.split_whitespace().next() {
                    None => {}
                    Some(word) if word.starts_with('#') => {}
                    Some(word) => accepted.push(
                        word.parse().map_err(|error| Failure::Input(format!("{what}:{}: {error}", i + 1)))?,
                    ),
                }
            }
        }
        Ok(Some(accepted).filter(|_| !self.only_clients.is_empty()))
    }
}

/// How an association is secured, for `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Secured {
    /// "tls", "code", "psk", "signed" or "none".
    security: &'static str,
    /// The fingerprint of the peer's key; `null` without TLS.
    peer_key: Option<String>,
}

impl Secured {
    /// Describes an association.
    pub(crate) fn of(args: &SecurityArgs, association: &Association) -> Self {
        let peer_key = association.peer_identity().map(|peer| peer.fingerprint.to_string());
        Self { security: args.name(), peer_key }
    }
}

impl std::fmt::Display for Secured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.peer_key {
            Some(key) => write!(f, "security {}, key {key}", self.security),
            None => write!(f, "security {}", self.security),
        }
    }
}

impl SecurityArgs {
    /// Returns the name of the kind of encryption: "tls", "code", "psk", "signed" or "none".
    pub(crate) const fn name(&self) -> &'static str {
        match (&self.code, &self.psk, self.insecure, &self.key) {
            (Some(_), ..) => "code",
            (_, Some(_), ..) => "psk",
            (_, _, true, Some(_)) => "signed",
            (_, _, true, None) => "none",
            _ => "tls",
        }
    }

    /// Returns a hint about keys for errors about a server that does not answer.
    pub(crate) const fn key_remedy(&self) -> &'static str {
        match (&self.psk, &self.key, self.insecure) {
            (Some(_), ..) => {
                "if a server runs there, the keys of --psk differ or the set-up is changed on the way; "
            }
            (_, Some(_), _) => "if a server runs there, its --key has another key; ",
            (_, _, true) => "if a server runs there, it may want --key; ",
            _ => "if a server runs there, the set-up is dropped or changed on the way; ",
        }
    }

    /// Describes how this end encrypts, and the setting of a peer that cannot agree with it.
    pub(crate) fn describe_both(&self, mismatch: ProtectionMismatch) -> String {
        let other = match (mismatch, &self.psk) {
            (ProtectionMismatch::PeerLacks, _) => "the other end has --insecure",
            (ProtectionMismatch::PeerRequires, _) => "the other end encrypts",
            (ProtectionMismatch::OtherMethod, Some(_)) => "the other end has no --psk",
            (ProtectionMismatch::OtherMethod, None) => "the other end has --psk",
            (other, _) => return format!("this end {}: {other}", self.describe()),
        };
        format!("this end {}, and {other}", self.describe())
    }

    /// Describes how this end encrypts, as the words after "this end".
    pub(crate) const fn describe(&self) -> &'static str {
        match (&self.code, &self.psk, self.insecure) {
            (_, Some(_), _) => "has --psk",
            (_, _, true) => "has --insecure",
            (Some(_), ..) => "has --code",
            _ => "uses TLS",
        }
    }

    /// Returns whether the one-time code of a client was used up by an earlier association of this command.
    pub(crate) fn is_code_used(&self) -> bool {
        self.proved.get().is_some()
    }

    /// Returns whether a client has a key of its own, by which a server recognizes it.
    #[cfg(target_os = "linux")]
    pub(crate) const fn has_own_key(&self) -> bool {
        self.psk.is_none() && !self.insecure
    }

    pub(crate) const fn is_insecure(&self) -> bool {
        self.insecure
    }

    /// Returns whether clients need a key or a code.
    const fn keeps_strangers_out(&self) -> bool {
        self.psk.is_some() || self.key.is_some() || self.code.is_some()
    }

    /// Returns the authentication of packets in clear.
    pub(crate) fn authentication(&self) -> Result<AuthConfig, Failure> {
        // A client that is started again has another SCTP port. Whoever restarts an association in clear
        // would take over its rights.
        let accept_restarts = !self.insecure;
        let auth = AuthConfig { accept_restarts, ..AuthConfig::default() };
        let Some(file) = &self.key else { return Ok(auth) };
        let secret = secret(&format!("--key {}", file.display()), file, MIN_KEY)?;
        Ok(AuthConfig { keys: vec![SharedKey { id: 1, secret }], ..auth })
    }

    /// Returns the security without TLS; `None` if TLS provides the keys.
    pub(crate) fn without_tls(&self) -> Result<Option<Security>, Failure> {
        if self.insecure {
            return Ok(Some(Security::insecure()));
        }
        let Some(file) = &self.psk else { return Ok(None) };
        let mut keys = pre_shared(file)?;
        if let Some(log) = self.key_log()? {
            keys = keys.with_log(log);
        }
        Ok(Some(keys.into()))
    }

    /// Returns a client's security; `host`: the server's name among the known hosts.
    pub(crate) fn for_client(&self, host: &str) -> Result<Security, Failure> {
        if let Some(security) = self.without_tls()? {
            return Ok(security);
        }
        match (&self.code, self.proved.get()) {
            (Some(None), _) => {
                Err(Failure::Input("--code: want the PHRASE that the server prints".to_owned()))
            }
            // The code is used up, and its owner is known.
            (_, Some(proved)) => Ok(self.tls(Pinned(vec![*proved]))?.into()),
            (Some(Some(phrase)), None) => Ok(self.tls(AnyPeer)?.code(parse_code(phrase)?).into()),
            (None, None) => Ok(self.tls(KnownHost { name: host.to_owned() })?.into()),
        }
    }

    /// Stores the key of the server of a client's new association.
    pub(crate) fn note_server(&self, host: &str, association: &Association) -> Result<(), Failure> {
        let Some(peer) = association.peer_identity() else { return Ok(()) };
        if self.code.is_some() {
            let _ = self.proved.set(peer.fingerprint);
            // A key from another time is no reason to fail: the code is a better proof.
            if let Err(failure) = identity::remember(host, peer.fingerprint) {
                eprintln!("msctp: the server's key, which the code proved, was not stored: {failure}");
            }
            return Ok(());
        }
        if let Some(file) = identity::remember(host, peer.fingerprint)? {
            let (key, file) = (peer.fingerprint, file.display());
            eprintln!(
                "{host} is new: its key {key} is now in {file}; compare it with what the server prints"
            );
        }
        Ok(())
    }

    /// Returns TLS with this user's key.
    fn tls(&self, check: impl CheckPeer + 'static) -> Result<Tls, Failure> {
        let own = identity::own()?;
        let mut config =
            own.config(Arc::new(check)).map_err(|error| Failure::Run(format!("this user's key: {error}")))?;
        // Does nothing unless the variable SSLKEYLOGFILE names a file.
        config.log_secrets(&(Arc::new(KeyLogFile::new()) as _));
        let tls = Tls::with_config(config);
        Ok(match self.key_log()? {
            Some(log) => tls.key_log(log),
            None => tls,
        })
    }

    /// Opens the file of --keylog.
    fn key_log(&self) -> Result<Option<impl Fn(&str) + Send + Sync + 'static>, Failure> {
        let Some(path) = &self.keylog else { return Ok(None) };
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let failed = |error| cannot_write(format!("--keylog {}", path.display()), &error);
        let file: Mutex<File> = Mutex::new(opened.map_err(|error| Failure::Input(failed(error)))?);
        let path = path.clone();
        let reported = AtomicBool::new(false);
        Ok(Some(move |line: &str| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writeln!(file, "{line}")
                && !reported.swap(true, Ordering::Relaxed)
            {
                let why = cannot_write(format!("--keylog {}", path.display()), &error);
                eprintln!("warning: {why}; the association goes on, and its capture cannot be decrypted");
            }
        }))
    }
}

/// Accepts a host's known key, and any key of a new host.
#[derive(Debug)]
struct KnownHost {
    name: String,
}

impl CheckPeer for KnownHost {
    fn check(&self, fingerprint: &Fingerprint) -> Result<(), Refused> {
        identity::check(&self.name, *fingerprint).map_err(|failure| Refused(failure.to_string()))
    }
}

/// Wrong codes after which a server ends. With codes of 32 bits a guesser has had one chance in 859 million
/// by then.
const MAX_WRONG_CODES: u32 = 5;

/// A server's keys, and its code if it has one.
#[derive(Debug)]
pub(crate) struct ServerSecurity {
    args: SecurityArgs,
    accepted: Option<Vec<Fingerprint>>,
    /// The code that the next client must have.
    phrase: Option<String>,
    /// Number of clients with a wrong code.
    wrong: u32,
    own: Option<Fingerprint>,
}

impl ServerSecurity {
    pub(crate) fn new(args: &SecurityArgs, clients: &ClientsArgs) -> Result<Self, Failure> {
        let tls = args.without_tls()?.is_none();
        let phrase = match &args.code {
            None => None,
            Some(Some(phrase)) => Some(long_enough(phrase)?),
            Some(None) => Some(new_phrase()?),
        };
        let own = if tls { Some(identity::own()?.fingerprint()) } else { None };
        Ok(Self { args: args.clone(), accepted: clients.accepted()?, phrase, wrong: 0, own })
    }

    /// Describes how this end encrypts, as the words after "this end".
    pub(crate) const fn describe(&self) -> &'static str {
        self.args.describe()
    }

    /// Returns the security of the next associations.
    pub(crate) fn security(&self) -> Result<Security, Failure> {
        if let Some(security) = self.args.without_tls()? {
            return Ok(security);
        }
        Ok(match (&self.accepted, &self.phrase) {
            (Some(accepted), None) => self.args.tls(Pinned(accepted.clone()))?.into(),
            (_, None) => self.args.tls(AnyPeer)?.into(),
            (_, Some(phrase)) => self.args.tls(AnyPeer)?.code(parse_code(phrase)?).into(),
        })
    }

    /// Returns the security with the clients' keys, the pre-shared key and the shared key read again from
    /// their files.
    ///
    /// # Errors
    ///
    /// The keys cannot be used, or the kind of encryption changed.
    pub(crate) fn reloaded(&self, args: &SecurityArgs, clients: &ClientsArgs) -> Result<Self, Failure> {
        if args.name() != self.args.name() {
            return Err(Failure::Input(format!(
                "security {}: want {} as before, or a restart",
                args.name(),
                self.args.name()
            )));
        }
        // The key that proved a code is not in the files.
        let accepted = if self.args.code.is_some() { self.accepted.clone() } else { clients.accepted()? };
        Ok(Self {
            args: args.clone(),
            accepted,
            phrase: self.phrase.clone(),
            wrong: self.wrong,
            own: self.own,
        })
    }

    /// Returns the authentication of the next associations.
    pub(crate) fn authentication(&self) -> Result<AuthConfig, Failure> {
        self.args.authentication()
    }

    /// Returns whether clients with this key may connect.
    pub(crate) fn accepts(&self, key: Fingerprint) -> bool {
        self.accepted.as_ref().is_none_or(|accepted| accepted.contains(&key))
    }

    /// Records that a client was accepted. Returns whether later clients need another protection: once the
    /// client has proved the code, its key identifies it.
    pub(crate) fn note_client(&mut self, key: Option<Fingerprint>) -> bool {
        let (Some(key), true) = (key, self.phrase.is_some()) else { return false };
        (self.accepted, self.phrase) = (Some(vec![key]), None);
        eprintln!("the code has been used: from now on only its user may connect, with the key {key}");
        true
    }

    /// Generates a new code after a client had a wrong one. A code given on the command line cannot be
    /// replaced.
    ///
    /// # Errors
    /// The code was given, or [`MAX_WRONG_CODES`] clients had a wrong one.
    pub(crate) fn note_wrong_code(&mut self) -> Result<(), Failure> {
        self.wrong += 1;
        if self.wrong >= MAX_WRONG_CODES {
            return Err(Failure::Run(format!(
                "--code: {} clients had a wrong code and may be guessing: start again, or name the client's \
                 key with --only-clients",
                self.wrong
            )));
        }
        if self.args.code == Some(None) {
            let phrase = new_phrase()?;
            eprintln!("a client had a wrong code; the new code is: {phrase}");
            self.phrase = Some(phrase);
            return Ok(());
        }
        Err(Failure::Run(
            "--code: a client had a wrong code, which invalidates this one: agree on a new code".to_owned(),
        ))
    }

    /// Prints the key, the code and the rights of any client.
    pub(crate) fn announce(&self, may: &str) {
        if let Some(own) = self.own {
            eprintln!("key {own}");
        }
        if let (Some(phrase), Some(None)) = (&self.phrase, &self.args.code) {
            eprintln!("code, for one client: {phrase}");
        }
        if self.args.is_insecure() {
            eprintln!("--insecure: nothing is encrypted");
        }
        self.announce_nobody();
        if self.accepted.is_none() && !self.args.keeps_strangers_out() {
            let means = if self.args.is_insecure() { "--key" } else { "--only-clients, --code or --psk" };
            eprintln!("no {means}: anyone who can reach this port can {may}");
        }
    }

    /// Says so if no client may connect.
    pub(crate) fn announce_nobody(&self) {
        if self.accepted.as_ref().is_some_and(Vec::is_empty) {
            eprintln!("--only-clients has no fingerprint: no client may connect");
        }
    }
}

fn parse_code(phrase: &str) -> Result<Code, Failure> {
    Code::new(phrase).map_err(|error| Failure::Input(format!("--code: {error}; want the server's phrase")))
}

/// Minimum length of a server's phrase, in characters. One wrong code ends such a server.
const MIN_PHRASE: usize = 8;

fn long_enough(phrase: &str) -> Result<String, Failure> {
    let len = phrase.trim().chars().count();
    if len < MIN_PHRASE {
        let given = counted(len as u64, "character");
        return Err(Failure::Input(format!(
            "--code: {given}, which is easily guessed; want at least {MIN_PHRASE}, or no PHRASE: the server \
             makes one"
        )));
    }
    Ok(phrase.to_owned())
}

/// Generates a code of 32 random bits in the pronounceable words of proquints (arXiv:0901.4016). A code can
/// be short because one wrong guess invalidates it.
fn new_phrase() -> Result<String, Failure> {
    let [a, b, c, d] = random_bits()?;
    Ok([[a, b], [c, d]].map(|half| proquint(u16::from_be_bytes(half))).join("-"))
}

/// Returns 32 random bits.
pub(super) fn random_bits() -> Result<[u8; 4], Failure> {
    let mut bits = [0; 4];
    let filled = provider().secure_random.fill(&mut bits);
    filled.map_err(|_| Failure::Run("this system has no random numbers".to_owned()))?;
    Ok(bits)
}

/// Returns a word of consonants (four bits each) and vowels (two bits each).
fn proquint(bits: u16) -> String {
    let consonant = |shift: u32| char::from(b"bdfghjklmnprstvz"[usize::from(bits >> shift & 15)]);
    let vowel = |shift: u32| char::from(b"aiou"[usize::from(bits >> shift & 3)]);
    [consonant(12), vowel(10), consonant(6), vowel(4), consonant(0)].iter().collect()
}

/// Minimum length of a shared key in bytes: a shorter one can be guessed.
const MIN_KEY: usize = 16;

/// Minimum length of a pre-shared key in bytes, that of 256 random bits.
const MIN_PSK: usize = 32;

/// Reads the pre-shared key of `--psk` from a file that only its owner may read.
fn pre_shared(file: &Path) -> Result<KeyManagement, Failure> {
    let what = format!("--psk {}", file.display());
    let secret = Zeroizing::new(secret(&what, file, MIN_PSK)?);
    let mode = std::fs::metadata(file).map_or(0, |metadata| metadata.permissions().mode() & 0o777);
    if mode & 0o077 != 0 {
        let remedy = format!("want 0600: chmod 600 {}", file.display());
        return Err(Failure::Input(format!(
            "{what}: its mode {mode:04o} lets others read the key; {remedy}"
        )));
    }
    let key = Secret::from(&secret[..]);
    KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key)
        .map_err(|error| Failure::Input(format!("{what}: {error}")))
}

/// Reads a key from a file. Removes trailing white space, which editors add.
fn secret(what: &str, file: &Path, least: usize) -> Result<Vec<u8>, Failure> {
    let mut secret = read(what, file)?;
    while secret.last().is_some_and(u8::is_ascii_whitespace) {
        secret.pop();
    }
    if secret.len() < least {
        let len = counted(secret.len() as u64, "byte");
        return Err(Failure::Input(format!("{what}: {len}; want at least {least}")));
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the examples of arXiv:0901.4016.
    #[test]
    fn codes_are_proquints() {
        let words = |address: [u16; 2]| address.map(proquint).join("-");
        assert_eq!(words([0x7f00, 0x0001]), "lusab-babad");
        assert_eq!(words([0x3f54, 0xdcc1]), "gutih-tugad");
        assert_ne!(new_phrase().unwrap(), new_phrase().unwrap());
    }
}
