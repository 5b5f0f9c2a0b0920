"""The model card: what a model folder is, from its own files and one evaluation.

Input: the folder, the scores and the command that made them. Output: README.md in the folder.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from . import safetensors
from .config import annotation_size, validate
from .storage import SCALE

LANGUAGES = {"de": "German", "en": "English", "fr": "French"}
STORAGE = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8"}
TOKENS = {"sentencepiece": "SentencePiece unigram", "words": "words", "characters": "characters"}

CARD = """# {source} to {target}

Translates short everyday sentences from {source} to {target}. Loaded by `alignd --model {folder}`.

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

The {sentences:,} sentences of {split}.tsv.gz in DATA, single reference; BLEU (13a, {case}) and chrF as sacreBLEU computes them.

| search | computed by | BLEU | chrF |
|---|---|---|---|
{scores}

    {command}

## Training

{training}. These are the weights of the best validation BLEU
(greedy, {valid_bleu}), reached after epoch {epoch}; seed {seed}, PyTorch {torch}.

    python3 -m weights.train {recipe} --data DATA --out RUN{flip}
    python3 -m weights.export RUN {folder} --dtype {storage}

## Data and licence

Sentence pairs of the Tatoeba project in the selection of manythings.org/anki. Attribution: www.manythings.org/anki and tatoeba.org.
The data is under CC BY 2.0 (https://creativecommons.org/licenses/by/2.0/), and so are these weights and vocabularies: keep that
attribution when you pass them on.

## Limits

The training sentences are short (six or seven words on average) and everyday. Long sentences, technical or literary text,
rare names and numbers come out badly, and characters that the training data lacks come out as unknown. A sentence with several correct
translations gets one of them; the single-reference scores count the others as wrong.
"""


def _cell(section: dict) -> str:
    kind = section["cell"].upper() if "cell" in section else f"convolutions of width {section['width']}"
    residual = ", residual" if section.get("residual") else ""
    return f"{section['layers']} x {section['hidden']} {kind}, embeddings {section['embedding']}{residual}"


def _attention(config: dict) -> str:
    attention = config["attention"]
    size = f" ({attention['size']})" if attention["size"] else ""
    window = "" if attention["window"] == "global" else f", window {attention['window']} of half-width {attention['half_width']}"
    coverage = ", coverage" if attention["coverage"] else ""
    return f"{attention['score']}{size} over annotations of {annotation_size(config)}{window}{coverage}"


def describe(config: dict) -> dict[str, str]:
    encoder, attention, decoder = config["encoder"], config["attention"], config["decoder"]
    feeding = ", input feeding" if decoder["input_feeding"] else ""
    projection = ", projected" if decoder["initial_projection"] else ""
    tokenizer = config["tokenizer"]
    return {
        "tokens": TOKENS[tokenizer["type"]] + (", punctuation apart" if tokenizer["punctuation"] else ""),
        "case": "lower case" if tokenizer["lowercase"] else "cased",
        "encoder": _cell(encoder) + (", bidirectional" if encoder.get("bidirectional") else ""),
        "attention": _attention(config) if attention else "none",
        "decoder": f"{decoder['style']}, {_cell(decoder)}{feeding}; initial state {decoder['initial_state']}{projection}",
        "output": f"{decoder['readout']} readout ({decoder['readout_size'] or 'no layer'}), softmax over the target pieces"
                  + (", tied to the target embedding" if config["output"]["tied"] else ""),
    }


def _training(recipe: Path) -> str:
    if not recipe.exists():
        return "Trained"
    t = json.loads(recipe.read_text(encoding="utf-8"))["training"]
    return (f"Adam, learning rate {t['learning_rate']} after {t['warmup']} steps of warm-up and straight down from there, batches of "
            f"{t['batch_tokens']:,} tokens,\ndropout {t['dropout']}, label smoothing {t['label_smoothing']}, "
            f"gradients clipped to {t['clip']}, at most {t['epochs']} epochs")


def write(folder: Path, scores: list[tuple[str, str, float, float]], command: str, split: str, sentences: int, flip: bool) -> None:
    """scores: (computed by, search, BLEU, chrF) in the order of the table; flip: whether it was trained from second column to first."""
    config = validate(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    tensors, metadata = safetensors.read(folder / "model.safetensors")
    largest = max(tensors.values(), key=lambda tensor: tensor.size)
    recipe = Path("weights/recipes") / f"{config['name']}.json"
    text = CARD.format(
        **describe(config), folder=f"weights/{config['name']}", split=split, sentences=sentences, command=command,
        source=LANGUAGES.get(config["source"], config["source"]), target=LANGUAGES.get(config["target"], config["target"]),
        source_file=config["tokenizer"]["source"], target_file=config["tokenizer"]["target"],
        vocabulary=len(tensors["decoder.embedding"]), storage=STORAGE[safetensors.NAMES[largest.dtype]],
        parameters=sum(math.prod(tensor.shape) for name, tensor in tensors.items() if not name.endswith(SCALE)),
        megabytes=(folder / "model.safetensors").stat().st_size / 1e6,
        max_source=config["limits"]["max_source_tokens"], ratio=config["limits"]["max_target_ratio"],
        scores="\n".join(f"| {search} | {engine} | {bleu:.2f} | {chrf:.2f} |" for engine, search, bleu, chrf in scores),
        training=_training(Path(__file__).parent / "recipes" / recipe.name), recipe=recipe, flip=" --flip" if flip else "",
        **{key: metadata.get(key, "unknown") for key in ("valid_bleu", "epoch", "seed", "torch")})
    (folder / "README.md").write_text(text, encoding="utf-8")
