"""Messages as they lie in a folder: text files with a few headers, an empty line and a body."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_string
from email.policy import default
from importlib.resources import files
from pathlib import Path
from typing import Final

from flowgraph import InputError

LONGEST: Final = 4000
"""Characters of a body that are read; a small model has no room for more."""


@dataclass(frozen=True)
class Mail:
    """One message: who wrote it, about what, and its text. name is the file's."""

    name: str
    sender: str
    subject: str
    body: str


def packaged() -> Path:
    """The folder of the messages that come with the package."""
    return Path(str(files("flowgraph_nodes.demo") / "messages"))


def read_folder(folder: Path) -> list[Mail]:
    """The messages of a folder: its .txt files, by name. Files without headers are taken as bodies.

    Raises InputError when there is no such folder, or no message in it.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}': give one with .txt files, each a message")
    mails = [mail for path in sorted(folder.glob("*.txt")) if (mail := read_mail(path)).body]
    if not mails:
        raise InputError(f"the folder '{folder}' has no .txt file with text in it: each is to be a message")
    return mails


def read_mail(path: Path) -> Mail:
    """One file. Raises InputError when it is not text."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text in UTF-8") from None
    parsed = message_from_string(text, policy=default)
    if not (parsed["From"] or parsed["Subject"]):
        return Mail(path.name, "somebody", path.stem, text.strip()[:LONGEST])
    body = text.partition("\n\n")[2].strip()
    return Mail(path.name, str(parsed["From"] or "somebody"), str(parsed["Subject"] or path.stem), body[:LONGEST])
