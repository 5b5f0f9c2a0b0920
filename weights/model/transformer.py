"""Self-attention in PyTorch: the blocks, an encoder and a decoder of them (Vaswani et al. 2017),
as Marian computes them.

Letters: B sentences, T source tokens, S steps, d size of every vector between blocks, N heads, V vocabulary. A row of
MIXERS determines how a decoder layer reads earlier words; activations are rows of ACTIVATIONS. Names are those in
config.json, and the C server has rows of the same names. A block F reads x and returns LN(x + F(x)) (norm `post`) or x
+ F(LN(x)) (`pre`, with one more LN on top of each stack).
"""

from __future__ import annotations

import math
from typing import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from .config import annotation_size, positions, target_positions
from .decoding import FIRST_IDS, DecoderState, Memory, Past
from .encoders import State
from ..training.kernels import Attended, Dropout, suits
from .norm import Norm
from .output import Reads
from .tokenizer import UNK

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "swish": functional.silu,
                                                      "gelu": functional.gelu,
                                                      "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}


def sinusoids(places: Tensor, size: int) -> Tensor:
    """places [S], integers -> [S, size], size even: sin(place e^(-i c)) for i = 0 .. size / 2 - 1, then as many
    cosines, c = ln(10000) / (size / 2 - 1). The two halves are Marian's order; Vaswani et al. interleave them."""
    half = size // 2
    steps = torch.arange(half, dtype=places.dtype, device=places.device)
    angles = places[:, None] * torch.exp(steps * -(math.log(10000) / (half - 1)))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def slopes(heads: int) -> Tensor:
    """How fast a head's attention falls with distance, [N]: 2^(-8 / N), 2^(-16 / N), ... 2^-8 (Press et al. 2022); if N
    is not a power of two, those of the power below, then every other one of the power above."""
    below = 2 ** (heads.bit_length() - 1)
    first, more = (2.0 ** (-8 * torch.arange(1, n + 1, dtype=torch.float64) / n) for n in (below, 2 * below))
    return torch.cat([first, more[::2][:heads - below]])


class Input(nn.Module):
    """The first x of a stack: embeddings, times sqrt(d) with embedding_scale, plus positions, normalised with
    embedding_norm. section: the stack's in config.json. longest: the number of learned positions; later places use the
    last one. A stored table begins at place 0, and the file determines its length (weights/model/folder.py); the first
    token is at place position_offset."""

    def __init__(self, section: dict, longest: int) -> None:
        super().__init__()
        self.size, self.kind = section["hidden"], section["positions"]
        self.factor = self.size**0.5 if section["embedding_scale"] else 1.0
        self.offset = section["position_offset"]
        self.learned = nn.Embedding(longest + self.offset, self.size) if self.kind in ("learned", "stored") else None
        self.norm = norm_of(section) if section["embedding_norm"] else Norm("none", self.size)

    def forward(self, embeddings: Tensor, first: int) -> Tensor:
        """embeddings [B, S, d] of places first, first + 1, ... -> x of the same shape."""
        first += self.offset
        places = torch.arange(first, first + embeddings.shape[1], device=embeddings.device)
        x = self.factor * embeddings
        if self.learned is not None:
            x = x + self.learned(places.clamp(max=len(self.learned.weight) - 1))
        elif self.kind == "sinusoidal":
            x = x + sinusoids(places.to(x.dtype), self.size)
        return self.norm(x)

    def named_tensors(self, side: str) -> dict[str, Tensor]:
        """side: "encoder." or "decoder."."""
        tensors = {} if self.learned is None else {side + "positions": self.learned.weight}
        return tensors | self.norm.named_tensors(side + "embedding.norm.gain", side + "embedding.norm.shift")


def norm_of(section: dict) -> Norm:
    """One of the norms of a stack."""
    return Norm(section["norm_type"], section["hidden"], epsilon=section["epsilon"])


def _linear(linear: nn.Linear, name: str) -> dict[str, Tensor]:
    return {f"{name}.weight": linear.weight} | ({f"{name}.bias": linear.bias} if linear.bias is not None else {})


class Residual(nn.Module):
    """What all blocks share: the norm, before or after the block, and the residual connection."""

    def __init__(self, section: dict, dropout: float) -> None:
        super().__init__()
        self.before = section["norm"] == "pre"
        self.norm, self.dropout = norm_of(section), Dropout(dropout)

    def read(self, x: Tensor) -> Tensor:
        """The input of the block."""
        return self.norm(x) if self.before else x

    def put_out(self, y: Tensor, x: Tensor) -> Tensor:
        """y: the block's output."""
        y = x + self.dropout(y)
        return y if self.before else self.norm(y)

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        return self.norm.named_tensors(prefix + "norm.gain", prefix + "norm.shift")


class Rotation(nn.Module):
    """Positions that rotate queries and keys (Su et al. 2021): pair i of the first rotary_size columns of each head, by
    the angle place * base^(-2 i / rotary_size). rotary_pairs `halves`: column i goes with i + rotary_size / 2;
    `neighbours`: 2 i with 2 i + 1."""

    def __init__(self, section: dict) -> None:
        super().__init__()
        self.size = section["rotary_size"] or width_of(section) // section["heads"]
        self.halves, self.base = section["rotary_pairs"] == "halves", section["rotary_base"]

    def forward(self, x: Tensor, first: int) -> Tensor:
        """x [B, S, N, d / N] of places first, first + 1, ... -> the same shape."""
        places = torch.arange(first, first + x.shape[1], device=x.device, dtype=torch.float64)
        pairs = torch.arange(self.size // 2, device=x.device, dtype=torch.float64)
        angles = places[:, None] * self.base ** (-2 * pairs / self.size)
        cos, sin = angles.cos().to(x.dtype)[:, None], angles.sin().to(x.dtype)[:, None]
        turned, rest = x[..., :self.size], x[..., self.size:]
        a, b = turned.chunk(2, dim=-1) if self.halves else (turned[..., ::2], turned[..., 1::2])
        a, b = a * cos - b * sin, b * cos + a * sin
        turned = torch.cat([a, b], dim=-1) if self.halves else torch.stack([a, b], dim=-1).flatten(-2)
        return torch.cat([turned, rest], dim=-1)


def width_of(section: dict) -> int:
    """The columns of all heads together."""
    return section["heads"] * section["head_size"] if section["head_size"] else section["hidden"]


def buckets(distances: Tensor, count: int, farthest: int, both: bool) -> Tensor:
    """distances [...], of an entry from the row that attends to it, below 0 before it -> the bucket of each (Raffel et
    al. 2020, 2.1). The first half of the buckets have one distance each, the others share those up to `farthest` by
    logarithms, and the last one has all beyond. both: entries after the row have as many buckets of their own;
    otherwise they count as distance 0."""
    first = torch.zeros_like(distances)
    if both:
        count //= 2
        first = (distances > 0) * count
    apart = distances.abs() if both else (-distances).clamp(min=0)
    exact = count // 2
    large = (apart.clamp(min=1).float() / exact).log() / math.log(farthest / exact) * (count - exact)
    return first + torch.where(apart < exact, apart, (exact + large.long()).clamp(max=count - 1))


class Relative(nn.Module):
    """The number of each head and bucket, added to scores."""

    def __init__(self, section: dict, both: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(section["relative_buckets"], section["heads"])
        self.farthest, self.both = section["relative_distance"], both

    def forward(self, distances: Tensor) -> Tensor:
        """distances [S, T] -> [N, S, T]"""
        found = buckets(distances, len(self.table.weight), self.farthest, self.both)
        return self.table(found).permute(2, 0, 1).contiguous()


def relatives(section: dict, both: bool) -> nn.ModuleList:
    """One for each layer, or one for all (relative_shared); none with other positions."""
    count = 0 if section["positions"] != "relative" else 1 if section["relative_shared"] else section["layers"]
    return nn.ModuleList(Relative(section, both) for _ in range(count))


def named_relatives(modules: nn.ModuleList, section: dict, side: str) -> dict[str, Tensor]:
    names = ([side + "positions"] if section["relative_shared"]
             else [f"{side}layers.{i}.self.positions" for i in range(section["layers"])])
    return {name: module.table.weight for name, module in zip(names, modules)}


class Heads(nn.Module):
    """Attention with N heads: e_ij = q_i . k_j / sqrt(head_size), or without the root (scaled_scores false), where each
    head has its own columns of q = W x + b, k = U m + b and v = V m + b, without b if biases is false; the contexts of
    the heads are concatenated and multiplied by W_o. inputs: the size of m. own: self-attention, whose q and k are
    rotated with the positions `rotary`."""

    def __init__(self, section: dict, inputs: int, dropout: float, own: bool = False) -> None:
        super().__init__()
        size, width, biases = section["hidden"], width_of(section), section["biases"]
        self.heads = section["heads"]
        self.factor = 1.0 if section["scaled_scores"] else (width / self.heads)**0.5
        self.rotation = Rotation(section) if own and section["positions"] == "rotary" else None
        self.query, self.output = nn.Linear(size, width, biases), nn.Linear(width, size, biases)
        self.key, self.value = nn.Linear(inputs, width, biases), nn.Linear(inputs, width, biases)
        self.residual = Residual(section, dropout)

    def _split(self, x: Tensor) -> Tensor:
        """[B, S, d] -> [B, N, S, d / N]"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def _turned(self, x: Tensor, first: int) -> Tensor:
        return x if self.rotation is None else self.rotation(x.unflatten(2, (self.heads, -1)), first).flatten(2)

    def keys(self, x: Tensor, first: int = 0) -> Tensor:
        """x [B, S, d], the block's input at places first, first + 1, ... -> keys [B, S, N head_size]."""
        return self._turned(self.key(x), first)

    def look(self, x: Tensor, keys: Tensor, values: Tensor, visible: Tensor,
             lean: Tensor | None = None, first: int = 0) -> tuple[Tensor, Tensor]:
        """x [B, S, d], the block's input at places first, first + 1, ...; keys, values [B, T, N head_size]; visible
        [B or 1, S or 1, T], the leading tokens of each row; lean [N, S, T]: added to the scores. -> y [B, S, d],
        weights [B, N, S, T]."""
        q = self._turned(self.query(x), first) * self.factor
        if self.training and suits(q) and not (lean is not None and lean.requires_grad):  # it has no gradient there
            y, weights = Attended.apply(q, keys, values, self.heads, visible.sum(-1).expand(x.shape[:2]), lean)
            return self.output(y), weights
        q, k, v = self._split(q), self._split(keys), self._split(values)
        e = q @ k.transpose(2, 3) / (k.shape[-1] ** 0.5)
        e = (e if lean is None else e + lean).masked_fill(~visible[:, None], float("-inf"))
        weights = torch.softmax(e, dim=-1)
        return self.output((weights @ v).transpose(1, 2).flatten(2)), weights

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        tensors = self.residual.named_tensors(prefix)
        for name in ("query", "key", "value", "output"):
            tensors |= _linear(getattr(self, name), prefix + name)
        return tensors


class Filter(nn.Module):
    """The feed-forward block: W_2 act(W_1 x + b_1) + b_2, with a gate W_2 (act(W_1 x + b_1) * (W_3 x + b_3)) + b_2
    (Shazeer 2020)."""

    def __init__(self, section: dict, dropout: float) -> None:
        super().__init__()
        size, middle, biases = section["hidden"], section["filter"], section["biases"]
        self.input, self.output = nn.Linear(size, middle, biases), nn.Linear(middle, size, biases)
        self.gate = nn.Linear(size, middle, biases) if section["gated"] else None
        self.activate, self.dropout = ACTIVATIONS[section["activation"]], Dropout(dropout)
        self.residual = Residual(section, dropout)

    def forward(self, x: Tensor) -> Tensor:
        u = self.residual.read(x)
        middle = self.activate(self.input(u))
        middle = middle if self.gate is None else middle * self.gate(u)
        return self.residual.put_out(self.output(self.dropout(middle)), x)

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        tensors = _linear(self.input, prefix + "input") | _linear(self.output, prefix + "output")
        tensors |= {} if self.gate is None else _linear(self.gate, prefix + "gate")
        return tensors | self.residual.named_tensors(prefix)


class Top(nn.Module):
    """The norm on top of a stack of norm `pre`."""

    def __init__(self, section: dict) -> None:
        super().__init__()
        self.norm = norm_of(section) if section["norm"] == "pre" else Norm("none", section["hidden"])

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        return self.norm.named_tensors(prefix + "norm.gain", prefix + "norm.shift")


# ---- the encoder ----

class TransformerEncoder(nn.Module):
    """ids [B, T] -> annotations [B, T, d]; no final states. Each layer: self-attention over the whole sentence, then a
    feed-forward block."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        section = config["encoder"]
        self.embedding = nn.Embedding(vocabulary, section["embedding"])
        self.input, self.dropout = Input(section, positions(config)), Dropout(dropout)
        self.attentions = nn.ModuleList(Heads(section, section["hidden"], dropout, own=True)
                                        for _ in range(section["layers"]))
        self.filters = nn.ModuleList(Filter(section, dropout) for _ in range(section["layers"]))
        self.top = Top(section)
        self.alibi, self.section, self.relatives = section["positions"] == "alibi", section, relatives(section, True)

    def _leans(self, length: int, x: Tensor) -> list[Tensor | None]:
        """What each layer adds to scores, [N, T, T]: ALiBi in both directions, or relative positions."""
        places = torch.arange(length, device=x.device)
        distances, layers = places - places[:, None], len(self.attentions)
        if self.alibi:
            return [-slopes(self.attentions[0].heads).to(x)[:, None, None] * distances.abs().to(x.dtype)] * layers
        made = [relative(distances) for relative in self.relatives] or [None]
        return made if len(made) == layers else made * layers

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[State]]:
        visible = (torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None])[:, None]
        x = self.dropout(self.input(self.embedding(ids), 0))
        leans = self._leans(ids.shape[1], x)
        for attention, filter, lean in zip(self.attentions, self.filters, leans):
            u = attention.residual.read(x)
            y, _ = attention.look(u, attention.keys(u), attention.value(u), visible, lean)
            x = filter(attention.residual.put_out(y, x))
        return self.top(x), []

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"encoder.embedding": self.embedding.weight} | self.input.named_tensors(
            "encoder.") | self.top.named_tensors("encoder.") | named_relatives(self.relatives, self.section, "encoder.")
        for i, (attention, filter) in enumerate(zip(self.attentions, self.filters)):
            tensors |= attention.named_tensors(f"encoder.layers.{i}.self.") | filter.named_tensors(
                f"encoder.layers.{i}.filter.")
        return tensors


# ---- how a layer of the decoder reads earlier words ----

class SelfAttention(nn.Module):
    """Each step attends to itself and all earlier steps. State: keys and values of the steps so far, [B, s, N
    head_size] each. relative: the decoder's relative positions, if it has them."""

    name = "self."

    def __init__(self, section: dict, dropout: float) -> None:
        super().__init__()
        self.heads = Heads(section, section["hidden"], dropout, own=True)
        self.alibi, self.width = section["positions"] == "alibi", width_of(section)

    def start(self, zero: Tensor) -> State:
        """zero [B, d]"""
        none = zero.new_zeros(len(zero), 0, self.width)
        return none, none

    def forward(self, x: Tensor, state: State, step: int, relative: Relative | None = None) -> tuple[Tensor, State]:
        """x [B, S, d], whose first step is number `step` -> the block's output [B, S, d], the state after the last
        step."""
        u = self.heads.residual.read(x)
        keys, values = torch.cat([state[0], self.heads.keys(u, step)],
                                 dim=1), torch.cat([state[1], self.heads.value(u)], dim=1)
        distance = torch.arange(step, step + x.shape[1],
                                device=x.device)[:, None] - torch.arange(keys.shape[1], device=x.device)
        lean = (-slopes(self.heads.heads).to(x)[:, None, None] * distance.to(x.dtype) if self.alibi
                else None if relative is None else relative(-distance))
        y, _ = self.heads.look(u, keys, values, (distance >= 0)[None], lean, step)
        return self.heads.residual.put_out(y, x), (keys, values)

    @staticmethod
    def added(state: State) -> State:
        """The vectors that the last step added to the state, [B, d] each."""
        return tuple(part[:, -1] for part in state if part.shape[1] > 0)

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        return self.heads.named_tensors(prefix)


class Ssru(nn.Module):
    """A recurrence without a product of its state (Kim et al. 2019):
    c_t = g c_{t-1} + (1 - g) W x, g = sigmoid(W_f x + b_f), y = relu(c_t). State: c."""

    name = "ssru."

    def __init__(self, section: dict, dropout: float) -> None:
        super().__init__()
        size = section["hidden"]
        self.candidate, self.forget = nn.Linear(size, size, bias=False), nn.Linear(size, size, section["biases"])
        self.residual = Residual(section, dropout)

    def start(self, zero: Tensor) -> State:
        return (zero,)

    def forward(self, x: Tensor, state: State, step: int, relative: None = None) -> tuple[Tensor, State]:
        u, c, cells = self.residual.read(x), state[0], []
        candidates, gates = self.candidate(u), torch.sigmoid(self.forget(u))
        for g, z in zip(gates.unbind(1), candidates.unbind(1)):
            c = g * c + (1 - g) * z
            cells.append(c)
        return self.residual.put_out(torch.relu(torch.stack(cells, dim=1)), x), (c,)

    @staticmethod
    def added(state: State) -> State:
        return state

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        return _linear(self.candidate, prefix + "candidate") | _linear(self.forget, prefix
                                                                       + "forget") | self.residual.named_tensors(prefix)


class Average(nn.Module):
    """The mean of all x so far, through a feed-forward and a gate (Zhang et al. 2018). m_t: the mean of x_0 .. x_t; y =
    FFN(m_t), if average_filter is not 0, whose second matrix is left out where it would be d x d; with average_gate y =
    sigmoid(W_i x + b_i) x + sigmoid(W_f y + b_f) y. State: m."""

    name = "average."

    def __init__(self, section: dict, dropout: float) -> None:
        super().__init__()
        size, middle, biases = section["hidden"], section["average_filter"], section["biases"]
        self.input = nn.Linear(size, middle, biases) if middle else None
        self.output = nn.Linear(middle, size, biases) if middle not in (0, size) else None
        self.activate = ACTIVATIONS[section["average_activation"]]
        self.gate_input, self.gate_mean = (nn.Linear(size, size, biases) if section["average_gate"] else None
                                           for _ in range(2))
        self.residual = Residual(section, dropout)

    def start(self, zero: Tensor) -> State:
        return (zero,)

    def forward(self, x: Tensor, state: State, step: int, relative: None = None) -> tuple[Tensor, State]:
        counts = torch.arange(step, step + x.shape[1], device=x.device).to(x.dtype)[:, None]
        m = (state[0][:, None] * step + x.cumsum(1)) / (counts + 1)
        y = self.residual.read(m)
        if self.input is not None:
            y = self.activate(self.input(y))
            y = y if self.output is None else self.output(y)
        if self.gate_input is not None:
            y = torch.sigmoid(self.gate_input(x)) * x + torch.sigmoid(self.gate_mean(y)) * y
        return self.residual.put_out(y, x), (m[:, -1],)

    @staticmethod
    def added(state: State) -> State:
        return state

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        tensors = self.residual.named_tensors(prefix)
        for name, part in (("input", self.input), ("output", self.output), ("gate.input", self.gate_input),
                           ("gate.output", self.gate_mean)):
            tensors |= _linear(part, prefix + name) if part is not None else {}
        return tensors


MIXERS: dict[str, type[nn.Module]] = {"self_attention": SelfAttention, "ssru": Ssru, "average": Average}


# ---- the decoder ----

class TransformerDecoder(nn.Module):
    """Each layer: a mixer for earlier words, attention to the annotations, a feed-forward block. Step t reads the word
    of step t - 1 at place t; step 0 reads a zero vector (first_input zero), <s>, </s> or the token 0 (id_0). The
    reported attention is that of one head, alignment_head of alignment_layer (0: the last)."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        section = config["decoder"]
        self.config = section
        self.embedding = nn.Embedding(vocabulary, section["embedding"])
        self.input, self.dropout = Input(section, target_positions(config)), Dropout(dropout)
        layers = range(section["layers"])
        self.mixers = nn.ModuleList(MIXERS[section["mixer"]](section, dropout) for _ in layers)
        self.crosses = nn.ModuleList(Heads(section, annotation_size(config), dropout) for _ in layers)
        self.filters = nn.ModuleList(Filter(section, dropout) for _ in layers)
        self.top, self.relatives = Top(section), relatives(section, False)
        self.shown = (section["alignment_layer"] or section["layers"]) - 1

    def embed(self, tokens: Tensor, first: bool) -> Tensor:
        """As in the recurrent decoders."""
        if first and self.config["first_input"] in FIRST_IDS:
            tokens = torch.full_like(tokens, FIRST_IDS[self.config["first_input"]])
        y = self.embedding(tokens.masked_fill(tokens >= self.embedding.num_embeddings, UNK))
        return torch.zeros_like(y) if first and self.config["first_input"] == "zero" else y

    def memory(self, annotations: Tensor, lengths: Tensor, finals: list[State]) -> Memory:
        """keys, values [B, T, layers d]: concatenated over the layers."""
        mask = torch.arange(annotations.shape[1], device=annotations.device) < lengths.to(annotations.device)[:, None]
        keys, values = (torch.cat([getattr(cross, part)(annotations) for cross in self.crosses], dim=-1)
                        for part in ("key", "value"))
        return Memory(annotations, keys, values, mask)

    def start(self, memory: Memory, finals: list[State]) -> DecoderState:
        zero = memory.annotations.new_zeros(memory.annotations.shape[0], self.config["hidden"])
        return DecoderState([mixer.start(zero) for mixer in self.mixers], None, Past(0, None))

    def added(self, state: DecoderState) -> list[State]:
        """The state of each layer after the last step, [B, d] each."""
        return [mixer.added(layer) for mixer, layer in zip(self.mixers, state.layers)]

    def _run(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        """y [B, S, d] -> the inputs of the output for all S steps, the state after them."""
        step = state.past.step
        x, layers, weights = self.dropout(self.input(y, step)), [], []
        keys, values = (part.chunk(len(self.mixers), dim=-1) for part in (memory.keys, memory.values))
        shared = self.config["relative_shared"]
        for i, (mixer, cross, filter) in enumerate(zip(self.mixers, self.crosses, self.filters)):
            relative = self.relatives[0 if shared else i] if len(self.relatives) else None
            x, layer = mixer(x, state.layers[i], step, relative)
            seen, a = cross.look(cross.residual.read(x), keys[i], values[i], memory.mask[:, None])
            x = filter(cross.residual.put_out(seen, x))
            layers.append(layer)
            weights.append(a)
        x = self.top(x)
        shown = weights[self.shown][:, self.config["alignment_head"]]
        return Reads(x, x, y, shown), DecoderState(layers, None, Past(step + y.shape[1], None))

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        """y [B, E] -> the inputs of the output for this step (tensors without S), next state."""
        reads, state = self._run(y[:, None], state, memory)
        return Reads(*(part[:, 0] for part in reads)), state

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        """Teacher forcing: y [B, S, E] -> the inputs of the output for all steps."""
        return self._run(y, state, memory)[0]

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"decoder.embedding": self.embedding.weight} | self.input.named_tensors(
            "decoder.") | self.top.named_tensors("decoder.") | named_relatives(self.relatives, self.config, "decoder.")
        for i, (mixer, cross, filter) in enumerate(zip(self.mixers, self.crosses, self.filters)):
            prefix = f"decoder.layers.{i}."
            tensors |= mixer.named_tensors(prefix + mixer.name) | cross.named_tensors(
                prefix + "cross.") | filter.named_tensors(prefix + "filter.")
        return tensors
