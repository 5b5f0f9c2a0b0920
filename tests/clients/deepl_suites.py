"""Runs the tests of DeepL's own clients against alignd and counts them:
python3 tests/clients/deepl_suites.py ALIGND FOLDER [--phrase] [--bootstrap FILE]

Input: the program; a folder with checkouts of deepl-python, deepl-php and deepl-node (those that are there are run),
with what their tests need: pytest, pydantic 1 and click; phpunit 9 and vendor/, or FILE, which loads the classes of
$SUITE; npm ci. Each suite is run twice: as against DeepL's server, with a key, and as against DeepL's mock server,
without one. A test counts as passed if it passes in one of them. Output: the counts of each suite, and its failures by
reason; those that no reason explains are named. With --phrase, the suites' example ("proton beam") is replaced in a
copy by one that the shipped models translate as the suites expect: then a failure says something about the API.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Iterator
from xml.etree import ElementTree

PHRASES = {"proton beam": "wooden bridge", "Protonenstrahl": "Holzbrücke", "faisceau de protons": "pont de bois",
           "'proton'": "'bridge'", '"proton" in': '"bridge" in'}
# The first that matches says why a test fails: a regular expression for its name and message.
REASONS = {
    "a language without a model": r'_lang: "\w\w(-\w\w)?" is not supported|RegionalVariants',
    "not offered (write, style rules, translation memories, ...)": r"(?i)rephrase|style.?rule|list.?translation.?memor|"
    r"custom.?instructions|output.?format|getLanguagesV3 ",
    "only a mock server can do it": r"(?i)too.?many.?requests|retr(y|ies)|no.?response|timed-out|overrun|usage limits|"
    r"team.?document.?limit|manual_timeout|low.?level|request_fields|overridden path|document status",
    "the test intercepts DeepL's own address": r"(?i)nock",
    "it bills at least 50,000 characters": r"expected 50000",
    "another translation": r"(?i)proton|Headung|bridge|brücke",
    "it expects not to be root": r"file operation error",
}


def start(alignd: str, folder: Path, arguments: list[str]) -> tuple[subprocess.Popen, str]:
    """Starts a daemon with the models of this repository. Returns it and its address once it is ready."""
    log = (folder / "log").open("w+")
    daemon = subprocess.Popen([alignd, "--models", "weights", "--listen", "127.0.0.1:0", "--glossaries",
                               str(folder / "glossaries"), *arguments], stdout=log, stderr=log)
    for _ in range(600):
        port = re.search(r"127\.0\.0\.1:(\d+)", Path(log.name).read_text())
        try:
            if port and urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/ready").status == 200:
                return daemon, f"http://127.0.0.1:{port[1]}"
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"alignd is not ready: {Path(log.name).read_text()}")


def commands(suite: Path, report: Path, bootstrap: str | None) -> Iterator[tuple[list[str], dict[str, str], Path]]:
    """Yields commands that run a suite, what they add to the environment, and the report in JUnit's format."""
    if suite.name == "deepl-python":
        yield ([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", "tests"],
               {"PYTHONPATH": str(suite), "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}, report)
    elif suite.name == "deepl-php":
        phpunit = suite / "vendor/bin/phpunit"
        program = str(phpunit) if phpunit.exists() else shutil.which("phpunit") or "phpunit"
        yield (["php", "-d", "error_reporting=8191", program, "--no-coverage", "--bootstrap",
                bootstrap or "vendor/autoload.php", "--log-junit", str(report), "tests"],
               {"SUITE": str(suite)}, report)
    else:  # each file by itself, since some keep the others from the network
        for at, file in enumerate(sorted(suite.glob("tests/**/*.test.ts"))):
            own = report.with_name(f"{report.stem}{at}.xml")
            yield (["npx", "jest", str(file.relative_to(suite)), "--reporters=jest-junit"],
                   {"JEST_JUNIT_OUTPUT_FILE": str(own)}, own)


def outcomes(report: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the name of each test, "passed", "failed" or "skipped", and the message of a failure."""
    for case in ElementTree.parse(report).iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error")]
        name = f"{case.get('classname', '').split(chr(92))[-1]} {case.get('name')}"
        text = f"{bad[0].get('message', '')} {bad[0].text or ''}" if bad else ""
        yield name, "failed" if bad else "skipped" if case.find("skipped") is not None else "passed", text


def run(suite: Path, daemons: list[tuple[str, str, bool]], folder: Path, bootstrap: str | None) -> None:
    """Runs a suite against each (address, key, mock) and prints the counts."""
    found, messages = defaultdict(set), defaultdict(str)
    for address, key, mock in daemons:
        settings = {"DEEPL_SERVER_URL": address, "DEEPL_AUTH_KEY": key}
        settings |= {"DEEPL_MOCK_SERVER_PORT": address.rsplit(":", 1)[1]} if mock else {}
        for command, more, report in commands(suite, folder / f"{suite.name}-{mock}.xml", bootstrap):
            run = subprocess.run(command, cwd=suite, env=os.environ | settings | more, capture_output=True, text=True)
            if not report.exists():
                raise SystemExit(f"{' '.join(command)}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
            for name, outcome, message in outcomes(report):
                found[name].add(outcome)
                messages[name] += message[:600]
    failed = [name for name, seen in found.items() if "passed" not in seen and "failed" in seen]
    print(f"{suite.name}: {sum('passed' in seen for seen in found.values())} of {len(found)} pass, "
          f"{sum(seen == {'skipped'} for seen in found.values())} are skipped")
    counts, unexplained = defaultdict(int), []
    for name in failed:
        reason = next((reason for reason, rule in REASONS.items() if re.search(rule, f"{name} {messages[name]}")), None)
        counts[reason] += 1
        if not reason:
            unexplained.append(name)
    for reason, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:3} {reason or 'unexplained'}")
    for name in unexplained:
        print(f"      {name}: {' '.join(messages[name].split())[:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alignd")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--phrase", action="store_true")
    parser.add_argument("--bootstrap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / name for name in ("keyed", "open")]
        for folder in folders:
            folder.mkdir()
        made = subprocess.run([options.alignd, "key", "--name", "suite"], capture_output=True, text=True, check=True)
        keys = folders[0] / "keys"
        keys.write_text(made.stdout)
        key = re.search(r"alignd-\w+", made.stderr)[0]
        daemons = [start(options.alignd, folders[0], ["--api-keys", str(keys)]), start(options.alignd, folders[1], [])]
        try:
            for name in ("deepl-python", "deepl-php", "deepl-node"):
                suite = options.folder.resolve() / name
                if not suite.is_dir():
                    continue
                if options.phrase:
                    suite = Path(shutil.copytree(suite, Path(scratch) / name, symlinks=True))
                    for file in (path for kind in ("py", "php", "ts") for path in suite.glob(f"tests/**/*.{kind}")):
                        text = file.read_text()
                        for old, new in PHRASES.items():
                            text = text.replace(old, new)
                        file.write_text(text)
                run(suite, [(daemons[0][1], key, False), (daemons[1][1], key, True)], Path(scratch), options.bootstrap)
        finally:
            for daemon, _ in daemons:
                daemon.terminate()
                daemon.wait()


if __name__ == "__main__":
    main()
