"""SentencePiece vocabularies: training, and the two loaded sides of a model folder.

Input: text lines. Output: NAME.spm (unigram, nmt_nfkc normalisation, byte fallback off); ids 0 <unk>, 1 <s>, 2 </s>.
"""

from __future__ import annotations

from pathlib import Path

import sentencepiece

UNK, BOS, EOS = 0, 1, 2


def train(lines: list[str], path: Path, size: int, seed: int) -> None:
    """Trains a unigram model of `size` pieces and writes it to `path`."""
    sentencepiece.set_random_generator_seed(seed)
    prefix = path.with_suffix("")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(prefix), vocab_size=size, character_coverage=1.0, model_type="unigram",
        unk_id=UNK, bos_id=BOS, eos_id=EOS, pad_id=-1, num_threads=1, minloglevel=2)
    prefix.with_suffix(".model").rename(path)
    prefix.with_suffix(".vocab").unlink()


class Tokenizer:
    """One side: text -> ids (source ids end with </s>), ids -> text."""

    def __init__(self, path: Path) -> None:
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.size = self.processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        return self.processor.encode(text)

    def decode(self, ids: list[int]) -> str:
        return self.processor.decode(ids)
