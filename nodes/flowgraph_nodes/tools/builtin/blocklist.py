"""Commands that an agent hardly ever has a good reason for. A hint to the model, and no protection.

Anybody can write `rm -rf` so that no list finds it; what protects is the sandbox. Known and left out: what is in
variables, in files, or in a program's own language.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from flowgraph_nodes.tools.builtin.words import Simple, commands

_SHELLS: Final = {"sh", "bash", "zsh", "dash", "ksh", "fish"}
_INTERPRETER: Final = re.compile(r"(python|perl|ruby|node|php|lua)[\d.]*")
_PREFIXES: Final = {"nohup", "time", "command", "exec", "builtin", "nice", "timeout", "xargs", "stdbuf", "then", "do"}
_PREFIXES_TOO: Final = {"else", "if", "while", "!", "{"}
_PRIVILEGE: Final = {"sudo", "su", "doas", "pkexec", "visudo", "usermod", "useradd", "passwd", "chpasswd", "setcap"}
_SHUTDOWN: Final = {"shutdown", "reboot", "halt", "poweroff", "telinit"}
_DISKS: Final = {"fdisk", "sfdisk", "parted", "wipefs", "mkswap", "blkdiscard"}
_SENDERS: Final = {"nc", "ncat", "netcat", "socat", "scp", "sftp", "ftp", "telnet"}
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_SECRET: Final = re.compile(
    r"\S*(?:/etc/(?:passwd|shadow|gshadow|sudoers)|\.ssh/|/id_(?:rsa|ed25519|ecdsa)|\.aws/credentials|\.netrc|\.pgpass)\S*"
)
_ENVIRON: Final = re.compile(r"/proc/\S+/environ")
_SYSTEM: Final = re.compile(r"/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|dev|var|root|opt)(?:/.*)?", re.DOTALL)
_HARMLESS: Final = re.compile(r"/dev/(?:null|zero|full|tty|stdout|stderr|fd/\d+)")
_UPLOADS: Final = re.compile(
    r"-[dFT].*|--(?:data|form|json|upload|post-file|post-data|body-file|body-data).*", re.DOTALL
)


def objection(command: str) -> str:
    """What speaks against a command, in a few words; "" for nothing."""
    for simple in commands(command):
        if why := _against(simple):
            return why
    return ""


def _against(simple: Simple) -> str:
    if any(_is_system(file) for file in simple.writes):
        return "redirecting into a system folder"
    words = _stripped(simple.words)
    if not words:
        return ""
    name, rest = os.path.basename(words[0]), words[1:]
    if name in _SHELLS | {"eval"} and (inner := _script(name, rest)) and (why := objection(inner)):
        return why
    return next((why for why, is_so in _RULES if is_so(name, rest, simple.piped)), "")


def _stripped(words: list[str]) -> list[str]:
    """Without assignments, keywords and programs that only run another: `X=1 timeout 5 nice rm` is `rm`."""
    words = list(words)
    while words:
        name = os.path.basename(words[0])
        if _ASSIGNMENT.fullmatch(words[0]):
            del words[0]
        elif name in _PREFIXES | _PREFIXES_TOO or (name == "env" and len(words) > 1):
            del words[0]
            while words and (words[0].startswith("-") or re.fullmatch(r"[\d.]+[smh]?", words[0])):
                del words[0]
        else:
            break
    return words


def _script(name: str, rest: list[str]) -> str:
    if name == "eval":
        return " ".join(rest)
    at = next((at for at, word in enumerate(rest) if re.fullmatch(r"-\w*c", word)), len(rest))
    return rest[at + 1] if at + 1 < len(rest) else ""


def _has_option(rest: list[str], letters: str, *long: str) -> bool:
    if "--" in rest:
        rest = rest[: rest.index("--")]
    return any(
        word in long or (re.fullmatch(r"-[A-Za-z]+", word) is not None and any(letter in word for letter in letters))
        for word in rest
    )


def _is_system(path: str) -> bool:
    return _SYSTEM.fullmatch(os.path.normpath(path)) is not None and _HARMLESS.fullmatch(path) is None


def _removes_folders(name: str, rest: list[str], piped: bool) -> bool:
    if name == "find":
        runs = (os.path.basename(after) for word, after in pairwise(rest) if word.startswith(("-exec", "-ok")))
        return "-delete" in rest or "rm" in runs
    return name == "rm" and _has_option(rest, "rR", "--recursive")


def _pipes_into_interpreter(name: str, rest: list[str], piped: bool) -> bool:
    """`| python -m json.tool` and `| perl -ne …` read data; `| sh`, `| python -` run what they read."""
    if not piped or not (name in _SHELLS or _INTERPRETER.fullmatch(name)):
        return False
    return all(word in ("-", "-s", "-u", "-x", "-e") or word.startswith("--") for word in rest[:1])


def _writes_disks(name: str, rest: list[str], piped: bool) -> bool:
    to_device = name in ("dd", "shred") and any(
        _is_system(word.removeprefix("of=")) for word in rest if word[:3] != "if="
    )
    return name in _DISKS or name.startswith("mkfs") or to_device


def _changes_privileges(name: str, rest: list[str], piped: bool) -> bool:
    setuid = name == "chmod" and any(re.fullmatch(r"[ugoa]*\+\w*s\w*|0?[4267]\d{3}", word) for word in rest)
    return (
        name in _PRIVILEGE or setuid or (name == "chown" and any(word.split(":")[0] in ("root", "0") for word in rest))
    )


def _shuts_down(name: str, rest: list[str], piped: bool) -> bool:
    by_init = name == "init" and rest[:1] in (["0"], ["6"])
    return name in _SHUTDOWN or by_init or (name == "systemctl" and bool(_SHUTDOWN & set(rest)))


def _reads_secrets(name: str, rest: list[str], piped: bool) -> bool:
    return any(_SECRET.fullmatch(word) for word in rest)


def _sends_away(name: str, rest: list[str], piped: bool) -> bool:
    if name in _SENDERS:
        return True
    if name not in ("curl", "wget"):
        return False
    return any(_carries_file(word, value) for word, value in _pairs(rest))


def _pairs(rest: list[str]) -> Iterator[tuple[str, str]]:
    """Upload options with what they send, which is in the same word or the next."""
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        if _UPLOADS.fullmatch(word):
            yield word, word + " " + following


def _carries_file(option: str, value: str) -> bool:
    return option.startswith(("-T", "--upload", "--post-file", "--body-file")) or any(
        sign in value for sign in ("@", "$(", "`")
    )


def _dumps_environment(name: str, rest: list[str], piped: bool) -> bool:
    if any(_ENVIRON.fullmatch(word) for word in rest):
        return True
    bare = name in ("env", "set", "export") and not rest
    return (
        name == "printenv" or bare or (name in ("export", "declare", "typeset") and rest in (["-p"], ["-x"], ["-px"]))
    )


def _writes_system_folders(name: str, rest: list[str], piped: bool) -> bool:
    return name == "tee" and any(_is_system(word) for word in rest)


_RULES: Final[tuple[tuple[str, Callable[[str, list[str], bool], bool]], ...]] = (
    ("removing folders with all that is in them", _removes_folders),
    ("piping into a shell or interpreter", _pipes_into_interpreter),
    ("writing to disks", _writes_disks),
    ("changing privileges", _changes_privileges),
    ("shutting down", _shuts_down),
    ("reading files with passwords or keys", _reads_secrets),
    ("sending files away", _sends_away),
    ("printing the environment", _dumps_environment),
    ("writing into a system folder", _writes_system_folders),
)
