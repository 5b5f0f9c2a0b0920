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
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">\
<meta name="color-scheme" content="light dark"><title>alignd: the API</title><link rel="icon" href="page/icon.svg" type="image/svg+xml">\
<link rel="stylesheet" href="page/style.css"><link rel="stylesheet" href="page/docs.css"><script type="module" src="page/docs.js"></script></head><body>
"""
TRY = """ For programs: <a href="openapi.json">openapi.json</a>. To try: \
<a href="translate?text=Where+is+the+train+station%3F">translate?text=Where+is+the+train+station%3F</a>.</p>
<p><a href=".">Translate</a> <a href="page/models.html">Models</a></p></header>
<nav aria-label="Requests and objects"><label class="find">Find <input id="filter" type="search"></label>
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
    out = (f'<section id="{one["operationId"]}" data-method="{method}" data-path="{path}">'
           f'<p class="tag">{one["tags"][0]}</p><h2><span>{method}</span> {path}</h2>\n<p>{text(one["summary"])}')
    out += ". <em>With API keys: needs one.</em></p>\n" if one["security"] else "</p>\n"
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
    return f'<section id="{name}"><p class="tag">Objects</p><h2>{name}</h2>\n{shown}</section>\n'


def group(title: str, note: str, links: str) -> str:
    """A heading and its links."""
    return f'<div><h2 title="{text(note)}">{title}</h2><ul>\n{links}</ul></div>\n'


def page(document: dict[str, Any]) -> str:
    info = document["info"]
    operations = [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    groups = "".join(group(tag["name"], tag["description"], "".join(
        f'<li><a href="#{one["operationId"]}"><span>{method}</span> {path}</a></li>\n'
        for path, method, one in operations if tag["name"] in one["tags"])) for tag in document["tags"])
    objects = "".join(f'<li><a href="#{name}">{name}</a></li>\n' for name in document["components"]["schemas"])
    return (f"{HEAD}<header class=\"top\"><h1>{info['title']} {info['version']}: the API</h1>\n<p>"
            f"{text(info['description'])}{TRY}{groups}{group('Objects', 'of requests and replies', objects)}"
            "</nav>\n<main>\n"
            + "".join(operation(*one) for one in operations)
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
