"""Where a number of two parts keeps its full stop in translation:
python3 -m weights.evaluation.quantities --data CORPORA

Input: the parallel corpora English-French and English-German. Output: a table in Markdown with the share of numbers
such as 3.8 that the translation writes as 3.8 or as 3,8, by what stands at the number. Numbers in codes, dates and sums
of money are not counted.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import re
from pathlib import Path

from ..command import run_command

NUMBER = re.compile(r"(?<![\w.,:/\-+#@$£€=(])(\d+)\.(\d+)(?![\w:/=]|[.,\-]\d|\.[a-z])")
MEASURE = re.compile(r"[-\s]*([%°]|(per ?cent|percentage|[mbtr]illion|thousand|dollar|euro|pound|k?m|[cm]m|[km]?g|"
                     r"[kmgt]b|[km]?hz|ms|"
                     r"[kcm]?met(?:er|re)|mile|inch(?:e)?|f(?:oo|ee)t|"
                     r"(?:milli|micro)?second|minute|hour|day|week|month|year|tonne|point|volt|amp|ohm|watt|degree|"
                     r"gram|lit(?:re|er)|hectare|acre|square|cubic|byte|pixel|times)s?\b)", re.I)


def kind_of(before: str, after: str) -> str:
    word = re.search(r"([^\W\d_]+)[.:]?\s*$", before)
    if MEASURE.match(after) or re.search(r"[±~≈]\s?$", before):
        return "a sign, a unit or a power"
    if not before.strip():
        return "nothing before it"
    return ("no word before it" if not word else "a word in capitals or with one" if word[1][0].isupper()
            else "a word in small letters")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora")
    root = parser.parse_args().data
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for pair in "en-fr", "en-de":
        for path in [*sorted(root.glob(f"broad/{pair}/*.tsv.gz")), root / f"tatoeba-{pair}/train.tsv.gz",
                     *sorted(root.glob(f"broad/*.{pair}.tsv.gz"))]:
            texts = "law" if "laws" in path.name else "manuals" if re.search("docs|book", path.name) else "other texts"
            for line in gzip.open(path, "rt", encoding="utf-8"):
                source, target = line.rstrip("\n").split("\t")[:2]
                for found in NUMBER.finditer(source):
                    written = [mark for mark in ".,"
                               if re.search(rf"(?<!\d){found[1]}{re.escape(mark)}{found[2]}(?!\d)", target)]
                    if len(written) == 1:
                        counts[texts, kind_of(source[:found.start()], source[found.end():])][written[0]] += 1
    print("| texts | at the number | numbers | % with a full stop |\n|---|---|---|---|")
    for (texts, kind), count in sorted(counts.items()):
        print(f"| {texts} | {kind} | {count.total():,} | {100 * count['.'] / count.total():.1f} |")


if __name__ == "__main__":
    run_command(main)
