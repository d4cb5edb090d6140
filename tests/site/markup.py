"""Reads a page as its structure, for tests that ask what stands in it."""

from html.parser import HTMLParser

APART = {"dd", "div", "dt", "h1", "h2", "h3", "li", "p", "td", "th", "tr"}
"""What a reader sees apart from what follows."""

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """The elements of a page in order, each with its attributes and the text in it; unbalanced tags are noted."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.unbalanced: list[str] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(source)
        self.unbalanced += [tag for tag, _text in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text: list[str] = []
        self.elements.append((tag, {name: value or "" for name, value in attrs}, text))
        if tag not in VOID:
            self._open.append((tag, text))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        if tag in APART:
            self.handle_data(" ")
        if self._open and self._open[-1][0] == tag:
            self._open.pop()
        else:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        for _tag, text in self._open:
            text.append(data)

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """The attributes of every `tag` that has these ones; `text` holds what it says."""
        return [
            {**attrs, "text": " ".join("".join(text).split())}
            for name, attrs, text in self.elements
            if name == tag and all(attrs.get(key.replace("_", "-")) == value for key, value in attributes.items())
        ]

    def ids(self) -> list[str]:
        return [attrs["id"] for _name, attrs, _text in self.elements if "id" in attrs]

    def text(self) -> str:
        return self.all("body")[0]["text"]


def read_page(response) -> Page:
    return Page(response.content.decode())
