//! `msctp top`: a live view of what `msctp status` shows, for a terminal.

mod frame;
mod screen;

use std::io::{IsTerminal, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use self::frame::View;
use self::screen::{Input, Key, Screen};
use super::status::document::Document;
use super::status::{self, Unread};
use crate::Failure;
use crate::running::print;

/// Show the associations of running commands live: paths, rates, windows, moves.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp top                      a list of all processes; Enter opens one
  msctp top 4711                 one, by its process ID
  msctp top --interval 0.5       twice a second
  msctp top | cat                prints once if stdout is not a terminal

Keys: q or Ctrl-C ends; arrows choose a process or scroll, Enter opens it, Esc goes back to the list.

NO_COLOR switches bold text off.

Exit codes: 0 after q, or when the process has ended, 1 no process answered, 2 invalid arguments.")]
pub(crate) struct Args {
    /// A process ID, or the path of a socket (--status).
    #[arg(value_name = "PID|PATH")]
    process: Option<String>,
    /// Seconds between two readings, 0.1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "want seconds from 0.1 to 3600, such as 0.5".to_owned())
}

/// Columns of a print without a terminal.
const PRINT_WIDTH: usize = 160;

/// Longest wait for a key.
const TICK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let first = status::read(args.process.as_deref())?;
    let can_draw = stdout().is_terminal() && std::io::stdin().is_terminal();
    if !can_draw || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return print(|out| {
            let lines = first.iter().flat_map(|document| frame::process(document, PRINT_WIDTH));
            lines.map(|line| line.text).try_for_each(|line| writeln!(out, "{line}"))
        });
    }
    let failed = |error| Failure::Run(format!("cannot use the terminal: {error}"));
    let screen = Screen::open().map_err(failed)?;
    let mut top = Top::new(args.process.is_some(), first);
    let ended = top.run(&screen, &start_reader(args)).map_err(failed)?;
    drop(screen);
    ended.map_or(Ok(()), |line| print(|out| writeln!(out, "{line}")))
}

/// Results of a reading.
type Reading = Vec<Result<Document, Unread>>;

/// Reads the processes again and again, in a thread of its own: a process that hangs does not delay keys.
#[expect(clippy::disallowed_methods, reason = "real processes in real time")]
fn start_reader(args: &Args) -> Receiver<Reading> {
    let (sender, receiver) = channel();
    let (process, interval) = (args.process.clone(), args.interval);
    std::thread::spawn(move || {
        loop {
            let begin = Instant::now();
            let reading = status::read_each(process.as_deref()).0;
            if sender.send(reading.into_iter().map(|(_, document)| document).collect()).is_err() {
                return;
            }
            std::thread::sleep(interval.saturating_sub(begin.elapsed()));
        }
    });
    receiver
}

/// The state of the view.
struct Top {
    /// The command names one process: there is no list.
    is_single: bool,
    view: View,
}

impl Top {
    fn new(is_single: bool, documents: Vec<Document>) -> Self {
        let open = (documents.len() == 1).then(|| documents[0].pid);
        Self { is_single, view: View { documents, open, ..View::default() } }
    }

    /// Draws until a key, a signal or the end of the processes. Returns a last line for that.
    fn run(&mut self, screen: &Screen, readings: &Receiver<Reading>) -> std::io::Result<Option<String>> {
        let mut drawn = None;
        loop {
            let size = screen.size();
            if drawn != Some(size) {
                self.view.scroll = self.view.scroll.min(self.view.last_scroll(size));
                screen.draw(&self.view.frame(size))?;
                drawn = Some(size);
            }
            match screen.input(TICK)? {
                Input::None => {}
                Input::Ended | Input::Key(Key::Quit) => return Ok(None),
                Input::Key(key) => {
                    self.press(key);
                    drawn = None;
                }
            }
            match readings.recv_timeout(Duration::ZERO) {
                Ok(reading) => {
                    if let Some(line) = self.update(reading) {
                        return Ok(Some(line));
                    }
                    drawn = None;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn press(&mut self, key: Key) {
        let view = &mut self.view;
        let last = view.documents.len().saturating_sub(1);
        match (key, view.open) {
            (Key::Up, Some(_)) => view.scroll = view.scroll.saturating_sub(1),
            (Key::Down, Some(_)) => view.scroll += 1,
            (Key::Up, None) => view.selected = view.selected.saturating_sub(1),
            (Key::Down, None) => view.selected = (view.selected + 1).min(last),
            (Key::Enter, None) => {
                view.open = view.documents.get(view.selected).map(|document| document.pid);
                view.scroll = 0;
            }
            (Key::Back, Some(_)) if !self.is_single => view.open = None,
            (Key::Enter | Key::Back, _) | (Key::Quit, _) => {}
        }
    }

    /// Takes a reading. Returns a line if there is nothing left to show.
    fn update(&mut self, reading: Reading) -> Option<String> {
        let view = &mut self.view;
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for result in reading {
            match result {
                Ok(document) => found.push(document),
                Err(Unread::Failed(why)) => failed.push(why),
                Err(Unread::Ended(_)) => {}
            }
        }
        if found.is_empty() && !failed.is_empty() {
            // A process that does not answer now may do so later: its last status stays.
            view.note = failed.join("; ");
            return None;
        }
        let gone: Vec<_> =
            view.documents.iter().filter(|old| !found.iter().any(|new| new.pid == old.pid)).collect();
        let line = |old: &&Document| format!("process {} (msctp {}) has ended", old.pid, old.command);
        let lines: Vec<_> = gone.iter().map(line).collect();
        let chosen = view.documents.get(view.selected).map(|document| document.pid);
        if gone.iter().any(|old| view.open == Some(old.pid)) {
            view.open = None;
        }
        if !lines.is_empty() || !failed.is_empty() {
            view.note = [lines.clone(), failed].concat().join("; ");
        }
        view.selected = found.iter().position(|document| Some(document.pid) == chosen).unwrap_or(0);
        view.documents = found;
        view.documents.is_empty().then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::top::frame::tests::document;

    #[test]
    fn a_process_that_ends_goes_from_the_list_with_a_note() {
        let mut top = Top::new(false, vec![document(1), document(2)]);
        assert_eq!(top.view.open, None, "several processes begin with a list");
        top.press(Key::Down);
        top.press(Key::Enter);
        assert_eq!(top.view.open, Some(2));
        assert_eq!(top.update(vec![Ok(document(1)), Err(Unread::Failed("2: no answer".to_owned()))]), None);
        assert_eq!(top.update(vec![Ok(document(1))]), None);
        assert_eq!((top.view.open, top.view.selected), (None, 0));
        assert!(top.view.frame((60, 10)).iter().all(|line| !line.text.contains("  2  serve")));
        assert_eq!(top.update(vec![]).as_deref(), Some("process 1 (msctp serve) has ended"));
    }

    #[test]
    fn a_process_that_hangs_keeps_its_last_status() {
        let mut top = Top::new(true, vec![document(1)]);
        assert_eq!(top.update(vec![Err(Unread::Failed("no answer for 5 s".to_owned()))]), None);
        let frame = top.view.frame((80, 20));
        assert!(frame.iter().any(|line| line.text.contains("no answer for 5 s")));
        assert!(frame.iter().any(|line| line.text.contains("process 1")));
        top.press(Key::Back);
        assert_eq!(top.view.open, Some(1), "there is no list");
    }

    #[test]
    fn intervals_have_limits() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "1e9", "x", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
