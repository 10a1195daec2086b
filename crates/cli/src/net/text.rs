//! Escapes text that a peer sent.

use std::fmt::Write;

/// Escapes control characters and invisible characters in text from a peer, because a terminal obeys them.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() || is_invisible(char) {
            let _ = write!(out, "{}", char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

/// Returns whether a character is a line separator, or has zero width, or formats bidirectional text.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_peer_are_escaped() {
        assert_eq!(escape("a \u{1b}[31mred\u{7}\n"), r"a \u{1b}[31mred\u{7}\u{a}");
        assert_eq!(escape("x\u{202e}gpj.exe\u{9b}"), r"x\u{202e}gpj.exe\u{9b}");
        assert_eq!(escape("Übung \"1\" – 映画.mkv"), "Übung \"1\" – 映画.mkv");
    }
}
