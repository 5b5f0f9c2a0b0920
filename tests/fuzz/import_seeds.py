"""Seeds of the fuzz target `import`: python3 tests/fuzz/import_seeds.py tests/fuzz/corpus/import

Output: a file for each kind of model that `alignd import` reads, in the form that tests/fuzz/fuzz_import.c describes:
files of a folder, whose tensors are lists of names, types and shapes. The models are those of tests/test_convert*.py
with one layer on each side where that suffices.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import numpy

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent.parent)]
import test_convert as recurrent  # noqa: E402
import test_convert_transformer as transformer  # noqa: E402
from test_convert_files import shortlist  # noqa: E402

FOLDER, NAMED, INT8 = 0, 8, 4  # the first byte; its lower bits choose the storage
WORDS = ["</s>", "<unk>", "\u2581a", *"bcdefgh"]
ONE = {"enc-depth": 1, "dec-depth": 1}
MOST = 4096  # bytes of a seed, as the fuzzer reads them


def listed(tensors: dict[str, tuple[int, ...]], whole: tuple[str, ...] = (), half: bool = False) -> bytes:
    """The list of tensors with these shapes. whole: ends of the names of those that are int8."""
    kinds = {name: "q" if name.endswith(whole) and whole else "h" if half else "f" for name in tensors}
    return ("tensors\n" + "".join(f"{name} {kinds[name]} {' '.join(map(str, shape))}\n"
                                  for name, shape in tensors.items())).encode()


def shapes(made: dict[str, numpy.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in made.items()}


def options_of(options: dict) -> bytes:
    return "".join(f"{name}: {value}\n" for name, value in options.items()).encode()


def text_of(words: list[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


def yaml_of(words: list[str]) -> bytes:
    return "".join(f"{json.dumps(word, ensure_ascii=False)}: {i}\n" for i, word in enumerate(words)).encode()


def spm(words: list[str], unk: int) -> bytes:
    """A SentencePiece model of these pieces. unk: the unknown one's number."""
    pieces = [(word.encode(), 2 if i == unk else 3 if word in ("<s>", "</s>") else 1) for i, word in enumerate(words)]
    bodies = [b"\x0a" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", 0) + b"\x18" + bytes([kind])
              for text, kind in pieces]
    return b"".join(b"\x0a" + bytes([len(body)]) + body for body in bodies) + b"\x12\x02\x08\x01"


def seed(files: dict[str, bytes], first: int = FOLDER) -> bytes:
    assert not any(b"\x1e" in content for content in files.values())
    return bytes([first]) + b"\x1e".join(name.encode() + b"\n" + content for name, content in files.items())


# ---- Marian and Nematus ----

def recurrents() -> dict[str, bytes]:
    found = {}
    for name in ("gru", "amun", "lstm-tied", "alternating", "bidirectional-deep", "bi-unidirectional", "tanh",
                 "nematus-normalised"):
        options = recurrent.MODELS[name]
        made = shapes(recurrent.Maker(options, 1).t)
        if options["type"] != "s2s":
            made = {recurrent.NEMATUS.get(tensor, tensor): shape for tensor, shape in made.items()}
        source, target = ([f"w{i}" for i in range(2, size)] for size in recurrent.sizes_of(options))
        lists = {f"{side}.yml": yaml_of(["</s>", "<unk>", *words])
                 for side, words in (("source", source), ("target", target))}
        found[name] = seed({"model.bin": listed(made) + b"\n" + options_of(options), **lists})
    gru = shapes(recurrent.Maker(recurrent.MODELS["gru"], 1).t)
    lists = {"a.txt": text_of(["</s>", "<unk>", *(f"w{i}" for i in range(7))]),
             "b.txt": text_of(["</s>", "<unk>", *(f"w{i}" for i in range(9))])}
    old = {name: shape for name, shape in gru.items()
           if name != "decoder_ff_logit_l2_Wt"} | {"decoder_ff_logit_l2_W": (recurrent.E, recurrent.V[1])}
    found["gru-named"] = seed({"model.bin": listed(old) + b"\n" + options_of(recurrent.MODELS["gru"]), **lists},
                              NAMED + 2)
    nematus = shapes(recurrent.Maker(recurrent.MODELS["nematus-normalised"], 1).t)
    twice = {recurrent.NEMATUS.get(tensor, tensor): shape
             for tensor, shape in nematus.items()} | {"decoder_cell1_U": nematus["decoder_cell1_U"]}
    found["nematus-twice"] = seed({"model.bin": listed(twice) + b"\n"
                                   + options_of(recurrent.MODELS["nematus-normalised"]), **lists}, NAMED)
    return found


def transformers() -> dict[str, bytes]:
    found = {}
    for name in ("average", "average-mean", "average-ungated", "student-pre", "gelu", "tied-layers-student",
                 "no-projection"):
        options = (transformer.MODELS[name] if "transformer-tied-layers" in transformer.MODELS[name]
                   else transformer.MODELS[name] | ONE)
        made = shapes(transformer.Maker(options).t)
        sizes = (transformer.V[1],) * 2 if transformer.shares(options) else transformer.V
        lists = {f"opus.{side}.vocab": text_of(["</s>", "<unk>", *(f"w{i}" for i in range(2, size))])
                 for side, size in zip(("src", "trg"), sizes)}
        found[name] = seed({"model.bin": listed(made) + b"\n" + options_of(options), **lists}, 3)
    return found


def of_words(options: dict, count: int) -> dict[str, tuple[int, ...]]:
    made = shapes(transformer.Maker(options).t)
    return {name: (count, shape[1]) if "Wemb" in name else (1, count) if name == "decoder_ff_logit_out_b" else shape
            for name, shape in made.items()}


def packages() -> dict[str, bytes]:
    options = transformer.MODELS["student"] | ONE
    tensors = of_words(options, len(WORDS))
    alphas = {f"{name}_QuantMultA": (1, 1) for name in tensors if name[-3:-1] == "_W"
              or name[-2:] == "_W"} | {"none_QuantMultA": (1, 1)}
    model = listed(tensors | alphas, ("_Wq", "_Wk", "_Wv", "_Wo", "_W1", "_W2", "_W", "_Wf",
                                      "Wemb")) + b"\n" + options_of(options)
    lex = shortlist([min(i, 3) for i in range(len(WORDS) + 1)], [4, 5, 6], 2)
    quality = struct.pack("<2Q13f", 0x78CC336F1D54B180, 4, *[2, 1, 1, 1, 3, 0, 0, 0, 4, 0, 0, 0, 5])
    pair = {"model.enfr.intgemm.alphas.bin": model, "vocab.enfr.spm": spm(["<unk>", *WORDS[:1], *WORDS[2:]], 0),
            "lex.50.50.enfr.s2t.bin": lex, "qualityModel.enfr.bin": quality}
    meta = json.dumps({"sourceLanguage": "en", "targetLanguage": "fr"}).encode()
    found = {"firefox": seed(pair | {"metadata.json": meta}), "firefox-named": seed(pair, NAMED)}
    config = (
        b"beam-size: 1\nnormalize: 1.0\nmax-length-break: 128\nskip-cost: true\ngemm-precision: int8shiftAlphaAll\n")
    found["translatelocally"] = seed({"model.intgemm.alphas.bin": model, "vocab.spm": pair["vocab.enfr.spm"],
                                      "lex.s2t": b"b a 0.5\nc b 0.25\n",
                                      "config.intgemm8bitalpha.yml": config, "LICENSE.md": b"Mozilla Public License",
                                      "README.md": b"---\nlicense: mpl-2.0\n---\n"})
    opus = transformer.MODELS["opus"] | ONE
    files = {"opus.transformer-align.bin": listed(of_words(opus, len(WORDS))) + b"\n" + options_of(opus),
             "opus.vocab.yml": yaml_of(WORDS),
             "source.spm": spm(["<unk>", *WORDS[2:]], 0), "target.spm": spm(["<unk>", *WORDS[2:6]], 0),
             "decoder.yml": b"beam-size: 6\nnormalize: 1\nmax-length-factor: 2.5\n"}
    found["opus"] = seed(files | {"README.md": b"# opus\n\n* model: transformer-align\n",
                                  "LICENSE": b"Attribution 4.0 International\n"}, INT8)
    found["opus-card"] = seed(files | {"README.md": b"---\nlicense: cc-by-nc-4.0\n---\n",
                                       "opus.transformer-align.bin.yml": b"guided-alignment: none\n"})
    found["opus-bpe"] = seed({"opus.bin": b"", "source.bpe": b"", "target.bpe": b""})
    found["two-models"] = seed({"a.bin": b"", "b.bin": b"", "vocab.yml": b""})
    found["two-vocabularies"] = seed({"a.bin": b"", "vocab.a.spm": b"", "vocab.b.spm": b""})
    found["third-vocabulary"] = seed({"a.bin": b"", "a.txt": b"", "b.txt": b"", "c.txt": b""}, NAMED)
    found["no-model"] = seed({"notes": b""}, NAMED)
    found["no-vocabulary"] = seed({"model.bin": b""})
    found["wrong-decoder"] = seed({"model.bin": b"", "vocab.yml": b"", "decoder.yml": b"a: b: c\n"})
    named = {"model.bin": listed(of_words(opus, len(WORDS))) + b"\n" + options_of(opus), "v.yml": yaml_of(WORDS)}
    spms = {"source.spm": files["source.spm"], "target.spm": files["target.spm"]}
    found["opus-named"] = seed(named | spms | {"decoder.yml": b"beam-size: 3\n", "lex.s2t": b"b a 0.5\n",
                                               "quality.bin": quality}, NAMED + 1)
    found["named-twice"] = seed(named | {"decoder.yml": b"", "x.decoder.yml": b""}, NAMED)
    separate = {"model.bin": listed({name: shape for name, shape in of_words(opus, len(WORDS)).items()}),
                "model.yml": options_of(opus), "v.yml": yaml_of(WORDS)}
    found["options-apart"] = seed(separate, NAMED)
    return found


# ---- Hugging Face ----

def stacks(d: int, filter_size: int, many: bool) -> dict[str, tuple[int, ...]]:
    found = {}

    def dense(name: str, rows: int, columns: int) -> None:
        found.update({f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)})

    def norm(name: str) -> None:
        found.update({f"{name}.weight": (d,), f"{name}.bias": (d,)})

    for side in ("encoder", "decoder"):
        layer = f"model.{side}.layers.0"
        for block in ("self_attn", "encoder_attn")[:2 if side == "decoder" else 1]:
            for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                dense(f"{layer}.{block}.{part}", d, d)
            norm(f"{layer}.{block}_layer_norm")
        dense(f"{layer}.fc1", filter_size, d)
        dense(f"{layer}.fc2", d, filter_size)
        norm(f"{layer}.final_layer_norm")
        if many:
            norm(f"model.{side}.layer_norm")
    return found


def config(**more) -> bytes:
    made = {"model_type": "marian", "d_model": 4, "activation_function": "swish", "scale_embedding": True}
    for side in ("encoder", "decoder"):
        made |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 6}
    return json.dumps(made | more).encode()


def numbered(words: list[str]) -> bytes:
    return json.dumps({word: i for i, word in enumerate(words)}, ensure_ascii=False).encode()


def huggingfaces() -> dict[str, bytes]:
    base, words = stacks(4, 6, False), len(WORDS)
    spms = {"source.spm": spm(["<unk>", *WORDS[2:]], 0), "target.spm": spm(["<unk>", *WORDS[2:6]], 0)}
    shared = base | {"model.shared.weight": (words + 1, 4), "final_logits_bias": (1, words + 1)}
    vocab = {"vocab.json": numbered([*WORDS, "<pad>"])}
    card = {"README.md": b"---\nlicense: apache-2.0\n---\n* model: transformer-align\n"}
    files = {"model.safetensors": listed(shared), "config.json": config(eos_token_id=0, num_beams=64), **vocab, **spms}
    found = {"hf": seed(files | card), "hf-half": seed(files | {"model.safetensors": listed(shared, half=True)}, INT8)}
    copies = {"lm_head.weight": (words + 1, 4), "model.encoder.embed_positions.weight": (8, 4),
              "model.encoder.embed_tokens.weight": (words + 1, 4)}
    found["hf-copies"] = seed(files | {"model.safetensors": listed(shared | copies),
                                       "generation_config.json": b'{"num_beams": 6}'})
    two = base | {"model.encoder.embed_tokens.weight": (words, 4), "model.decoder.embed_tokens.weight": (words + 1, 4),
                  "lm_head.weight": (words + 1, 4), "final_logits_bias": (1, words + 1)}
    apart = config(share_encoder_decoder_embeddings=False, tie_word_embeddings=False)
    found["hf-two"] = seed(files | {"model.safetensors": listed(two), "config.json": apart,
                                    "vocab.json": numbered([*WORDS[:-1], "<pad>"]),
                                    "target_vocab.json": numbered([*WORDS, "<pad>"])})
    index = json.dumps({"weight_map": dict.fromkeys(["final_logits_bias", "model.shared.weight"],
                                                    "a.safetensors")}).encode()
    found["hf-index"] = seed({"model.safetensors.index.json": index,
                              "a.safetensors": listed({"final_logits_bias": (1, words + 1),
                                                       "model.shared.weight": (words + 1, 4)}),
                              "config.json": config(), **vocab, **spms})
    found["hf-index-absent"] = seed(
        {"model.safetensors.index.json": b'{"weight_map": {"a": "a.safetensors", "b": "a.safetensors"}}',
         "a.safetensors": listed({"a": (1,)}), "config.json": config(), **vocab})
    found["hf-index-wrong"] = seed({"model.safetensors.index.json": b'{"weight_map": {"a": "../a"}}',
                                    "config.json": config(), **vocab})
    found["hf-no-map"] = seed({"model.safetensors.index.json": b"{}", "config.json": config(), **vocab})
    found["hf-no-weights"] = seed({"config.json": config(), **vocab})
    found["hf-pickle"] = seed({"pytorch_model.bin": b"\x80\x02}.", "config.json": config(), **vocab})
    found["hf-eos"] = seed(files | {"config.json": config(eos_token_id=3)})
    found["hf-pad"] = seed(files | {"vocab.json": numbered(["<pad>", *WORDS])})
    found["hf-bias"] = seed(files | {"model.safetensors": listed(base)})
    for kind in ("fsmt", "bloom"):
        found[f"hf-{kind}"] = seed({"config.json": config(model_type=kind), **vocab})
    found["hf-size"] = seed({"config.json": config(d_model=-1), **vocab})
    found["hf-pre"] = seed({"config.json": config(normalize_before=True), **vocab})
    found["hf-tanh"] = seed({"config.json": config(activation_function="tanh"), **vocab})
    return found


def manys() -> dict[str, bytes]:
    base, pieces = stacks(4, 6, True), ["\u2581a", *"bcdefgh"]
    segmenter = {"sentencepiece.bpe.model": spm(["<unk>", "<s>", "</s>", *pieces], 0)}
    found, first = {}, ["<s>", "<pad>", "</s>", "<unk>", *pieces]
    many = {"model_type": "m2m_100", "activation_function": "relu", "decoder_start_token_id": 2}
    for kind, languages in (("nllb", ["deu_Latn", "eng_Latn", "fra_Latn", "rus_Cyrl"]),
                            ("m2m", ["__de__", "__en__", "__fr__", "__ru__"])):
        count = len(first) + len(languages) + 2
        tensors = base | {"model.shared.weight": (count, 4)}
        listing = json.dumps({"additional_special_tokens": languages}).encode()
        files = {"model.safetensors": listed(tensors), "config.json": config(**many), **segmenter,
                 "special_tokens_map.json": listing}
        files |= {"vocab.json": numbered(first)} if kind == "m2m" else {}
        ids = json.dumps({"added_tokens_decoder": {str(len(first) + i): {"content": token}
                                                   for i, token in enumerate(languages)}}).encode()
        untied = {"lm_head.weight": (count, 4), "final_logits_bias": (1, count)}
        found[kind] = seed(files)
        found[f"{kind}-ids"] = seed(files | {"tokenizer_config.json": ids, "special_tokens_map.json": b"{}",
                                             "model.safetensors": listed(tensors | untied),
                                             "config.json": config(**many, tie_word_embeddings=False)})
    found["m2m-wrong-id"] = seed(files | {"tokenizer_config.json": b'{"added_tokens_decoder": {"x": "a"}}'})
    found["m2m-no-token"] = seed(files | {"special_tokens_map.json": b'{"additional_special_tokens": [1]}'})
    found["m2m-start"] = seed(files | {"config.json": config(**(many | {"decoder_start_token_id": 3}))})
    found["m2m-wrong-ids"] = seed(files | {"vocab.json": b'{"a": "b"}'})
    return found


def t5s() -> dict[str, bytes]:
    """T5 v1.1, MADLAD-400 and UMT5: tied or not, with one table of relative positions or one for each layer."""
    base: dict[str, tuple[int, ...]] = {f"{side}.final_layer_norm.weight": (4,) for side in ("encoder", "decoder")}
    for side, names in (("encoder", ["SelfAttention"]), ("decoder", ["SelfAttention", "EncDecAttention"])):
        for i in range(2):
            place = f"{side}.block.{i}.layer"
            for n, name in enumerate(names):
                base |= {f"{place}.{n}.{name}.{part}.weight": (6, 4) for part in "qkv"}
                base |= {f"{place}.{n}.{name}.o.weight": (4, 6), f"{place}.{n}.layer_norm.weight": (4,)}
            last = f"{place}.{len(names)}"
            base |= {f"{last}.DenseReluDense.{part}.weight": (6, 4) for part in ("wi_0", "wi_1")}
            base |= {f"{last}.DenseReluDense.wo.weight": (4, 6), f"{last}.layer_norm.weight": (4,)}
    tables = {f"{side}.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight": (8, 2)
              for side in ("encoder", "decoder") for i in range(2)}
    first = {name: shape for name, shape in tables.items() if ".block.0." in name}
    segmenter = {"spiece.model": spm(["<pad>", "</s>", "<unk>", "\u2581a", *"bcdef", "<2de>", "<2fr>"], 2)}
    sizes = {"d_model": 4, "d_kv": 3, "num_heads": 2, "d_ff": 6, "num_layers": 2, "feed_forward_proj": "gated-gelu",
             "relative_attention_num_buckets": 8, "relative_attention_max_distance": 16, "decoder_start_token_id": 0}

    def one(tensors: dict[str, tuple[int, ...]], **more: object) -> bytes:
        return seed({"model.safetensors": listed(tensors), **segmenter,
                     "config.json": json.dumps({"model_type": "t5", **sizes, **more}).encode()})

    untied = {"shared.weight": (13, 4), "lm_head.weight": (13, 4)}
    return {"t5": one(base | first | untied, tie_word_embeddings=False),
            "t5-tied": one(base | first | {"decoder.embed_tokens.weight": (13, 4)}),
            "umt5": one(base | tables | untied, model_type="umt5", tie_word_embeddings=False),
            "t5-tasks": one(base | first | untied,
                            task_specific_params={"translation_en_to_fr": {"prefix": "translate: "}}),
            "t5-start": one(base | first | untied, decoder_start_token_id=3),
            "t5-distance": one(base | first | untied, relative_attention_max_distance=3),
            "t5-words": one(base | first | {"shared.weight": (5, 4)})}


def main() -> None:
    folder, total = Path(sys.argv[1]), 0
    folder.mkdir(parents=True, exist_ok=True)
    groups = {"recurrent": recurrents(), "transformer": transformers(), "package": packages(),
              "folder": huggingfaces() | manys() | t5s()}
    for group, seeds in groups.items():
        for name, content in seeds.items():
            if len(content) > MOST:
                print(f"{group}-{name}: {len(content)} bytes, left out")
                continue
            (folder / f"{group}-{name}").write_bytes(content)
            total += len(content)
    print(f"{sum(map(len, groups.values()))} seeds, {total} bytes")


if __name__ == "__main__":
    main()
