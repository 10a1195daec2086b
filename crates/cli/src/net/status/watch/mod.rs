//! `msctp status --watch`: a live view of what `msctp status` shows, for a terminal.

mod frame;
mod screen;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use msctp_terminal::{Failure, print};

use self::frame::View;
use self::screen::{Input, Key, Screen};
use super::document::Document;
use super::{Unread, read, read_each};

/// Parses the seconds between two readings.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "want seconds from 0.1 to 3600, such as 0.5".to_owned())
}

/// Columns of output without a terminal.
const PRINT_WIDTH: usize = 160;

/// Longest wait for a key.
const TICK: Duration = Duration::from_millis(50);

/// Shows one process, or all, until a key, a signal or the end of the processes.
pub(super) fn run(process: Option<&str>, interval: Duration) -> Result<(), Failure> {
    let first = read(process)?;
    let can_draw = stdout().is_terminal() && std::io::stdin().is_terminal();
    if !can_draw || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return print(|out| {
            let lines = first.iter().flat_map(|(_, document)| frame::process(document, PRINT_WIDTH));
            lines.map(|line| line.text).try_for_each(|line| writeln!(out, "{line}"))
        });
    }
    let failed = |error| Failure::Run(format!("cannot use the terminal: {error}"));
    let screen = Screen::open().map_err(failed)?;
    let mut watch = Watch::new(process.is_some(), first);
    let ended = watch.run(&screen, &start_reader(process, interval)).map_err(failed)?;
    drop(screen);
    ended.map_or(Ok(()), |line| print(|out| writeln!(out, "{line}")))
}

/// Results of a reading, by socket.
type Reading = Vec<(PathBuf, Result<Document, Unread>)>;

/// Reads the processes repeatedly in a thread, so that a process that hangs does not delay keys.
#[expect(clippy::disallowed_methods, reason = "real processes in real time")]
fn start_reader(process: Option<&str>, interval: Duration) -> Receiver<Reading> {
    let (sender, receiver) = channel();
    let process = process.map(str::to_owned);
    std::thread::spawn(move || {
        loop {
            let begin = Instant::now();
            if sender.send(read_each(process.as_deref()).0).is_err() {
                return;
            }
            std::thread::sleep(interval.saturating_sub(begin.elapsed()));
        }
    });
    receiver
}

/// The state of the view.
struct Watch {
    /// True if the command names one process, so that there is no list.
    is_single: bool,
    view: View,
    /// The socket of each document in the view.
    sockets: Vec<PathBuf>,
    /// The processes that have ended since the last key press.
    ended: Vec<String>,
    /// The sockets that gave no answer in the last reading, with the cause.
    unanswered: Vec<String>,
}

impl Watch {
    fn new(is_single: bool, documents: Vec<(PathBuf, Document)>) -> Self {
        let (sockets, documents): (Vec<_>, Vec<_>) = documents.into_iter().unzip();
        let open = (documents.len() == 1).then(|| documents[0].pid);
        let view = View { documents, open, ..View::default() };
        Self { is_single, view, sockets, ended: Vec::new(), unanswered: Vec::new() }
    }

    /// Draws until a key, a signal or the end of the processes. Returns a last line to print.
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
        // Whoever presses a key has seen the note.
        self.ended.clear();
        self.write_note();
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

    /// Applies a reading. Returns a line to print if no process is left.
    fn update(&mut self, reading: Reading) -> Option<String> {
        let name = |document: &Document| format!("process {} (msctp {})", document.pid, document.command);
        let chosen = self.view.documents.get(self.view.selected).map(|document| document.pid);
        let mut before: Vec<_> = self.sockets.drain(..).zip(self.view.documents.drain(..)).collect();
        self.unanswered.clear();
        for (socket, result) in reading {
            let known = before.iter().position(|(of, _)| *of == socket);
            let known = known.map(|place| before.remove(place).1);
            let shown = match (result, known) {
                (Ok(document), known) => {
                    // Another process has taken the socket.
                    let replaced = known.filter(|old| old.pid != document.pid);
                    before.extend(replaced.map(|old| (socket.clone(), old)));
                    document
                }
                // A process that does not answer now may do so later: its last status stays.
                (Err(Unread::Failed(why)), Some(last)) => {
                    self.unanswered.push(format!("{}: {why}", name(&last)));
                    last
                }
                (Err(Unread::Failed(why)), None) => {
                    self.unanswered.push(format!("{}: {why}", socket.display()));
                    continue;
                }
                (Err(Unread::Ended(_)), known) => {
                    before.extend(known.map(|last| (socket, last)));
                    continue;
                }
            };
            self.sockets.push(socket);
            self.view.documents.push(shown);
        }
        if !before.is_empty() {
            self.ended = before.iter().map(|(_, last)| format!("{} has ended", name(last))).collect();
        }
        self.write_note();
        let view = &mut self.view;
        if before.iter().any(|(_, last)| view.open == Some(last.pid)) {
            view.open = view.documents.first().map(|new| new.pid).filter(|_| self.is_single);
        }
        view.selected = view.documents.iter().position(|new| Some(new.pid) == chosen).unwrap_or(0);
        view.documents.is_empty().then(|| self.ended.join("\n"))
    }

    fn write_note(&mut self) {
        let parts: Vec<&str> = self.ended.iter().chain(&self.unanswered).map(String::as_str).collect();
        self.view.note = parts.join("; ");
    }
}

#[cfg(test)]
mod tests {
    use super::frame::tests::document;
    use super::*;

    /// Returns a process and its socket.
    fn known(pid: u32) -> (PathBuf, Document) {
        (PathBuf::from(format!("serve-{pid}.sock")), document(pid))
    }

    fn answers(pid: u32) -> (PathBuf, Result<Document, Unread>) {
        let (socket, document) = known(pid);
        (socket, Ok(document))
    }

    fn hangs(pid: u32) -> (PathBuf, Result<Document, Unread>) {
        (known(pid).0, Err(Unread::Failed("no answer for 5 s".to_owned())))
    }

    fn pids(watch: &Watch) -> Vec<u32> {
        watch.view.documents.iter().map(|document| document.pid).collect()
    }

    #[test]
    fn a_process_that_ends_goes_from_the_list_with_a_note_until_a_key() {
        let mut watch = Watch::new(false, vec![known(1), known(2)]);
        assert_eq!(watch.view.open, None, "several processes begin with a list");
        watch.press(Key::Down);
        watch.press(Key::Enter);
        assert_eq!(watch.view.open, Some(2));
        let killed = (known(2).0, Err(Unread::Ended("the process was killed".to_owned())));
        assert_eq!(watch.update(vec![answers(1), killed]), None);
        assert_eq!((watch.view.open, watch.view.selected), (None, 0));
        assert_eq!(pids(&watch), [1]);
        assert_eq!(watch.update(vec![answers(1)]), None);
        assert_eq!(watch.view.note, "process 2 (msctp serve) has ended");
        watch.press(Key::Down);
        assert_eq!(watch.view.note, "");
        assert_eq!(watch.update(vec![]).as_deref(), Some("process 1 (msctp serve) has ended"));
    }

    #[test]
    fn a_process_that_hangs_keeps_its_last_status_until_it_answers() {
        for is_single in [true, false] {
            let mut watch = Watch::new(is_single, vec![known(1)]);
            assert_eq!(watch.update(vec![hangs(1)]), None);
            let frame = watch.view.frame((80, 20));
            assert!(frame.iter().any(|line| line.text == "process 1 (msctp serve): no answer for 5 s"));
            assert!(frame.iter().any(|line| line.text.contains("msctp serve, process 1, up")));
            assert_eq!(watch.update(vec![answers(1)]), None);
            assert_eq!(watch.view.note, "");
            watch.press(Key::Back);
            assert_eq!(watch.view.open.is_some(), is_single, "one process alone has no list");
        }
    }

    #[test]
    fn a_process_that_hangs_beside_others_has_not_ended() {
        let mut watch = Watch::new(false, vec![known(1), known(2), known(3)]);
        watch.press(Key::Down);
        watch.press(Key::Enter);
        let stranger = (PathBuf::from("other.sock"), Err(Unread::Failed("not a status".to_owned())));
        assert_eq!(watch.update(vec![answers(1), hangs(2), answers(3), stranger]), None);
        assert_eq!((watch.view.open, watch.view.selected), (Some(2), 1));
        assert_eq!(pids(&watch), [1, 2, 3]);
        assert_eq!(watch.view.note, "process 2 (msctp serve): no answer for 5 s; other.sock: not a status");
        assert_eq!(watch.update(vec![answers(1), answers(2)]), None);
        assert_eq!(watch.view.note, "process 3 (msctp serve) has ended");
        assert_eq!(pids(&watch), [1, 2]);
    }

    #[test]
    fn another_process_at_the_same_socket_replaces_the_one_that_ended() {
        let mut watch = Watch::new(true, vec![known(1)]);
        assert_eq!(watch.update(vec![(known(1).0, Ok(document(2)))]), None);
        assert_eq!((pids(&watch), watch.view.open), (vec![2], Some(2)));
        assert_eq!(watch.view.note, "process 1 (msctp serve) has ended");
    }

    #[test]
    fn intervals_have_limits() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "1e9", "x", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
