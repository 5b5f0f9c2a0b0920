#!/usr/bin/env python3
"""layers.py BUILD: checks that dependencies point one way and that one module prints. Prints every violation, and fails
if there is one.
layers.py BUILD --figures prints for each room its size, its functions of more than five parameters, and its share of
comments.

A room is a folder of model/ or server/, or one of these themselves. ROOMS lists for each room the rooms that it may
include, and its doors: the headers that other rooms may include. Within a room, modules (files of the same name;
NAME_kind.h and NAME_parts.h, which only the room includes, belong to NAME) include each other without cycles. The same
holds for symbols: an object file of BUILD may need symbols only from the rooms that its own room sees, and the objects
of a room depend on each other without cycles, except for TIED. LIBRARIES lists the files that may use a library,
PRINTERS those that may print to stdout and stderr, and TYPES the exported functions that begin with the name of a type
instead of their module's. Functions have at most MANY_PARAMETERS.
"""
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include [<"]([^>"]+)[>"]', re.M)


RULES = Path("weights/config.def")  # read by C and Python


class Room(NamedTuple):
    sees: str  # rooms, separated by spaces
    doors: str  # headers without .h; "*": all


# lowest first; a room sees only rooms above it in this table
ROOMS = {
    "model/base": Room("", "*"),
    "model/gibbs": Room("model/base", "aligner symmetrise"),  # the word aligner
    "weights/gibbs": Room("model/base model/gibbs", ""),  # a program of it
    "model/text": Room("model/base", "numbers signs spans tokenizer"),
    "model/compute": Room("model/base", "kernels matrix"),
    "model/weights": Room("model/base model/compute", "config safetensors weights"),
    # Converts other toolkits' model folders.
    "model/import": Room("model/base model/text model/weights", "import source"),
    "model/network": Room("model/base model/text model/compute model/weights", "network"),
    "model/search": Room("model/base model/compute model/network", "search"),
    "model": Room("model/base model/gibbs model/text model/compute model/weights model/network model/search",
                  "formality head phrase_pairs translator"),
    "server/base": Room("model/base", "*"),
    "server/glossaries": Room("model/base model server/base", "glossaries"),
    "server/models": Room("model/base model/search model server/base", "*"),
    "server/get": Room("model/base model model/import server/base server/models", "get"),  # downloads
    "server/decode": Room("model/base model/text model/search model server/base server/glossaries server/models", "*"),
    "server/markup": Room("model/base model/text model server/base", "markup piece marks segment html xml encoding"),
    "server/office": Room("model/base model/text model server/base server/markup", "office"),
    "server/documents": Room("model/base model/text model server/base server/decode server/markup server/office",
                             "document review"),
    "server/options": Room("model/base model model/search server/base server/decode server/documents server/get",
                           "options"),
    "server/api": Room("model/base model/text model/search model server/base server/glossaries server/models "
                       "server/get server/decode server/markup server/documents server/options",
                       "access answer api call decode dialect documents event_stream keys languages models order page "
                       "pairs plan reach reply service terms value wait warnings"),
    "server/dialects": Room("model/base model/text model server/base server/glossaries server/models server/decode "
                            "server/markup server/documents server/options server/api",
                            "deepl deepl_write dictionary google mcp microsoft plain selfhosted"),
    "server/engine": Room("model/base model server/base server/glossaries server/models server/decode server/api "
                          "server/options", "engine shipped"),
    "server/endpoints": Room("server/api server/dialects", "routes"),
    "server/http": Room("model/base model server/base server/decode server/options server/api server/endpoints",
                        "http"),
    "server/library": Room("model/base model server/base server/models server/get server/decode server/documents "
                           "server/api server/dialects server/options server/engine", "alignd"),
    # compiled to WebAssembly alone, by its own makefiles
    "server/library/javascript": Room("model/base server/library", ""),
    "server": Room("model/base model/text model/import model/search model server/base server/glossaries server/models "
                   "server/get server/decode server/markup server/documents server/api server/dialects "
                   "server/options server/engine server/endpoints server/http",
                   ""),
}

# Objects that may depend on each other in a cycle, and why.
TIED = [
    ("model/search/phrases model/search/search model/search/search_exact model/search/search_phrases "
     "model/search/search_sample",
     "a search hands over to its kinds, which grow the same tree"),
    ("model/network/decoder model/network/decoder_recurrent",
     "a decoder hands over to its kinds, which embed tokens alike"),
]

LIBRARIES = {  # pattern of the header: files that may include it
    "cblas.h": "model/compute/matrix.c",
    "archive*.h": "model/import/source.c",
    "yaml.h": "model/import/source.c server/documents/front_matter.c server/documents/yaml_document.c "
              "server/documents/yaml_text.h",
    "sentencepiece_*": "model/text/sentencepiece.cc",
    "unicode/*": "model/base/utf8.c model/formality.c model/text/segmenter.c model/text/number*.c "
                 "model/text/notation.c model/text/expression.c model/text/codes.c model/text/readable.c "
                 "model/text/signs.c model/import/vocabulary.c server/api/languages.cc server/dialects/scripts.c "
                 "server/documents/icu_message.cc server/documents/latex.c server/documents/plurals.c "
                 "server/markup/encoding.c server/library/javascript/host.c",
    "jansson.h": "model/import/* model/text/readable.c model/weights/config.c model/weights/safetensors.c server/api/* "
                 "server/models/folders.c server/get/* server/library/*",
    "microhttpd.h": "server/http/*",
    "gnutls/*": "server/http/connection.c server/http/health.c server/http/passage.[ch] server/http/tls.[ch]",
    "nettle/*": "model/import/folder.c server/api/keys.c server/models/folders.c",
    "systemd/*": "server/http/listen.c server/main.c",
    "libxml/*": "server/markup/html.c server/markup/read.c",
    "cld2/*": "server/api/languages.cc",
    "curl/*": "server/get/download.c",
    "zlib.h": "server/http/compress.c server/office/zip.c",
    "re2/*": "model/text/pattern.cc",
    "cmark-gfm*": "server/documents/markdown.c",
    "pthread.h": "server/* model/base/task.[ch]",
}


# Only these files print text from files and the network to terminals; they escape control characters.
PRINTERS = "server/base/print.c server/base/log.c weights/gibbs/main.c"
PRINTS = re.compile(r"(?<![\w.>])(?:v?printf|puts|putchar|perror|psignal|v?dprintf)\s*\(|"
                    r"\b(?:v?fprintf|f?putc|fputs|fwrite|write)(?:_unlocked)?\s*\([^;]*"
                    r"\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b|"
                    r"\bstd::(?:cout|cerr|clog)\b")
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)

# An exported function begins with the name of its file, of a header that declares it, or of a type of that header.
# TYPES lists these types by header. Each belongs to one header only, and none has the name of another module.
TYPES = {
    "model/base/arena.h": "budget reserve",
    "model/base/utf8.h": "character",
    "model/compute/matrix.h": "backend blas compute linear pages",
    "model/lexicon.h": "guard",
    "model/model.h": "looks soft_alignment text",
    "model/network/layers.h": "activation block cell filter heads norm positions stack",
    "model/network/network.h": "copies speller",
    "model/rendering.h": "looks_row soft_alignment_row",
    "model/text/notation.h": "scan",
    "model/text/spans.h": "opaque",
    "model/text/tokenizer.h": "capitals labels preparation",
    "model/translator.h": "pieces",
    "model/weights/config.h": "model_languages",
    "model/weights/safetensors.h": "panels",
    "model/weights/weights.h": "shortlist target_ids",
    "server/api/kept.h": "cache",
    "server/api/keys.h": "limiter",
    "server/api/languages.h": "language variant",
    "server/api/pairs.h": "pair",
    "server/base/metrics.h": "meter",
    "server/base/strings.h": "decimal hex name_list percent writer",
    "server/commands.h": "command headway",
    "server/decode/judgement.h": "omission",
    "server/decode/worker.h": "workers",
    "server/documents/document.h": "directive icu_source key_globs",
    "server/documents/spans.h": "span",
    "server/get/get.h": "fetcher",
    "server/get/get_parts.h": "room",
    "server/glossaries/glossaries.h": "kept_glossary",
    "server/http/queue.c": "MHD_queue_response",  # replaces a function of the library
    "server/models/catalog.h": "loaded_model served_model",
    "server/models/folders.h": "installed integrity manifest",
    "server/options/options.h": "option",
    "model/gibbs/symmetrise.h": "symmetry",
}


def code_of(path: Path) -> str:
    """A source without its comments."""
    return COMMENT.sub("", (ROOT / path).read_text())


def sources() -> Iterator[Path]:
    for top in ("model", "server", "weights/gibbs"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".c", ".cc", ".h"):
                yield path.relative_to(ROOT)


def wrong_room(path: Path, target: Path) -> str | None:
    """Why the file may not include the header; None if it may."""
    here, there = str(path.parent), str(target.parent)
    if here == there or target == RULES:
        return None
    if there not in ROOMS:
        return f"{there} is not a room"
    if there not in ROOMS[here].sees.split():
        return f"{here} does not see {there}"
    doors = ROOMS[there].doors
    if doors != "*" and target.stem not in doors.split():
        return f"{target} is not a door of {there}"
    return None


def wrong_library(path: Path, header: str) -> str | None:
    for pattern, owners in LIBRARIES.items():
        if fnmatch(header, pattern) and not any(fnmatch(str(path), owner) for owner in owners.split()):
            return f"{header} belongs to {owners}"
    return None


def module_of(path: Path) -> str:
    return str(path.with_suffix("")).removesuffix("_kind").removesuffix("_parts")


def circles(needs: dict[str, set[str]]) -> Iterator[str]:
    """Cycles of modules that include each other, each cycle once."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> Iterator[str]:
        if module in path:
            yield " -> ".join(path[path.index(module):] + [module])
        elif module not in done:
            for other in sorted(needs.get(module, ())):
                yield from walk(other, path + [module])
            done.add(module)

    for module in sorted(needs):
        yield from walk(module, [])


def symbols(path: Path, kinds: str = "TDBRC") -> tuple[set[str], set[str]]:
    """The symbols of these kinds that an object defines, and those that it needs."""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", "--extern-only", path],
                               capture_output=True, text=True, check=True).stdout.splitlines():
        *_, kind, name = line.split()
        (needed if kind == "U" else defined if kind in kinds else set()).add(name)
    return defined, needed


def linked(build: Path) -> dict[str, dict[str, set[str]]]:
    """For each object of model/ and server/ the objects that it needs, with the symbols."""
    objects = {}
    for top in ("model", "server"):
        for path in sorted((build / top).rglob("*.o")):
            module = str(path.relative_to(build).with_suffix(""))
            # Objects without a source are stale.
            if any((ROOT / (module.split("-")[0] + suffix)).exists() for suffix in (".c", ".cc")):
                objects[module] = symbols(path)
    owner = {name: module for module, (defined, _) in objects.items() for name in defined}
    needs: dict[str, dict[str, set[str]]] = {}
    for module, (_, needed) in objects.items():
        for name in needed & owner.keys():
            if owner[name] != module:
                needs.setdefault(module, {}).setdefault(owner[name], set()).add(name)
    return needs


def wrong_links(needs: dict[str, dict[str, set[str]]]) -> Iterator[str]:
    """Dependencies by symbols that no list allows."""
    for module, others in needs.items():
        here = str(Path(module).parent)
        for other, names in others.items():
            there = str(Path(other).parent)
            if here != there and here in ROOMS and there not in ROOMS[here].sees.split():
                yield f"{module}: {here} does not see {there} ({', '.join(sorted(names)[:3])})"
    tied = [set(objects.split()) for objects, _ in TIED]
    used: list[set[str]] = []
    for circle in knots(needs):
        if circle in tied:
            used.append(circle)
        else:
            yield f"a circle by symbols: {' '.join(sorted(circle))}"
    yield from (f"TIED has no such circle: {' '.join(sorted(objects))}" for objects in tied if objects not in used)


def knots(needs: dict[str, dict[str, set[str]]]) -> Iterator[set[str]]:
    """The sets of objects in which each object reaches all others."""
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = list(needs.get(start, ()))
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo += needs.get(module, ())
        return seen

    reach = {module: reached(module) for module in needs}
    done: set[str] = set()
    for module, others in reach.items():
        if module in others and module not in done:
            knot = {other for other in others if module in reach.get(other, ())}
            done |= knot
            yield knot


def wrong_names(build: Path) -> Iterator[tuple[str, str]]:
    """Exported functions that do not begin with a name of their module, and names of two modules, with their rooms."""
    declared: dict[str, list[Path]] = {}  # headers that declare each name
    owners: dict[str, set[str]] = {}
    for path in sources():
        owners.setdefault(Path(module_of(path)).name, set()).add(module_of(path))
        if path.suffix == ".h":
            for name in set(re.findall(r"\b(\w+)\s*\(", code_of(path))):
                declared.setdefault(name, []).append(path)
    for header, names in TYPES.items():
        for name in names.split():
            others = owners.setdefault(name, set())
            if others:
                yield str(Path(header).parent), f"{name}_ is also a name of {', '.join(sorted(others))}"
            others.add(header)
    for path in sources():
        names = set()
        for compiled in {build / path.with_suffix(".o"), *(build / path.parent).glob(f"{path.stem}-*.o")}:
            if path.suffix != ".h" and compiled.exists():
                names |= symbols(compiled, "T")[0]
        for name in sorted(names):
            if name == "main" or name.startswith("_Z"):  # C++ uses namespaces instead
                continue
            files = [path, *declared.get(name, ())]
            allowed = [Path(module_of(file)).name for file in files]
            allowed += [type_name for file in files for type_name in TYPES.get(str(file), "").split()]
            if not any(name == prefix or name.startswith(prefix + "_") for prefix in allowed):
                where = " or ".join(file.name for file in files)
                yield str(path.parent), f"{name} does not begin with a name of {where}"


# New functions have at most FEW_PARAMETERS. Those that have more, at most MANY_PARAMETERS, are counted, and the count
# only falls. Kernels, whose parameters stay in registers, and functions that a library calls are not counted.
FEW_PARAMETERS, MANY_PARAMETERS, FUNCTIONS_WITH_MANY = 5, 6, 173
KERNELS = "model/compute/kernels.c model/compute/products_float.c model/compute/products_int8.c"
CALLED_BY_LIBRARIES = "exchange_handle tls_retrieve"
FUNCTION = re.compile(r"^(?!typedef\b|struct \w+ \{)[A-Za-z_][\w \t*]*?[ *](\w+)\(([^;{}]*)\)\s*\{", re.M)


def parameters(written: str) -> int:
    depth, found = 0, 1
    for character in written:
        depth += (character in "([") - (character in ")]")
        found += character == "," and depth == 0
    return found if written.strip() not in ("", "void") else 0


def wrong_parameters() -> Iterator[str]:
    """Functions with too many parameters, and their number if there are more than were counted."""
    many = 0
    for path in sources():
        for name, written in FUNCTION.findall(code_of(path)):
            count = parameters(written)
            if count <= FEW_PARAMETERS or str(path) in KERNELS.split() or name in CALLED_BY_LIBRARIES.split():
                continue
            many += 1
            if count > MANY_PARAMETERS:
                yield f"{path}: {name} has {count} parameters: at most {MANY_PARAMETERS}"
    if many > FUNCTIONS_WITH_MANY:
        yield f"{many} functions have more than {FEW_PARAMETERS} parameters: at most {FUNCTIONS_WITH_MANY} may"


class Figures(NamedTuple):
    files: int = 0
    lines: int = 0
    written: int = 0  # non-empty lines
    comments: int = 0  # lines with a comment or a part of one
    functions: int = 0
    long: int = 0  # functions with more than FEW_PARAMETERS


def figures_of(path: Path) -> Figures:
    text = (ROOT / path).read_text()
    counts = [parameters(written) for _, written in FUNCTION.findall(code_of(path))]
    return Figures(1, text.count("\n"), sum(bool(line.strip()) for line in text.splitlines()),
                   sum(found[0].count("\n") + 1 for found in COMMENT.finditer(text)),
                   len(counts), sum(count > FEW_PARAMETERS for count in counts))


def print_figures() -> None:
    rooms = {room: [figures_of(path) for path in sources() if str(path.parent) == room] for room in ROOMS}
    rooms["all"] = [figures for room in rooms.values() for figures in room]
    print(f"{'room':18} files  lines functions >{FEW_PARAMETERS} parameters comments")
    for room, each in rooms.items():
        sums = Figures(*map(sum, zip(*each)))
        print(f"{room:18} {sums.files:5} {sums.lines:6} {sums.functions:9} {sums.long:13} "
              f"{sums.comments / sums.written:8.1%}")


def main(build: Path, report: str = "") -> int:
    if report == "--figures":
        print_figures()
        return 0
    wrong: list[str] = []
    needs: dict[str, set[str]] = {}
    rooms = list(ROOMS)
    wrong += [f"{room} sees {other}, which is not lower"
              for i, room in enumerate(rooms) for other in ROOMS[room].sees.split() if other not in rooms[:i]]
    for path in sources():
        if str(path.parent) not in ROOMS:
            wrong.append(f"{path}: {path.parent} is not a room of tests/layers.py")
            continue
        text = (ROOT / path).read_text()
        if str(path) not in PRINTERS.split():
            wrong += [f"{path}: {found[0].split('(')[0].strip()} prints, and server/base/print.h should"
                      for found in PRINTS.finditer(COMMENT.sub("", text))]
        for header in INCLUDE.findall(text):
            if (ROOT / header).is_file():
                reason = wrong_room(path, Path(header))
                module, other = module_of(path), module_of(Path(header))
                if module != other:
                    needs.setdefault(module, set()).add(other)
            else:
                reason = wrong_library(path, header)
            if reason:
                wrong.append(f"{path}: {reason} ({header})")
    wrong += [f"a circle: {circle}" for circle in circles(needs)]
    links = linked(build)
    wrong += wrong_links(links)
    wrong += [f"{room}: {reason}" for room, reason in wrong_names(build)]
    wrong += wrong_parameters()
    print("\n".join(wrong) if wrong else
          f"{len(ROOMS)} rooms, {sum(map(len, needs.values()))} arrows between modules by their headers and "
          f"{sum(map(len, links.values()))} by their symbols, 0 back")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
