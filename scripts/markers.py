"""The generated part of a document, between two marker lines."""


def parts(text, begin, end):
    """Return what precedes the line `begin`, the generated part, and what follows the line `end`."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"want the line {begin} once and, below it, the line {end} once")
    head, rest = text.split(begin)
    generated, tail = rest.split(end)
    return head, generated.strip(), tail


def replaced(text, begin, end, generated):
    """Return `text` with another generated part."""
    head, _, tail = parts(text, begin, end)
    return f"{head}{begin}\n\n{generated.strip()}\n\n{end}{tail}"
