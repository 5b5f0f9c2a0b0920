"""The model family in PyTorch: encoder, attention, decoder, output, each chosen by name from a table.

Letters: B sentences, T source tokens, S target tokens, E embedding, H hidden, D annotation, A attention, C context, O
readout, V vocabulary. Cells and encoders are in weights/model/encoders.py. A new score is a row of SCORES, a new window
a row of WINDOWS, a new decoder a row of STYLES, a new readout a row of READOUTS; the name is the one in config.json and
the C server has a row of the same name. Parameter names and shapes in model.safetensors are those of `named_tensors`.
"""

from __future__ import annotations

import sys
from typing import Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .config import annotation_size, context_size, positions, readout_size
from .decoding import FIRST_IDS, DecoderState, Memory, Past
from .encoders import CELLS, ENCODERS, State, recurrent
from ..training.kernels import Dropout
from .norm import Norm
from .output import OUTPUTS, Reads
from .tokenizer import BOS, EOS, UNK
from .transformer import TransformerDecoder, TransformerEncoder


class Dot(nn.Module):
    """e_ij = s_i . h_j (Luong et al. 2015). With learned keys it is s_i . W h_j, which equals the general score."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        learned = config["attention"]["keys"] == "learned"
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False) if learned else None

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations if self.key is None else self.key(annotations)

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        """query [B, S, H], keys [B, T, A], coverage [B, T] (read by the additive score only, with S = 1) -> e [B, S,
        T]."""
        return query @ keys.transpose(1, 2)

    def named_tensors(self) -> dict[str, Tensor]:
        return {} if self.key is None else {"attention.key.weight": self.key.weight}


class ScaledDot(Dot):
    """e_ij = g s_i . k_j with g = 1 / sqrt(A) (Vaswani et al. 2017), or with g learned from that initial value (as in
    tf/nmt)."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        scale = config["decoder"]["hidden"] ** -0.5
        self.learned = config["attention"]["scale"] == "learned"
        self.scale = nn.Parameter(torch.tensor([scale])) if self.learned else scale

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return self.scale * super().score(query, keys, coverage)

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | ({"attention.factor": self.scale} if self.learned else {})


class General(Dot):
    """e_ij = s_i^T W h_j (Luong et al. 2015); keys hold W h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False)


class Additive(nn.Module):
    """e_ij = v . tanh(W s_i + U h_j + b) (Bahdanau et al. 2015, A.1.2); keys hold U h_j + b. With normalisation, W s_i
    and U h_j + b are normalised separately. With coverage, the argument of tanh includes w cov_j, where cov_j is the
    sum of earlier attention to j (Tu et al. 2016; See et al. 2017)."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        size = config["attention"]["size"]
        self.key_norm, self.query_norm = (Norm(config["attention"]["normalization"], size) for _ in range(2))
        self.key = nn.Linear(annotation_size(config), size)
        self.query = nn.Linear(config["decoder"]["hidden"], size, bias=False)
        self.energy = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.energy, -size**-0.5, size**-0.5)
        self.coverage = nn.Parameter(torch.zeros(size)) if config["attention"]["coverage"] else None

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key_norm(self.key(annotations))

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        if coverage is not None:
            keys = keys + coverage[..., None] * self.coverage
        return torch.tanh(self.query_norm(self.query(query))[:, :, None] + keys[:, None]) @ self.energy

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"attention.key.weight": self.key.weight, "attention.key.bias": self.key.bias,
                   "attention.query.weight": self.query.weight, "attention.energy": self.energy}
        tensors |= self.key_norm.named_tensors("attention.key.gain", "attention.key.shift")
        tensors |= self.query_norm.named_tensors("attention.query.gain", "attention.query.shift")
        return tensors if self.coverage is None else tensors | {"attention.coverage": self.coverage}


class Location(nn.Module):
    """e_ij = (W s_i)_j (Luong et al. 2015): independent of the annotations; keys are empty."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        self.query = nn.Linear(config["decoder"]["hidden"], positions(config), bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations[..., :0]

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        e = self.query(query)[..., :keys.shape[1]]
        return nn.functional.pad(e, (0, keys.shape[1] - e.shape[-1]))  # past the reach: never visible

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.query.weight": self.query.weight}


SCORES: dict[str, type[nn.Module]] = {
    "dot": Dot,
    "general": General,
    "additive": Additive,
    "scaled_dot": ScaledDot,
    "location": Location,
}


class Everywhere(nn.Module):
    """All tokens of the sentence, or the last `source_depth` ones (Hagan's tapped delay line)."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        self.depth = config["attention"]["source_depth"]

    def forward(self, query: Tensor, lengths: Tensor, tokens: Tensor, step: int) -> tuple[Tensor, Tensor | None]:
        """query [B, S, H], whose first step is number `step`; lengths [B], tokens [T] (0, 1, ...) -> visible positions
        [B, 1 or S, T], and a term for their scores of the same shape."""
        first = lengths - self.depth if self.depth else torch.zeros_like(lengths)
        return ((tokens >= first[:, None]) & (tokens < lengths[:, None]))[:, None], None

    def named_tensors(self) -> dict[str, Tensor]:
        return {}


class Monotonic(Everywhere):
    """Tokens within half_width of p_t = t, limited to the last token (Luong et al. 2015, section 3.2)."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        self.half_width = config["attention"]["half_width"]

    def centre(self, query: Tensor, lengths: Tensor, step: int) -> Tensor:
        """-> p_t [B, S]."""
        steps = torch.arange(step, step + query.shape[1], device=query.device)
        return torch.minimum(steps[None], lengths[:, None] - 1)

    def forward(self, query: Tensor, lengths: Tensor, tokens: Tensor, step: int) -> tuple[Tensor, Tensor | None]:
        whole, _ = super().forward(query, lengths, tokens, step)
        distance = tokens - self.centre(query, lengths, step)[..., None]
        return whole & (distance.abs() <= self.half_width), self.lean(distance)

    def lean(self, distance: Tensor) -> Tensor | None:
        return None


class Predictive(Monotonic):
    """p_t = T sigmoid(v . tanh(W s_t)), with a Gaussian window around it of sigma = half_width / 2 (Luong et al. 2015,
    section 3.2). The Gaussian multiplies the weights, which are then normalised again; equivalently, its logarithm is
    added to the scores. (The paper does not normalise again, which scales the context down by the Gaussian's mean. A
    normalised attention serves readers, coverage and copying better.)"""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        hidden = config["decoder"]["hidden"]
        self.position = nn.Linear(hidden, hidden, bias=False)
        self.energy = nn.Parameter(torch.empty(hidden))
        nn.init.uniform_(self.energy, -hidden**-0.5, hidden**-0.5)

    def centre(self, query: Tensor, lengths: Tensor, step: int) -> Tensor:
        return lengths[:, None] * torch.sigmoid(torch.tanh(self.position(query)) @ self.energy)

    def lean(self, distance: Tensor) -> Tensor | None:
        return -2 * (distance / self.half_width) ** 2

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.position.weight": self.position.weight, "attention.position.energy": self.energy}


WINDOWS: dict[str, type[nn.Module]] = {"global": Everywhere, "local_m": Monotonic, "local_p": Predictive}


class Attention(nn.Module):
    """Scores, softmax over the sentence's own tokens within the window, context c_i = sum_j a_ij V h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        attention = config["attention"]
        self.scorer = SCORES[attention["score"]](config)
        self.window = WINDOWS[attention["window"]](config)
        self.value = (nn.Linear(annotation_size(config), context_size(config), bias=False) if attention["values"]
                      == "learned" else None)
        self.covers = attention["coverage"]
        # the number of source tokens for which parameters or states have room
        self.reach = positions(config) if self.covers or attention["score"] == "location" else sys.maxsize

    def memory(self, annotations: Tensor, lengths: Tensor) -> Memory:
        tokens = torch.arange(annotations.shape[1], device=annotations.device)
        mask = tokens[None] < lengths.to(annotations.device)[:, None]
        values = annotations if self.value is None else self.value(annotations)
        return Memory(annotations, self.scorer.keys(annotations), values, mask)

    def start(self, memory: Memory) -> Past:
        return Past(0, torch.zeros_like(memory.mask, dtype=memory.annotations.dtype) if self.covers else None)

    def look(self, query: Tensor, memory: Memory, past: Past) -> Tensor:
        """query [B, S, H] of steps with the same past -> weights [B, S, T]."""
        lengths = memory.mask.sum(1).clamp(max=self.reach)
        tokens = torch.arange(memory.mask.shape[1], device=query.device)
        visible, lean = self.window(query, lengths, tokens, past.step)
        e = self.scorer.score(query, memory.keys, past.coverage)
        return torch.softmax((e if lean is None else e + lean).masked_fill(~visible, float("-inf")), dim=-1)

    def forward(self, query: Tensor, memory: Memory, past: Past) -> tuple[Tensor, Tensor]:
        """query [B, S, H] of the steps after the past -> context [B, S, C], weights [B, S, T]."""
        if past.coverage is None:
            weights = self.look(query, memory, past)
        else:  # each step's coverage includes the step before it
            rows = []
            for i in range(query.shape[1]):
                rows.append(self.look(query[:, i:i + 1], memory, past))
                past = past.after(rows[-1][:, 0])
            weights = torch.cat(rows, dim=1)
        return weights @ memory.values, weights

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = self.scorer.named_tensors() | self.window.named_tensors()
        return tensors if self.value is None else tensors | {"attention.value.weight": self.value.weight}


class Readout(NamedTuple):
    """The inputs of the readout, in order (y embedding, s state, c context); the units of its linear layer per element
    of the readout (0: no layer); and the activation."""

    parts: str
    units: int
    activate: Callable[[Tensor], Tensor]


def _maxout(x: Tensor) -> Tensor:
    """[.., 2 O] -> [.., O]: the maximum of units i and O + i (the paper's 2i - 1 and 2i)."""
    return torch.maximum(*x.chunk(2, dim=-1))


READOUTS: dict[str, Readout] = {
    "attentional": Readout("cs", 1, torch.tanh),  # h~ = tanh(W [c; s] + b), Luong et al. 2015
    "tanh": Readout("ysc", 1, torch.tanh),        # tanh(W [y; s; c] + b), Nematus and Marian
    "concat": Readout("cs", 0, nn.Identity()),    # [c; s] itself
    # Maximum of each pair of W [y; s; c] + b, Bahdanau et al. 2015, A.2.2.
    "maxout": Readout("ysc", 2, _maxout),
    "linear": Readout("cs", 1, nn.Identity()),    # W [c; s] + b, OpenNMT-py with its mlp attention
    "state": Readout("s", 0, nn.Identity()),      # s itself: the context is read by a cell alone
}


class Parts(nn.Linear):
    """W [y; s; c] + b. sizes: the size of each part by its letter. With normalisation, the sum of each part's product
    with its columns of W, with a bias and norm of its own."""

    def __init__(self, sizes: dict[str, int], units: int, normalization: str) -> None:
        super().__init__(sum(sizes.values()), units, bias=normalization == "none")
        self.sizes = sizes
        self.norms = nn.ModuleDict({part: Norm(normalization, units) for part in sizes} if normalization != "none"
                                   else {})
        self.biases = nn.ParameterDict({part: nn.Parameter(torch.zeros(units)) for part in self.norms})

    def forward(self, x: Tensor) -> Tensor:
        """x: the parts, concatenated."""
        if not self.norms:
            return super().forward(x)
        sizes = list(self.sizes.values())
        products = [functional.linear(part, columns, self.biases[name])
                    for name, part, columns in zip(self.sizes, x.split(sizes, dim=-1), self.weight.split(sizes, dim=1))]
        return sum(norm(product) for norm, product in zip(self.norms.values(), products))

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"readout.weight": self.weight} | ({} if self.norms else {"readout.bias": self.bias})
        for part, norm in self.norms.items():
            tensors[f"readout.bias.{part}"] = self.biases[part]
            tensors |= norm.named_tensors(f"readout.gain.{part}", f"readout.shift.{part}")
        return tensors


class Decoder(nn.Module):
    """The parts that all styles share: embedding, stacked cells, initial state, readout. Each style defines `step`.

    Residual: as in the encoder. The readout, and a query from the top layer, read the layer's output.
    """

    reads_context = False  # the first layer reads [y; c]
    second_cell = False    # the first layer has a second cell

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        decoder = config["decoder"]
        self.config = decoder
        self.attention = Attention(config) if config["attention"] else None
        self.embedding = nn.Embedding(vocabulary, decoder["embedding"])
        size, context, hidden = annotation_size(config), context_size(config), decoder["hidden"]
        more = readout_size(config) if decoder["input_feeding"] else context if self.reads_context else 0
        self.layers = nn.ModuleList(
            self.cell(decoder["embedding"] + more if i == 0 else hidden, i, self.second_cell)
            for i in range(decoder["layers"]))
        self.initial = nn.ModuleList(
            nn.Linear(size, hidden) for _ in range(decoder["layers"] if decoder["initial_projection"] else 0))
        self.initial_norms = nn.ModuleList(Norm(decoder["normalization"], hidden) for _ in self.initial)
        self.reads = READOUTS[decoder["readout"]]
        sizes = {"y": decoder["embedding"], "s": hidden, "c": context}
        parts, units = {part: sizes[part] for part in self.reads.parts}, self.reads.units * decoder["readout_size"]
        self.readout = Parts(parts, units, decoder["normalization"]) if units else None
        self.readout_size = readout_size(config)
        self.dropout = Dropout(dropout)

    def cell(self, inputs: int, layer: int, followed: bool = False) -> nn.Module:
        """A cell of this layer. If the layer's second cell follows, that one has the transitions."""
        decoder = self.config
        transitions = decoder["upper_transitions"] if layer > 0 else 0 if followed else decoder["transitions"]
        return recurrent(decoder["cell"], inputs, decoder["hidden"], decoder["normalization"], transitions)

    def embed(self, tokens: Tensor, first: bool) -> Tensor:
        """tokens [...] -> embeddings. The first input is the embedding of bos or eos, or a zero vector; a temporary id
        (weights/model/copies.py) is embedded as <unk>."""
        if first and self.config["first_input"] in FIRST_IDS:
            tokens = torch.full_like(tokens, FIRST_IDS[self.config["first_input"]])
        y = self.embedding(tokens.masked_fill(tokens >= self.embedding.num_embeddings, UNK))
        return torch.zeros_like(y) if first and self.config["first_input"] == "zero" else y

    def memory(self, annotations: Tensor, lengths: Tensor, finals: list[State]) -> Memory:
        return self.attention.memory(annotations, lengths)

    def start(self, memory: Memory, finals: list[State]) -> DecoderState:
        """The state before the first target token. LSTM cell states start at zero, unless they are the encoder's final
        ones or, with initial_cell state, equal h."""
        batch, hidden = memory.annotations.shape[0], self.config["hidden"]
        zero = memory.annotations.new_zeros(batch, hidden)
        states = CELLS[self.config["cell"]].states
        kind = self.config["initial_state"]
        layers: list[State] = []
        for i in range(self.config["layers"]):
            if kind == "zero":
                layer = (zero,) * states
            elif kind == "last" and not self.initial:
                layer = finals[i]
            else:
                if kind == "last":
                    summary = finals[-1][0]
                else:
                    weights = (memory.mask / memory.mask.sum(1, keepdim=True)).to(memory.annotations)
                    summary = (weights[:, None] @ memory.annotations)[:, 0]
                h = torch.tanh(self.initial_norms[i](self.initial[i](summary))) if self.initial else summary
                layer = (h,) + (h if self.config["initial_cell"] == "state" else zero,) * (states - 1)
            layers.append(layer)
        feed = memory.annotations.new_zeros(batch, self.readout_size) if self.config["input_feeding"] else None
        return DecoderState(layers, feed, self.attention.start(memory) if self.attention else None)

    def added(self, state: DecoderState) -> list[State]:
        """The state of each layer after the last step, [B, H] each."""
        return state.layers

    def read(self, y: Tensor, s: Tensor, c: Tensor) -> Tensor:
        """y [.., E], s [.., H], c [.., C] -> readout [.., O]."""
        x = torch.cat([{"y": y, "s": s, "c": c}[part] for part in self.reads.parts], dim=-1)
        return self.reads.activate(self.readout(self.dropout(x))) if self.readout is not None else x

    def put_out(self, i: int, h: Tensor, x: Tensor) -> Tensor:
        """The output of layer i with input x."""
        return h + x if self.config["residual"] and i > 0 else h

    def stack(self, x: Tensor, state: DecoderState, first: int = 0) -> tuple[list[State], Tensor]:
        """Advances the layers from `first` on by one step. x [B, in] -> their states, the output of the top layer [B,
        H]."""
        layers = []
        for i in range(first, len(self.layers)):
            layers.append(self.layers[i].step(self.dropout(x), state.layers[i]))
            x = self.put_out(i, layers[-1][0], x)
        return layers, x

    def sequence(self, x: Tensor, state: DecoderState) -> Tensor:
        """Runs all layers over all steps. x [B, S, in] -> the output of the top layer [B, S, H]."""
        for i, (layer, old) in enumerate(zip(self.layers, state.layers)):
            x = self.put_out(i, layer.sequence(self.dropout(x), old), x)
        return x

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        """y [B, E] -> the inputs of the output for this step (tensors without S), next state."""
        raise NotImplementedError

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        """Teacher forcing: y [B, S, E] -> the inputs of the output for all steps."""
        steps = []
        for i in range(y.shape[1]):
            reads, state = self.step(y[:, i], state, memory)
            steps.append(reads)
        return Reads(*(torch.stack(parts, 1) for parts in zip(*steps)))

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"decoder.embedding": self.embedding.weight}
        for i, layer in enumerate(self.layers):
            tensors |= layer.named_tensors(f"decoder.layers.{i}.")
        for i, (projection, norm) in enumerate(zip(self.initial, self.initial_norms)):
            tensors |= {f"decoder.initial.{i}.weight": projection.weight, f"decoder.initial.{i}.bias": projection.bias}
            tensors |= norm.named_tensors(f"decoder.initial.{i}.gain", f"decoder.initial.{i}.shift")
        if self.readout is not None:
            tensors |= self.readout.named_tensors()
        return tensors | self.attention.named_tensors() if self.attention else tensors


class Luong(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}); c_t from score(s_t, h); readout of [c_t; s_t].
    Input feeding: f also reads h~_{t-1}."""

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        x = y if state.feed is None else torch.cat([y, state.feed], dim=-1)
        layers, s = self.stack(x, state)
        c, weights = self.attention(s[:, None], memory, state.past)
        c, weights = c[:, 0], weights[:, 0]
        out = self.read(y, s, c)
        return Reads(out, s, y, weights), DecoderState(layers, None if state.feed is None else out,
                                                       state.past.after(weights))

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        if state.feed is not None:
            return super().teach(y, state, memory)
        s = self.sequence(y, state)  # no feedback from the attention, so all steps at once
        c, weights = self.attention(s, memory, state.past)
        return Reads(self.read(y, s, c), s, y, weights)


class Conditional(Decoder):
    """s' = cell1(s, y); c from score(s', h); s = cell2(s', c) (Nematus, Marian); further layers are stacked on s."""

    second_cell = True

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__(config, vocabulary, dropout)
        self.conditional = self.cell(context_size(config), 0)

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        middle = self.layers[0].step(self.dropout(y), state.layers[0])
        c, weights = self.attention(middle[0][:, None], memory, state.past)
        c, weights = c[:, 0], weights[:, 0]
        bottom = self.conditional.step(c, middle)
        layers, s = self.stack(bottom[0], state, 1)
        return Reads(self.read(y, s, c), s, y, weights), DecoderState([bottom, *layers], None,
                                                                      state.past.after(weights))

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | self.conditional.named_tensors("decoder.conditional.")


class Bahdanau(Decoder):
    """c_i from score(s_{i-1}, h); s_i = f(s_{i-1}, [y_{i-1}; c_i]) (Bahdanau et al. 2015). With several layers, s_{i-1}
    is the state of the first, which reads the context, or with `query` top that of the last."""

    reads_context = True

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        asking = state.layers[-1 if self.config["query"] == "top" else 0]
        c, weights = self.attention(asking[0][:, None], memory, state.past)
        c, weights = c[:, 0], weights[:, 0]
        layers, s = self.stack(torch.cat([y, c], dim=-1), state)
        return Reads(self.read(y, s, c), s, y, weights), DecoderState(layers, None, state.past.after(weights))


class Fixed(Decoder):
    """No attention: the same c for all steps, the final h of the encoder's top layer (Cho et al. 2014), which is the
    only entry of the memory."""

    reads_context = True

    def memory(self, annotations: Tensor, lengths: Tensor, finals: list[State]) -> Memory:
        c = finals[-1][0][:, None]
        return Memory(c, c[:, :0], c, torch.ones_like(c[:, :, 0], dtype=torch.bool))

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        c = memory.values[:, 0]
        layers, s = self.stack(torch.cat([y, c], dim=-1), state)
        return Reads(self.read(y, s, c), s, y, y[:, :0]), DecoderState(layers, None, None)

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        c = memory.values.expand(-1, y.shape[1], -1)
        s = self.sequence(torch.cat([y, c], dim=-1), state)
        return Reads(self.read(y, s, c), s, y, y[:, :, :0])


STYLES: dict[str, type[nn.Module]] = {"luong": Luong, "conditional": Conditional, "bahdanau": Bahdanau, "fixed": Fixed,
                                      "transformer": TransformerDecoder}


class Speller(nn.Module):
    """Spells a word from the readout of the step that chose <unk>: an LSTM over characters whose first h is the readout
    and whose first c is zero (Luong and Manning 2016, section 3.4)."""

    LONGEST = 40  # characters

    def __init__(self, config: dict, characters: int) -> None:
        super().__init__()
        embedding, size = config["output"]["character_embedding"], readout_size(config)
        self.embedding = nn.Embedding(characters, embedding)
        self.cell = recurrent("lstm", embedding, size)
        self.output = nn.Linear(size, characters)

    def forward(self, readouts: Tensor, inputs: Tensor) -> Tensor:
        """readouts [N, O], inputs [N, S] (characters, beginning with <s>) -> logits of the next characters [N, S,
        C]."""
        return self.output(self.cell.sequence(self.embedding(inputs), (readouts, torch.zeros_like(readouts))))

    @torch.no_grad()
    def spell(self, readout: Tensor) -> list[int]:
        """readout [O] -> the characters by greedy search, never <unk> or <s>."""
        state, word = (readout[None], torch.zeros_like(readout[None])), [BOS]
        while len(word) <= self.LONGEST:
            state = self.cell.step(self.embedding(torch.tensor(word[-1:], device=readout.device)), state)
            logits = self.output(state[0])[0]
            logits[[UNK, BOS]] = float("-inf")
            if (character := int(logits.argmax())) == EOS:
                break
            word.append(character)
        return word[1:]

    def named_tensors(self) -> dict[str, Tensor]:
        return {"speller.embedding": self.embedding.weight, "speller.output.weight": self.output.weight,
                "speller.output.bias": self.output.bias} | self.cell.named_tensors("speller.")


class AlignmentHead(nn.Module):
    """The alignment head, which attends to the source after a word has been chosen: softmax_j of q_i . k_j, q_i = W
    [e(y_i); s_i] + b of the embedding of token i itself and the top state that chose it, k_j = U [h_j; e(x_j)] of
    annotation and embedding of source token j. Trained when all else is done (weights/alignment/align_head.py): nothing
    else reads it."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        size, decoder = config["alignment"]["size"], config["decoder"]
        self.query = nn.Linear(decoder["embedding"] + decoder["hidden"], size)
        self.key = nn.Linear(annotation_size(config) + config["encoder"]["embedding"], size, bias=False)

    def keys(self, annotations: Tensor, embeddings: Tensor) -> Tensor:
        """annotations [B, T, D], embeddings [B, T, E] of the source tokens -> [B, T, size]."""
        return self.key(torch.cat([annotations, embeddings], dim=-1))

    def forward(self, embeddings: Tensor, states: Tensor, memory: Memory) -> Tensor:
        """embeddings [B, S, E] of the chosen tokens, states [B, S, H] that chose them -> [B, S, T]."""
        e = self.query(torch.cat([embeddings, states], dim=-1)) @ memory.alignment_keys.transpose(1, 2)
        return torch.softmax(e.masked_fill(~memory.mask[:, None], float("-inf")), dim=-1)

    def named_tensors(self) -> dict[str, Tensor]:
        return {"alignment.query.weight": self.query.weight, "alignment.query.bias": self.query.bias,
                "alignment.key.weight": self.key.weight}


class Model(nn.Module):
    """A whole model. config: validated (weights/model/config.py). source, target: vocabulary sizes. characters: the
    size of the speller's vocabulary, 0 unless the output's type is characters."""

    def __init__(self, config: dict, source: int, target: int, dropout: float = 0.0, characters: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = (ENCODERS | {"transformer": TransformerEncoder})[config["encoder"]["type"]](config, source,
                                                                                                   dropout)
        self.decoder = STYLES[config["decoder"]["style"]](config, target, dropout)
        self.output = OUTPUTS[config["output"]["type"]](config, target)
        if config["encoder"]["embedding_shared"]:
            self.encoder.embedding.weight = self.decoder.embedding.weight
        if config["output"]["tied"]:
            self.output.weight = self.decoder.embedding.weight
        self.speller = Speller(config, characters) if characters else None
        self.head = AlignmentHead(config) if config["alignment"]["size"] else None
        self.dropout = Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, words: Tensor | None = None) -> tuple[Memory, DecoderState]:
        """ids [B, T], lengths [B] (on the CPU), words [B, T] for copying outputs -> the decoder's memory and its first
        state."""
        annotations, finals = self.encoder(ids, lengths)
        memory = self.decoder.memory(annotations, lengths, finals)
        memory.words = words
        memory.alignment_keys = self.head.keys(annotations, self.encoder.embedding(ids)) if self.head else None
        return memory, self.decoder.start(memory, finals)

    def look(self, tokens: Tensor, first: bool, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        """tokens [B] -> the inputs of the output for this step, next state."""
        y = self.decoder.embed(tokens, first)
        reads, state = self.decoder.step(y, state, memory)
        return Reads(*(part[:, None] for part in reads)), state

    def step(self, tokens: Tensor, first: bool, state: DecoderState,
             memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        """tokens [B] -> log-probabilities [B, V] (with temporary ids: V + X), next state, attention [B, T]."""
        reads, state = self.look(tokens, first, state, memory)
        return self.output.log_probs(reads, memory)[:, 0], state, reads.weights[:, 0]

    def teach(self, inputs: Tensor, state: DecoderState, memory: Memory) -> Reads:
        """inputs [B, S] (begins with bos) -> the inputs of the output for all steps."""
        y = torch.cat([self.decoder.embed(inputs[:, :1], True), self.decoder.embed(inputs[:, 1:], False)], dim=1)
        return self.decoder.teach(y, state, memory)

    def align(self, tokens: Tensor, states: Tensor, memory: Memory) -> Tensor:
        """tokens [B, S], states [B, S, H] that chose them (Reads.states) -> the head's soft alignment [B, S, T]."""
        return self.head(self.decoder.embed(tokens, False), states, memory)

    def readouts(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """inputs [B, S] (begins with bos) -> readouts [B, S, O], which a vocabulary output turns into logits,
        and attention [B, S, T]."""
        memory, state = self.encode(source, lengths)
        reads = self.teach(inputs, state, memory)
        return reads.readouts, reads.weights

    def named_tensors(self) -> dict[str, Tensor]:
        """Every parameter under its name in model.safetensors; matrices are [out, in]."""
        tensors = self.encoder.named_tensors() | self.decoder.named_tensors() | self.output.named_tensors()
        tensors |= self.speller.named_tensors() if self.speller else {}
        tensors |= self.head.named_tensors() if self.head else {}
        if self.config["encoder"]["embedding_shared"]:
            del tensors["encoder.embedding"]
        if self.config["output"]["tied"]:
            del tensors["output.weight"]
        return tensors
