"""Models as students have them, for weights.conversion.state_dict: with the names and the forward passes of JoeyNMT
(recurrent, transformer), of PyTorch's tutorial on translation, and of d2l.ai's chapter on Bahdanau's attention, written
from their architectures. Each has `joints(checkpoint, source, target)`, for --check, and `greedy`."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def words(count: int, special: list[str], letter: str) -> list[str]:
    """Without digits, whose absence in a translation alignd would mend."""
    return special + [letter + chr(ord("a") + i % 26) + "eo"[i // 26] for i in range(count - len(special))]


def collected(steps: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([step[name] for step in steps]) for name in steps[0]}


class Scores(nn.Module):
    """e_j = v . tanh(W q + U k_j), whatever its matrices are called."""

    def __init__(self, names: tuple[str, str, str], query: int, key: int, size: int, bias: bool) -> None:
        super().__init__()
        self.names = names
        for name, inputs, out in zip(names, (query, key, size), (size, size, 1)):
            setattr(self, name, nn.Linear(inputs, out, bias=bias))

    def forward(self, query: Tensor, keys: Tensor) -> dict[str, Tensor]:
        """query [Q], keys [T, K] -> energies and attention [T], context [K]."""
        w, u, v = (getattr(self, name) for name in self.names)
        energies = v(torch.tanh(w(query)[None] + u(keys)))[:, 0]
        attention = torch.softmax(energies, dim=0)
        return {"energies": energies, "attention": attention, "context": attention @ keys}


class Student(nn.Module):
    """bos, eos: their ids in the target vocabulary."""

    bos, eos = 2, 3

    def begin(self, source: list[int]) -> tuple[Tensor, dict]:
        """-> annotations [T, D], and all that a step needs and changes, with `initial`."""
        raise NotImplementedError

    def step(self, token: int, annotations: Tensor, state: dict) -> dict[str, Tensor]:
        raise NotImplementedError

    @torch.no_grad()
    def run(self, source: list[int], target: list[int]) -> dict[str, Tensor]:
        annotations, state = self.begin(source)
        initial = {"initial": state["initial"]} if "initial" in state else {}
        return {"encoder": annotations, **initial,
                **collected([self.step(token, annotations, state) for token in target])}

    @torch.no_grad()
    def greedy(self, source: list[int], longest: int) -> tuple[list[int], Tensor]:
        """-> the words without </s>, and the attention of each, and of </s>."""
        annotations, state = self.begin(source)
        token, out, rows = self.bos, [], []
        while len(out) < longest:
            step = self.step(token, annotations, state)
            token = int(step["logits"].argmax())
            rows.append(step["attention"])
            if token == self.eos:
                break
            out.append(token)
        return out, torch.stack(rows)

    @property
    def output(self) -> nn.Linear:
        return next(part for name, part in self.decoder.named_children() if name in ("output_layer", "out", "dense"))

    def checkpoint(self) -> dict:
        return self.state_dict()


# ---- JoeyNMT ----

class JoeyBase(Student):
    def __init__(self, source: int, target: int, size: int) -> None:
        super().__init__()
        self.src_embed, self.trg_embed, self.encoder, self.decoder = (nn.Module() for _ in range(4))
        self.src_embed.lut, self.trg_embed.lut = nn.Embedding(source, size), nn.Embedding(target, size)

    def checkpoint(self) -> dict:
        """What JoeyNMT saves, with the state of its optimiser beside the model's."""
        moments = {0: {"exp_avg": torch.zeros(3)}}
        return {"steps": 100, "model_state": self.state_dict(), "optimizer_state": {"state": moments}}


class JoeyRecurrent(JoeyBase):
    """Two bidirectional layers; the decoder is fed its attention vector; a bridge makes its first state."""

    def __init__(self, source: int, target: int, cell: str = "LSTM", embedding: int = 64, hidden: int = 64,
                 layers: int = 2) -> None:
        super().__init__(source, target, embedding)
        rnn = getattr(nn, cell)
        self.encoder.rnn = rnn(embedding, hidden, layers, batch_first=True, bidirectional=True)
        self.decoder.rnn = rnn(embedding + hidden, hidden, layers, batch_first=True)
        self.decoder.att_vector_layer = nn.Linear(3 * hidden, hidden)
        self.decoder.output_layer = nn.Linear(hidden, target, bias=False)
        self.decoder.attention = Scores(("query_layer", "key_layer", "energy_layer"), hidden, 2 * hidden, hidden, False)
        self.decoder.bridge_layer = nn.Linear(2 * hidden, hidden)
        self.two = cell == "LSTM"

    def begin(self, source: list[int]) -> tuple[Tensor, dict]:
        annotations, last = self.encoder.rnn(self.src_embed.lut(torch.tensor([source])))
        top = (last[0] if self.two else last)[-2:, 0].flatten()
        h = torch.tanh(self.decoder.bridge_layer(top)).repeat(self.decoder.rnn.num_layers, 1)
        return annotations[0], {"initial": h, "hidden": (h[:, None], h[:, None]) if self.two else h[:, None],
                                "fed": torch.zeros(h.shape[1])}

    def step(self, token: int, annotations: Tensor, state: dict) -> dict[str, Tensor]:
        read = torch.cat([self.trg_embed.lut(torch.tensor(token)), state["fed"]])
        _, state["hidden"] = self.decoder.rnn(read[None, None], state["hidden"])
        h = (state["hidden"][0] if self.two else state["hidden"])[-1, 0]
        looked = self.decoder.attention(h, annotations)
        state["fed"] = torch.tanh(self.decoder.att_vector_layer(torch.cat([h, looked["context"]])))
        return looked | {"state": h, "logits": self.decoder.output_layer(state["fed"])}


class JoeyHeads(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        for name in ("k_layer", "v_layer", "q_layer", "output_layer"):
            setattr(self, name, nn.Linear(size, size))

    def forward(self, query: Tensor, memory: Tensor, causal: bool = False) -> tuple[Tensor, Tensor]:
        """query [S, d], memory [T, d] -> [S, d], weights [heads, S, T]."""
        q, k, v = (layer(x).unflatten(1, (self.heads, -1)).transpose(0, 1)
                   for layer, x in ((self.q_layer, query), (self.k_layer, memory), (self.v_layer, memory)))
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        if causal:
            scores = scores + torch.full(scores.shape[1:], float("-inf")).triu(1)
        weights = torch.softmax(scores, dim=-1)
        return self.output_layer((weights @ v).transpose(0, 1).flatten(1)), weights


class JoeyFilter(nn.Module):
    def __init__(self, size: int, middle: int) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(size, eps=1e-6)
        self.pwff_layer = nn.Sequential(nn.Linear(size, middle), nn.ReLU(), nn.Dropout(0.1), nn.Linear(middle, size),
                                        nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pwff_layer(self.layer_norm(x))


class JoeyTransformer(JoeyBase):
    """Norms before the blocks and on top of both stacks; interleaved sinusoids in a buffer."""

    LONGEST = 5000

    def __init__(self, source: int, target: int, size: int = 64, middle: int = 128, heads: int = 4,
                 layers: int = 3) -> None:
        super().__init__(source, target, size)
        for stack, attentions, norms in ((self.encoder, ["src_src_att"], ["layer_norm"]),
                                         (self.decoder, ["trg_trg_att", "src_trg_att"],
                                          ["x_layer_norm", "dec_layer_norm"])):
            stack.layers = nn.ModuleList(nn.Module() for _ in range(layers))
            for layer in stack.layers:
                for attention, norm in zip(attentions, norms):
                    setattr(layer, attention, JoeyHeads(size, heads))
                    setattr(layer, norm, nn.LayerNorm(size, eps=1e-6))
                layer.feed_forward = JoeyFilter(size, middle)
            stack.layer_norm, stack.pe = nn.LayerNorm(size, eps=1e-6), nn.Module()
            stack.pe.register_buffer("pe", self.positions(size))
        self.decoder.output_layer = nn.Linear(size, target, bias=False)
        self.size = size

    @classmethod
    def positions(cls, size: int) -> Tensor:
        angles = torch.arange(cls.LONGEST)[:, None] * torch.exp(torch.arange(0, size, 2) * -(math.log(10000.0) / size))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[None]

    def embedded(self, stack: nn.Module, table: nn.Embedding, ids: list[int]) -> Tensor:
        return table(torch.tensor(ids)) * math.sqrt(self.size) + stack.pe.pe[0, :len(ids)]

    def begin(self, source: list[int]) -> tuple[Tensor, dict]:
        x = self.embedded(self.encoder, self.src_embed.lut, source)
        for layer in self.encoder.layers:
            u = layer.layer_norm(x)
            x = layer.feed_forward(x + layer.src_src_att(u, u)[0])
        return self.encoder.layer_norm(x), {"read": []}

    def step(self, token: int, annotations: Tensor, state: dict) -> dict[str, Tensor]:
        state["read"].append(token)
        x = self.embedded(self.decoder, self.trg_embed.lut, state["read"])
        for layer in self.decoder.layers:
            u = layer.x_layer_norm(x)
            x = x + layer.trg_trg_att(u, u, causal=True)[0]
            y, weights = layer.src_trg_att(layer.dec_layer_norm(x), annotations)
            x = layer.feed_forward(x + y)
        x = self.decoder.layer_norm(x)[-1]
        return {"attention": weights[0, -1], "state": x, "logits": self.decoder.output_layer(x)}


# ---- PyTorch's tutorial ----

class Tutorial(Student):
    """A GRU encoder; a decoder that looks with its last state and reads [embedding; context]. It saves two modules."""

    bos, eos = 0, 1

    def __init__(self, source: int, target: int, hidden: int = 128) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.embedding, self.decoder.embedding = nn.Embedding(source, hidden), nn.Embedding(target, hidden)
        self.encoder.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder.attention = Scores(("Wa", "Ua", "Va"), hidden, hidden, hidden, True)
        self.decoder.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.decoder.out = nn.Linear(hidden, target)
        self.decoder.dropout = nn.Dropout(0.1)
        self.eval()

    def begin(self, source: list[int]) -> tuple[Tensor, dict]:
        annotations, hidden = self.encoder.gru(self.encoder.embedding(torch.tensor([source])))
        return annotations[0], {"initial": hidden[:, 0], "hidden": hidden}

    def step(self, token: int, annotations: Tensor, state: dict) -> dict[str, Tensor]:
        looked = self.decoder.attention(state["hidden"][-1, 0], annotations)
        y = self.decoder.dropout(self.decoder.embedding(torch.tensor(token)))
        out, state["hidden"] = self.decoder.gru(torch.cat([y, looked["context"]])[None, None], state["hidden"])
        return looked | {"state": out[0, 0], "logits": self.decoder.out(out[0, 0])}

    def checkpoint(self) -> dict:
        return {"encoder": self.encoder.state_dict(), "decoder": self.decoder.state_dict()}


# ---- d2l.ai ----

class D2l(Student):
    """Two GRU layers on each side; every source is padded, and the encoder reads the padding; the top layer's last
    state looks, and the first layer reads [context; embedding]."""

    STEPS, PAD = 9, 3
    bos, eos = 0, 1

    def __init__(self, source: int, target: int, embedding: int = 256, hidden: int = 256, layers: int = 2) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.embedding = nn.Embedding(source, embedding)
        self.decoder.embedding = nn.Embedding(target, embedding)
        self.encoder.rnn = nn.Module()
        self.encoder.rnn.rnn = nn.GRU(embedding, hidden, layers)
        self.decoder.attention = Scores(("W_q", "W_k", "w_v"), hidden, hidden, hidden, False)
        self.decoder.rnn = nn.GRU(embedding + hidden, hidden, layers)
        self.decoder.dense = nn.Linear(hidden, target)

    def begin(self, source: list[int]) -> tuple[Tensor, dict]:
        padded = source + [self.PAD] * (self.STEPS - len(source))
        annotations, hidden = self.encoder.rnn.rnn(self.encoder.embedding(torch.tensor(padded))[:, None])
        return annotations[:len(source), 0], {"initial": hidden[:, 0], "hidden": hidden}

    def step(self, token: int, annotations: Tensor, state: dict) -> dict[str, Tensor]:
        looked = self.decoder.attention(state["hidden"][-1, 0], annotations)
        read = torch.cat([looked["context"], self.decoder.embedding(torch.tensor(token))])
        out, state["hidden"] = self.decoder.rnn(read[None, None], state["hidden"])
        return looked | {"state": out[0, 0], "logits": self.decoder.dense(out[0, 0])}


# ---- what the command calls ----

def restored(kind: type[Student], state: dict) -> Student:
    source, target = (state[name].shape[0] for name in state if name.endswith(("lut.weight", "embedding.weight")))
    model = kind(source, target)
    model.load_state_dict(state)
    return model.eval()


def joey_recurrent(checkpoint: dict, source: list[int], target: list[int]) -> dict[str, Tensor]:
    return restored(JoeyRecurrent, checkpoint["model_state"]).run(source, target)


def joey_transformer(checkpoint: dict, source: list[int], target: list[int]) -> dict[str, Tensor]:
    return restored(JoeyTransformer, checkpoint["model_state"]).run(source, target)


def tutorial(checkpoint: dict, source: list[int], target: list[int]) -> dict[str, Tensor]:
    state = {f"{side}.{name}": tensor for side, tensors in checkpoint.items() for name, tensor in tensors.items()}
    return restored(Tutorial, state).run(source, target)


def d2l(checkpoint: dict, source: list[int], target: list[int]) -> dict[str, Tensor]:
    return restored(D2l, checkpoint).run(source, target)
