#!/usr/bin/env python3
"""wheel.py BUILD VERSION ARCHITECTURE ROOT STRIP: makes BUILD/alignd-VERSION-py3-none-manylinux_2_36_ARCHITECTURE.whl.

It has the package alignd, libalignd.so.1, and the libraries that this one needs beyond the C library, so that it works
on every Linux with glibc 2.36 or later. The libraries are found beside libalignd.so.1 by its rpath. The same sources
give the same bytes. ROOT: of a Debian system of the architecture that has the libraries (/: this one); STRIP: the
architecture's strip.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# of the C library, which every system has and which must be the system's own
OF_SYSTEM = re.compile(r"^(ld-linux|libc\.so|libm\.so|libpthread|libdl|librt\.|linux-vdso)")
METADATA = """Metadata-Version: 2.1
Name: alignd
Version: {version}
Summary: Translation with attention and word alignment, in this process
License: Apache-2.0
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""


def needed(library: Path, folders: list[Path], found: dict[str, Path]) -> None:
    """Adds the libraries that a library needs, also indirectly, without those of the C library."""
    lines = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"\(NEEDED\).*\[(.+)\]", lines):
        if name in found or OF_SYSTEM.match(name):
            continue
        places = [folder / name for folder in folders if (folder / name).exists()]
        if not places:
            sys.exit(f"{name}, which {library} needs, is not in {folders[0]}")
        found[name] = places[0].resolve()
        needed(found[name], folders, found)


def stripped(library: Path, strip: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / library.name
        subprocess.run([strip, "--strip-unneeded", "-o", copy, library], check=True)
        return copy.read_bytes()


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def main() -> None:
    build, version, architecture, root, strip = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5]
    tag = f"py3-none-manylinux_2_36_{architecture}"
    info = f"alignd-{version}.dist-info"
    library = build / "libalignd.so.1"
    files = {f"alignd/{path.name}": path.read_bytes() for path in sorted((HERE / "alignd").glob("*")) if path.is_file()}
    libraries = {library.name: library}
    needed(library, [Path(root) / place / f"{architecture}-linux-gnu" for place in ("usr/lib", "lib")], libraries)
    for name, path in sorted(libraries.items()):
        files[f"alignd/{name}"] = stripped(path, strip)
    files[f"{info}/METADATA"] = METADATA.format(version=version, readme=(HERE / "README.md").read_text()).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: alignd\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = ("\n".join(record) + f"\n{info}/RECORD,,\n").encode()
    result = build / f"alignd-{version}-{tag}.whl"
    with zipfile.ZipFile(f"{result}.new", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    os.replace(f"{result}.new", result)
    print(result)


if __name__ == "__main__":
    main()
