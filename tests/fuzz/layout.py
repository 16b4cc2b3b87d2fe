"""Changes of how a program is laid out; what it says stays."""

from __future__ import annotations

import random
import re
import tokenize

from neuron_codemods.source import Source, Text
from neuron_codemods.statements import string_lines

_COMMENTS = (
    "# a comment",
    "#no space",
    "# TODO(somebody): later",
    "# type: ignore",
    "# noqa",
    "# fmt: off",
    "# %%",
    "# été 🐍",
    "# NeuronTrainer",
    "#",
    "# TODO(neuron-migrate NM101): Left by an earlier run: https://example.com",
)


def comment_line(text: str, rng: random.Random) -> str:
    source = Source(text)
    inside = string_lines(source)
    number = rng.choice([number for number in range(1, len(source.lines) + 1) if number not in inside])
    lines = list(source.lines)
    step = source.indentation(source.line_starts[number - 1])
    indentation = rng.choice((step, step, "", "  ", step + "    "))
    lines.insert(number - 1, f"{indentation}{rng.choice(_COMMENTS)}\n")
    return "".join(lines)


def comment_behind(text: str, rng: random.Random) -> str:
    source = Source(text)
    inside = string_lines(source)
    number = rng.choice([number for number in range(1, len(source.lines) + 1) if number + 1 not in inside])
    lines = list(source.lines)
    line = lines[number - 1].rstrip("\r\n")
    if line.endswith("\\"):
        raise ValueError("the line is continued")
    lines[number - 1] = (
        line + rng.choice(("  ", " ", "", "\t")) + rng.choice(_COMMENTS) + lines[number - 1][len(line) :]
    )
    return "".join(lines)


def blank_lines(text: str, rng: random.Random) -> str:
    lines = list(Text(text).lines)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(("\n", "\n\n\n", "   \n", "\t\n", "\f\n", "\n\f\n")))
    return "".join(lines)


def continue_line(text: str, rng: random.Random) -> str:
    """A backslash or, inside of parentheses, a line break between two tokens."""
    source = Source(text)
    tokens = [token for token in source.tokens if token.kind != tokenize.COMMENT]
    token = rng.choice(tokens)
    return (
        text[: token.start]
        + rng.choice(("\\\n", "\\\n    ", "\n", "\n    ", "  # c\n", "\\\n\\\n"))
        + text[token.start :]
    )


def stretch(text: str, rng: random.Random) -> str:
    """Space between two tokens."""
    token = rng.choice(Source(text).tokens)
    return text[: token.start] + rng.choice((" ", "  ", "\t", "\f")) + text[token.start :]


def tabs(text: str, rng: random.Random) -> str:
    return re.sub(r"(?m)^(?:    )+", lambda found: "\t" * (len(found.group()) // 4), text)


def other_step(text: str, rng: random.Random) -> str:
    step = rng.choice((" ", "  ", "   ", "        "))
    return re.sub(r"(?m)^(?:    )+", lambda found: step * (len(found.group()) // 4), text)


def form_feed(text: str, rng: random.Random) -> str:
    lines = list(Text(text).lines)
    index = rng.randrange(len(lines))
    lines[index] = "\f" + lines[index]
    return "".join(lines)


def carriage_returns(text: str, rng: random.Random) -> str:
    if rng.random() < 0.7:
        return text.replace("\n", rng.choice(("\r\n", "\r\n", "\r")))
    return "".join(
        line.rstrip("\r\n") + rng.choice(("\n", "\r\n")) if line.endswith("\n") else line for line in Text(text).lines
    )


def no_final_newline(text: str, rng: random.Random) -> str:
    return text.rstrip("\r\n") + rng.choice(("", "", " ", "  # end", "\\\n"))


def semicolon(text: str, rng: random.Random) -> str:
    lines = list(Text(text).lines)
    index = rng.randrange(len(lines))
    line = lines[index].rstrip("\r\n")
    lines[index] = line + rng.choice((";", " ; ", "; pass", "; pass;")) + lines[index][len(line) :]
    return "".join(lines)


def double_quotes(text: str, rng: random.Random) -> str:
    """Strings with the other quotation marks, or with a prefix."""
    token = rng.choice([token for token in Source(text).tokens if token.kind == tokenize.STRING])
    new = rng.choice((f"r{token.text}", f"f{token.text}", f"b{token.text}", f"u{token.text}", f"({token.text} '')"))
    new = rng.choice((new, f'""{token.text}""' if token.text.startswith('"') else new, f"''\\\n{token.text}"))
    return text[: token.start] + new + text[token.end :]


def header(text: str, rng: random.Random) -> str:
    return rng.choice(("#!/usr/bin/env python\n", "# -*- coding: utf-8 -*-\n", '"""Doc."""\n', "\n\n", "# é\n")) + text


def broken(text: str, rng: random.Random) -> str:
    """A text that is, most likely, no Python any more."""
    spot = rng.randrange(len(text) + 1)
    return rng.choice(
        (
            text[:spot],
            text[:spot]
            + rng.choice(
                ("(", ")", '"""', "\0", "\\", "print 'x'\n", "\ufeff", "\u2028", "`", "$", "\t\f ", "<<<<<<<\n")
            )
            + text[spot:],
        )
    )


ALL = (
    comment_line,
    comment_line,
    comment_behind,
    comment_behind,
    blank_lines,
    continue_line,
    continue_line,
    stretch,
    tabs,
    other_step,
    form_feed,
    carriage_returns,
    carriage_returns,
    no_final_newline,
    semicolon,
    double_quotes,
    header,
)
