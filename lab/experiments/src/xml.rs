//! Text in XML and SVG.

/// Escapes text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_once() {
        assert_eq!(escape("a < \"b\" && c > d"), "a &lt; &quot;b&quot; &amp;&amp; c &gt; d");
    }
}
