"""Prompts: one Markdown file per role, with strict variables.

A file has a `# system` and a `# user` part; `{{name}}` stands for a variable. Inserted values are
data: they are not searched for variables again. The digest of the file goes into the record.
"""

import re
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from auditcoder.domain.request import Message, Speaker
from auditcoder.domain.values import Digest, digest

_PARTS = re.compile(r"# system\n(?P<system>.*?)\n# user\n(?P<user>.*)", re.DOTALL)
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")
SHARED = ("handbook", "coder")
"""Texts that several roles share: for work on a sketch, and for writing code without one."""


class Prompt(NamedTuple):
    """The prompt of one role."""

    role: str
    system: str
    user: str
    digest: Digest

    def fill(self, **values: str) -> tuple[Message, ...]:
        """Return the messages; raise KeyError if a variable is missing or unknown.

        The system message comes first: most requests share it, so a server can cache it.
        """
        names = set(_VARIABLE.findall(self.user))
        if names != set(values):
            raise KeyError(
                f"prompt {self.role}: {', '.join(sorted(names ^ set(values)))} missing or unknown"
            )
        text = _VARIABLE.sub(lambda match: values[match[1]], self.user)
        return (
            Message(speaker=Speaker.SYSTEM, text=self.system),
            Message(speaker=Speaker.USER, text=text),
        )


@lru_cache(maxsize=64)
def load(role: str, package: str = __name__) -> Prompt:
    """Return a role's prompt, with the shared texts inserted into its system part.

    `package` contains the file; the shared texts are always those of this package.
    """
    text = _text(role, package)
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ValueError(f"prompt {role} has no system and user part")
    system, user = parts["system"].strip(), parts["user"].strip()
    included = {name: _text(name) for name in SHARED if f"{{{{{name}}}}}" in system}
    for name, shared in included.items():
        system = system.replace(f"{{{{{name}}}}}", shared.strip())
    if _VARIABLE.search(system):
        raise ValueError(f"prompt {role} has variables in its system part")
    return Prompt(role, system, user, digest("".join((text, *included.values())).encode()))


@lru_cache(maxsize=64)
def advice(name: str) -> str:
    """Return the text that a specialist adds to a prompt."""
    return _text(f"specialists/{name}").strip()


@lru_cache(maxsize=64)
def answer_schema(role: str, package: str = __name__) -> str:
    """Return the text of the JSON Schema for a role's answer."""
    return (resources.files(package) / f"schemas/{role}.json").read_text("utf-8").strip()


def roles(package: str = __name__, folder: str = "") -> tuple[str, ...]:
    """Return the name of every prompt in a folder of a package."""
    names = (entry.name for entry in (resources.files(package) / folder).iterdir())
    return tuple(sorted(folder + n.removesuffix(".md") for n in names if n.endswith(".md")))


def digests(package: str = __name__, *folders: str) -> dict[str, Digest]:
    """Return the digest of every prompt file; by default of those of the lifecycle."""
    names = [name for folder in folders or ("", "specialists/") for name in roles(package, folder)]
    return {name: digest(_text(name, package).encode()) for name in names}


def _text(name: str, package: str = __name__) -> str:
    return (resources.files(package) / f"{name}.md").read_text("utf-8")
