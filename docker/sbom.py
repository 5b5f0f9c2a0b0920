"""What an image holds, as SPDX 2.3: python3 docker/sbom.py ROOT VERSION ARCH > sbom.spdx.json

Reads ROOT/var/lib/dpkg/status, ROOT/usr/share/doc/PACKAGE/copyright and the models in ROOT/usr/share/alignd; ARCH is
Debian's name of the image's architecture. Debian does not state licences in SPDX's words: a package's are NOASSERTION,
and what its copyright file names is in a comment. Nothing but these files has a part in the output: the time is
SOURCE_DATE_EPOCH (0), the namespace a hash of the contents."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

HOME = "https://alignd.example"
AUTHORS = "Organization: The alignd authors"
UNKNOWN = "NOASSERTION"


def stanzas(text: str) -> list[dict[str, str]]:
    """Of dpkg's status: each package's fields; of one with several lines the first."""
    found = (dict(re.findall(r"^([A-Za-z-]+): ?(.*)$", stanza, re.MULTILINE)) for stanza in text.split("\n\n")
             if stanza.strip())
    return [fields for fields in found if fields["Status"].endswith(" installed")]


def identifier(*parts: str) -> str:
    """SPDX allows letters, digits, dots and dashes."""
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.-]", lambda character: f"-{ord(character[0]):x}-", part)
                                 for part in parts)


def comment(copyright_file: Path) -> str:
    """The short names of licences in a copyright file that machines can read."""
    text = copyright_file.read_text(errors="replace") if copyright_file.is_file() else ""
    names = sorted(set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE)))
    named = f"In Debian's short names: {', '.join(names)}. " if names else ""
    return (f"{named}/usr/share/doc/{copyright_file.parent.name}/copyright has the terms." if text
            else "The terms are in the source package.")


def package(name: str, version: str, spdx_id: str, supplier: str, **more: object) -> dict:
    """The fields that SPDX asks for, and the ones besides."""
    required = {"name": name, "SPDXID": spdx_id, "versionInfo": version, "supplier": supplier,
                "downloadLocation": UNKNOWN, "filesAnalyzed": False}
    terms = {"licenseConcluded": UNKNOWN, "licenseDeclared": UNKNOWN, "copyrightText": UNKNOWN}
    return required | terms | more


def debian_package(root: Path, fields: dict[str, str]) -> dict:
    name, version, arch = fields["Package"], fields["Version"], fields["Architecture"]
    locator = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={arch}&distro=bookworm"
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
    return package(name, version, identifier("Package", name, arch), f"Organization: Debian ({fields['Maintainer']})",
                   primaryPackagePurpose="LIBRARY" if name.startswith("lib") else "APPLICATION",
                   licenseComments=comment(root / "usr/share/doc" / name / "copyright"), externalRefs=[reference])


def terms_of(card: str) -> str:
    """Of a model card: the section about data and licence."""
    section = re.search(r"^## Data and licences?\n+(.*?)(?=^## |\Z)", card, re.MULTILINE | re.DOTALL)
    return section[1].strip() if section else UNKNOWN


def model_package(folder: Path, version: str) -> dict:
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return package(folder.name, version, identifier("Model", folder.name), AUTHORS,
                   packageFileName=f"/usr/share/alignd/{folder.name}",
                   primaryPackagePurpose="DATA", licenseComments=terms_of((folder / "README.md").read_text()),
                   comment=f"SHA-256 of model.safetensors: {weights}")


def relation(one: str, kind: str, other: str) -> dict:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(root: Path, version: str, arch: str, epoch: int) -> dict:
    """All of it; packages by name."""
    status = (root / "var/lib/dpkg/status").read_text()
    alignd = package("alignd", version, "SPDXRef-alignd", AUTHORS, licenseConcluded="MIT", licenseDeclared="MIT",
                     copyrightText="Copyright (c) 2026 The alignd authors", primaryPackagePurpose="APPLICATION")
    debian = sorted((debian_package(root, fields) for fields in stanzas(status)), key=lambda entry: entry["SPDXID"])
    models = [model_package(path.parent, version)
              for path in sorted((root / "usr/share/alignd").glob("*/model.safetensors"))]
    packages = [alignd, *models, *debian]
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"alignd-{version}-image-{arch}",
        "documentNamespace": f"{HOME}/spdx/alignd-{version}-image-{arch}-{digest}",
        "creationInfo": {"created": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: alignd-sbom-{version}"]},
        "packages": packages,
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-alignd")]
        + [relation("SPDXRef-alignd", "CONTAINS", model["SPDXID"]) for model in models]
        + [relation("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"]) for entry in debian],
    }


if __name__ == "__main__":
    made = document(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(os.environ.get("SOURCE_DATE_EPOCH") or 0))
    json.dump(made, sys.stdout, indent=1, ensure_ascii=False)
    print()
