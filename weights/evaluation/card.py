"""The model card: what a model folder is, from its own files and one evaluation.

Input: the folder, the scores, and the command that computed them. Output: README.md in the folder.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from ..model import safetensors
from . import quality_card
from ..model.config import annotation_size, validate
from ..model.storage import SCALE

LANGUAGES = {"de": "German", "en": "English", "fr": "French", "x-geoquery": "GeoQuery's logical forms"}
STORAGE = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8"}
OUTPUTS = {"vocabulary": "softmax over the target pieces",
           "characters": "softmax over the target pieces, unknown words spelled",
           "pointer": "softmax over the source's tokens",
           "copy": "one softmax over the target pieces and the source's tokens",
           "pointer_generator": "softmax over the target pieces mixed with the attention over the source's tokens"}
TOKENS = {"sentencepiece": "SentencePiece unigram", "words": "words", "characters": "characters"}

CARD = """# {source} to {target}

{purpose} Loaded by `alignd --model {folder}`.

| | |
|---|---|
| encoder | {encoder} |
| attention | {attention} |
| decoder | {decoder} |
| output | {output} |
| tokens | {tokens}, {source_file} and {target_file}; {vocabulary:,} target pieces |
| parameters | {parameters:,} |
| stored as | {storage}, vectors as float32; {megabytes:.1f} MB |
| limits | {max_source} source tokens a sentence; {ratio:g} target tokens a source token |

## Scores

The {sentences:,} {test_set}

{scores}

    {command}

## Training

{training}. These are the weights of the best validation BLEU
(greedy, {valid_bleu}), reached after epoch {epoch}; seed {seed}, PyTorch {torch}.

    python3 -m weights.training.train {recipe} --data DATA --out RUN{flip}
    python3 -m weights.training.export RUN {folder} --dtype {storage}

## Data and licence

{licence}

## Limits

{caution}
"""


@dataclass(frozen=True)
class About:
    """Sentences that describe a model by its corpus. Placeholders: {source} and {target} in purpose, {case} in
    test_set."""

    purpose: str
    test_set: str
    licence: str
    caution: str


# By the recipe's training.corpus.
ABOUT: dict[str, About] = {
    "tsv": About(
        "Translates short everyday sentences from {source} to {target}.",
        "sentences of the test split, single reference; BLEU (13a, {case}) and chrF as sacreBLEU computes them.",
        """Sentence pairs of the Tatoeba project in the selection of manythings.org/anki. Attribution:
www.manythings.org/anki and tatoeba.org.
The data is under CC BY 2.0 (https://creativecommons.org/licenses/by/2.0/), and so are these weights and vocabularies:
keep that attribution when you pass them on.""",
        """The training sentences are short (six or seven words on average) and everyday. Long sentences, technical or
literary text,
rare names and numbers come out badly, and characters that the training data lacks come out as unknown. A sentence
with several correct translations gets one of them; the single-reference scores count the others as wrong."""),
    "geoquery-typed": About(
        "Turns questions about the geography of the United States into logical forms that a Prolog program can "
        "execute, copying names.",
        "questions of the standard test split. Exact match: the whole form is the reference, token for token.",
        """GeoQuery: 880 questions by Zelle and Mooney (1996), University of Texas, in the split and form of Jia and
Liang (2016); the original data
is mirrored under GPL 2.0. Only these weights and the list of words are here, made from the 600 training questions.""",
        """It knows the questions of its 600 examples and those like them. Names of states, cities and rivers may be
new, since they are copied;
new kinds of questions come out as a form that looks right and is not. Another form that means the same counts as
wrong."""),
}


MIXERS = {"self_attention": "self-attention", "ssru": "SSRU", "average": "average attention"}


def _blocks(section: dict) -> str:
    mixer = MIXERS[section.get("mixer", "self_attention")]
    return (f"{section['layers']} x {section['hidden']} transformer, {mixer}, {section['heads']} heads, feed-forward "
            f"{section['filter']} {section['activation']}, "
            f"norm {section['norm']}, positions {section['positions']}")


def _cell(section: dict) -> str:
    if "heads" in section:
        return _blocks(section)
    kind = section["cell"].upper() if "cell" in section else f"convolutions of width {section['width']}"
    residual = ", residual" if section.get("residual") else ""
    return f"{section['layers']} x {section['hidden']} {kind}, embeddings {section['embedding']}{residual}"


def _attention(config: dict) -> str:
    attention = config["attention"]
    size = f" ({attention['size']})" if attention["size"] else ""
    window = ("" if attention["window"] == "global"
              else f", window {attention['window']} of half-width {attention['half_width']}")
    coverage = ", coverage" if attention["coverage"] else ""
    return f"{attention['score']}{size} over annotations of {annotation_size(config)}{window}{coverage}"


def _sides(what: str, where: str) -> str:
    return {"none": "", "both": what}.get(where, f"{what} on the {where} side")


def _output(output: dict) -> str:
    pointer = ", which has a score of its own" if output["pointer"] == "readout" else ""
    return OUTPUTS[output["type"]] + pointer + (", tied to the target embedding" if output["tied"] else "")


def _decoder(decoder: dict) -> tuple[str, str]:
    """Returns the descriptions of the decoder, and of the output layer's input."""
    if decoder["style"] == "transformer":
        return _blocks(decoder), f"the top layer ({decoder['hidden']})"
    feeding = ", input feeding" if decoder["input_feeding"] else ""
    projection = ", projected" if decoder["initial_projection"] else ""
    return (f"{decoder['style']}, {_cell(decoder)}{feeding}; initial state {decoder['initial_state']}{projection}",
            f"{decoder['readout']} readout ({decoder['readout_size'] or 'no layer'})")


def _attends(config: dict) -> str:
    if config["attention"]:
        return _attention(config)
    decoder = config["decoder"]
    return f"{decoder['heads']} heads in each layer" if decoder["style"] == "transformer" else "none"


def describe(config: dict) -> dict[str, str]:
    encoder, tokenizer = config["encoder"], config["tokenizer"]
    decoder, readout = _decoder(config["decoder"])
    return {
        "tokens": TOKENS[tokenizer["type"]] + _sides(", punctuation apart", tokenizer["punctuation"]),
        "case": _sides("lower case", tokenizer["lowercase"]) or "cased",
        "encoder": _cell(encoder) + (", bidirectional" if encoder.get("bidirectional") else ""),
        "attention": _attends(config),
        "decoder": decoder,
        "output": f"{readout}, {_output(config['output'])}",
    }


def _corpus(recipe: Path) -> str:
    """The name of the training corpus; Tatoeba's pairs if the recipe names none."""
    return json.loads(recipe.read_text(encoding="utf-8"))["training"].get("corpus", "tsv") if recipe.exists() else "tsv"


def _training(recipe: Path) -> str:
    if not recipe.exists():
        return "Trained"
    t = json.loads(recipe.read_text(encoding="utf-8"))["training"]
    return (f"Adam, learning rate {t['learning_rate']} after {t['warmup']} steps of warm-up and straight down from "
            f"there, batches of "
            f"{t['batch_tokens']:,} tokens,\ndropout {t['dropout']}, label smoothing {t['label_smoothing']}, "
            f"gradients clipped to {t['clip']}, at most {t['epochs']} epochs")


def _table(scores: list[tuple[str, str, dict[str, float]]]) -> str:
    names = list(scores[0][2]) if scores else []
    head, *rows = [["search", "computed by", *names],
                   *([search, engine, *(f"{value:.2f}" for value in values.values())]
                     for engine, search, values in scores)]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                      *("| " + " | ".join(row) + " |" for row in rows)])


def write(folder: Path, scores: list[tuple[str, str, dict[str, float]]], command: str, sentences: int,
          flip: bool) -> None:
    """scores: (engine, search, figures) in the order of the table. flip: whether the model was trained from the second
    column to the first."""
    config = validate(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    tensors, metadata = safetensors.read(folder / "model.safetensors")
    largest = max(tensors.values(), key=lambda tensor: tensor.size)
    recipe = Path(__file__).parent.parent / "recipes" / f"{config['name']}.json"
    about, shown = ABOUT[_corpus(recipe)], describe(config)
    languages = {side: LANGUAGES.get(config[side], config[side]) for side in ("source", "target")}
    text = CARD.format(
        **shown, **languages, folder=f"weights/{config['name']}", sentences=sentences, command=command,
        purpose=about.purpose.format(**languages), test_set=about.test_set.format(**shown), licence=about.licence,
        caution=about.caution, source_file=config["tokenizer"]["source"], target_file=config["tokenizer"]["target"],
        vocabulary=len(tensors["decoder.embedding"]), storage=STORAGE[safetensors.NAMES[largest.dtype]],
        parameters=sum(math.prod(tensor.shape) for name, tensor in tensors.items() if not name.endswith(SCALE)),
        megabytes=(folder / "model.safetensors").stat().st_size / 1e6,
        max_source=config["limits"]["max_source_tokens"], ratio=config["limits"]["max_target_ratio"],
        scores=_table(scores), training=_training(recipe), recipe=f"weights/recipes/{recipe.name}", flip=" --flip"
        if flip else "", **{key: metadata.get(key, "unknown") for key in ("valid_bleu", "epoch", "seed", "torch")})
    (folder / "README.md").write_text(text, encoding="utf-8")
    quality_card.insert(folder)
