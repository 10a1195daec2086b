//! Reads Rust source far enough to find its modules and the paths in it. Knows nothing of types.

/// Returns the source without comments, text literals and items that are compiled for tests only.
pub(crate) fn production_code(source: &str) -> String {
    without_tests(&without_text(source))
}

/// Blanks comments and the content of text and character literals.
fn without_text(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or(' ');
    let (mut out, mut i) = (String::with_capacity(source.len()), 0);
    while i < chars.len() {
        match (at(i), at(i + 1)) {
            ('/', '/') => i = end_of_line(&chars, i),
            ('/', '*') => i = end_of_comment(&chars, i),
            ('r', '#' | '"') if !is_word(at(i.wrapping_sub(1))) => {
                let hashes = chars[i + 1..].iter().take_while(|&&c| c == '#').count();
                if at(i + 1 + hashes) == '"' {
                    i = end_of_raw(&chars, i + 2 + hashes, hashes);
                } else {
                    out.push('r');
                    i += 1;
                }
            }
            ('"', _) => i = end_of_text(&chars, i),
            ('\'', c) if c == '\\' || at(i + 2) == '\'' => {
                i += if c == '\\' { 3 } else { 2 };
                while at(i) != '\'' && i < chars.len() {
                    i += 1;
                }
                i += 1;
            }
            (c, _) => {
                out.push(c);
                i += 1;
            }
        }
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn end_of_line(chars: &[char], from: usize) -> usize {
    from + chars[from..].iter().take_while(|&&c| c != '\n').count()
}

fn end_of_comment(chars: &[char], from: usize) -> usize {
    let (mut i, mut depth) = (from + 2, 1);
    while i < chars.len() && depth > 0 {
        match (chars[i], chars.get(i + 1)) {
            ('*', Some('/')) => (i, depth) = (i + 2, depth - 1),
            ('/', Some('*')) => (i, depth) = (i + 2, depth + 1),
            _ => i += 1,
        }
    }
    i
}

fn end_of_raw(chars: &[char], from: usize, hashes: usize) -> usize {
    let mut i = from;
    while i < chars.len() {
        let closing = chars[i] == '"' && chars[i + 1..].iter().take(hashes).all(|&c| c == '#');
        i += 1;
        if closing {
            return i + hashes;
        }
    }
    i
}

fn end_of_text(chars: &[char], from: usize) -> usize {
    let mut i = from + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// Removes each item below `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn without_tests(code: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    while let Some(start) = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|cfg| rest.find(cfg)).min() {
        out.push_str(&rest[..start]);
        rest = &rest[start + end_of_item(&rest[start..])..];
    }
    out + rest
}

/// Returns the length of an item with its attributes: up to its closing brace or its semicolon.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0;
    for (i, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth -= 1;
                if c == '}' && depth == 0 {
                    return i + 1;
                }
            }
            ';' if depth == 0 => return i + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the names of the modules that `code` declares and that have their own files.
pub(crate) fn declared_modules(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let declared = tokens.windows(3).filter(|three| three[0] == "mod" && three[2] == ";");
    declared.map(|three| three[1].to_owned()).collect()
}

/// Splits code into words, `::` and single other characters.
fn tokens(code: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let len = match first {
            ':' if rest.starts_with("::") => 2,
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        found.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    found
}

/// Returns the paths in `code` that begin with one of `starts`, with trees of imports expanded.
pub(crate) fn paths<'a>(code: &'a str, starts: &[&str]) -> Vec<Vec<&'a str>> {
    let tokens = tokens(code);
    let (mut found, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        let begins = (i == 0 || tokens[i - 1] != "::") && tokens.get(i + 1) == Some(&"::");
        if begins && starts.contains(&tokens[i]) {
            i = expand(&tokens, i, &mut Vec::new(), &mut found);
        } else {
            i += 1;
        }
    }
    found
}

/// Expands the path at `i`. Returns the index after it.
fn expand<'a>(
    tokens: &[&'a str],
    i: usize,
    prefix: &mut Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> usize {
    if tokens.get(i) == Some(&"{") {
        let mut next = i + 1;
        while next < tokens.len() && tokens[next] != "}" {
            next = expand(tokens, next, prefix, found);
            while next < tokens.len() && !matches!(tokens[next], "," | "}") {
                next += 1;
            }
            next += usize::from(tokens.get(next) == Some(&","));
        }
        return next + 1;
    }
    let Some(&name) = tokens.get(i) else { return i };
    prefix.push(name);
    let end = if tokens.get(i + 1) == Some(&"::") {
        expand(tokens, i + 2, prefix, found)
    } else {
        found.push(prefix.clone());
        i + 1
    };
    prefix.pop();
    end
}
