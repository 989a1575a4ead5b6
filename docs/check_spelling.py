"""Check the spelling of the README and of all pages: ``python docs/check_spelling.py``.

Code, links and formulas are left out. Words of the field, names and British spellings that the dictionary lacks are in
``words.txt``, one a line.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from spellchecker import SpellChecker

HERE = Path(__file__).parent
#: What is not prose: fenced code, comments, inline code, addresses and targets of links, HTML tags, roles.
NOT_PROSE = re.compile(
    r"^```.*?^```$|<!--.*?-->|`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]+>|\{[a-z-]+\}", re.DOTALL | re.MULTILINE
)
#: Words of small letters, perhaps with a capital in front; names such as MNIST or OneHotEncoder are not looked up.
WORD = re.compile(r"(?<![\w/.-])[A-Z]?[a-zäöüé]+(?:['\u2019][a-z]+)?(?![\w/])")
GENERATED = ("gallery", "reference/generated", "_build")


def main() -> int:
    """Print unknown words with their pages, and return how many there are."""
    known = set((HERE / "words.txt").read_text().split())
    dictionary = SpellChecker()
    unknown: dict[str, set[str]] = {}
    for page in [HERE.parent / "README.md", HERE.parent / "CONTRIBUTING.md", *sorted(HERE.rglob("*.md"))]:
        name = page.relative_to(HERE.parent).as_posix()
        if any(part in name for part in GENERATED):
            continue
        prose = NOT_PROSE.sub(" ", page.read_text())
        words = {word.replace("\u2019", "'").lower() for word in WORD.findall(prose)}
        words = {word.removesuffix("'s") for word in words} - known
        for word in dictionary.unknown(words):
            unknown.setdefault(word, set()).add(name)
    for word, pages in sorted(unknown.items()):
        print(f"{word}: {', '.join(sorted(pages))}")
    if unknown:
        print(f"{len(unknown)} unknown words: correct them, or add them to docs/words.txt.")
    return len(unknown)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
