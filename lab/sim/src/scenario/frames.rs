//! Frames of a video: sizes and intervals. Parses frame-size traces; opens no files.

use std::fmt;

use msctp_units::Span;

/// A frame of a video, which is one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the message, at least [`LEAST_FRAME`].
    pub bytes: u32,
    /// Time from this frame to the next, more than zero.
    pub interval: Span,
}

/// Minimum length of a frame in bytes, since its message carries its number.
pub const LEAST_FRAME: u32 = 4;

/// Maximum length of a frame in bytes.
pub const MOST_FRAME: u32 = 1 << 24;

/// The first invalid line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramesError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The fault, and the allowed values.
    pub message: String,
}

impl fmt::Display for FramesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

impl std::error::Error for FramesError {}

/// Reads a frame-size trace with a line for each frame, such as `6395` or `6395 40ms`: its bytes, and the
/// time to the next frame if that differs from `interval`. A `#` begins a comment, and empty lines are
/// skipped.
///
/// # Errors
/// A line is invalid. The error names the first.
pub fn read_frames(text: &str, interval: Span) -> Result<Vec<Frame>, FramesError> {
    let mut frames = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fail = |message: String| FramesError { line: number + 1, message };
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let bytes: u32 =
            first.parse().ok().filter(|bytes| (LEAST_FRAME..=MOST_FRAME).contains(bytes)).ok_or_else(
                || fail(format!("\"{first}\": want a frame's bytes, {LEAST_FRAME} to {MOST_FRAME}")),
            )?;
        let interval = match words.next() {
            None => interval,
            Some(word) => word.parse::<Span>().map_err(|e| fail(format!("\"{word}\" is {e}")))?,
        };
        if interval.is_zero() {
            return Err(fail("the interval to the next frame is 0s: want more".to_owned()));
        }
        if let Some(more) = words.next() {
            return Err(fail(format!(
                "unexpected \"{more}\": want bytes, optionally an interval, and comments after #"
            )));
        }
        frames.push(Frame { bytes, interval });
    }
    if frames.is_empty() {
        let message = "no frames: want a line for each, such as 6395".to_owned();
        return Err(FramesError { line: 1, message });
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Span = Span::from_millis(33);

    #[test]
    fn a_line_is_a_frame_with_its_own_interval_or_the_common_one() {
        let frames = read_frames("# a clip\n\n6395\n  100 40ms # small\n", INTERVAL).unwrap();
        let frame = |bytes, ms| Frame { bytes, interval: Span::from_millis(ms) };
        assert_eq!(frames, [frame(6395, 33), frame(100, 40)]);
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let error = |text| read_frames(text, INTERVAL).unwrap_err().to_string();
        assert_eq!(error("6395\nI 6395"), "2: \"I\": want a frame's bytes, 4 to 16777216");
        assert_eq!(error("3"), "1: \"3\": want a frame's bytes, 4 to 16777216");
        assert_eq!(error("\n100 0ms"), "2: the interval to the next frame is 0s: want more");
        assert!(error("100 33").starts_with("1: \"33\" is not a time: want "), "{}", error("100 33"));
        assert_eq!(
            error("100 33ms I"),
            "1: unexpected \"I\": want bytes, optionally an interval, and comments after #"
        );
        assert_eq!(error("# nothing"), "1: no frames: want a line for each, such as 6395");
    }
}
