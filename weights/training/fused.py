"""Fast training on one core: the recurrences of a conditional GRU model, step by step, forward and backward. PyTorch
computes the matrix products, C the element-wise rest (weights/training/kernels.py).

Input: a Model that `supported` accepts, and a batch of padded ids. Output: the same loss and gradients as with the
model's own `teach`, several times faster. Activations are bfloat16 if the processor has instructions for it
(`avx512_bf16`), else float32; weights, carried states and sums are float32. Dropout is in the same places as in the
model, except between the layers of the decoder's two cells.

Letters as in weights/model/network.py; everything here is time-major: [S, B, ...].
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .kernels import Dropped, Kernels, processor_multiplies_bfloat16
from ..model.network import Model


def product_of(gradient: Tensor, x: Tensor) -> Tensor:
    """gradient [.., out], x [.., in] -> the weight's gradient [out, in], float32."""
    return torch.mm(gradient.flatten(0, -2).t(), x.flatten(0, -2)).float()


class Cell(NamedTuple):
    """A GRU cell's weights: input [3H, in] and state [3H, H] in the activations' type, the biases in float32."""

    input: Tensor
    state: Tensor
    bias_input: Tensor
    bias_state: Tensor


class Layer(torch.autograd.Function):
    """A GRU over a sequence, from an initial state of zero: x [S, B, in] -> h [S, B, H]."""

    @staticmethod
    def forward(context, kernels: Kernels, x: Tensor, *weights: Tensor) -> Tensor:
        cell = Cell(weights[0].to(kernels.dtype), weights[1].to(kernels.dtype), weights[2].detach(),
                    weights[3].detach())
        steps, rows, hidden = x.shape[0], x.shape[1], cell.state.shape[1]
        read = torch.mm(x.flatten(0, 1), cell.input.t()).view(steps, rows, -1)
        past = torch.empty_like(read)
        states = x.new_zeros(steps + 1, rows, hidden)
        carried = x.new_zeros(rows, hidden, dtype=torch.float32)
        turned = cell.state.t()
        for t in range(steps):
            torch.mm(states[t], turned, out=past[t])
            kernels.call("gru_forward", rows, hidden, read[t], past[t], cell.bias_input, cell.bias_state, carried,
                         states[t + 1])
        context.kernels, context.cell = kernels, cell
        context.save_for_backward(x, read, past, states)
        return states[1:]

    @staticmethod
    def backward(context, gradient: Tensor):
        kernels, cell = context.kernels, context.cell
        x, read, past, states = context.saved_tensors
        steps, rows, hidden = x.shape[0], x.shape[1], cell.state.shape[1]
        gradient = gradient.contiguous()
        of_read, of_past = torch.empty_like(read), torch.empty_like(past)
        carried, through = x.new_zeros(rows, hidden, dtype=torch.float32), x.new_zeros(rows, hidden)
        for t in reversed(range(steps)):
            kernels.call("gru_backward", rows, hidden, read[t], past[t], cell.bias_input, cell.bias_state, states[t],
                         gradient[t], through, carried, of_read[t], of_past[t])
            torch.mm(of_past[t], cell.state, out=through)
        of_x = torch.mm(of_read.flatten(0, 1), cell.input).view_as(x)
        return (None, of_x, product_of(of_read, x), product_of(of_past, states[:-1]), kernels.columns(of_read),
                kernels.columns(of_past))


class Decoding(torch.autograd.Function):
    """A conditional decoder's recurrence: s' = cell1(y, s), attention of s' over the keys, s = cell2(c, s').

    read [S, B, 3H]: W y of cell1 without its bias; first [B, H] (float32); keys [B, T, H], values [B, T, C]; lengths
    [B]. -> s [S, B, H], c [S, B, C], a [S, B, T] (float32).
    """

    @staticmethod
    def forward(context, kernels: Kernels, lengths: Tensor, read: Tensor, first: Tensor, keys: Tensor, values: Tensor,
                *weights: Tensor):
        one = Cell(weights[0], weights[0].to(kernels.dtype), weights[1].detach(), weights[2].detach())
        two = Cell(weights[3].to(kernels.dtype), weights[4].to(kernels.dtype), weights[5].detach(), weights[6].detach())
        steps, rows, hidden = read.shape[0], read.shape[1], one.state.shape[1]
        tokens, size = keys.shape[1], values.shape[2]
        keys, values = keys.contiguous(), values.contiguous()
        past, seen, kept = (torch.empty_like(read) for _ in range(3))
        states, middle = read.new_empty(steps + 1, rows, hidden), read.new_empty(steps, rows, hidden)
        contexts, attention = read.new_empty(steps, rows, size), first.new_empty(steps, rows, tokens)
        carried, room = first.detach().clone().contiguous(), first.new_empty(size)
        states[0] = carried
        for t in range(steps):
            torch.mm(states[t], one.state.t(), out=past[t])
            kernels.call("gru_forward", rows, hidden, read[t], past[t], one.bias_input, one.bias_state, carried,
                         middle[t])
            kernels.call("attend_forward", rows, tokens, hidden, size, carried, keys, values, lengths, attention[t],
                         contexts[t], room)
            torch.mm(contexts[t], two.input.t(), out=seen[t])
            torch.mm(middle[t], two.state.t(), out=kept[t])
            kernels.call("gru_forward", rows, hidden, seen[t], kept[t], two.bias_input, two.bias_state, carried,
                         states[t + 1])
        context.kernels, context.cells, context.lengths = kernels, (one, two), lengths
        context.save_for_backward(read, past, seen, kept, states, middle, contexts, attention, keys, values)
        return states[1:], contexts, attention

    @staticmethod
    def backward(context, of_states: Tensor, of_contexts: Tensor, of_attention: Tensor):
        kernels, (one, two), lengths = context.kernels, context.cells, context.lengths
        read, past, seen, kept, states, middle, contexts, attention, keys, values = context.saved_tensors
        steps, rows, hidden = read.shape[0], read.shape[1], one.state.shape[1]
        tokens, size = keys.shape[1], values.shape[2]
        of_states, of_contexts, of_attention = (of_states.contiguous(), of_contexts.contiguous(),
                                                of_attention.contiguous())
        of_read, of_past, of_seen, of_kept = (torch.empty_like(read) for _ in range(4))
        of_scores = read.new_empty(steps, rows, tokens)
        reached = torch.empty_like(contexts)  # the whole gradient of c
        carried, room, lead = (attention.new_zeros(shape) for shape in ((rows, hidden), (size,), (tokens,)))
        through, none = read.new_zeros(rows, hidden), None
        for t in reversed(range(steps)):
            kernels.call("gru_backward", rows, hidden, seen[t], kept[t], two.bias_input, two.bias_state, middle[t],
                         of_states[t], through, carried, of_seen[t], of_kept[t])
            torch.mm(of_seen[t], two.input, out=reached[t])
            torch.mm(of_kept[t], two.state, out=through)
            kernels.call("attend_backward", rows, tokens, hidden, size, keys, values, lengths, attention[t], reached[t],
                         of_contexts[t], of_attention[t], of_scores[t], carried, room, lead)
            kernels.call("gru_backward", rows, hidden, read[t], past[t], one.bias_input, one.bias_state, states[t],
                         none, through, carried, of_read[t], of_past[t])
            torch.mm(of_past[t], one.state, out=through)
        of_first = carried + through.float()
        scores, weights = of_scores.permute(1, 2, 0), attention.to(kernels.dtype).permute(1, 2, 0)  # [B, T, S]
        of_keys, of_values = torch.bmm(scores, middle.transpose(0, 1)), torch.bmm(weights, reached.transpose(0, 1))
        return (None, None, of_read, of_first, of_keys, of_values, product_of(of_past, states[:-1]),
                kernels.columns(of_read), kernels.columns(of_past),
                product_of(of_seen, contexts), product_of(of_kept, middle), kernels.columns(of_seen),
                kernels.columns(of_kept))


class CrossEntropy(torch.autograd.Function):
    """Label-smoothed cross-entropy of readouts [N, E] against wanted [N], summed, through the output layer with weight
    [V, E] and bias [V]. Returns this loss, and without gradient the plain loss. The forward pass computes the
    gradients, `kernels.rows` rows at a time, so that [N, V] need not be kept."""

    @staticmethod
    def forward(context, kernels: Kernels, readouts: Tensor, weight: Tensor, bias: Tensor, wanted: Tensor,
                smoothing: float):
        turned = weight.to(kernels.dtype)
        room, plain = bias.new_empty(len(bias)), bias.new_zeros((), dtype=torch.float64)
        of_readouts, of_weight, of_bias = torch.empty_like(readouts), torch.zeros_like(weight), torch.zeros_like(bias)
        loss = whole = 0.0
        for begin in range(0, len(wanted), kernels.rows):
            rows = slice(begin, begin + kernels.rows)
            logits = torch.mm(readouts[rows], turned.t())
            loss += kernels.call("cross_entropy", len(logits), len(bias), logits, bias.detach(), wanted[rows],
                                 smoothing, room, plain)
            whole = whole + plain
            torch.mm(logits, turned, out=of_readouts[rows])
            of_weight += torch.mm(logits.t(), readouts[rows])
            of_bias += kernels.columns(logits)
        context.save_for_backward(of_readouts, of_weight, of_bias)
        return torch.as_tensor(loss, dtype=torch.float32), whole.float()

    @staticmethod
    def backward(context, gradient: Tensor, _):
        of_readouts, of_weight, of_bias = context.saved_tensors
        return None, of_readouts * gradient.to(of_readouts.dtype), of_weight * gradient, of_bias * gradient, None, None


def supported(config: dict) -> bool:
    """Whether the configuration (validated) is supported. Every encoder is; those that `has_layers` rejects are
    computed by weights/model/network.py."""
    attention, decoder, output = (config[name] for name in ("attention", "decoder", "output"))
    return bool(attention and attention["score"] == "general" and attention["window"] == "global"
                and attention["source_depth"] == 0
                and attention["values"] == "identity" and decoder["style"] == "conditional" and decoder["cell"] == "gru"
                and decoder["layers"] == 1
                and decoder["normalization"] == "none" and decoder["transitions"] == 0 and decoder["initial_state"]
                == "mean"
                and decoder["initial_projection"] and decoder["readout"] == "tanh" and decoder["first_input"] == "bos"
                and output["type"] == "vocabulary")


def has_layers(encoder: dict) -> bool:
    """Whether Layer can compute the encoder."""
    return bool(encoder["type"] == "recurrent" and encoder["cell"] == "gru" and encoder["bidirectional"]
                and encoder["stack"] == "joined"
                and encoder["normalization"] == "none" and encoder["transitions"] == 0 and encoder["padded_to"] == 0)


def turned(x: Tensor, places: Tensor) -> Tensor:
    """x [T, B, n], places [T, B] -> x with each sentence's tokens in reverse order."""
    return x.gather(0, places[:, :, None].expand_as(x))


class Fused:
    """Computes the loss of a model, and its gradients."""

    def __init__(self, model: Model, half: bool | None = None, kernels: Kernels | None = None) -> None:
        """half: bfloat16 activations; by default if the processor supports them. kernels: those of a device other than
        the CPU."""
        assert supported(model.config)
        self.model = model
        self.kernels = kernels or Kernels(processor_multiplies_bfloat16() if half is None else half)

    def drop(self, x: Tensor) -> Tensor:
        p = self.model.dropout.p
        return Dropped.apply(self.kernels, x, p) if p > 0 and self.model.training else x

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        dtype = self.kernels.dtype
        return functional.linear(x, weight.to(dtype), None if bias is None else bias.to(dtype))

    def annotate(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """ids [T, B], lengths [B] -> annotations [T, B, D]; undefined past a sentence's end."""
        encoder = self.model.encoder
        if not has_layers(self.model.config["encoder"]):
            return encoder(ids.t(), lengths)[0].transpose(0, 1).to(self.kernels.dtype)
        places = torch.arange(len(ids), device=ids.device)[:, None]
        places = torch.where(places < lengths, lengths - 1 - places, places)
        x = functional.embedding(ids, encoder.embedding.weight).to(self.kernels.dtype)
        for i, layer in enumerate(encoder.layers):
            weights = layer.rnn._flat_weights
            read = self.drop(x)
            h = torch.cat([Layer.apply(self.kernels, read, *weights[:4]),
                           turned(Layer.apply(self.kernels, turned(read, places), *weights[4:]), places)], dim=-1)
            x = h + x if encoder.residual and i > 0 and h.shape == x.shape else h
        return x

    def first_state(self, annotations: Tensor, lengths: Tensor) -> Tensor:
        """annotations [T, B, D] -> the decoder's first state [B, H], float32."""
        real = (torch.arange(len(annotations), device=lengths.device)[:, None] < lengths).float() / lengths
        mean = (annotations.float() * real[:, :, None]).sum(0)
        projection = self.model.decoder.initial[0]
        return torch.tanh(functional.linear(mean, projection.weight, projection.bias))

    def decode(self, ids: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor,
                                                                            tuple[Tensor, Tensor, Tensor]]:
        """ids [B, T]; inputs [B, S] (begins with <s>) -> annotations [B, T, D], embeddings of the inputs [S, B, E], and
        the results of Decoding."""
        decoder = self.model.decoder
        annotations = self.annotate(ids.t().contiguous(), lengths)
        y = functional.embedding(inputs.t().contiguous(), decoder.embedding.weight).to(self.kernels.dtype)
        one, two = decoder.layers[0].rnn._flat_weights, decoder.conditional.rnn._flat_weights
        memory = annotations.transpose(0, 1).contiguous()
        keys = self.linear(memory, decoder.attention.scorer.key.weight)
        return memory, y, Decoding.apply(self.kernels, lengths, self.linear(self.drop(y), one[0]),
                                         self.first_state(annotations, lengths), keys, memory, *one[1:], *two)

    @torch.no_grad()
    def states(self, ids: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs of an alignment head: annotations [B, T, D] and the decoder's states [B, S, H], float32. Arguments
        as in `decode`."""
        annotations, _, (s, _, _) = self.decode(ids, lengths, inputs)
        return annotations.float(), s.transpose(0, 1).float()

    def loss(self, ids: Tensor, lengths: Tensor, inputs: Tensor, wanted: Tensor,
             smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
        """ids [B, T]; inputs [B, S] (begins with <s>); wanted [B, S], -100 past the end. -> the smoothed and the plain
        loss, summed over target tokens, and the attention [B, S, T]."""
        model, decoder = self.model, self.model.decoder
        _, y, (s, c, a) = self.decode(ids, lengths, inputs)
        real = self.kernels.chosen(wanted.t() != -100)
        parts = torch.cat([y[real], s[real], c[real]], dim=-1)
        readouts = torch.tanh(self.linear(self.drop(parts), decoder.readout.weight, decoder.readout.bias))
        loss, plain = CrossEntropy.apply(self.kernels, self.drop(readouts).flatten(0, -2).contiguous(),
                                         model.output.weight, model.output.bias,
                                         wanted.t()[real].flatten().contiguous(), smoothing)
        return loss, plain, a.transpose(0, 1)
