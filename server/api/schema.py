"""Generates from tables: the schema of a sentence from server/decode/reply.def, the fields of other services from
server/dialects/fields.def, and the fields of /attention and of the query strings from the schema TranslateRequest.
docs.py writes them into the files that repeat them."""
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

Schema = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
REPLY = ROOT / "server/decode/reply.def"
FIELDS = ROOT / "server/dialects/fields.def"
WIDTH = 130  # of openapi.json: values that fit are written on one line
DEFINED = "#/components/schemas/"
TRANSLATE_ONLY = {"format"}
ATTENTION_OWN = {"target", "translation", "include", "force_attention"}  # fields that differ from /translate's
ALIGN_OWN = {"translation", "split_sentences", "include", "links"}  # fields that differ from /attention's
ALIGN = ("text", "model", "source", "target", "variant", *sorted(ALIGN_OWN), "digits", "warnings")
CLIENT_SETS = {"stream"}  # fields set by the choice of method
DRAWN = {"source_text", "text", "source_tokens", "tokens", "log_probs", "offsets"}  # members that the web element reads
SCALARS = {"string", "number", "integer", "boolean"}


class Part(NamedTuple):
    """A name that `include` may have."""
    name: str
    text: str


class Member(NamedTuple):
    """A member of the sentence object."""
    name: str
    parts: str
    type: str
    text: str


def unquote(literal: str) -> str:
    return json.loads(literal)


def read_reply() -> tuple[list[Part], list[Member]]:
    """The rows of reply.def, in its order."""
    parts, members = [], []
    for line in REPLY.read_text().splitlines():
        if row := re.fullmatch(r'PART\((\w+), \w+, \d+, (".*")\)', line):
            parts.append(Part(row[1], unquote(row[2])))
        elif row := re.fullmatch(r'MEMBER\((\w+), (\w+), "([^"]*)", (".*")\)', line):
            members.append(Member(row[1], row[2], row[3], unquote(row[4])))
        elif line.startswith(("PART(", "MEMBER(")):
            raise ValueError(f"{REPLY.name}: not a row: {line}")
    return parts, members


# ---- schemas ----

def schema_of(kind: str) -> Schema:
    """The schema of a type in reply.def."""
    kind = kind.removesuffix("?")
    if kind.endswith("[]"):
        entry = schema_of(kind[:-2])
        return {"type": "array", "items": {**entry, "nullable": True} if kind.endswith("?[]") else entry}
    if kind == "pair":
        return {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    if "|" in kind:
        return {"type": "string", "enum": kind.split("|")}
    return {"type": kind} if kind in SCALARS else {"$ref": DEFINED + kind}


def described(schema: Schema, text: str) -> Schema:
    """Adds a description. In OpenAPI 3.0 a reference cannot have one, so it is wrapped in an allOf."""
    if not text:
        return schema
    return {**({"allOf": [schema]} if "$ref" in schema else schema), "description": text}


def sentence(members: list[Member]) -> Schema:
    return {"type": "object",
            "properties": {one.name: described(schema_of(one.type), one.text) for one in members},
            "required": [one.name for one in members if one.parts == "0" and not one.type.endswith("?")]}


def bare(schema: Schema) -> Schema:
    """A property's schema without its description."""
    return schema["allOf"][0] if "allOf" in schema else {key: schema[key] for key in schema if key != "description"}


def parameter(name: str, schema: Schema, required: bool) -> Schema:
    """The field as a query parameter, in which objects and arrays of objects are JSON."""
    own = bare(schema)
    as_json = "object" in (own.get("items", {}).get("type"), *(one.get("type") for one in own.get("oneOf", []))) \
        or "oneOf" in own.get("items", {}) or "$ref" in own.get("items", {})
    value = {"content": {"application/json": {"schema": own}}} if as_json else {"schema": own}
    return {"name": name, "in": "query", "description": schema["description"], "required": required, **value}


def derive(document: Schema) -> None:
    """Sets all parts of the document that derive from reply.def and TranslateRequest."""
    parts, members = read_reply()
    schemas = document["components"]["schemas"]
    schemas["Sentence"] = sentence(members)
    requests = {path: schemas[name] for path, name in
                (("/translate", "TranslateRequest"), ("/attention", "AttentionRequest"))}
    translate, attention = (one["properties"] for one in requests.values())
    order = [*attention, *(name for name in translate if name not in attention and name not in TRANSLATE_ONLY)]
    requests["/attention"]["properties"] = {
        name: attention[name] if name in ATTENTION_OWN else translate[name]
        for name in order if name in ATTENTION_OWN or name in translate}
    align = schemas["AlignRequest"]["properties"]
    schemas["AlignRequest"]["properties"] = {
        name: align[name] if name in ALIGN_OWN else requests["/attention"]["properties"][name] for name in ALIGN}
    requests["/align"] = schemas["AlignRequest"]
    for path, request in requests.items():
        names = bare(request["properties"]["include"])["oneOf"][0]
        names["items"]["enum"] = [one.name for one in parts] + ["all"]
        names["maxItems"] = len(parts)
        if "get" in document["paths"][path]:
            document["paths"][path]["get"]["parameters"] = [
                parameter(name, value, name in request["required"]) for name, value in request["properties"].items()]


def dump(value: Any, depth: int = 0, before: int = 0) -> str:
    """JSON with an indent of one; values that fit are written on one line. before: the width of the key."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or depth + before + len(flat) <= WIDTH:
        return flat
    keys = [json.dumps(key) + ": " for key in value] if isinstance(value, dict) else [""] * len(value)
    values = value.values() if isinstance(value, dict) else value
    rows = [" " * (depth + 1) + key + dump(one, depth + 1, len(key) + 1) for key, one in zip(keys, values)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n" + ",\n".join(rows) + f"\n{' ' * depth}{last}"


# ---- types ----

def type_of(schema: Schema, schemas: Schema) -> str:
    """The TypeScript type of a schema, with references expanded."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(DEFINED)
        return name if name in ("Place", "Sentence") else type_of(schemas[name], schemas)
    if "allOf" in schema:
        return type_of(schema["allOf"][0], schemas)
    if "oneOf" in schema:
        kinds = sorted((type_of(one, schemas) for one in schema["oneOf"]), key=lambda kind: kind != "string")
        return " | ".join(kinds)
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "array":
        item = type_of(schema["items"], schemas)
        if schema.get("maxItems") == 2 and schema.get("minItems") == 2:
            return f"[{item}, {item}]"
        return f"({item})[]" if " | " in item else f"{item}[]"
    if "properties" in schema:
        needed = schema.get("required", [])
        return "{ " + "; ".join(f"{key}{'' if key in needed else '?'}: {type_of(value, schemas)}"
                                for key, value in schema["properties"].items()) + " }"
    if "additionalProperties" in schema:
        return f"{{ [name: string]: {type_of(schema['additionalProperties'], schemas)} }}"
    kind = {"integer": "number"}.get(schema["type"], schema["type"])
    return f"{kind} | null" if schema.get("nullable") else kind


class Interface(NamedTuple):
    """The first line of an interface, its required properties, and whether it allows more."""
    head: str
    needed: set[str]
    open: bool = False


def interface(one: Interface, properties: Schema, schemas: Schema) -> str:
    rows = []
    for name, schema in properties.items():
        if schema.get("description"):
            rows.append(f"  /** {schema['description']} */\n")
        rows.append(f"  {name}{'' if name in one.needed else '?'}: {type_of(schema, schemas)};\n")
    if one.open:
        rows.append("  [more: string]: unknown;\n")
    return f"export interface {one.head} {{\n{''.join(rows)}}}\n"


def request_types(schemas: Schema) -> str:
    translate, attention = (schemas[name]["properties"] for name in ("TranslateRequest", "AttentionRequest"))
    common = {name: value for name, value in translate.items() if name not in CLIENT_SETS}
    own = {name: value for name, value in attention.items() if name not in translate}
    return "/** Fields of `/translate` and `/attention`. */\n" \
        + interface(Interface("Request", {"text"}), common, schemas) \
        + interface(Interface("AttentionRequest extends Request", set()), own, schemas)


def sentence_type(schemas: Schema) -> str:
    return "/** A sentence as `/attention` and `/translate` answer it. What is drawn needs the members that are not\n" \
        " * optional, and a matrix. n: the number of target tokens, m: of source tokens. */\n" \
        + interface(Interface("Sentence", DRAWN, open=True), schemas["Sentence"]["properties"], schemas)


# ---- text between two markers in a file ----

def parts_table() -> str:
    rows = "".join(f"| `{one.name}` | {one.text} |\n" for one in read_reply()[0])
    return f"| `include` | |\n|---|---|\n{rows}"


def replace_between(path: Path, mark: str, text: str) -> str:
    """The file's text, with this text between the two comment lines that name the mark."""
    lines = path.read_text().split("\n")
    first, last = (next(i for i, line in enumerate(lines) if key in line)
                   for key in (f" written by server/api/docs.py: {mark} ", f" end of {mark} "))
    return "\n".join(lines[:first + 1] + [text.rstrip("\n")] + lines[last:])


# ---- the fields of other services ----

SERVICES = {"DEEPL": "DeepL", "DEEPL_WRITE": "DeepL, `/v2/write/rephrase`",
            "GOOGLE_2": "Google, version 2", "GOOGLE_3": "Google, version 3",
            "MICROSOFT": "Microsoft", "LIBRETRANSLATE": "LibreTranslate", "MTRANSERVER": "MTranServer",
            "DEEPLX": "DeepLX", "NLLB_SERVE": "nllb-serve", "NLLB_API": "nllb-api", "LINGVA": "Lingva",
            "HCFY": "hcfy", "GTX": "Google, `/translate_a`", "IMMERSIVE": "Immersive Translate",
            "KISS": "KISS Translator"}


def fields_table() -> str:
    """The rows of fields.def, a row for each service."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in SERVICES}
    for line in FIELDS.read_text().splitlines():
        if row := re.fullmatch(r'(\w+)\("([^"]+)", (\w+), "([^"]*)", ".*"\)', line):
            usual = ", ".join(f"`{word}`" for word in row[4].split())
            name = f"`{row[2]}` other than {usual}" if usual else f"`{row[2]}`"
            found[row[1]].setdefault(row[3], []).append(name)
    lines = ["| service | honoured | ignored, and named | refused |", "|---|---|---|---|"]
    for service, fates in found.items():
        cells = ("; ".join(fates.get(fate, [])) for fate in ("HONOURED", "IGNORED", "REFUSED"))
        lines.append(f"| {SERVICES[service]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def files(document: Schema) -> dict[Path, str]:
    """The texts of all generated files, by path, from a document that derive has completed."""
    schemas, npm = document["components"]["schemas"], ROOT / "server/page/npm"
    requests, dialects = ROOT / "server/api/REQUESTS.md", ROOT / "server/dialects/DIALECTS.md"
    return {
        ROOT / "server/api/openapi.json": dump(document) + "\n",
        npm / "client.d.ts": replace_between(npm / "client.d.ts", "fields of requests", request_types(schemas)),
        npm / "index.d.ts": replace_between(npm / "index.d.ts", "members of a sentence", sentence_type(schemas)),
        requests: replace_between(requests, "parts of a reply", parts_table()),
        dialects: replace_between(dialects, "fields of other services", fields_table()),
    }
