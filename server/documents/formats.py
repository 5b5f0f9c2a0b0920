#!/usr/bin/env python3
"""Writes what documents say of the formats, from the table in document.c beside it:
python3 server/documents/formats.py.

It rewrites the enum and the lists of names of DocumentRequest in openapi.json (docs.py then makes docs.html of it), and
the table in FORMATS.md. With --check it writes nothing, names the files that would change, and fails if
there are any."""
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

SERVER = Path(__file__).resolve().parent.parent
ROW = re.compile(
    r'\{\.name = "(?P<name>\w+)",\s*\.extensions = "(?P<extensions>[\w ]+)",(?P<rest>.*?)\},?\n(?= {4}\{|\};)', re.S)


class Format(NamedTuple):
    name: str
    extensions: list[str]  # without the dot
    bilingual: list[str]  # values of the field
    options: list[str]  # other fields that only some formats take


def words(member: str, row: str) -> list[str]:
    """The words of a string of a row; none if it is absent."""
    found = re.search(rf'\.{member} = "([^"]*)"', row)
    return found[1].split() if found else []


def listed(names: list[str]) -> str:
    """Names as a sentence has them: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def formats() -> list[Format]:
    """The rows of the table in document.c."""
    table = (SERVER / "documents/document.c").read_text().split("struct document_format formats[] = {\n",
                                                                1)[1].split("\n};\n", 1)[0] + "\n};"
    rows = [Format(row["name"], row["extensions"].split(), words("bilingual", row["rest"]),
                   words("options", row["rest"])) for row in ROW.finditer(table)]
    if len(rows) != table.count("{.name ="):
        raise SystemExit("document.c: a row of formats does not begin with .name and .extensions")
    return rows


def replaced(text: str, pattern: str, by: str) -> str:
    """The text with the one match of the pattern replaced."""
    made, count = re.subn(pattern, lambda _: by, text, flags=re.S)
    if count != 1:
        raise SystemExit(f"{pattern}: {count} matches, and one is expected")
    return made


def main() -> int:
    rows = formats()
    below = [row.name for row in rows if "below" in row.bilingual]
    beside = [row.name for row in rows if "beside" in row.bilingual]
    columns = [row.name for row in rows if "columns" in row.options]
    keys = [row.name for row in rows if "keys" in row.options]
    table = "| format | extensions | `bilingual` | options |\n|---|---|---|---|\n" + "".join(
        f"| `{row.name}` | {', '.join(f'`.{extension}`' for extension in row.extensions)} | "
        f"{', '.join(f'`{word}`' for word in row.bilingual)} | {', '.join(f'`{word}`' for word in row.options)} |\n"
        for row in rows)
    names = "[\n" + ",\n".join(f'       "{row.name}"' for row in rows) + "\n      ]"  # in the layout of schema.py
    wrong = 0
    for file, pattern, by in (
        ("api/openapi.json", r'(?<="enum": )\[\s*"txt",[^\]]*\]', names),
        ("api/openapi.json", r"(?<=with the translation below it: )[^\";]*(?=;)", listed(below)),
        ("api/openapi.json", r"(?<=it, in a column of its own: )[^\"]*(?=\")", listed(beside)),
        ("api/openapi.json", r"(?<=numbers from 1, separated by commas; in )[^\"]*(?=\")", listed(columns)),
        ("api/openapi.json", r"(?<=columns are translated, too; in )[^\"]*(?=\")", listed(columns)),
        ("api/openapi.json", r"(?<=separated by commas or in several fields; in )[^\"]*(?=\")", listed(keys)),
        ("documents/FORMATS.md", r"\| format \| extensions \|.*?\n(?=\n)", table),
    ):
        path = SERVER / file
        text = path.read_text()
        made = replaced(text, pattern, by)
        if made != text and "--check" in sys.argv[1:]:
            print(f"server/{file} is not what document.c says: python3 server/documents/formats.py writes it anew")
            wrong = 1
        elif made != text:
            path.write_text(made)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
