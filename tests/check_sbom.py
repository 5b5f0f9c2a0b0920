"""check_sbom.py SBOM ROOT: checks that a list is SPDX 2.3 according to its JSON schema, and names everything in ROOT:
each package installed by dpkg with version, supplier and licence, alignd, and each model. Prints the faults, or the
number of packages."""

import json
import re
import sys
from pathlib import Path

DOCUMENT = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages",
            "relationships"}
PACKAGE = {"SPDXID", "name", "versionInfo", "supplier", "downloadLocation", "licenseConcluded", "licenseDeclared",
           "copyrightText"}


def faults(sbom: dict, root: Path) -> list[str]:
    """One line for each fault; empty if the list is correct and complete."""
    found = [f"the document has no {key}" for key in DOCUMENT - sbom.keys()]
    if found:
        return found
    packages, created = sbom["packages"], sbom["creationInfo"]
    if (sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]) != ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"):
        found.append("the document's head is not that of SPDX 2.3")
    if not re.fullmatch(r"https://[^#\s]+", sbom["documentNamespace"]):
        found.append(f"no namespace: {sbom['documentNamespace']}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created.get("created", "")) or not created.get("creators"):
        found.append(f"creationInfo: {created}")
    for package in packages:
        found += [f"{package.get('name')} has no {key}" for key in sorted(PACKAGE) if not package.get(key)]
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package.get("SPDXID", "")):
            found.append(f"not an SPDXID: {package.get('SPDXID')}")
        if not re.match(r"(Organization|Person): ", package.get("supplier", "")):
            found.append(f"{package.get('name')}: supplier {package.get('supplier')}")
    known = [package.get("SPDXID") for package in packages] + ["SPDXRef-DOCUMENT"]
    found += [f"{name} is there more than once" for name in sorted({name for name in known if known.count(name) > 1})]
    found += [f"a relationship with nothing: {relation}" for relation in sbom["relationships"]
              if relation["spdxElementId"] not in known or relation["relatedSpdxElement"] not in known]
    listed = {(package.get("name"), package.get("versionInfo")) for package in packages}
    names = {name for name, _ in listed}
    found += [f"{name} {version} is not listed" for name, version in installed(root) if (name, version) not in listed]
    return found + [f"the model {name} is not listed" for name in models(root) if name not in names]


def installed(root: Path) -> list[tuple[str, str]]:
    status = (root / "var/lib/dpkg/status").read_text()
    return re.findall(r"^Package: (\S+)\nStatus: \S+ \S+ installed\n(?:.+\n)*?Version: (\S+)$", status, re.MULTILINE)


def models(root: Path) -> list[str]:
    return [path.parent.name for path in (root / "usr/share/alignd").glob("*/model.safetensors")]


if __name__ == "__main__":
    image = Path(sys.argv[2])
    wrong = faults(json.loads(Path(sys.argv[1]).read_text()), image)
    if not installed(image) or not models(image):
        wrong.append("no package or no model was found in the image")
    print("\n".join(wrong) or f"SPDX 2.3: alignd, {len(models(image))} models, {len(installed(image))} packages")
    sys.exit(bool(wrong))
