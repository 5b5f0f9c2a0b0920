"""Draws the attention of a sentence: python3 heatmap.py MODEL TEXT PICTURE.png

A row for each token of the translation, a column for each of the source. Needs NumPy and matplotlib.
"""
import sys

import alignd
import matplotlib

matplotlib.use("Agg")  # no window
from matplotlib import pyplot  # noqa: E402


def main() -> None:
    model, text, picture = sys.argv[1:]
    with alignd.Translator(model) as translator:
        translation = translator.translate(text, include=["attention", "tokens"])
    sentence = translation.sentences[0]
    rows, columns = sentence.attention.shape
    figure, axes = pyplot.subplots(figsize=(1.5 + 0.5 * columns, 1.5 + 0.4 * rows), layout="constrained")
    axes.imshow(sentence.attention, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(columns), sentence.source_tokens, rotation=60, ha="right")
    axes.set_yticks(range(rows), sentence.tokens)
    axes.set_title(translation.text)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
