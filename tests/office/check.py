#!/usr/bin/env python3
"""Office documents and books, translated and opened by other programs (make check-office): check.py ALIGND [KEPT].

Documents are made here: by python-docx, openpyxl and odfpy, by hand, and by LibreOffice from HTML and in other formats of its own.
`alignd translate` makes a translation of each. Then
- the archive is whole, its members are those of the source in their order, and members without text have the same bytes;
- python-docx, openpyxl, odfpy or epubcheck read it, and no paragraph that had text is empty;
- LibreOffice prints it on as many pages, give or take a tenth.
Prints a line for each document; fails if one of these does not hold. KEPT: a folder where sources and translations stay.
"""
import html
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import docx
import openpyxl
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from odf import opendocument, teletype
from odf import text as odf_text

MODEL = "weights/en-fr"
SENTENCES = ["The big dog sleeps in the small house near the river.", "A man in a red shirt is riding a bicycle.",
             "We saw two white horses in the green field yesterday.", "She bought a new car because the old one was broken.",
             "Two children are playing with a yellow ball in the park.", "The train to Paris leaves at eight o'clock in the morning."]


# ---- sources ----

def plain_docx(path: Path, count: int) -> None:
    document = docx.Document()
    for i in range(count):
        if i % 20 == 0:
            document.add_heading(f"Chapter {i // 20 + 1}: the journey", 1)
        paragraph = document.add_paragraph()
        for word in SENTENCES[i % len(SENTENCES)].split(" "):
            run = paragraph.add_run(word + " ")
            run.bold = word in ("big", "red", "white", "new")
            run.italic = word in ("house", "bicycle", "horses")
    document.sections[0].header.paragraphs[0].text = "The header of the page"
    document.sections[0].footer.paragraphs[0].text = "Written in the summer"
    document.save(path)


def full_docx(path: Path) -> None:
    """A table, a list, a field, a tracked change, a text box and a comment's range."""
    document = docx.Document()
    table = document.add_table(3, 2)
    table.style = "Table Grid"
    for i, row in enumerate(table.rows):
        for j, cell in enumerate(row.cells):
            cell.text = SENTENCES[(2 * i + j) % len(SENTENCES)]
    for style in ("List Bullet", "List Number", "Quote", "Title"):
        document.add_paragraph("Bring warm clothes and water.", style=style)
    paragraph = document.add_paragraph("This is page ")
    for kind, text in (("begin", ""), ("", " PAGE "), ("separate", ""), ("text", "1"), ("end", "")):
        run = paragraph.add_run(text if kind == "text" else "")._r
        if kind in ("begin", "separate", "end"):
            mark = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
            run.append(mark)
        elif not kind:
            code = OxmlElement("w:instrText")
            code.text = text
            run.append(code)
    paragraph.add_run(" of the report.")
    paragraph = document.add_paragraph("The weather is ")
    inserted = OxmlElement("w:ins")
    inserted.set(qn("w:id"), "90")
    inserted.set(qn("w:author"), "A")
    inserted.append(paragraph.add_run("very good")._r)
    paragraph._p.append(inserted)
    paragraph.add_run(" today.")
    document.save(path)


def make_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for i, sentence in enumerate(SENTENCES):
        sheet.append([sentence, i, f"=B{i + 1}*2"])
    table = openpyxl.worksheet.table.Table(displayName="Prices", ref="E1:F3")
    for row, values in enumerate([("Big price", "Name"), (1, "A dog"), (2, "A cat")]):
        for column, value in enumerate(values):
            sheet.cell(row + 1, 5 + column, value)
    sheet.add_table(table)
    book.save(path)


def make_odt(path: Path) -> None:
    document = opendocument.OpenDocumentText()
    for sentence in SENTENCES:
        paragraph = odf_text.P()
        for word in sentence.split(" "):
            paragraph.addElement(odf_text.Span(text=word))
            paragraph.addElement(odf_text.S())
        document.text.addElement(paragraph)
    document.save(path)


def make_epub(path: Path, old: bool) -> None:
    body = "".join(f"<p>{html.escape(sentence).replace('big', '<em>big</em>').replace('red', '<b>red</b>')}</p>" for sentence in SENTENCES)
    doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">' if old else "<!DOCTYPE html>"
    names = 'xmlns="http://www.w3.org/1999/xhtml"' + ("" if old else ' xmlns:epub="http://www.idpf.org/2007/ops"')
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}\n<html {names} xml:lang="en"><head><title>The journey</title></head><body>'
    nav = f'{head}<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="a.xhtml">The journey to the lake</a></li></ol></nav></body></html>'
    ncx = ('<?xml version="1.0" encoding="UTF-8"?>\n<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><head><meta name="dtb:uid" content="urn:x:1"/></head>'
           '<docTitle><text>The journey</text></docTitle><navMap><navPoint id="a" playOrder="1"><navLabel><text>The journey to the lake</text></navLabel>'
           '<content src="a.xhtml"/></navPoint></navMap></ncx>')
    meta = '' if old else '<meta property="dcterms:modified">2020-01-01T00:00:00Z</meta>'
    items = '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' + ('' if old else '<item id="v" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>')
    package = (f'<?xml version="1.0" encoding="UTF-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="{"2.0" if old else "3.0"}" unique-identifier="i">'
               '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">urn:x:1</dc:identifier><dc:title>The journey</dc:title>'
               f'<dc:language>en</dc:language>{meta}</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>{items}</manifest>'
               '<spine toc="n"><itemref idref="a"/></spine></package>')
    container = ('<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                 '<rootfile full-path="O/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("O/b.opf", package)
        archive.writestr("O/toc.ncx", ncx)
        if not old:
            archive.writestr("O/nav.xhtml", nav)
        archive.writestr("O/a.xhtml", f"{head}<h1>The journey</h1>{body}</body></html>")


PAGES = {
    "prose": "".join(f"<h2>A day at the lake</h2><p>{s.replace('big', '<b>big</b>')}</p>" for s in SENTENCES),
    "table": "<table border=1>" + "".join(f"<tr><td>{s}</td><td><i>{s}</i></td><td>42</td></tr>" for s in SENTENCES) + "</table>",
    "lists": "<ul>" + "".join(f"<li>{s}<ol><li><a href='http://example.org'>{s}</a></li></ol></li>" for s in SENTENCES) + "</ul>",
    "marks": "".join(f"<p>{s[:12]}<b>{s[12:20]}</b>{s[20:30]}<u>{s[30:]}</u><br>{s}</p><blockquote>{s}</blockquote>" for s in SENTENCES),
}


def office(folder: Path, kind: str, *sources: Path) -> None:
    subprocess.run(["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", kind, "--outdir", folder, *sources],
                   check=True, capture_output=True, timeout=300)


def make_sources(folder: Path) -> list[Path]:
    plain_docx(folder / "prose_long.docx", 200)
    plain_docx(folder / "prose_short.docx", 8)
    full_docx(folder / "features.docx")
    make_xlsx(folder / "cells.xlsx")
    make_odt(folder / "spans.odt")
    make_epub(folder / "new.epub", False)
    make_epub(folder / "old.epub", True)
    pages = []
    for name, content in PAGES.items():
        pages.append(folder / f"{name}.html")
        pages[-1].write_text(f"<html><head><meta charset='utf-8'></head><body>{content}</body></html>")
    office(folder, "odt:writer8", *pages)
    texts = sorted(folder.glob("*.odt"))
    office(folder, "docx:MS Word 2007 XML", *[p for p in texts if p.stem in PAGES])
    office(folder, "odt", folder / "features.docx", folder / "prose_short.docx")
    lines = folder / "sheet.csv"
    lines.write_text("".join(f'"{s}",{i}\n' for i, s in enumerate(SENTENCES)))
    office(folder, "ods", lines, folder / "cells.xlsx")
    office(folder, "xlsx:Calc MS Excel 2007 XML", folder / "sheet.ods")
    make_slides(folder)
    return sorted(p for p in folder.iterdir() if p.suffix in (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub"))


def make_slides(folder: Path) -> None:
    from odf import draw, style
    document = opendocument.OpenDocumentPresentation()
    layout = style.PageLayout(name="L")
    layout.addElement(style.PageLayoutProperties(pagewidth="28cm", pageheight="21cm"))
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    for sentence in SENTENCES:
        page = draw.Page(masterpagename=master)
        frame = draw.Frame(width="20cm", height="5cm", x="2cm", y="2cm")
        box = draw.TextBox()
        box.addElement(odf_text.P(text=sentence))
        frame.addElement(box)
        page.addElement(frame)
        document.presentation.addElement(page)
    document.save(folder / "slides.odp")
    office(folder, "pptx:Impress MS PowerPoint 2007 XML", folder / "slides.odp")


# ---- what must hold ----

def check_archive(before: Path, after: Path) -> None:
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after) as new:
        assert new.testzip() is None, "a member is damaged"
        assert old.namelist() == new.namelist(), "other members, or in another order"
        for a, b in zip(old.infolist(), new.infolist()):
            assert a.compress_type == b.compress_type, f"{a.filename}: another compression"
            if not a.filename.endswith((".xml", ".xhtml", ".ncx", ".opf")):
                assert old.read(a) == new.read(b), f"{a.filename}: other bytes"


def texts_of(path: Path) -> list[str]:
    """The paragraphs, or the cells."""
    if path.suffix == ".docx":
        document = docx.Document(path)
        return ["".join(t.text or "" for t in p.iter(qn("w:t"))) for p in document.element.body.iter(qn("w:p"))]
    if path.suffix == ".xlsx":
        return [str(cell.value or "") for sheet in openpyxl.load_workbook(path) for row in sheet.iter_rows() for cell in row]
    if path.suffix in (".odt", ".ods", ".odp"):
        document = opendocument.load(path)
        return [teletype.extractText(p) for p in document.getElementsByType(odf_text.P)]
    if path.suffix == ".epub":
        result = subprocess.run(["java", "-jar", "/usr/bin/epubcheck", path], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
    return []


def pages_of(folder: Path, path: Path) -> int:
    office(folder, "pdf", path)
    lines = subprocess.run(["pdfinfo", folder / f"{path.stem}.pdf"], check=True, capture_output=True, text=True).stdout.split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("Pages:"))


def main() -> int:
    program, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else made).resolve()
        (folder / "translated").mkdir(parents=True, exist_ok=True)
        for source in make_sources(folder):
            target = folder / "translated" / source.name
            try:
                with open(target, "wb") as out:
                    subprocess.run([program, "translate", "--model", MODEL, "--compute", "int8", source], check=True, stdout=out, timeout=300)
                check_archive(source, target)
                before, after = texts_of(source), texts_of(target)
                assert len(before) == len(after), f"{len(before)} paragraphs became {len(after)}"
                changed = sum(a != b for a, b in zip(before, after))
                assert before == [] or changed > 0, "nothing was translated"
                assert not any(a.strip() and not b.strip() for a, b in zip(before, after)), "a paragraph has lost its text"
                pages = [0, 0] if source.suffix == ".epub" else [pages_of(folder, source), pages_of(folder / "translated", target)]
                assert abs(pages[0] - pages[1]) <= max(1, pages[0] // 10), f"{pages[0]} pages became {pages[1]}"
                print(f"{source.name:22} {len(before):5} texts, {changed:5} translated, pages {pages[0]} -> {pages[1]}", flush=True)
            except (AssertionError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{source.name:22} {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
