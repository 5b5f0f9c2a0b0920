"""The tables of limits in the documents agree with the constants that they name."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20}
ROW = re.compile(
    r"^\| (?P<of>[^|]*) \| (?P<number>[\d,]+) ?(?P<unit>\w*) \|(?: [^|]* \|)? `(?P<name>\w+)`, (?P<file>\S+) \|$", re.M)


def rows() -> list[dict[str, str]]:
    """The rows of both tables, each with the keys of, number, unit, name and file."""
    documents = "server/documents/FORMATS.md", "weights/MODELS.md"
    return [row.groupdict() for document in documents
            for row in ROW.finditer((ROOT / document).read_text().split("## Limits\n")[1])]


def value_of(name: str, source: str) -> int:
    """The value of a constant in C: a product or a shift of numbers."""
    found = re.search(rf"\b{name} =\s+([\d *<]+)", source)
    assert found, f"{name} is not a constant"
    shifted = re.split("<<", found[1])
    value = 1
    for factor in shifted[0].split("*"):
        value *= int(factor)
    return value << int(shifted[1]) if len(shifted) == 2 else value


def test_there_are_rows() -> None:
    """Every row of the tables is read."""
    assert len(rows()) == sum((ROOT / document).read_text().split("## Limits\n")[1].count("| `")
                              for document in ("server/documents/FORMATS.md", "weights/MODELS.md")) > 30


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["name"])
def test_a_limit_is_what_the_code_has(row: dict[str, str]) -> None:
    """The number in the document is that of the constant."""
    stated = int(row["number"].replace(",", "")) * UNITS[row["unit"]]
    assert stated == value_of(row["name"], (ROOT / row["file"]).read_text()), row["of"]
