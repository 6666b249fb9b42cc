"""A page as a parser sees it, and the promise that nothing in it comes from a sandbox but text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import ale.report

APART = {"td", "th", "dt", "dd", "span"}
"""Elements that stand apart from what follows them, on the page by their place."""

VOID = {"meta", "img", "link", "br"}
_TEMPLATES = Path(ale.report.__file__).parent / "templates"

_NUMBER = r"-?\d+(\.\d+)?(e-?\d+)?"
ATTRIBUTES = {
    "id": r"(h-)?[a-z]+|(step|part|file|call)-\d+",
    "href": r"#[a-z]+|#(step|part|file|call)-\d+",
    "class": r"[a-z ]+",
    "style": rf"width:{_NUMBER}%|left:{_NUMBER}%;width:{_NUMBER}%",
    "src": r"data:image/(png|jpeg);base64,[A-Za-z0-9+/]*={0,2}",
    "alt": r"What the agent saw in step \d+|Delivered picture, file \d+ of this list",
    "width": r"\d+|device-width, initial-scale=1",
    "height": r"\d+",
    "open": r"",
    "tabindex": "0",
    "decoding": "async",
    "scope": "col|row",
    "aria-hidden": "true",
    "aria-labelledby": r"h-[a-z]+",
    "aria-label": r"[A-Za-z ]+",
    "role": "region",
    "lang": "en",
}
"""Every attribute that a page may have, and all that it may say. `content`, `http-equiv`, `name` and `charset` stand in
the head alone, word for word as in the template."""

META = {"charset", "http-equiv", "content", "name"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """elements: in the order of the page. problems: whatever is not well nested."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.texts: list[str] = []
        self.problems: list[str] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        self.problems += [f"<{element.tag}> is never closed" for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len({name for name, _ in attrs}) < len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop().tag != tag:
            self.problems.append(f"</{tag}> closes nothing")
        if tag in APART:
            for element in self._open:
                element.text.append(" ")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        for element in self._open:
            element.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"a comment: {data[:80]}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"a processing instruction: {data[:80]}")

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"a declaration: {data[:80]}")

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def of(self, tag: str, **attributes: str) -> list[Element]:
        return [
            element
            for element in self.elements
            if element.tag == tag and all(element.attributes.get(name) == value for name, value in attributes.items())
        ]

    def by_id(self, name: str) -> Element:
        [found] = [element for element in self.elements if element.attributes.get("id") == name]
        return found


def told(element: Element) -> str:
    return " ".join("".join(element.text).split())


def foreign(page: Page) -> list[str]:
    """Whatever in the page the templates did not make."""
    return [*page.problems, *_foreign(page)]


def _foreign(page: Page) -> Iterator[str]:
    tags = set(re.findall(r"<([a-z][a-z0-9]*)", "".join(path.read_text() for path in _TEMPLATES.glob("*.html"))))
    assert not tags & {"script", "iframe", "object", "embed", "form", "input", "base", "svg", "link"}
    ids: set[str] = set()
    for element in page.elements:
        if element.tag not in tags:
            yield f"<{element.tag}>"
        for name, value in element.attributes.items():
            if element.tag == "meta" and name in META:
                continue
            if name not in ATTRIBUTES or not re.fullmatch(ATTRIBUTES[name], value):
                yield f'<{element.tag} {name}="{value[:80]}">'
        if "id" in element.attributes:
            if element.attributes["id"] in ids:
                yield f"the id {element.attributes['id']} twice"
            ids.add(element.attributes["id"])
    for element in page.of("a"):
        if element.attributes["href"][1:] not in ids:
            yield f"a link to nothing: {element.attributes['href']}"
