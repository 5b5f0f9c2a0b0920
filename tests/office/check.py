#!/usr/bin/env python3
"""Office documents and books, translated and opened by other programs (make check-office): check.py ALIGND [KEPT].

Makes some 60 documents: with python-docx, openpyxl and odfpy, by hand for single features, and with LibreOffice from
HTML and in its other formats. `alignd translate` translates each. Then
- the archive is valid, its members are the source's in the same order, and members without text have the same bytes;
- python-docx, openpyxl, odfpy or epubcheck can read it, and no paragraph with text has become empty;
- LibreOffice prints it on as many pages, within a tenth (or one page).

Prints a line for each document; fails if one of these does not hold. KEPT: a folder in which sources and translations
are kept.
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
             "We saw two white horses in the green field yesterday.",
             "She bought a new car because the old one was broken.",
             "Two children are playing with a yellow ball in the park.",
             "The train to Paris leaves at eight o'clock in the morning."]


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
    body = "".join(f"<p>{html.escape(sentence).replace('big', '<em>big</em>').replace('red', '<b>red</b>')}</p>"
                   for sentence in SENTENCES)
    doctype = ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
               if old else "<!DOCTYPE html>")
    names = 'xmlns="http://www.w3.org/1999/xhtml"' + ("" if old else ' xmlns:epub="http://www.idpf.org/2007/ops"')
    head = (f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}\n<html {names} xml:lang="en"><head><title>The '
            f'journey</title></head><body>')
    nav = (f'{head}<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="a.xhtml">The journey to the '
           f'lake</a></li></ol></nav></body></html>')
    ncx = ('<?xml version="1.0" encoding="UTF-8"?>\n<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" '
           'version="2005-1"><head><meta name="dtb:uid" content="urn:x:1"/></head>'
           '<docTitle><text>The journey</text></docTitle><navMap><navPoint id="a" playOrder="1"><navLabel><text>The '
           'journey to the lake</text></navLabel>'
           '<content src="a.xhtml"/></navPoint></navMap></ncx>')
    meta = '' if old else '<meta property="dcterms:modified">2020-01-01T00:00:00Z</meta>'
    items = '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' + (
        '' if old else '<item id="v" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>')
    package = (f'<?xml version="1.0" encoding="UTF-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" '
               f'version="{"2.0" if old else "3.0"}" unique-identifier="i">'
               '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier '
               'id="i">urn:x:1</dc:identifier><dc:title>The journey</dc:title>'
               f'<dc:language>en</dc:language>{meta}</metadata><manifest><item id="a" href="a.xhtml" '
               f'media-type="application/xhtml+xml"/>{items}</manifest>'
               '<spine toc="n"><itemref idref="a"/></spine></package>')
    container = ('<?xml version="1.0"?><container version="1.0" '
                 'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                 '<rootfile full-path="O/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("O/b.opf", package)
        archive.writestr("O/toc.ncx", ncx)
        if not old:
            archive.writestr("O/nav.xhtml", nav)
        archive.writestr("O/a.xhtml", f"{head}<h1>The journey</h1>{body}</body></html>")


# ---- single features, by hand ----

W, R = ("http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships")
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{f"<w:rPr>{properties}</w:rPr>" if properties else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def note_part(kind: str) -> str:
    marks = "".join(f'<w:{kind} w:type="{name}" w:id="{i - 1}"><w:p><w:r><w:{name}/></w:r></w:p></w:{kind}>'
                    for i, name in enumerate(("separator", "continuationSeparator")))
    return (f'<w:{kind}s xmlns:w="{W}">{marks}<w:{kind} '
            f'w:id="2"><w:p><w:r><w:{kind}Ref/></w:r>{run(" The red house is old.")}</w:p></w:{kind}></w:{kind}s>')


# Paragraphs of the body, and additional parts: (name, type, content).
WORD: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "link":
        ((f'<w:p>{run("Read ")}<w:hyperlink r:id="r1" w:history="1">'
          f'{run("the big book", "<w:u w:val=&quot;single&quot;/>".replace("&quot;", chr(34)))}</w:hyperlink>'
          f'{run(" today.")}</w:p>'), []),
    "footnote":
        (f'<w:p>{run("The old house")}<w:r><w:footnoteReference w:id="2"/></w:r>{run(" is near the river.")}</w:p>',
         [("footnotes", "footnotes", note_part("footnote"))]),
    "endnote":
        (f'<w:p>{run("The old house")}<w:r><w:endnoteReference w:id="2"/></w:r>{run(" is near the river.")}</w:p>',
         [("endnotes", "endnotes", note_part("endnote"))]),
    "header": (f'<w:p>{run(SENTENCES[0])}</w:p><w:sectPr><w:headerReference w:type="default" r:id="r2"/></w:sectPr>',
               [("header1", "header", f'<w:hdr xmlns:w="{W}"><w:p>{run("The report of the year")}</w:p></w:hdr>')]),
    "proofing": ('<w:p><w:proofErr w:type="spellStart"/>' + "".join(
        f'<w:r w:rsidR="00{i}">{"<w:rPr><w:lang w:val=" + chr(34) + "en-US" + chr(34) + "/></w:rPr>" if i % 2 else ""}'
        f'<w:t xml:space="preserve">{word} </w:t></w:r>'
        for i, word in enumerate(SENTENCES[1].split())) + '<w:proofErr w:type="spellEnd"/></w:p>', []),
    "tracked":
        ((f'<w:p>{run("The weather is ")}<w:ins w:id="1" w:author="A">{run("very good")}</w:ins><w:del w:id="2" '
          f'w:author="A"><w:r><w:delText>bad</w:delText></w:r></w:del>{run(" today.")}</w:p>'), []),
    "field":
    (f'<w:p>{run("This is page ")}<w:fldSimple w:instr=" PAGE ">{run("1")}</w:fldSimple>{run(" of the report.")}</w:p>',
     []),
    "breaks":
        ((f'<w:p>{run("The first line.")}<w:r><w:br/></w:r>{run("The second line.")}<w:r><w:tab/></w:r>'
          f'{run("A third part.")}</w:p>'), []),
    "bookmark":
    ((f'<w:p>{run("We saw ")}<w:bookmarkStart w:id="4" w:name="x"/>{run("two white horses", "<w:b/>")}<w:bookmarkEnd '
      f'w:id="4"/>{run(" in the green field.")}</w:p>'), []),
    "control":
        ((f'<w:sdt><w:sdtPr><w:id '
          f'w:val="7"/></w:sdtPr><w:sdtContent><w:p>{run("She bought a new car.")}</w:p></w:sdtContent></w:sdt>'), []),
    "nested":
        ((f'<w:tbl><w:tblPr/><w:tblGrid><w:gridCol w:w="4000"/></w:tblGrid><w:tr><w:tc><w:tcPr/><w:tbl><w:tblPr/>'
          f'<w:tblGrid><w:gridCol w:w="3000"/></w:tblGrid><w:tr><w:tc><w:tcPr/><w:p>{run(SENTENCES[2])}</w:p></w:tc></'
          f'w:tr></w:tbl><w:p>{run(SENTENCES[3])}</w:p></w:tc></w:tr></w:tbl><w:p/>'), []),
    "box":
        ((f'<w:p><w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml" type="#_x0000_t202" '
          f'style="width:200pt;height:60pt"><v:textbox><w:txbxContent><w:p>{run("Bring warm clothes.")}</w:p></'
          f'w:txbxContent></v:textbox></v:shape></w:pict></w:r>{run("The box is beside the text.")}</w:p>'), []),
    "formats": (f'<w:p>{run("The ")}{run("big", "<w:b/>")}{run(" dog sleeps in the ")}{run("small", "<w:i/>")}'
                f'{run(" ")}{run("house", "<w:b/><w:color w:val=" + chr(34) + "FF0000" + chr(34) + "/>")}'
                f'{run(" near the ")}{run("river", "<w:vertAlign w:val=" + chr(34) + "superscript" + chr(34) + "/>")}'
                f'{run(".")}</w:p>',
                []),
}


def make_word(path: Path, body: str, parts: list[tuple[str, str, str]]) -> None:
    kinds = "".join(f'<Override PartName="/word/{name}.xml" '
                    f'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}+xml"/>'
                    for name, kind, _ in [("document", "document.main", ""), *parts])
    relations = (f'<Relationship Id="r1" Type="{R}/hyperlink" Target="http://example.org/" TargetMode="External"/>'
                 + "".join(f'<Relationship Id="r{i + 2}" Type="{R}/{kind}" Target="{name}.xml"/>'
                           for i, (name, kind, _) in enumerate(parts)))
    space = 'xmlns="http://schemas.openxmlformats.org/package/2006/'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'{HEAD}<Types {space}content-types"><Default Extension="rels" '
                         f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{kinds}</Types>')
        archive.writestr("_rels/.rels", f'{HEAD}<Relationships {space}relationships"><Relationship Id="r1" '
                         f'Type="{R}/officeDocument" Target="word/document.xml"/></Relationships>')
        archive.writestr("word/_rels/document.xml.rels",
                         f'{HEAD}<Relationships {space}relationships">{relations}</Relationships>')
        archive.writestr("word/document.xml",
                         f'{HEAD}<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>')
        for name, _, content in parts:
            archive.writestr(f"word/{name}.xml", HEAD + content)


TEXT = {
    "note": ('<text:p>The old house<text:note text:id="n1" text:note-class="footnote"><text:note-citation>1</'
             'text:note-citation><text:note-body><text:p>The red house is old.</text:p></text:note-body></text:note> '
             'is near the river.</text:p>'),
    "spaces": ('<text:p>The big<text:s text:c="3"/>dog sleeps.<text:tab/>A small house.<text:line-break/>A new '
               'car.</text:p>'),
    "anchor": ('<text:p>Read <text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" '
               'xlink:href="http://example.org/">the big book</text:a> today.</text:p>'),
    "sections": (f'<text:section text:name="S"><text:h text:outline-level="1">The long '
                 f'journey</text:h><text:p>{SENTENCES[4]}</text:p></text:section>'),
    "listed": "<text:list>" + "".join(f"<text:list-item><text:p>{s}</text:p></text:list-item>" for s in SENTENCES)
        + "</text:list>",
    "framed": ('<text:p>The box is beside the text.<draw:frame '
               'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
               'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" svg:width="6cm" '
               'text:anchor-type="paragraph"><draw:text-box><text:p>Bring warm '
               'clothes.</text:p></draw:text-box></draw:frame></text:p>'),
    "marked": ('<text:p>We saw <text:bookmark-start text:name="x"/>two white horses<text:bookmark-end text:name="x"/> '
               'in the <text:span text:style-name="T1">green</text:span> field.</text:p>'),
    "cells": ('<table:table xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
              'table:name="T"><table:table-column/><table:table-row><table:table-cell><text:p>A small house near the '
              'river.</text:p></table:table-cell></table:table-row></table:table>'),
}


def make_text(path: Path, body: str) -> None:
    o = "urn:oasis:names:tc:opendocument:xmlns:"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", zipfile.ZIP_STORED)
        archive.writestr("content.xml", f'{HEAD}<office:document-content xmlns:office="{o}office:1.0" '
                         f'xmlns:text="{o}text:1.0" xmlns:style="{o}style:1.0" '
                         f'xmlns:fo="{o}xsl-fo-compatible:1.0" office:version="1.2"><office:automatic-styles>'
                         f'<style:style style:name="T1" style:family="text">'
                         f'<style:text-properties fo:font-weight="bold"/></style:style></office:automatic-styles>'
                         f'<office:body><office:text>{body}</office:text></office:body></office:document-content>')
        archive.writestr("META-INF/manifest.xml", f'{HEAD}<manifest:manifest xmlns:manifest="{o}manifest:1.0" '
                         f'manifest:version="1.2"><manifest:file-entry manifest:full-path="/" '
                         'manifest:media-type="application/vnd.oasis.opendocument.text"/><manifest:file-entry '
                         'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>')


def rich_xlsx(path: Path) -> None:
    """Strings with formats of their own and inline strings, which openpyxl does not write."""
    make_xlsx(path)
    with zipfile.ZipFile(path) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in members:
            if info.filename == "xl/sharedStrings.xml":
                content = content.replace(f"<t>{SENTENCES[0]}</t>".encode(),
                                          b'<r><t xml:space="preserve">The '
                                          b'</t></r><r><rPr><b/></rPr><t>big</t></r><r><t xml:space="preserve"> dog '
                                          b'sleeps.</t></r>')
            archive.writestr(info, content)


S = SENTENCES
PAGES = {
    "prose": "".join(f"<h2>A day at the lake</h2><p>{s.replace('big', '<b>big</b>')}</p>" for s in S),
    "table": "<table border=1>" + "".join(f"<tr><td>{s}</td><td><i>{s}</i></td><td>42</td></tr>" for s in S)
        + "</table>",
    "lists": "<ul>" + "".join(f"<li>{s}<ol><li><a href='http://example.org'>{s}</a></li></ol></li>" for s in S)
        + "</ul>",
    "marks": "".join(f"<p>{s[:12]}<b>{s[12:20]}</b>{s[20:30]}<u>{s[30:]}</u><br>{s}</p><blockquote>{s}</blockquote>"
                     for s in S),
    "headings": "".join(f"<h{i + 1}>{s}</h{i + 1}>" for i, s in enumerate(S)),
    "terms": "<dl>" + "".join(f"<dt>{s[:16]}</dt><dd>{s}</dd>" for s in S) + "</dl>",
    "deep": "<table border=1><tr><td>" + f"<table border=1><tr><td>{S[0]}</td></tr></table>"
        + f"</td><td>{S[1]}</td></tr></table>",
    "colours": "".join(
       f"<p>{s.replace('the', '<font color=red>the</font>').replace('a ', '<span style=background:yellow>a</span> ')}</"
       f"p>" for s in S),
    "scripts": f"<p>{S[0]}<sup>1</sup> {S[1]}<sub>2</sub></p><p><s>{S[2]}</s> {S[3]}</p>",
    "code": f"<p>{S[0]} <tt>make all</tt> {S[1]}</p><pre>a = b\n  c</pre><p>{S[2]}</p>",
    "rules": "".join(f"<p align=center>{s}</p><hr>" for s in S),
    "marks_of_text": f"<p>&ldquo;{S[0]}&rdquo; &mdash; {S[1]} &amp; {S[2]} &lt;b&gt;</p>",
    "wide": "<table border=1><tr>" + "".join(f"<th>{s}</th>" for s in S) + "</tr><tr>"
        + "".join(f"<td>{i}</td>" for i in range(6)) + "</tr></table>",
    "long": "".join(f"<h2>Chapter {i}</h2>"
                    + "".join(f"<p>{S[(i + k) % 6]} {S[(i + k + 1) % 6]} {S[(i + k + 2) % 6]}</p>" for k in range(8))
                    for i in range(8)),
}


def office(folder: Path, kind: str, *sources: Path) -> None:
    subprocess.run(["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile", "--convert-to", kind,
                    "--outdir", folder, *sources],
                   check=True, capture_output=True, timeout=900)


def make_sources(folder: Path) -> list[Path]:
    plain_docx(folder / "prose_long.docx", 200)
    plain_docx(folder / "prose_short.docx", 8)
    full_docx(folder / "features.docx")
    make_xlsx(folder / "cells.xlsx")
    make_odt(folder / "spans.odt")
    rich_xlsx(folder / "rich.xlsx")
    for name, (body, parts) in WORD.items():
        make_word(folder / f"{name}.docx", body, parts)
    for name, body in TEXT.items():
        make_text(folder / f"{name}.odt", body)
    make_epub(folder / "new.epub", False)
    make_epub(folder / "old.epub", True)
    pages = []
    for name, content in PAGES.items():
        pages.append(folder / f"{name}.html")
        pages[-1].write_text(f"<html><head><meta charset='utf-8'></head><body>{content}</body></html>")
    office(folder, "odt:writer8", *pages)
    office(folder, "docx:MS Word 2007 XML", *[folder / f"{name}.odt" for name in (*PAGES, "note", "framed")])
    office(folder, "odt", folder / "features.docx", folder / "prose_short.docx", folder / "formats.docx")
    lines = folder / "sheet.csv"
    lines.write_text("".join(f'"{s}",{i}\n' for i, s in enumerate(SENTENCES)))
    office(folder, "ods", lines, folder / "cells.xlsx")
    office(folder, "xlsx:Calc MS Excel 2007 XML", folder / "sheet.ods")
    make_slides(folder)
    return sorted(p for p in folder.iterdir() if p.suffix in (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp",
                                                              ".epub"))


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


# ---- checks ----

def check_archive(before: Path, after: Path) -> None:
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after) as new:
        assert new.testzip() is None, "a member is damaged"
        assert old.namelist() == new.namelist(), "other members, or in another order"
        for a, b in zip(old.infolist(), new.infolist()):
            assert a.compress_type == b.compress_type, f"{a.filename}: another compression"
            if not a.filename.endswith((".xml", ".xhtml", ".ncx", ".opf")):
                assert old.read(a) == new.read(b), f"{a.filename}: other bytes"


def texts_of(path: Path) -> list[str]:
    """The texts of all paragraphs or cells."""
    if path.suffix == ".docx":
        document = docx.Document(path)
        return ["".join(t.text or "" for t in p.iter(qn("w:t"))) for p in document.element.body.iter(qn("w:p"))]
    if path.suffix == ".xlsx":
        return [str(cell.value or "") for sheet in openpyxl.load_workbook(path) for row in sheet.iter_rows()
                for cell in row]
    if path.suffix in (".odt", ".ods", ".odp"):
        document = opendocument.load(path)
        return [teletype.extractText(p) for p in document.getElementsByType(odf_text.P)]
    if path.suffix == ".epub":
        result = subprocess.run(["java", "-jar", "/usr/bin/epubcheck", path], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
    return []


def pages_of(folder: Path, paths: list[Path]) -> dict[str, int]:
    """The number of pages when LibreOffice prints each file; one call per type, because results are named after
    stems."""
    pages = {}
    for suffix in sorted({path.suffix for path in paths if path.suffix != ".epub"}):
        made, some = folder / f"pdf{suffix}", [path for path in paths if path.suffix == suffix]
        office(made, "pdf", *some)
        for path in some:
            shown = subprocess.run(["pdfinfo", made / f"{path.stem}.pdf"], capture_output=True, text=True)
            assert shown.returncode == 0, f"LibreOffice does not print {path.name}"
            pages[path.name] = next(int(line.split()[1]) for line in shown.stdout.split("\n")
                                    if line.startswith("Pages:"))
    return pages


def check_notes(path: Path) -> None:
    """Checks that the run of a note's reference has no text, which LibreOffice would take for the mark."""
    for run in docx.Document(path).element.body.iter(qn("w:r")):
        note = next(run.iter(qn("w:footnoteReference"), qn("w:endnoteReference")), None)
        assert note is None or next(run.iter(qn("w:t")), None) is None, "a note has no run of its own"


def check(source: Path, target: Path, pages: tuple[int, int]) -> str:
    check_archive(source, target)
    if source.suffix == ".docx":
        check_notes(target)
    before, after = texts_of(source), texts_of(target)
    assert len(before) == len(after), f"{len(before)} paragraphs became {len(after)}"
    changed = sum(a != b for a, b in zip(before, after))
    assert before == [] or changed > 0, "nothing was translated"
    assert not any(a.strip() and not b.strip() for a, b in zip(before, after)), "a paragraph has lost its text"
    assert abs(pages[0] - pages[1]) <= max(1, pages[0] // 10), f"{pages[0]} pages became {pages[1]}"
    return f"{len(before):5} texts, {changed:5} translated, pages {pages[0]} -> {pages[1]}"


def main() -> int:
    program, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else made).resolve()
        (folder / "translated").mkdir(parents=True, exist_ok=True)
        sources = make_sources(folder)
        targets = [folder / "translated" / source.name for source in sources]
        for source, target in zip(sources, targets):
            with open(target, "wb") as out:
                subprocess.run([program, "translate", "--model", MODEL, "--compute", "int8", source], check=True,
                               stdout=out, timeout=300)
        before, after = pages_of(folder, sources), pages_of(folder / "translated", targets)
        for source, target in zip(sources, targets):
            try:
                said = check(source, target, (before.get(source.name, 0), after.get(source.name, 0)))
            except (AssertionError, subprocess.SubprocessError) as error:
                failed += 1
                said = str(error)
            print(f"{source.name:22} {said}", flush=True)
        print(f"{len(sources)} documents, {failed} with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
