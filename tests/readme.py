#!/usr/bin/env python3
"""Runs what the documents tell a reader to type, and compares what comes out.

    readme.py BUILD FILE.md...            each ```console block: a command after "$ ", and below it what it prints
    readme.py --write BUILD FILE.md...    puts what the commands print now into the documents

Commands run one after the other in one shell for each document, in a folder of its own that has the shipped models as
weights/, with BUILD's alignd in the path. For localhost:8080 in a document, a daemon with the shipped models listens.
Numbers with a fraction may differ by 2 in their third digit (processors round differently); "..." matches anything; a
long line may be broken into several, with any indentation.

A ```sh block is not run here: the line above it, <!-- checked by: make TARGET, ... -->, names the checks that run it,
which must be targets of Makefile or tests/Makefile. A ```python or ```js block is run against the same daemon. For each
command in an indented block of some documents, tests/readme_commands.py states what runs it, or why nothing does.
tests/readme_links.py checks links and file names. In every block, the options of `python3 -m weights.PACKAGE.NAME
--option` must exist.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator, NamedTuple

import readme_commands
import readme_links

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)$")
CHECKED = re.compile(r"^<!-- checked by: (.+) -->$")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+e-?\d+")
OPTION = re.compile(r"python3 -m (weights(?:\.\w+)+)((?:[^\n#|>]|\\\n)*)")
SECONDS = 60
SLOW_SECONDS = 600  # for commands that process text with a model


class Block(NamedTuple):
    language: str
    first: int  # first line's number, from 0
    lines: list[str]
    above: str  # the line before the fence


def blocks(lines: list[str]) -> Iterator[Block]:
    begin = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and begin is None:
            begin, language = number, fence[1]
        elif fence:
            yield Block(language, begin + 1, lines[begin + 1:number], lines[begin - 1] if begin else "")
            begin = None
    if begin is not None:
        raise SystemExit(f"line {begin + 1}: a block without an end")


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yields (command, expected lines of output)."""
    command, output = None, []
    for line in block.lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, output
            command, output = line[2:], []
        else:
            output.append(line)
    if command is None:
        raise SystemExit(f"line {block.first}: a console block without a command")
    yield command, output


def same(expected: str, actual: str) -> bool:
    """Whether the outputs are equal, up to rounding, with "..." as a wildcard."""
    pattern = "".join(r"(-?[\d.e-]+)" if NUMBER.fullmatch(part) else re.escape(part).replace(r"\.\.\.", "(?:.|\n)*?")
                      for part in re.split(f"({NUMBER.pattern})", expected))
    found = re.fullmatch(pattern, actual)
    if not found:
        return False
    for wanted, got in zip(NUMBER.findall(expected), found.groups()):
        if abs(float(wanted) - float(got)) > 2e-3 * max(abs(float(wanted)), 0.05):
            return False
    return True


class Shell:
    """Runs each command in a new bash, in the same folder and environment."""

    def __init__(self, folder: Path, build: Path, port: int):
        self.folder, self.port = folder, port
        self.environment = {"PATH": f"{build}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def succeeds(self, command: str) -> bool:
        """Runs a command; prints its last lines if it fails."""
        command = re.sub(r"^python3 ", "/usr/bin/python3 ", self.local(command))
        command = re.sub(r"^curl ", "curl --fail-with-body ", command)
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SLOW_SECONDS, text=True)
        if done.returncode != 0:
            print("\n".join(done.stdout.splitlines()[-5:]))
        return done.returncode == 0

    def run(self, argv: list[str]) -> str:
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS, text=True)
        return done.stdout.replace(f":{self.port}", ":8080").rstrip("\n")

    def local(self, text: str) -> str:
        return text.replace("localhost:8080", f"localhost:{self.port}").replace("127.0.0.1:8080",
                                                                                f"127.0.0.1:{self.port}")

    def console(self, command: str) -> str:
        return self.run(["bash", "-c", self.local(command)])


def run_console(block: Block, shell: Shell, name: str, write: bool) -> tuple[list[str], int, int]:
    """Returns the block with the actual output, the number of commands, and how many printed something else."""
    lines, ran, wrong = [], 0, 0
    for command, output in commands(block):
        actual, expected = shell.console(command), "\n".join(output)
        ran += 1
        good = same(expected, actual) or same("".join(line.lstrip() for line in output), actual)
        if not good and not write:
            print(f"{name}:{block.first}: $ {command}\n  expected: {expected}\n  printed:  {actual}")
        wrong += not good
        lines += [f"$ {command}"] + (output if good else actual.split("\n") if actual else [])
    return lines, ran, wrong


def run_program(block: Block, shell: Shell, name: str) -> bool:
    argv = {"python": [sys.executable, "-c"], "js": ["node", "--input-type=module", "-e"]}[block.language]
    printed = shell.run([*argv, shell.local("\n".join(block.lines))])
    good = bool(printed) and "Error" not in printed
    print(f"{name}:{block.first}: {block.language}: {printed}")
    return good


def named_targets(block: Block) -> list[str]:
    above = CHECKED.match(block.above)
    return re.findall(r"make ([\w-]+)", above[1]) if above else []


def unknown_options(text: str, known: dict[str, str]) -> list[str]:
    """The options in a text's commands of weights/ that the programs do not have."""
    wrong = []
    for module, rest in OPTION.findall(text):
        if module not in known:
            known[module] = subprocess.run(["/usr/bin/python3", "-m", module, "--help"], cwd=ROOT,
                                           stdout=subprocess.PIPE, text=True).stdout
        wrong += [f"{module} {option}" for option in re.findall(r"--[\w-]+", rest) if option not in known[module]]
    return wrong


def check_indented(name: str, lines: list[str], shell: Shell, targets: set[str]) -> tuple[int, int]:
    """Checks the commands in the indented blocks of a document. Returns (passed, failed)."""
    unused = [row for row in readme_commands.ROWS if row.document == name]
    results = []
    for number, command in readme_commands.indented(lines):
        row = readme_commands.row_of(name, command)
        named = readme_commands.named_targets(command, row)
        if row and row in unused:
            unused.remove(row)
        good = shell.succeeds(command) if row and row.run else bool(row or named) and targets.issuperset(named)
        print(f"{name}:{number}: {'run' if row and row.run else row.reason if row else 'a check'}: {command}"
              + ("" if good else ": FAILED"))
        results.append(good)
    for row in unused:
        print(f"{name}: no command begins with {row.begins!r}, which has a row in tests/readme_commands.py")
    return sum(results), len(results) - sum(results) + len(unused)


def check(path: Path, shell: Shell, targets: set[str], write: bool, known: dict[str, str]) -> tuple[int, int]:
    """Checks a document. Returns (passed, failed)."""
    lines = path.read_text().split("\n")
    passed = failed = 0
    name = str(path.relative_to(ROOT))
    for block in reversed(list(blocks(lines))) if write else blocks(lines):
        if block.language == "console":
            new, ran, wrong = run_console(block, shell, name, write)
            passed, failed = passed + ran - wrong, failed + wrong
            if write:
                lines[block.first:block.first + len(block.lines)] = new
        elif block.language in ("python", "js"):
            good = run_program(block, shell, name)
            passed, failed = passed + good, failed + (not good)
        elif block.language == "sh":
            missing = [target for target in named_targets(block) if target not in targets]
            bad = missing or not named_targets(block)
            if bad:
                print(f"{name}:{block.first}: no check named above this block is a target of Makefile or "
                      f"tests/Makefile: {block.above!r}")
            passed, failed = passed + (not bad), failed + bool(bad)
        else:
            raise SystemExit(f"{name}:{block.first}: a block is console, sh, python or js; indent everything else")
    if not write:
        good, bad = check_indented(name, lines, shell, targets)
        passed, failed = passed + good, failed + bad
    wrong = unknown_options("\n".join(lines), known)
    for option in wrong:
        print(f"{name}: unknown option: {option}")
    if write:
        path.write_text("\n".join(lines))
    return passed, failed + len(wrong)


def start_daemon(build: Path, log: Path) -> tuple[subprocess.Popen, int]:
    """Starts a daemon with the shipped models; returns it with its port once it is ready."""
    models = sorted((config.parent for config in ROOT.glob("weights/*/config.json")),
                    key=lambda folder: (folder.name != "en-fr", folder.name))
    arguments = [argument for model in models for argument in ("--model", str(model))]
    with log.open("w") as stderr:
        daemon = subprocess.Popen([build / "alignd", *arguments, "--default-model", models[0].name, "--listen",
                                   "127.0.0.1:0"], stderr=stderr)
    for _ in range(SECONDS * 10):
        text = log.read_text()
        port = re.search(r"event=listening address=127\.0\.0\.1:(\d+)", text)
        if port and "event=ready" in text:
            return daemon, int(port[1])
        if daemon.poll() is not None:
            break
        time.sleep(0.1)
    daemon.kill()
    raise SystemExit(f"the daemon is not ready:\n{log.read_text()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put what the commands print now into the documents")
    parser.add_argument("build", type=Path)
    parser.add_argument("documents", type=Path, nargs="+")
    arguments = parser.parse_args()
    makefiles = "".join((ROOT / name).read_text() for name in ("Makefile", "tests/Makefile"))
    targets = set(re.findall(r"^([a-z][\w-]*)(?= *[\w -]*:)", makefiles, re.M))
    build = arguments.build.resolve()
    passed = failed = 0
    known: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as logs:
        daemon, port = start_daemon(build, Path(logs) / "log")
        try:
            for document in arguments.documents:
                with tempfile.TemporaryDirectory() as folder:
                    if any(ROOT / row.document == document.resolve() for row in readme_commands.ROWS):
                        readme_commands.prepare(ROOT, build, Path(folder))
                    else:
                        (Path(folder) / "weights").symlink_to(ROOT / "weights")
                    good, bad = check(document.resolve(), Shell(Path(folder), build, port), targets, arguments.write,
                                      known)
                passed, failed = passed + good, failed + bad
        finally:
            daemon.terminate()
            daemon.wait()
    failed += 0 if arguments.write else readme_links.check()
    print(f"{passed} passed, {failed} failed")
    return 0 if arguments.write or not failed else 1


if __name__ == "__main__":
    sys.exit(main())
