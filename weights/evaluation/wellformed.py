"""Checks whether an output is well formed in its formal language, that is, whether it can be parsed, not whether it is
right.

Input: one output, words separated by spaces. A language is a row of CHECKS.
"""

from __future__ import annotations

from typing import Callable

PAIRS = {")": "(", "]": "[", "}": "{"}


def balanced(text: str) -> bool:
    """Whether every bracket is closed by its own kind, in order, and there is at least one word. Brackets may be part
    of a word ("MAX(")."""
    open_brackets: list[str] = []
    for character in text:
        if character in PAIRS.values():
            open_brackets.append(character)
        elif character in PAIRS and (not open_brackets or open_brackets.pop() != PAIRS[character]):
            return False
    return not open_brackets and bool(text.split())


def logical_form(text: str) -> bool:
    """Prolog style (`answer ( A , ... )`) or lambda calculus (`( lambda $0 e ... )`, or one entity):
    balanced, and no bracket pair is empty."""
    words = text.split()
    return balanced(text) and not any((a, b) == ("(", ")") for a, b in zip(words, words[1:]))


class _Reader:
    """Reads the words of a formal expression from left to right; every method raises ValueError on failure."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.position = words, 0

    def peek(self) -> str:
        return self.words[self.position] if self.position < len(self.words) else ""

    def take(self, *wanted: str) -> str:
        """Returns the next word, which must be one of `wanted` if any are given."""
        word = self.peek()
        if not word or (wanted and word not in wanted):
            raise ValueError(f"word {self.position}: {word!r}")
        self.position += 1
        return word

    def accept(self, *wanted: str) -> bool:
        found = self.peek() in wanted
        self.position += found
        return found

    def end(self) -> None:
        if self.peek():
            raise ValueError(f"word {self.position}: {self.peek()!r} is left over")


def _reads(read: Callable[[_Reader], None], words: list[str]) -> bool:
    reader = _Reader(words)
    try:
        read(reader)
        reader.end()
    except ValueError:
        return False
    return True


# SQL as in geoquery: SELECT [DISTINCT] items FROM tables [WHERE ...] [GROUP BY ...] [HAVING ...] [ORDER BY ...]
# [LIMIT n] ;

KEYWORDS = {"SELECT", "DISTINCT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "LIKE", "IS", "NULL", "GROUP", "ORDER",
            "BY", "HAVING", "LIMIT", "AS",
            "DESC", "ASC", "BETWEEN", "ON", "JOIN", "INNER", "LEFT", "OUTER", "UNION", "EXISTS", "ALL"}
FUNCTIONS = ("MAX", "MIN", "SUM", "COUNT", "AVG")
COMPARISONS = ("=", "<", ">", "<=", ">=", "<>", "!=", "LIKE", "IN")


def _sql_words(text: str) -> list[str]:
    """Splits into words; a string in double quotes is one word, and brackets are separate ("MAX(" is two words)."""
    words = []
    for i, part in enumerate(text.split('"')):
        words += part.replace("(", " ( ").split() if i % 2 == 0 else [f'"{part}"']
    return words


def _list(reader: _Reader, item: Callable[[_Reader], None]) -> None:
    item(reader)
    while reader.accept(","):
        item(reader)


def _operand(reader: _Reader) -> None:
    if reader.accept("("):
        _select(reader) if reader.peek() == "SELECT" else _conditions(reader)
        reader.take(")")
    elif reader.accept(*FUNCTIONS):
        reader.take("(")
        reader.accept("DISTINCT")
        _expression(reader)
        reader.take(")")
    elif reader.peek() in KEYWORDS or reader.take() in {",", ";", ")", *COMPARISONS}:
        raise ValueError(f"word {reader.position}: an operand is missing")


def _expression(reader: _Reader) -> None:
    if reader.accept("*"):  # every column
        return
    _operand(reader)
    while reader.accept("+", "-", "/", "*"):
        _operand(reader)


def _condition(reader: _Reader) -> None:
    if reader.accept("NOT", "EXISTS"):
        return _condition(reader)
    _expression(reader)
    if reader.accept("IS"):
        reader.accept("NOT")
        reader.take("NULL")
    elif reader.accept("BETWEEN"):
        _expression(reader)
        reader.take("AND")
        _expression(reader)
    elif reader.accept("NOT"):
        reader.take("IN", "LIKE")
        _expression(reader)
    elif reader.accept(*COMPARISONS):
        reader.accept("ALL")
        _expression(reader)


def _conditions(reader: _Reader) -> None:
    _condition(reader)
    while reader.accept("AND", "OR"):
        _condition(reader)


def _named(reader: _Reader) -> None:
    _expression(reader)
    if reader.accept("AS"):
        _operand(reader)
    elif reader.peek() not in {"", ",", ";", ")", *KEYWORDS}:
        _operand(reader)


def _table(reader: _Reader) -> None:
    _named(reader)
    while reader.peek() in ("JOIN", "INNER", "LEFT"):
        reader.accept("INNER", "LEFT")
        reader.accept("OUTER")
        reader.take("JOIN")
        _named(reader)
        if reader.accept("ON"):
            _conditions(reader)


def _ordered(reader: _Reader) -> None:
    _expression(reader)
    reader.accept("DESC", "ASC")


def _select(reader: _Reader) -> None:
    reader.take("SELECT")
    reader.accept("DISTINCT")
    _list(reader, _named)
    reader.take("FROM")
    _list(reader, _table)
    if reader.accept("WHERE"):
        _conditions(reader)
    for keyword, item in (("GROUP", _expression), ("HAVING", _conditions), ("ORDER", _ordered)):
        if reader.accept(keyword):
            if keyword != "HAVING":
                reader.take("BY")
            _list(reader, item)
    if reader.accept("LIMIT"):
        _operand(reader)
    if reader.accept("UNION"):
        _select(reader)


def _statement(reader: _Reader) -> None:
    _select(reader)
    reader.accept(";")


def sql(text: str) -> bool:
    return balanced(text) and text.count('"') % 2 == 0 and _reads(_statement, _sql_words(text))


# Regular expressions as in nl-rx: union |, intersection &, complement ~, concatenation,
# repetition + * ? and { n , [m] }, \\ b

ATOMS = (".", "<VOW>", "<NUM>", "<LET>", "<CAP>", "<LOW>", "<M0>", "<M1>", "<M2>", "<M3>", "A-Z", "a-z", "0-9")


def _set(reader: _Reader) -> None:
    while not reader.accept("]"):
        if reader.take() in ("(", ")", "[", "{", "}"):
            raise ValueError(f"word {reader.position}: a bracket in a set")


def _repetition(reader: _Reader) -> None:
    """{ n } or { n , } or { n , m }"""
    counts = [reader.take()]
    if reader.accept(",") and reader.peek() != "}":
        counts.append(reader.take())
    reader.take("}")
    if not all(count.isdigit() for count in counts):
        raise ValueError("a count is not a number")


def _factor(reader: _Reader) -> None:
    while reader.accept("~"):
        pass
    if reader.accept("("):
        _union(reader)
        reader.take(")")
    elif reader.accept("["):
        _set(reader)
    elif reader.accept("\\"):
        reader.take("b")
    else:
        word = reader.take()
        if word not in ATOMS and not word.isalnum():
            raise ValueError(f"{word!r} is not an atom")
    while reader.peek() in ("+", "*", "?", "{"):
        if reader.take() == "{":
            _repetition(reader)


def _union(reader: _Reader) -> None:
    while True:
        _factor(reader)
        while reader.peek() not in ("", ")", "|", "&"):
            _factor(reader)
        if not reader.accept("|", "&"):
            return


def regex(text: str) -> bool:
    return _reads(_union, text.split())


CHECKS: dict[str, Callable[[str], bool]] = {"logical_form": logical_form, "sql": sql, "regex": regex}
