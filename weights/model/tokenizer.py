"""Vocabularies: training, and the two loaded sides of a model folder.

sentencepiece: NAME.spm (unigram, nmt_nfkc normalisation, byte fallback off).
words: what stands between white space; with `punctuation`, every character of Unicode's categories P and S is a token
of its own, with a mark, U+FFED, on each side where it touches its neighbour (of two that touch, the second has it), so
that decoding gives the text back. characters: one token a character; U+2581 stands for white space between them.
Both read a vocabulary file: UTF-8, one token a line, whose id is the line's number from 0. `lowercase` folds their
pieces, character by character. <unk>, <s> and </s> stand anywhere in a vocabulary, which needs the last two only where
its model does; those trained here have them at 0, 1 and 2, and PyTorch's searches (weights/model/search.py) need them
there. model/text/tokenizer.c does the same; tests/data/plain_tokens.json holds both to it.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Sequence

import sentencepiece

from .config import NO_FILE
from .vocabulary import BOS, EOS, SPECIAL, UNK, VocabularyError, read_vocabulary

UNKNOWN = "\u2047"  # the printed form of <unk>
MARK, SPACE = "\uffed", "\u2581"
# Unicode's White_Space as a character class of a regular expression.
WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WHITE_CHARACTERS = "".join(character for character in map(chr, range(0x3001)) if re.fullmatch(f"[{WHITE}]", character))


class Token(NamedTuple):
    """piece: for an unknown token the text in the vocabulary's notation. The token covers the characters
    text[begin:end]."""

    id: int
    piece: str
    begin: int
    end: int


class Tokenizer:
    """One side: text -> ids (without </s>), ids -> text. options: those of `options_of`."""

    pieces: list[str]
    special: tuple[int, int, int]  # the ids of <unk>, <s>, </s>; -1: missing

    def __init__(self, path: Path, options: dict) -> None:
        """path: read by subclasses."""
        # Texts in capitals are read in lower case (weights/model/copies.py).
        self.lowers = options.get("capitals") == "lowered"

    @classmethod
    def train(cls, lines: list[str], path: Path, size: int, min_count: int, seed: int, options: dict) -> None:
        """Trains a vocabulary of at most `size` pieces, including the special ones, on the lines, and writes it to
        `path`."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        return len(self.pieces)

    def tokens(self, text: str) -> list[Token]:
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        return [token.id for token in self.tokens(text)]

    def decode(self, ids: list[int], others: dict[int, str] | None = None) -> str:
        """others: {position: piece} to print instead of the id there; the vocabulary need not have the piece."""
        raise NotImplementedError

    def find(self, piece: str) -> int:
        """The id of this piece in text, or -1; special tokens never occur in text."""
        raise NotImplementedError

    def texts(self, text: str) -> list[str]:
        """The text of each token without white space; a token without visible characters gets the text of the next
        one."""
        found: list[str] = []
        for token in reversed(self.tokens(text)):
            visible = text[token.begin:token.end].strip(WHITE_CHARACTERS)
            found.append(visible or (found[-1] if found else ""))
        return found[::-1]


# OPUS-MT's preparation of text before tokenisation (model/text/tokenizer.h); "\uff11" is an error in its script.
PREPARED = {ord(character): written for characters, written in (
    ("，、", ","), ("。．", ". "), ("”“《》」「", '"'), ("∶：", ":"), ("？", "?"), ("！", "!"), ("；", ";"), ("（", "("), ("）", ")"),
    ("％", "%"), ("～", "~"),
    ("１", '"'), ("’", "'"), ("…", "..."), ("━", "-"), ("〈", "<"), ("〉", ">"), ("【", "["), ("】", "]"),
    *((chr(0xff10 + digit), str(digit)) for digit in (0, *range(2, 10)))
) for character in characters}


def prepare(text: str) -> tuple[str, list[int]]:
    """Returns the prepared text, and for each of its characters and its end the position in the original text."""
    out, origins, end = "", [], 0
    for place, character in enumerate(text):
        other = unicodedata.category(character)[0] == "C" and character != "\n"
        for i, written in enumerate(PREPARED.get(ord(character), " " if other else character)):
            if written != " " or out[-1:] not in ("", " "):
                out += written
                origins.append(place + (i > 0 and written == " "))
                end = end if written == " " else place + 1
    kept = len(out) - out.endswith(" ")
    return out[:kept], origins[:kept] + [end]


def train_unigram(lines: list[str], path: Path, size: int, seed: int, **options: object) -> None:
    """Trains SentencePiece; options: additional ones of the trainer. The file is written here because SentencePiece's
    own writer stores the path in it."""
    sentencepiece.set_random_generator_seed(seed)
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=trained, vocab_size=size, model_type="unigram",
        unk_id=UNK, bos_id=BOS, eos_id=EOS, pad_id=-1, num_threads=1, minloglevel=2, **options)
    path.write_bytes(trained.getvalue())


class Segment(NamedTuple):
    """A piece in SentencePiece's segmentation, characters begin..end-1."""

    id: int
    piece: str
    begin: int
    end: int


def segments(processor: sentencepiece.SentencePieceProcessor, text: str) -> Sequence[Segment]:
    """The pieces of a text, with offsets in characters. Versions of the library after 0.2.0 return bytes."""
    try:
        return processor.encode(text, out_type="immutable_proto").pieces
    except ValueError:
        characters = [i for i, character in enumerate(text) for _ in character.encode()] + [len(text)]
        return [Segment(p.id, p.piece, characters[p.begin], characters[p.end])
                for p in processor.encode(text, return_type="proto").pieces]


class SentencePiece(Tokenizer):
    """A model of the SentencePiece library."""

    def __init__(self, path: Path, options: dict) -> None:
        super().__init__(path, options)
        self.prepares = options.get("preparation", "none") != "none"
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.pieces = [self.processor.id_to_piece(i) for i in range(self.processor.get_piece_size())]
        self.special = (self.processor.unk_id(), self.processor.bos_id(), self.processor.eos_id())

    @classmethod
    def train(cls, lines: list[str], path: Path, size: int, min_count: int, seed: int, options: dict) -> None:
        train_unigram(lines, path, size, seed, character_coverage=1.0)

    def tokens(self, text: str) -> list[Token]:
        prepared, origins = prepare(text) if self.prepares else (text, range(len(text) + 1))
        return [Token(p.id, p.piece, origins[p.begin], origins[p.end]) for p in segments(self.processor, prepared)]

    def encode(self, text: str) -> list[int]:
        return self.processor.encode(prepare(text)[0] if self.prepares else text)

    def sample(self, texts: list[str], alpha: float, seed: int) -> list[list[int]]:
        """One segmentation of each text, drawn in proportion to its probability to the power of alpha (Kudo 2018).
        Equal seeds give equal draws."""
        sentencepiece.set_random_generator_seed(seed)  # applies to new threads; each call starts one
        return self.processor.encode(texts, enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1)

    def decode(self, ids: list[int], others: dict[int, str] | None = None) -> str:
        shown = {i: piece.removeprefix(SPACE) if i == 0 else re.sub(f"^{SPACE}", " ", piece)
                 for i, piece in (others or {}).items()}
        return self.processor.decode([shown.get(i, self.pieces[token]) for i, token in enumerate(ids)])

    def find(self, piece: str) -> int:
        token = self.processor.piece_to_id(piece)
        return -1 if self.processor.is_unknown(token) or self.processor.is_control(token) else token


class Numbered(SentencePiece):
    """SentencePiece with ids from a list of pieces (model/text/tokenizer.c), which may lack some of its pieces and have
    others."""

    def __init__(self, path: Path, options: dict) -> None:
        super().__init__(path, options)
        self.own = self.pieces
        self.pieces = read_vocabulary(options["pieces"])
        self.special = tuple(self.pieces.index(piece) if piece in self.pieces else -1 for piece in SPECIAL)
        self.ids = {piece: i for i, piece in enumerate(self.pieces) if i not in self.special}
        self.known = set(self.own)

    def tokens(self, text: str) -> list[Token]:
        return [token._replace(id=self.ids.get(token.piece, self.special[UNK])) for token in super().tokens(text)]

    def encode(self, text: str) -> list[int]:
        return [token.id for token in self.tokens(text)]

    def decode(self, ids: list[int], others: dict[int, str] | None = None) -> str:
        strange = {i: self.pieces[token] for i, token in enumerate(ids) if self.pieces[token] not in self.known
                   and token != self.special[UNK]}
        return super().decode(ids, strange | (others or {}))

    def find(self, piece: str) -> int:
        return self.ids.get(piece, -1)


def write_vocabulary(path: Path, pieces: Iterable[str], size: int, min_count: int) -> None:
    """Writes the most frequent pieces; of equally frequent ones those with lower code points. size 0: all."""
    counts = Counter(pieces)
    for piece in SPECIAL:
        counts.pop(piece, None)
    ranked = sorted((piece for piece, count in counts.items() if count >= min_count),
                    key=lambda piece: (-counts[piece], piece))
    kept = [*SPECIAL, *ranked[:max(0, size - len(SPECIAL)) if size else None]]
    path.write_text("".join(f"{piece}\n" for piece in kept), encoding="utf-8", newline="\n")


def lower(text: str) -> str:
    """Unicode's simple lower case, which maps each character to one character."""
    return "".join(character.lower()[0] for character in text)


class Plain(Tokenizer):
    """Text tokenised by rules, with ids from a vocabulary file."""

    def __init__(self, path: Path, options: dict) -> None:
        super().__init__(path, options)
        self.options = options
        self.pieces = read_vocabulary(path)
        self.special = tuple(self.pieces.index(piece) if piece in self.pieces else -1 for piece in SPECIAL)
        self.ids = {piece: i for i, piece in enumerate(self.pieces) if i not in self.special}

    @classmethod
    def train(cls, lines: list[str], path: Path, size: int, min_count: int, seed: int, options: dict) -> None:
        write_vocabulary(path, (piece for line in lines for piece, _, _ in cls.cut(line, options)), size, min_count)

    @classmethod
    def cut(cls, text: str, options: dict) -> Iterator[tuple[str, int, int]]:
        """Yields piece, begin, end."""
        raise NotImplementedError

    @classmethod
    def show(cls, piece: str, options: dict) -> tuple[str, bool, bool]:
        """Returns the printed text, whether it joins the text before it, and whether it joins the text after it."""
        raise NotImplementedError

    def tokens(self, text: str) -> list[Token]:
        return [Token(self.ids.get(piece, self.special[UNK]), piece, begin, end)
                for piece, begin, end in self.cut(text, self.options)]

    def find(self, piece: str) -> int:
        return self.ids.get(piece, -1)

    def _shown(self, token: int, other: str | None) -> tuple[str, bool, bool]:
        if other is not None or token not in self.special:
            return self.show(self.pieces[token] if other is None else other, self.options)
        return (UNKNOWN if token == self.special[UNK] else "", *self.show("", self.options)[1:])

    def decode(self, ids: list[int], others: dict[int, str] | None = None) -> str:
        out, joined = "", True
        for i, token in enumerate(ids):
            text, joins_left, joins_right = self._shown(token, (others or {}).get(i))
            if text:
                out += text if joined or joins_left else " " + text
                joined = joins_right
        return out


def is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


class Words(Plain):
    """Words between white space."""

    @classmethod
    def cut(cls, text: str, options: dict) -> Iterator[tuple[str, int, int]]:
        fold = lower if options["lowercase"] else str
        for word in re.finditer(f"[^{WHITE}]+", text):
            if options["punctuation"]:
                yield from ((fold(piece), word.start() + begin, word.start() + end)
                            for piece, begin, end in cls._marked(word[0]))
            else:
                yield fold(word[0]), word.start(), word.end()

    @staticmethod
    def _marked(word: str) -> Iterator[tuple[str, int, int]]:
        alone = [is_punctuation(character) for character in word]
        begin = 0
        while begin < len(word):
            end = begin + 1
            if alone[begin]:
                left, right = begin > 0, end < len(word) and not alone[end]
                yield MARK * left + word[begin] + MARK * right, begin, end
            else:
                while end < len(word) and not alone[end]:
                    end += 1
                yield word[begin:end], begin, end
            begin = end

    @classmethod
    def show(cls, piece: str, options: dict) -> tuple[str, bool, bool]:
        if not options["punctuation"]:
            return piece, False, False
        left = len(piece) > 1 and piece.startswith(MARK)
        piece = piece[left:]
        right = len(piece) > 1 and piece.endswith(MARK)
        return piece[:len(piece) - right], left, right


class Characters(Plain):
    """One token per character."""

    def __init__(self, path: Path, options: dict) -> None:
        super().__init__(path, options)
        for number, piece in enumerate(self.pieces, 1):
            if len(piece) != 1 and piece not in SPECIAL:
                raise VocabularyError(f"{path}: line {number} is not one character")

    @classmethod
    def cut(cls, text: str, options: dict) -> Iterator[tuple[str, int, int]]:
        fold = lower if options["lowercase"] else str
        last = len(text.rstrip(WHITE_CHARACTERS))
        for part in re.finditer(f"[{WHITE}]+|[^{WHITE}]", text):
            if part[0][0] not in WHITE_CHARACTERS:
                yield fold(part[0]), part.start(), part.end()
            elif 0 < part.start() < last:
                yield SPACE, part.start(), part.end()

    @classmethod
    def show(cls, piece: str, options: dict) -> tuple[str, bool, bool]:
        return " " if piece == SPACE else piece, True, True


KINDS: dict[str, type[Tokenizer]] = {"sentencepiece": SentencePiece, "words": Words, "characters": Characters}


def options_of(section: dict, side: str) -> dict:
    """The tokenizer options of a side, beyond its vocabulary. section: of config.json, validated. side: source or
    target."""
    return {key: section[key] in (side, "both")
            for key in ("lowercase", "punctuation")} | {key: section[key] for key in ("preparation", "capitals")}


def _open(folder: Path, section: dict, side: str) -> Tokenizer:
    pieces = section["pieces"] if side == "source" or section["target_pieces"] == NO_FILE else section["target_pieces"]
    if pieces != NO_FILE:
        return Numbered(folder / section[side], options_of(section, side) | {"pieces": folder / pieces})
    return KINDS[section["type"]](folder / section[side], options_of(section, side))


def load(folder: Path, section: dict) -> tuple[Tokenizer, Tokenizer]:
    """Returns the source tokenizer and the target tokenizer. section: of config.json, validated."""
    return _open(folder, section, "source"), _open(folder, section, "target")


def check_special(path: Path, side: Tokenizer) -> None:
    """Checks that the special tokens have the ids that PyTorch's searches need."""
    if side.special != (UNK, BOS, EOS):
        found = ", ".join(f"{piece} at {place}" if place >= 0 else f"no {piece}"
                          for piece, place in zip(SPECIAL, side.special))
        raise VocabularyError(
            f"{path}: PyTorch needs <unk>, <s>, </s> at 0, 1, 2, and this has {found}; the server takes them anywhere")


CHARACTERS = "chars.vocab"  # in the folder of a model with output type characters


def load_characters(folder: Path, config: dict) -> Characters | None:
    """The characters with which the model spells; None unless the output's type is characters. config: validated."""
    return (Characters(folder / CHARACTERS, options_of(config["tokenizer"], "target")) if config["output"]["type"]
            == "characters" else None)


def vocabulary_sizes(folder: Path, config: dict, searches: bool = True) -> dict[str, int]:
    """The vocabulary sizes, by the names of Model's parameters. searches: whether to check that PyTorch's searches can
    use the vocabularies."""
    source, target = load(folder, config["tokenizer"])
    if config["encoder"]["embedding_shared"] and source.pieces != target.pieces:
        raise VocabularyError("encoder.embedding_shared: the vocabularies of source and target differ")
    characters = load_characters(folder, config)
    for path, side in ((config["tokenizer"]["source"], source), (config["tokenizer"]["target"], target),
                       (CHARACTERS, characters)):
        if side and searches:
            check_special(folder / path, side)
    return {"source": source.size, "target": target.size, "characters": characters.size if characters else 0}
