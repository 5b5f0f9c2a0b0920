#!/usr/bin/env python3
"""Generates files from server/decode/reply.def and openapi.json: python3 server/api/docs.py.

It writes the derived parts of openapi.json (schema.py), docs.html, which GET /docs serves, the types of the npm
package, and tables in the documents. With --check it only reports which files differ."""
import json
import sys
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import schema

HERE = Path(__file__).resolve().parent
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>alignd: the API</title>\
<link rel="stylesheet" href="page/docs.css"><script type="module" src="page/docs.js"></script></head><body>
"""
TRY = """ For programs: <a href="openapi.json">openapi.json</a>. To try: \
<a href="translate?text=Where+is+the+train+station%3F">translate?text=Where+is+the+train+station%3F</a>, or <a href=".">the page</a>.</p></header>
<nav aria-label="Requests and objects"><label hidden>Find <input id="filter" type="search"></label><ul>
"""


def text(value: str | None) -> str:
    return escape(value or "", quote=True).replace("&#x27;", "'")


def code(value: Any) -> str:
    return f"<code>{text(json.dumps(value, ensure_ascii=False))}</code>"


def type_of(schema: dict[str, Any]) -> str:
    """Describes a schema's type in words. A schema with a description of its own has the rest in an allOf."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        shown = f'<a href="#{name}">{name}</a>'
    elif "oneOf" in schema:
        shown = " or ".join(map(type_of, schema["oneOf"]))
    elif "enum" in schema:
        shown = ", ".join(map(code, schema["enum"]))
    elif schema.get("type") == "array":
        shown = "array of " + type_of(schema["items"])
    else:
        shown = " and ".join(map(type_of, schema.get("allOf", []))) + schema.get("type", "")
    shown += " or null" if schema.get("nullable") else ""
    if "minimum" in schema and "maximum" in schema:
        shown += f", {code(schema['minimum'])} to {code(schema['maximum'])}"
    return shown + (f", default {code(schema['default'])}" if "default" in schema else "")


def row(name: str, required: bool, schema: dict[str, Any], description: str | None) -> str:
    mark = "</code> <em>required</em></th><td>" if required else "</code></th><td>"
    return f'<tr><th scope="row"><code>{text(name)}{mark}{type_of(schema)}</td><td>{text(description)}</td></tr>\n'


def schema_in(content: dict[str, Any]) -> dict[str, Any]:
    """The schema of the first media type."""
    return next(iter(content.values()), {}).get("schema", {})


def operation(path: str, method: str, one: dict[str, Any]) -> str:
    out = (f'<section id="{one["operationId"]}" data-method="{method}" data-path="{path}"><h3><span>{method}</span> '
           f'{path}</h3>\n<p>{text(one["summary"])}')
    out += ". <em>With API keys: needs one.</em></p>\n" if "security" in one else "</p>\n"
    if one.get("parameters"):
        rows = (row(p["name"], p.get("required", False), p.get("schema") or schema_in(p["content"]),
                    p.get("description")) for p in one["parameters"])
        out += f"<details><summary>Parameters</summary><table>\n{''.join(rows)}</table></details>\n"
    content = one.get("requestBody", {}).get("content")
    if content:
        out += f"<p>Body: {type_of(schema_in(content))}</p>\n"
        query = urlencode([(p["name"], p["example"]) for p in one.get("parameters", ()) if "example" in p])
        address = f"'localhost:8080{path}?{query}'" if query else f"localhost:8080{path}"
        for example in content.get("application/json", {}).get("examples", {}).values():
            body = json.dumps(example["value"], ensure_ascii=False, separators=(",", ":"))
            out += f"<p>{text(example['summary'])}:</p>\n<pre>curl {text(address)} -d '{text(body)}'</pre>\n"
    rows = (row(status, False, schema_in(reply.get("content", {})), reply["description"])
            for status, reply in one["responses"].items())
    return out + f"<details><summary>Replies</summary><table>\n{''.join(rows)}</table></details>\n</section>\n"


def component(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    if "properties" in schema:
        rows = (row(key, key in needed, value, value.get("description")) for key, value in schema["properties"].items())
        shown = f"<table>\n{''.join(rows)}</table>\n"
    else:
        shown = f"<p>{type_of(schema)}</p>\n"
    return f'<section id="{name}"><h3>{name}</h3>\n{shown}</section>\n'


def page(document: dict[str, Any]) -> str:
    info = document["info"]
    operations = [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    links = "".join(f'<li><a href="#{one["operationId"]}"><span>{method}</span> {path}</a></li>\n'
                    for path, method, one in operations)
    objects = "".join(f'<li><a href="#{name}">{name}</a></li>\n' for name in document["components"]["schemas"])
    return (f"{HEAD}<header><h1>{info['title']} " f"{info['version']}</h1>\n<p>"
            f"{text(info['description'])}{TRY}{links}{objects}</ul></nav>\n<main><h2>Requests</h2>\n"
            + "".join(operation(*one) for one in operations) + "<h2>Objects</h2>\n"
            + "".join(component(*one) for one in document["components"]["schemas"].items()) + "</main></body></html>\n")


def main() -> int:
    document = json.loads((HERE / "openapi.json").read_text())
    schema.derive(document)
    made, wrong = {**schema.files(document), HERE / "docs.html": page(document)}, 0
    for path, contents in made.items():
        if path.read_text() == contents:
            continue
        if "--check" not in sys.argv[1:]:
            path.write_text(contents)
            continue
        print(f"{path.relative_to(schema.ROOT)} differs: python3 server/api/docs.py writes it anew")
        wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
