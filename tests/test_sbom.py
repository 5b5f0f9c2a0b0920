"""docker/sbom.py: an image's list passes tests/check_sbom.py and is the same for the same image; missing entries are
detected."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docker"), str(ROOT / "tests")]

import check_sbom  # noqa: E402
import sbom  # noqa: E402

STATUS = """Package: libexample1
Status: install ok installed
Maintainer: Example Maintainers <example@example.org>
Architecture: amd64
Multi-Arch: same
Version: 1:2.0+b1-3
Description: an example
 Version: of many lines

Package: g++-gone
Status: deinstall ok config-files
Maintainer: Nobody <nobody@example.org>
Architecture: amd64
Version: 1

Package: c++_like
Status: install ok installed
Maintainer: Example Maintainers <example@example.org>
Architecture: all
Version: 4
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    terms = tmp_path / "usr/share/doc/libexample1/copyright"
    terms.parent.mkdir(parents=True)
    terms.write_text("Files: *\nLicense: LGPL-2.1+\n\nFiles: debian/*\nLicense: Expat\n\nLicense: Expat\n Permission "
                     "is hereby granted\n")
    model = tmp_path / "usr/share/alignd/xx-yy"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(b"weights")
    (model / "README.md").write_text(
        "# X to Y\n\n## Data and licence\n\nTatoeba, CC BY 2.0 FR.\n\n## Limits\n\nMany.\n")
    return tmp_path


def test_names_all_that_is_installed(image: Path) -> None:
    made = sbom.document(image, "1.2.3", "amd64", 0)
    assert check_sbom.faults(made, image) == []
    assert [(package["name"], package["versionInfo"]) for package in made["packages"]] == \
        [("alignd", "1.2.3"), ("xx-yy", "1.2.3"), ("c++_like", "4"), ("libexample1", "1:2.0+b1-3")]


def test_licences_are_those_that_were_found(image: Path) -> None:
    alignd, model, _, library = sbom.document(image, "1.2.3", "amd64", 0)["packages"]
    assert alignd["licenseDeclared"] == "MIT"
    assert model["licenseComments"] == "Tatoeba, CC BY 2.0 FR."
    assert library["licenseDeclared"] == "NOASSERTION" and "Expat, LGPL-2.1+" in library["licenseComments"]


def test_the_same_image_has_the_same_list(image: Path) -> None:
    once, again = (json.dumps(sbom.document(image, "1.2.3", "amd64", 1700000000)) for _ in range(2))
    assert once == again and "2023-11-14T22:13:20Z" in once
    (image / "usr/share/alignd/xx-yy/model.safetensors").write_bytes(b"others")
    other = sbom.document(image, "1.2.3", "amd64", 1700000000)
    assert other["documentNamespace"] != json.loads(once)["documentNamespace"]


@pytest.mark.parametrize("index", range(4))
def test_what_is_left_out_is_found(image: Path, index: int) -> None:
    made = sbom.document(image, "1.2.3", "amd64", 0)
    del made["packages"][index]
    assert check_sbom.faults(made, image)


@pytest.mark.parametrize("field", sorted(check_sbom.PACKAGE))
def test_a_field_that_lacks_is_found(image: Path, field: str) -> None:
    made = sbom.document(image, "1.2.3", "amd64", 0)
    del made["packages"][-1][field]
    assert check_sbom.faults(made, image)
