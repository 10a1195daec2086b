//! The terminal: raw mode, the alternate screen, keys. Plain escape sequences (ECMA-48, xterm) suffice.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::frame::{Line, Size, Style};

/// A key with a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Up,
    Down,
    Enter,
    Back,
}

/// Result of a wait for a key.
pub(super) enum Input {
    None,
    Key(Key),
    /// A signal ends the command, or the terminal is gone.
    Ended,
}

/// The terminal in the view's mode; restored when dropped.
pub(super) struct Screen {
    before: Termios,
    signalled: Arc<AtomicBool>,
    has_style: bool,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&signalled))?;
        }
        let before = tcgetattr(rustix::stdio::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &raw)?;
        // https://no-color.org: present and not empty.
        let has_style = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let screen = Self { before, signalled, has_style };
        write("\x1b[?1049h\x1b[?25l")?;
        Ok(screen)
    }

    /// Returns columns and rows; 80 × 24 if the terminal does not report them.
    pub(super) fn size(&self) -> Size {
        let size =
            tcgetwinsize(rustix::stdio::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
    }

    /// Replaces the contents.
    pub(super) fn draw(&self, lines: &[Line]) -> io::Result<()> {
        let mut out = String::from("\x1b[H");
        for (i, Line { text, style }) in lines.iter().enumerate() {
            if i > 0 {
                out.push_str("\r\n");
            }
            match style {
                Style::Bold if self.has_style => out.push_str(&format!("\x1b[1m{text}\x1b[0m")),
                Style::Selected if self.has_style => out.push_str(&format!("\x1b[7m{text}\x1b[0m")),
                _ => out.push_str(text),
            }
            out.push_str("\x1b[K");
        }
        out.push_str("\x1b[J");
        write(&out)
    }

    /// Waits for a key.
    pub(super) fn input(&self, limit: Duration) -> io::Result<Input> {
        if self.signalled.load(Ordering::Relaxed) {
            return Ok(Input::Ended);
        }
        let stdin = rustix::stdio::stdin();
        let limit = Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Input::None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 16];
        match rustix::io::read(stdin, &mut bytes) {
            Ok(0) | Err(Errno::IO) => Ok(Input::Ended),
            Ok(len) => Ok(key(&bytes[..len]).map_or(Input::None, Input::Key)),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Input::None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write("\x1b[?25h\x1b[?1049l");
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.before);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reads the first key from the bytes that a terminal sent. Raw mode sends Ctrl-C as byte 3.
fn key(bytes: &[u8]) -> Option<Key> {
    match bytes {
        [b'q' | b'Q' | 3, ..] => Some(Key::Quit),
        [0x1b, b'[' | b'O', b'A', ..] | [b'k', ..] => Some(Key::Up),
        [0x1b, b'[' | b'O', b'B', ..] | [b'j', ..] => Some(Key::Down),
        [b'\r' | b'\n', ..] | [0x1b, b'[' | b'O', b'C', ..] => Some(Key::Enter),
        [0x1b | 0x7f | 8] | [0x1b, b'[' | b'O', b'D', ..] => Some(Key::Back),
        _ => None,
    }
}
