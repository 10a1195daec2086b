//! `msctp status`: what the processes of `serve`, `forward`, `tunnel` and `recv` do now. Each has a Unix
//! socket that gives its [`Document`] to whoever connects.

mod document;
mod metrics;
mod monitor;
mod prometheus;
mod socket;
mod table;
mod watch;

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use msctp_terminal::system::os_error;
use msctp_terminal::{Failure, print};

use self::document::{Document, VERSION};
pub(crate) use self::monitor::{Connections, Monitor};
use self::socket::Socket;
use super::Open;
use super::security::SecurityArgs;
use super::text::escape;

/// Options of commands that publish a status.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Status options")]
pub(crate) struct StatusArgs {
    /// The socket that `msctp status` reads [default: COMMAND-PID.sock in $XDG_RUNTIME_DIR/msctp or
    /// /run/msctp].
    #[arg(long, value_name = "PATH")]
    status: Option<PathBuf>,
    /// Serve metrics for Prometheus over HTTP there, to anyone who can reach it. Port 0 chooses a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = metrics::parse_address)]
    metrics: Option<SocketAddr>,
}

impl StatusArgs {
    /// Publishes the status of this process until the command ends.
    pub(crate) async fn serve(
        &self,
        open: &Open,
        command: &'static str,
        security: &SecurityArgs,
    ) -> Result<(), Failure> {
        let monitor = open.monitor();
        monitor.describe(command, security.name());
        let socket = match &self.status {
            Some(path) => Some(Socket::open_at(path)?),
            // Without a folder for it there is no socket: no command fails for that.
            None => Socket::open(command),
        };
        if let Some(socket) = socket {
            open.keep(socket.serve(monitor.clone()));
        }
        if let Some(address) = self.metrics {
            let listener = metrics::listen(address).await?;
            open.keep(metrics::serve(listener, monitor.clone()));
        }
        Ok(())
    }
}

/// Show the associations of running commands: paths, rates, moves, what was refused.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp status                   all processes of this user, and of services if you are root
  msctp status 4711              one, by its process ID
  msctp status --json            everything that is known, one process a line
  msctp status --prometheus      as Prometheus reads it
  msctp status --watch           live: a list of all processes; Enter opens one

With --watch, q or Ctrl-C ends; arrows choose a process or scroll, Enter opens it, Esc goes back to the list. NO_COLOR \
switches bold text off. If stdout is not a terminal, it prints once.

`msctp serve`, `forward`, `tunnel` and `recv` have a status. docs/commands.md describes the fields of --json.

Exit codes: 0 a process answered, or with --watch q or its end, 1 none did, 2 invalid arguments.")]
pub(crate) struct Args {
    /// A process ID, or the path of a socket (--status).
    #[arg(value_name = "PID|PATH")]
    process: Option<String>,
    /// Print JSON, one process a line.
    #[arg(long)]
    json: bool,
    /// Print the text format of Prometheus.
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
    /// Show them live on a terminal, with windows, losses and the gap of each move.
    #[arg(long, conflicts_with_all = ["json", "prometheus"])]
    watch: bool,
    /// Seconds between two readings of --watch, 0.1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value = "1", requires = "watch", value_parser = watch::interval)]
    interval: Duration,
}

/// Time for a process to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Maximum length of an answer in bytes: 1024 clients with several paths each.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.watch {
        return watch::run(args.process.as_deref(), args.interval);
    }
    let documents: Vec<_> =
        read(args.process.as_deref())?.into_iter().map(|(_, document)| document).collect();
    print(|out| {
        if args.prometheus {
            return out.write_all(prometheus::text(&documents).as_bytes());
        }
        for (i, document) in documents.iter().enumerate() {
            if args.json {
                serde_json::to_writer(&mut *out, document)?;
                writeln!(out)?;
            } else {
                if i > 0 {
                    writeln!(out)?;
                }
                out.write_all(table::text(document).as_bytes())?;
            }
        }
        Ok(())
    })
}

/// Reads the status of one process, or of all, each with its socket.
///
/// # Errors
///
/// No process answers.
fn read(process: Option<&str>) -> Result<Vec<(PathBuf, Document)>, Failure> {
    let (answers, folders) = read_each(process);
    let (mut documents, mut failures) = (Vec::new(), Vec::new());
    for (path, answer) in answers {
        match answer {
            Ok(document) => documents.push((path, document)),
            Err(why) => failures.push(format!("{}: {why}", path.display())),
        }
    }
    if documents.is_empty() && folders.is_empty() {
        // The path of a socket: its failure says everything.
        return Err(Failure::Run(failures.join("\n")));
    }
    if documents.is_empty() {
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let which = process.map_or(String::new(), |pid| format!(" with the process ID {pid}"));
        failures.push(format!(
            "no process{which} has a status in {}; want `msctp serve`, `forward`, `tunnel` or `recv` running, or the \
             path of its --status",
            folders.join(" or ")
        ));
        return Err(Failure::Run(failures.join("\n")));
    }
    Ok(documents)
}

/// The failure to read a status from a socket.
#[derive(Debug)]
enum Unread {
    /// The process has ended.
    Ended(String),
    /// Another cause, which may be temporary.
    Failed(String),
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Ended(why) | Self::Failed(why)) = self;
        f.write_str(why)
    }
}

/// Reads the status at the socket of one process, or at all sockets. Also returns the folders that were
/// searched.
#[expect(clippy::type_complexity, reason = "the answer of each socket")]
fn read_each(process: Option<&str>) -> (Vec<(PathBuf, Result<Document, Unread>)>, Vec<PathBuf>) {
    let (mut paths, mut folders) = (Vec::new(), Vec::new());
    match process {
        Some(path) if path.parse::<u32>().is_err() => paths.push(PathBuf::from(path)),
        _ => (paths, folders) = socket::find(),
    }
    if let Some(pid) = process.filter(|text| text.parse::<u32>().is_ok()) {
        let of = |path: &Path| path.file_stem()?.to_str()?.rsplit('-').next().map(str::to_owned);
        paths.retain(|path| of(path).as_deref() == Some(pid));
    }
    let answers = paths.into_iter().map(|path| {
        let answer = ask(&path);
        (path, answer)
    });
    (answers.collect(), folders)
}

/// Reads the status at a socket.
fn ask(path: &Path) -> Result<Document, Unread> {
    let read = || {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(ANSWER))?;
        let mut text = Vec::new();
        Read::by_ref(&mut stream).take(LONGEST).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock => Unread::Failed(format!("no answer for {} s", ANSWER.as_secs())),
        ErrorKind::ConnectionRefused => Unread::Ended("the process was killed".to_owned()),
        ErrorKind::NotFound => Unread::Ended(os_error(&error)),
        _ => Unread::Failed(os_error(&error)),
    })?;
    if text.is_empty() {
        return Err(Unread::Ended("the process ended before it answered".to_owned()));
    }
    let document = parse(&text)
        .map_err(|error| Unread::Failed(format!("no status of this version of msctp: {error}")))?;
    if document.version != VERSION {
        let version = document.version;
        return Err(Unread::Failed(format!(
            "status of version {version}, want {VERSION}: use the same msctp for both"
        )));
    }
    Ok(document)
}

/// Parses a status. Escapes control characters, since another user's process may have written it.
fn parse(text: &[u8]) -> serde_json::Result<Document> {
    fn clean(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => *text = escape(text),
            serde_json::Value::Array(items) => items.iter_mut().for_each(clean),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(clean),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(text)?;
    clean(&mut value);
    serde_json::from_value(value)
}
