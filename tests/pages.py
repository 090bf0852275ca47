"""Parts of the pages in Markdown: code blocks, commands, links, and diffs."""

import itertools
import pathlib
import re
import shlex
import sys

import markdown_it

from tests import scripts

ROOT = pathlib.Path(__file__).parent.parent


ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def parse(text):
    """Returns the tokens of Markdown: blocks, each followed by the inline tokens in it."""
    return [
        token
        for block in markdown_it.MarkdownIt("commonmark").parse(text)
        for token in (block, *(block.children or ()))
    ]


def code_blocks(text):
    """Returns the code blocks of a page, fenced or indented: list of (language, lines)."""
    return [
        (token.info, token.content.splitlines())
        for token in parse(text)
        if token.type in ("fence", "code_block")
    ]


def inline_code(text):
    """Returns the texts of inline code spans."""
    return [token.content for token in parse(text) if token.type == "code_inline"]


def links(text):
    """Returns the targets of links and figures."""
    targets = (token.attrs.get("href", token.attrs.get("src")) for token in parse(text))
    return [target for target in targets if target]


def anchors(text):
    """Returns the anchors that GitHub gives the headings of a page."""
    blocks = markdown_it.MarkdownIt("commonmark").parse(text)
    titles = (
        "".join(token.content for token in inline.children)
        for heading, inline in itertools.pairwise(blocks)
        if heading.type == "heading_open"
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def shell_lines(lines):
    """Returns the command lines of a block, with joined continuations and without prompts."""
    prompted = any(line.lstrip().startswith("$ ") for line in lines)
    found = []
    continues = False
    for line in lines:
        stripped = line.strip()
        is_command = not prompted or stripped.startswith("$ ")
        if continues:
            found[-1] += " " + stripped.removesuffix("\\")
        elif is_command:
            found.append((stripped.removeprefix("$ ") if prompted else stripped).removesuffix("\\"))
        else:
            assert not stripped.startswith("--"), f"a backslash is missing before {stripped}"
        continues = (continues or is_command) and stripped.endswith("\\")
    return [line for line in found if line]


def commands(lines):
    """Yields the commands of shell lines, each a list of words without assignments at the start."""
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        for token in [*lexer, ";"]:
            if not set(token) <= set("();<>|&"):
                words.append(token)
                continue
            while words and ASSIGNMENT.fullmatch(words[0]):
                words.pop(0)
            if words:
                yield words
            words = []


def is_tree(lines):
    """Returns whether a block is a directory tree."""
    return bool(lines) and re.match(r"[\w.]+/\s", lines[0]) is not None


def apply_diff(lines):
    """Applies the diffs of a block.

    It consists of `+++ FILE`, then hunks of lines, each after `@@ LINE` if it comes after that
    line.

    Returns:
      Dict of file -> its text with the changes.

    Raises:
      ValueError: If a line that should exist does not, or a file that should not.
    """
    changed = {}
    for part in re.split(r"^\+\+\+ ", "\n".join(lines), flags=re.MULTILINE)[1:]:
        name, _, hunks = part.partition("\n")
        path = ROOT / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in filter(None, re.split(r"^(?=@@ )", hunks, flags=re.MULTILINE)):
            anchor = re.match(r"@@ (.*)\n|", hunk)
            body = hunk[anchor.end() :].splitlines()
            old, new = (
                "".join(f"{line[1:]}\n" for line in body if line[:1] != sign) for sign in "+-"
            )
            if not old and text:
                raise ValueError(f"{name}: exists, or a hunk has none of its lines")
            start = text.index(old, text.index(anchor[1] or ""))
            text = text[:start] + new + text[start + len(old) :]
        changed[name] = text
    return changed


def run_commands(page, folder, flags=None, without=None):
    """Runs the scripts among the commands of a page, in sequence.

    Args:
      page: str. Path of the page in this project.
      folder: Directory in which the commands run.
      flags: Dict of module -> list of flags to add, which replace those of the page, or None.
      without: str. Commands with this value of `--distribution_strategy` do not run.

    Returns:
      List of the modules that ran.
    """
    modules = []
    for _, lines in code_blocks((ROOT / page).read_text(encoding="utf-8")):
        for words in commands(shell_lines(lines)):
            if words[:2] != ["python", "-m"] or f"--distribution_strategy={without}" in words:
                continue
            module = words[2]
            if module.partition(".")[0] not in ("data_prep", "run"):
                continue
            modules.append(module)
            added = (flags or {}).get(module, ())
            done = scripts.run([sys.executable, *words[1:], *added], folder)
            assert done.returncode == 0, (words, done.stderr[-3000:])
    return modules
