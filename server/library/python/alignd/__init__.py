"""Translation with attention and word alignment: alignd's engine in this process.

    import alignd
    with alignd.Translator("en-fr") as translator:
        translation = translator.translate("The house is small.", include=["alignment", "tokens"])
        print(translation)                            # La maison est petite.
        print(translation.sentences[0].alignment)     # [(0, 0), (1, 1), ...]: source token, token

A Translator has the models in memory and threads that decode; its methods may be called from any thread, and do not
hold the interpreter's lock while they wait. Requests and replies are those of the daemon: `call` sends any of them.
"""
import asyncio
import ctypes
import ctypes.util
import json
import os
import sys
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

__all__ = ["AligndError", "Sentence", "Translation", "Translator", "version"]

ERROR_BYTES = 1024
MOST_TEXTS = 64  # of a request
MOST_PARTS = 12  # requests of one call that are in the queue at once
QUEUE = 65536  # sentences of all calls


class AligndError(Exception):
    """What the engine answered in place of a result. status: as in HTTP; code: "invalid_request", ...; field: the
    request's field that is wrong, or None."""

    def __init__(self, message: str, status: int = 500, code: str = "internal_error", field: str | None = None):
        super().__init__(message)
        self.status, self.code, self.field = status, code, field


# ---- the library ----

class _Listener(ctypes.Structure):
    EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    END = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    _fields_ = [("event", EVENT), ("end", END), ("owner", ctypes.c_void_p)]


class _Floats(ctypes.Structure):
    _fields_ = [("values", ctypes.POINTER(ctypes.c_float)), ("rows", ctypes.c_size_t), ("columns", ctypes.c_size_t)]


def _find() -> str:
    """The library beside this file, as in a wheel; or where ALIGND_LIBRARY says; or where the system has it."""
    beside = Path(__file__).with_name("libalignd.so.1")
    return os.environ.get("ALIGND_LIBRARY") or (str(beside) if beside.exists() else "libalignd.so.1")


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_find())
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    for name, result, arguments in (
            ("version", text, []),
            ("open", pointer, [ctypes.POINTER(text), size, text]),
            ("close", None, [pointer]),
            ("call", pointer, [pointer, text, text, size]),
            ("call_async", ctypes.c_uint64, [pointer, text, text, size, ctypes.POINTER(_Listener)]),
            ("cancel", None, [pointer, ctypes.c_uint64]),
            ("reply_status", ctypes.c_uint, [pointer]),
            ("reply_text", pointer, [pointer, ctypes.POINTER(size)]),
            ("reply_free", None, [pointer]),
            ("matrix", ctypes.c_int, [pointer, text, size, size, ctypes.POINTER(_Floats)])):
        function = getattr(library, "alignd_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def version() -> str:
    """The version of the library, such as "1.0.0"."""
    return _library.alignd_version().decode()


class _Reply:
    """A reply of the library, which lives as long as arrays that show its matrices."""

    def __init__(self, pointer: int | None):
        if not pointer:
            raise MemoryError("alignd is out of memory")
        self.pointer = pointer

    def __del__(self):
        _library.alignd_reply_free(self.pointer)

    def bytes(self) -> bytes:
        length = ctypes.c_size_t()
        at = _library.alignd_reply_text(self.pointer, ctypes.byref(length))
        return ctypes.string_at(at, length.value)

    def check(self) -> "_Reply":
        """Raises AligndError unless the status is 200."""
        status = _library.alignd_reply_status(self.pointer)
        if status == 200:
            return self
        try:
            error = json.loads(self.bytes())
        except ValueError:
            error = {}
        raise AligndError(error.get("error", "failed"), status, error.get("code", ""), error.get("field"))

    def matrix(self, what: str, text: int, sentence: int) -> "Any | None":
        """A float32 array of NumPy that shows the reply's memory, or a list of lists where there is no NumPy; None: the
        reply has no such matrix."""
        floats = _Floats()
        if _library.alignd_matrix(self.pointer, what.encode(), text, sentence, ctypes.byref(floats)) != 0:
            return None
        numpy = sys.modules.get("numpy")
        if numpy is None:
            try:
                import numpy  # type: ignore[no-redef]
            except ImportError:
                return [floats.values[row * floats.columns:(row + 1) * floats.columns] for row in range(floats.rows)]
        kind = ctypes.c_float * (floats.rows * floats.columns)
        memory = kind.from_address(ctypes.addressof(floats.values.contents)) if len(kind()) else kind()
        memory.reply = self  # keeps it
        return numpy.frombuffer(memory, dtype=numpy.float32).reshape(floats.rows, floats.columns)


# ---- translations ----

@dataclass
class Sentence:
    """A sentence of a translation. tokens, source_tokens: of the model's vocabularies. attention: [tokens,
    source_tokens], or None if it was not asked for. alignment: pairs of (source token, token)."""
    source: str
    text: str
    score: float
    tokens: list[str] = field(default_factory=list)
    source_tokens: list[str] = field(default_factory=list)
    attention: Any = None
    alignment: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Translation:
    """A translated text. quality: the estimated probability that it is right, or None. warnings: as in the daemon's
    replies, each with "code" and "message". reply: the text's object in the reply, with everything else."""
    text: str
    model: str
    sentences: list[Sentence]
    warnings: list[dict]
    reply: dict

    def __str__(self) -> str:
        return self.text


def _translations(reply: _Reply) -> list[Translation]:
    root = json.loads(reply.check().bytes())
    found = []
    for index, item in enumerate(root.get("translations") or root.get("results") or []):
        sentences = [
            Sentence(sentence.get("source_text", ""), sentence.get("text", ""), sentence.get("score", 0.0),
                     sentence.get("tokens", []), sentence.get("source_tokens", []),
                     reply.matrix("attention", index, at) if "attention" in sentence else None,
                     [tuple(pair) for pair in sentence.get("alignment", [])])
            for at, sentence in enumerate(item.get("sentences", []))]
        found.append(Translation(item.get("text", ""), root.get("model", item.get("model", "")), sentences,
                                 item.get("warnings", []), item))
    return found


def _requests(texts: Sequence[str], source: str | None, target: str | None, include: Iterable[str],
              fields: dict) -> Iterator[dict]:
    """The requests for texts, in order."""
    request = {key: value for key, value in (("source", source), ("target", target)) if value}
    request.update(fields)
    if include:
        request["include"] = list(include)
    for at in range(0, len(texts), MOST_TEXTS):
        yield {**request, "text": list(texts[at:at + MOST_TEXTS])}


class Translator:
    """Models in memory and the threads that decode with them.

    model: the name of a model that is installed or its languages ("en-fr"), or the path of its folder; several are
    given one after the other. options: those of `alignd --help` under "Modes that decode" and "Serving", with "_" for
    "-": workers=4, compute="int8", glossary="terms=terms.tsv". Raises AligndError with a sentence that says what is
    wrong."""

    def __init__(self, *models: str, **options: Any):
        flags = [f"--model={model}" for model in models]
        options.setdefault("queue", QUEUE)
        options.setdefault("queue_work", QUEUE * 4096)
        for name, value in options.items():
            for item in value if isinstance(value, (list, tuple)) else [value]:
                shown = str(item).lower() if isinstance(item, bool) else str(item)
                flags.append(f"--{name.replace('_', '-')}={shown}")
        error = ctypes.create_string_buffer(ERROR_BYTES)
        array = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
        self._engine = _library.alignd_open(array, len(flags), error)
        self._pending: dict[int, Any] = {}  # what callbacks use, by the id of the future
        if not self._engine:
            raise AligndError(error.value.decode(errors="replace"), 400, "invalid_options")

    def close(self) -> None:
        """Frees the models. What is still being translated raises AligndError with status 503."""
        engine, self._engine = self._engine, None
        if engine:
            _library.alignd_close(engine)

    def __enter__(self) -> "Translator":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_engine", None):
            self.close()

    # ---- any request ----

    def call(self, what: str, request: Any = None) -> Any:
        """Calls an endpoint ("translate", "attention", "align", "detect", "models", "languages", "formats") with the
        JSON of a request, and returns that of the reply."""
        return json.loads(self._call(what, request).check().bytes())

    def document(self, file: bytes | str | Path, target: str, **fields: str) -> bytes:
        """Translates a file, or the bytes of one with format="html" or filename="page.html"."""
        from urllib.parse import urlencode
        if not isinstance(file, bytes):
            fields.setdefault("filename", Path(file).name)
            file = Path(file).read_bytes()
        return self._call("document?" + urlencode({"target": target, **fields}), file).check().bytes()

    def _call(self, what: str, request: Any) -> _Reply:
        body = request if isinstance(request, bytes) else json.dumps(request or {}).encode()
        if not self._engine:
            raise AligndError("the translator is closed", 503, "closed")
        return _Reply(_library.alignd_call(self._engine, what.encode(), body, len(body)))

    def _submit(self, what: str, request: Any) -> "Future[_Reply]":
        """Calls without waiting. Cancelling the future cancels the call."""
        body, future = json.dumps(request).encode(), Future()
        if not self._engine:
            raise AligndError("the translator is closed", 503, "closed")

        def end(_: Any, pointer: int | None) -> None:
            self._pending.pop(id(future), None)
            try:
                result = _Reply(pointer)
            except MemoryError as error:
                future.set_exception(error)
            else:
                if future.set_running_or_notify_cancel():
                    future.set_result(result)

        listener = _Listener(_Listener.EVENT(), _Listener.END(end), None)
        self._pending[id(future)] = listener, future
        call = _library.alignd_call_async(self._engine, what.encode(), body, len(body), ctypes.byref(listener))
        if call == 0:
            self._pending.pop(id(future), None)
            raise MemoryError("alignd is out of memory")
        future.add_done_callback(lambda done: done.cancelled() and self._engine and
                                 _library.alignd_cancel(self._engine, call))
        return future

    # ---- translating ----

    def translate(self, text: str | Sequence[str], source: str | None = None, target: str | None = None,
                  include: Iterable[str] = (), **fields: Any) -> Any:
        """Translates a text, or a sequence of any length, of which many are decoded together. Returns a Translation, or
        a list of them. include: "attention", "alignment", "tokens", ..., as in REQUESTS.md; fields: others of a
        request, such as beam_size=1 or glossary="terms"."""
        if isinstance(text, str):
            return self.translate([text], source, target, include, **fields)[0]
        done: list[Translation] = []
        waiting: deque[Future[_Reply]] = deque()
        try:
            for request in _requests(text, source, target, include, fields):
                waiting.append(self._submit("translate", request))
                if len(waiting) == MOST_PARTS:
                    done += _translations(waiting.popleft().result())
            while waiting:
                done += _translations(waiting.popleft().result())
        finally:
            for future in waiting:
                future.cancel()
        return done

    async def translate_async(self, text: str | Sequence[str], source: str | None = None, target: str | None = None,
                              include: Iterable[str] = (), **fields: Any) -> Any:
        """The same for coroutines. Cancelling it cancels what is not decoded yet."""
        if isinstance(text, str):
            return (await self.translate_async([text], source, target, include, **fields))[0]
        room = asyncio.Semaphore(MOST_PARTS)

        async def answer(request: dict) -> list[Translation]:
            async with room:
                return _translations(await asyncio.wrap_future(self._submit("translate", request)))

        parts = await asyncio.gather(*map(answer, _requests(text, source, target, include, fields)))
        return [one for part in parts for one in part]

    def align(self, text: str, translation: str, source: str | None = None, target: str | None = None) -> dict:
        """Aligns a text with anybody's translation: links of words, phrases, quality, what is missing."""
        request = {key: value for key, value in (("source", source), ("target", target)) if value}
        return self.call("align", {"text": text, "translation": translation, **request})["results"][0]

    def models(self) -> list[dict]:
        """The models, as the daemon's GET /models describes them."""
        return self.call("models")["models"]
