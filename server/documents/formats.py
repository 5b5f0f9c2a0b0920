#!/usr/bin/env python3
"""Writes what documents say of the formats, from the table in document.c beside it:
python3 server/documents/formats.py.

It rewrites the enum of DocumentRequest in openapi.json (docs.py then makes docs.html of it), the list of the page in
files.js, and the table in FORMATS.md. With --check it writes nothing, names the files that would change, and fails if
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
    bilingual: bool


def formats() -> list[Format]:
    """The rows of the table in document.c."""
    table = (SERVER / "documents/document.c").read_text().split("struct document_format formats[] = {\n",
                                                                1)[1].split("\n};\n", 1)[0] + "\n};"
    rows = [Format(row["name"], row["extensions"].split(), ".bilingual = true" in row["rest"])
            for row in ROW.finditer(table)]
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
    below = [row.name for row in rows if row.bilingual]
    table = "| format | extensions | both languages |\n|---|---|---|\n" + "".join(
        f"| `{row.name}` | {', '.join(f'`.{extension}`' for extension in row.extensions)} | "
        f"{'yes' if row.bilingual else ''} |\n" for row in rows)
    names = "[\n" + ",\n".join(f'       "{row.name}"' for row in rows) + "\n      ]"  # in the layout of schema.py
    wrong = 0
    for file, pattern, by in (
        ("api/openapi.json", r'(?<="enum": )\[\s*"txt",[^\]]*\]', names),
        ("api/openapi.json", r"(?<=with the translation below it: )[^\"]*(?=\")",
         f"{', '.join(below[:-1])} and {below[-1]}"),
        ("page/files.js", r"(?<=const BELOW = )\[[^\]]*\]", json.dumps(below)),
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
