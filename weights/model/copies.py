"""Source words as target tokens: the words outside the vocabulary that a copying model can produce.

The target id of a source token is the id of its piece in the target vocabulary; pieces that the vocabulary lacks get
temporary ids V, V + 1, ... in the order of their first appearance in the sentence. The source's </s> maps to the
target's. As an input of the decoder, a temporary id is <unk>. The rules are those of model/network/network.h.
"""

from __future__ import annotations

from typing import NamedTuple

from . import capitals
from .config import COPYING
from .tokenizer import EOS, UNK, Tokenizer


class Source(NamedTuple):
    """One sentence. ids: as the encoder reads them. words: the tokens as target ids. extra: the pieces of the temporary
    ids. lowered: the text was in capitals and is read in lower case, as is its target."""

    ids: list[int]
    words: list[int]
    extra: list[str]
    lowered: bool = False


def source_of(text: str, source: Tokenizer, target: Tokenizer, config: dict) -> Source:
    """Encodes a text, with </s> if the encoder reads it; words and extra are empty unless the model copies."""
    end = [EOS] if config["encoder"]["eos"] else []
    if config["output"]["type"] not in COPYING:
        lowered = source.lowers and capitals.only(text)
        return Source(source.encode(capitals.lowered(text) if lowered else text) + end, [], [], lowered)
    tokens = source.tokens(text)
    extra = list(dict.fromkeys(token.piece for token in tokens if target.find(token.piece) < 0))
    temporary = {piece: target.size + i for i, piece in enumerate(extra)}
    return Source([token.id for token in tokens] + end, [temporary.get(t.piece, target.find(t.piece)) for t in tokens]
                  + end, extra)


def target_ids(text: str, target: Tokenizer, source: Source) -> list[int]:
    """The ids of a target text without </s>; pieces that occur only in the source get temporary ids."""
    if source.lowered and capitals.only(text):
        text = capitals.lowered(text)
    if not source.extra:
        return target.encode(text)
    return [target.size + source.extra.index(token.piece) if token.id == UNK and token.piece in source.extra
            else token.id
            for token in target.tokens(text)]


def copied(tokens: list[int], target: Tokenizer, source: Source) -> dict[int, str]:
    """Returns {position: piece} for the temporary ids."""
    return {i: source.extra[token - target.size] for i, token in enumerate(tokens) if token >= target.size}


def decode(tokens: list[int], target: Tokenizer, source: Source, unknowns: dict[int, str] | None = None) -> str:
    """The text of target tokens, which may include temporary ids. unknowns: {position: text} for <unk>."""
    others = copied(tokens, target, source)
    text = target.decode([UNK if i in others else token for i, token in enumerate(tokens)], others | (unknowns or {}))
    return capitals.raised(text) if source.lowered else text
