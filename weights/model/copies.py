"""Source words as target tokens: what a model that copies can produce besides its vocabulary.

A source token's id as a target is that of its piece in the target vocabulary; pieces that it lacks get temporary ids V,
V + 1, ... in the order of their first appearance in the sentence. The source's </s> is the target's. As a decoder's
input a temporary id is <unk>. The same rules as model/network/network.h.
"""

from __future__ import annotations

from typing import NamedTuple

from . import capitals
from .config import COPYING
from .tokenizer import EOS, UNK, Tokenizer


class Source(NamedTuple):
    """One sentence: ids as the encoder reads them; words: each as a target; extra: the pieces of the temporary ids;
    lowered: it was in capitals, read in small letters, and so is its target."""

    ids: list[int]
    words: list[int]
    extra: list[str]
    lowered: bool = False


def source_of(text: str, source: Tokenizer, target: Tokenizer, config: dict) -> Source:
    """With </s> where the encoder reads it; words and extra are empty where the model does not copy."""
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
    """The ids of a target text (no </s>); pieces that only the source has are temporary ids."""
    if source.lowered and capitals.only(text):
        text = capitals.lowered(text)
    if not source.extra:
        return target.encode(text)
    return [target.size + source.extra.index(token.piece) if token.id == UNK and token.piece in source.extra
            else token.id
            for token in target.tokens(text)]


def copied(tokens: list[int], target: Tokenizer, source: Source) -> dict[int, str]:
    """-> for the place of each temporary id its piece."""
    return {i: source.extra[token - target.size] for i, token in enumerate(tokens) if token >= target.size}


def decode(tokens: list[int], target: Tokenizer, source: Source, unknowns: dict[int, str] | None = None) -> str:
    """The text of target tokens, temporary ids among them; unknowns: what is printed at the places of <unk>."""
    others = copied(tokens, target, source)
    text = target.decode([UNK if i in others else token for i, token in enumerate(tokens)], others | (unknowns or {}))
    return capitals.raised(text) if source.lowered else text
