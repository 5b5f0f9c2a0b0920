"""Training of an output that spells words that the target vocabulary lacks (Luong and Manning 2016).

In training pairs such a word has an id V, V + 1, ... past the vocabulary, the same throughout the corpus. The decoder
reads and predicts <unk> for all of them (`hide`); the speller's cross-entropy over their characters is a separate loss
(`loss`).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ..model.network import Model
from ..model.tokenizer import BOS, EOS, UNK, Tokenizer


class Spelling:
    """Encodes target text instead of its tokenizer."""

    def __init__(self, characters: Tokenizer, target: Tokenizer) -> None:
        self.characters, self.target = characters, target
        self.words: dict[str, int] = {}  # piece -> id - V, in order of the ids
        self.spelled: list[list[int]] = []  # characters of each word

    def _id(self, piece: str) -> int:
        if piece not in self.words:
            self.words[piece] = len(self.words)
            self.spelled.append(self.characters.encode(piece))
        return self.target.size + self.words[piece]

    def encode(self, text: str) -> list[int]:
        return [self._id(token.piece) if token.id == UNK else token.id for token in self.target.tokens(text)]

    def hide(self, ids: Tensor) -> Tensor:
        return ids.masked_fill(ids >= self.target.size, UNK)

    def loss(self, model: Model, readouts: Tensor, wanted: Tensor) -> Tensor:
        """readouts [N, O], wanted [N] ids -> cross-entropy, summed over the characters (</s> included) of the words to
        spell."""
        rows = (wanted >= self.target.size).nonzero()[:, 0]
        if len(rows) == 0:
            return readouts.new_zeros(())
        words = [torch.tensor(self.spelled[i]) for i in (wanted[rows] - self.target.size).tolist()]
        pad = torch.nn.utils.rnn.pad_sequence
        inputs = pad([torch.cat([torch.tensor([BOS]), word]) for word in words], batch_first=True, padding_value=EOS)
        characters = pad([torch.cat([word, torch.tensor([EOS])]) for word in words], batch_first=True,
                         padding_value=-100)
        logits = model.speller(readouts[rows], inputs.to(readouts.device))
        return functional.cross_entropy(logits.flatten(0, 1), characters.flatten().to(readouts.device), reduction="sum")
