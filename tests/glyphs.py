"""Which characters the installed fonts can draw, as fontconfig tells it."""

import subprocess


class Glyphs:
    """Answers for single characters; reads the fonts' coverage once."""

    def __init__(self) -> None:
        listed = subprocess.run(["fc-list", "--format", "%{charset}\n"], capture_output=True, text=True, check=True)
        self._ranges = {piece for line in listed.stdout.splitlines() for piece in line.split()}
        self._covered = {
            code
            for piece in self._ranges
            for start, _, end in [piece.partition("-")]
            for code in range(int(start, 16), int(end or start, 16) + 1)
        }

    def missing(self, text: str) -> str:
        """The printable characters of `text` that no installed font covers."""
        return "".join(sorted({char for char in text if char.isprintable() and ord(char) not in self._covered}))
