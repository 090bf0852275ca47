"""What README.md and docs/ say can be done: scripts, flags and make targets exist, links and pictures lead somewhere.

Read as shell: code blocks, fenced or indented. In a block with `$ ` prompts the prompted lines are commands and the
others are output; in a block without, every line is a command. A backslash at its end continues a line. Inline code is
read too where it begins like a command.
"""

import ast
import functools
import importlib
import importlib.util
import pathlib
import re
import shlex

import pytest
from absl import flags

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
README_LINES = 200
SHELL = {"", "sh", "bash", "shell", "console"}  # languages of fenced blocks
SCRIPT_FOLDERS = ("data_prep", "run", "benchmarks")
OF_EVERY_SCRIPT = {"help", "helpfull", "traceback"}
FENCE = re.compile(r"\s*(```+)\s*(\w*)")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
OUR_PATH = re.compile(r"(?:bert_tf|data_prep|run|tests|benchmarks|docs)/[\w./-]+")


# Markdown: blocks, inline code, links, headings.

def split_blocks(text):
    """Markdown as its code blocks, a list of (language, lines), and the rest as one str."""
    blocks, prose, fence = [], [], None
    indented = False  # whether the last line that was not blank belongs to an indented block
    before = ""
    for line in text.splitlines():
        opening = FENCE.match(line)
        if fence:
            if line.strip() == fence:
                fence = None
            else:
                blocks[-1][1].append(line)
        elif opening:
            fence, indented = opening[1], False
            blocks.append((opening[2], []))
        elif line.startswith("    ") and (indented or not before.strip()):
            if not indented:
                blocks.append(("", []))
            blocks[-1][1].append(line[4:])
            indented = True
        else:
            prose.append(line)
            indented = indented and not line.strip()
        before = line
    return blocks, "\n".join(prose)


def inline_code(prose):
    """The texts of inline code spans."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def links(prose):
    """The targets of links and pictures, Markdown's and HTML's."""
    prose = re.sub(r"`[^`]+`", "", prose)
    return re.findall(r"\]\(([^)\s]+)[^)]*\)", prose) + re.findall(r"(?:src|href)=\"([^\"]+)\"", prose)


def anchors(text):
    """The #names that GitHub gives the headings of a page."""
    names = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", split_blocks(text)[1], re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        repeats = sum(each == name or re.fullmatch(rf"{re.escape(name)}-\d+", each) is not None for each in names)
        names.add(f"{name}-{repeats}" if repeats else name)
    return names


# Shell: lines of a block -> commands.

def shell_lines(lines):
    """The command lines of a block, continuations joined, prompts removed.

    Raises:
      ValueError: a line of output begins like a flag: the backslash before it is missing.
    """
    prompted = any(line.lstrip().startswith("$ ") for line in lines)
    found, continues = [], False
    for line in lines:
        stripped = line.strip()
        is_command = not prompted or stripped.startswith("$ ")
        if continues:
            found[-1] += " " + stripped.removesuffix("\\")
        elif is_command:
            found.append((stripped.removeprefix("$ ") if prompted else stripped).removesuffix("\\"))
        elif stripped.startswith("--"):
            raise ValueError(f"is this flag the rest of a command? a backslash is missing: {stripped}")
        continues = (continues or is_command) and stripped.endswith("\\")
    return [line for line in found if line]


def commands(lines):
    """The commands of shell lines, each a list of words; variables that are set to a command are replaced by it."""
    variables = {}
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        for token in [*lexer, ";"]:
            if not set(token) <= set("();<>|&"):
                words.append(token)
                continue
            while words and ASSIGNMENT.fullmatch(words[0]):
                name, value = ASSIGNMENT.fullmatch(words.pop(0)).groups()
                variables[name] = value
            if words and words[0].startswith("$"):
                words = shlex.split(variables[words[0].strip("${}")]) + words[1:]
            if words:
                yield words
            words = []


def commands_of_page(text):
    """All commands of a page, in code blocks and in inline code."""
    blocks, prose = split_blocks(text)
    found = []
    for language, lines in blocks:
        if language in SHELL and not is_tree(lines):
            found += commands(shell_lines(lines))
    for span in inline_code(prose):
        if re.match(r"(python|make) [\w.-]", span):
            found += commands([span])
        elif re.match(rf"({'|'.join(SCRIPT_FOLDERS)})\.(?!json\b)\w", span):
            found += commands([f"python -m {span}"])
    return found


def is_tree(lines):
    """Whether a block is a drawing of folders."""
    return bool(lines) and re.match(r"[\w.]+/\s", lines[0]) is not None


# Commands: what is wrong with them.

def problems(words):
    """What of a command does not exist, a list of sentences; programs other than python and make pass."""
    program, *arguments = words
    if program == "make":
        return make_problems(arguments)
    if re.fullmatch(r"(.*/)?python[\d.]*", program) is None:
        return []
    if arguments[:1] == ["-m"]:
        name, arguments = arguments[1], arguments[2:]
        path = script_path(name.replace(".", "/"))
        if path is None:
            return [] if is_installed(name) else [f"no module {name}"]
    elif arguments and not arguments[0].startswith("-"):
        path, arguments = ROOT / arguments[0], arguments[1:]
        if not path.is_file():
            return [f"no file {path.relative_to(ROOT)}"]
    else:
        return []
    return flag_problems(path, arguments)


def script_path(name):
    """The file that `python -m` runs for a module of this project, given as a path without suffix, or None."""
    for path in (ROOT / f"{name}.py", ROOT / name / "__main__.py"):
        if path.is_file():
            return path
    return None


def is_installed(module):
    """Whether `python -m module` would find a module that is not this project's."""
    return module.split(".")[0] not in SCRIPT_FOLDERS and importlib.util.find_spec(module.split(".")[0]) is not None


def flag_problems(path, arguments):
    """What is wrong with the flags that a script, a path, is given."""
    defined = flags_of(path)
    found = []
    for word in arguments:
        if not word.startswith("-") or re.fullmatch(r"-[\d.]*", word):
            continue
        name, given, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            found.append(f"{word}: flags are written with two dashes")
        elif name in OF_EVERY_SCRIPT:
            continue
        elif name not in defined and not is_negated(name, defined):
            found.append(f"{path.relative_to(ROOT)} has no flag --{name}")
        elif given and "..." not in value and defined.get(name) is not None:
            try:
                defined[name].parser.parse(value)
            except ValueError as error:
                found.append(f"{path.relative_to(ROOT)}, --{name}={value}: {error}")
    return found


def is_negated(name, defined):
    """Whether a name is "no" and that of a bool."""
    flag = defined.get(name.removeprefix("no"))
    return name.startswith("no") and flag is not None and flag.boolean


@functools.cache
def flags_of(path):
    """The flags that a script defines: dict of name -> absl's flag, or None where only the name is known."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    source = path.read_text(encoding="utf-8")
    if re.search(r"^(def define_flags\(|COMMAND = )", source, re.MULTILINE) is None:
        return dict.fromkeys(flags_in_source(path))
    script = importlib.import_module(module)
    before = set(flags.FLAGS)
    getattr(script, "COMMAND", script).define_flags()
    defined = {name: flags.FLAGS[name] for name in set(flags.FLAGS) - before}
    for name in defined:
        delattr(flags.FLAGS, name)
    return defined


def flags_in_source(path):
    """The names that a file gives to add_argument() or DEFINE_...()."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        function = getattr(node, "func", None)
        called = getattr(function, "attr", getattr(function, "id", ""))
        if called == "add_argument" or called.startswith("DEFINE_"):
            yield from (argument.value.removeprefix("--") for argument in node.args[:1]
                        if isinstance(argument, ast.Constant))


def make_problems(arguments):
    """What is wrong with the targets and variables that make is given."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):(?!=)", makefile, re.MULTILINE))
    variables = set(re.findall(r"^(\w+)\s*[:?]?=", makefile, re.MULTILINE))
    return [f"the Makefile has no {word}" for word in arguments
            if not word.startswith("-") and word.partition("=")[0] not in (variables if "=" in word else targets)]


# The pages.

@pytest.fixture(params=PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def page(request):
    """Each page."""
    return request.param


def test_commands(page):
    found = commands_of_page(page.read_text(encoding="utf-8"))
    assert found
    assert [f"{' '.join(words)[:100]}: {problem}" for words in found for problem in problems(words)] == []


def test_links(page):
    found = []
    for target in links(split_blocks(page.read_text(encoding="utf-8"))[1]):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name) if name else page
        if not there.exists():
            found.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(there.read_text(encoding="utf-8")):
            found.append(f"{target}: no such heading")
    assert found == []


def test_flags_and_paths_in_the_prose(page):
    spans = inline_code(split_blocks(page.read_text(encoding="utf-8"))[1])
    known = {*all_flags(), *OF_EVERY_SCRIPT}
    named = {name for span in spans for name in re.findall(r"(?<![\w-])--(\w[\w-]*)", span)}
    assert {name for name in named if name not in known and not is_negated(name, all_flags())} == set()
    assert [span for span in spans if OUR_PATH.fullmatch(span) and not (ROOT / span).exists()] == []


@functools.cache
def all_flags():
    """The flags of all scripts: dict as of flags_of."""
    scripts = [path for folder in SCRIPT_FOLDERS
               for path in sorted([*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("*/__main__.py")])
               if path.stem != "__init__"]
    return {name: flag for path in scripts for name, flag in flags_of(path).items()}


def test_imports_of_examples(page):
    for language, lines in split_blocks(page.read_text(encoding="utf-8"))[0]:
        if language != "python":
            continue
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("bert_tf", *SCRIPT_FOLDERS):
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_diffs_apply():
    blocks, _ = split_blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    changed = [apply_diff(lines) for language, lines in blocks if language == "diff"]
    assert len(changed) > 3
    for path, source in (each for files in changed for each in files.items()):
        compile(source, path, "exec")


def apply_diff(lines):
    """Applies the diffs of a block: `+++ FILE`, then hunks of lines, each after `@@ LINE` if it comes after that line.

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
            body = hunk[anchor.end():].splitlines()
            old, new = ("".join(f"{line[1:]}\n" for line in body if line[:1] != sign) for sign in "+-")
            if not old and text:
                raise ValueError(f"{name}: exists, or a hunk has none of its lines")
            place = text.index(old, text.index(anchor[1] or ""))
            text = text[:place] + new + text[place + len(old):]
        changed[name] = text
    return changed


def test_the_tree():
    trees = [lines for _, lines in split_blocks((ROOT / "README.md").read_text(encoding="utf-8"))[0] if is_tree(lines)]
    assert len(trees) == 1
    folder = ""
    for line in trees[0]:
        name = line.split()[0]
        folder = folder if line.startswith(" ") else name
        if name.endswith(("/", ".md")):
            assert (ROOT / (folder + name if line.startswith(" ") else name)).exists(), line


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_every_page_can_be_reached():
    linked = {target.partition("#")[0] for path in PAGES
              for target in links(split_blocks(path.read_text(encoding="utf-8"))[1])}
    assert {path.name for path in PAGES[1:]} <= {pathlib.Path(target).name for target in linked}


# The reading itself, on made-up text.

PAGE = """# A page

    . .venv/bin/activate
    python -m data_prep.learn_vocab --input_file='a b.txt' \\
        --nodo_lower_case

```
$ TF_CPP_MIN_LOG_LEVEL=3 python run/fill_mask.py --top_k=3 | head   # a comment
python -m no.command --this=is_output
```

- A list.
  ```sh
  make demo && make PYTHON=python3 test
  ALL="python -m run.answer --top_k=2"
  $ALL --question="Who is it?" ...
  ```

Inline: `run.run_classifier --task_name=cola`, [a link](docs/x.md#some-heading), ![a picture](b.png "title").

## Some `heading`: one, two

```python
python = "make nothing"
```
"""


def test_commands_are_found():
    assert list(commands_of_page(PAGE)) == [
        [".", ".venv/bin/activate"],
        ["python", "-m", "data_prep.learn_vocab", "--input_file=a b.txt", "--nodo_lower_case"],
        ["python", "run/fill_mask.py", "--top_k=3"],
        ["head"],
        ["make", "demo"],
        ["make", "PYTHON=python3", "test"],
        ["python", "-m", "run.answer", "--top_k=2", "--question=Who is it?", "..."],
        ["python", "-m", "run.run_classifier", "--task_name=cola"],
    ]
    assert [problem for words in commands_of_page(PAGE) for problem in problems(words)] == []


def test_links_and_headings_are_found():
    assert links(split_blocks(PAGE)[1]) == ["docs/x.md#some-heading", "b.png"]
    assert anchors(PAGE) == {"a-page", "some-heading-one-two"}


@pytest.mark.parametrize(("command", "problem"), [
    ("python -m data_prep.learn_vocab --vocab_fil=x", "data_prep/learn_vocab.py has no flag --vocab_fil"),
    ("python -m data_prep.learn_vocab --noinput_file", "data_prep/learn_vocab.py has no flag --noinput_file"),
    ("python -m data_prep.learn_vocab --vocab_size=many", "data_prep/learn_vocab.py, --vocab_size=many"),
    ("python -m data_prep.learn_vocab -vocab_size=3", "flags are written with two dashes"),
    ("python -m run.run_pretraining --optimizer=sgd", "run/run_pretraining.py, --optimizer=sgd"),
    ("python -m run.run_pretrainning --do_train", "no module run.run_pretrainning"),
    ("python -m benchmarks.encoder --roundz=3", "benchmarks/encoder.py has no flag --roundz"),
    ("python -m no_such_package.tool", "no module no_such_package.tool"),
    ("python run/none.py", "no file run/none.py"),
    ("make dmeo", "the Makefile has no dmeo"),
    ("make PYTHN=python3 demo", "the Makefile has no PYTHN=python3"),
])
def test_problems_are_found(command, problem):
    found = [each for words in commands([command]) for each in problems(words)]
    assert len(found) == 1
    assert problem in found[0]


def test_a_lost_continuation_is_found():
    with pytest.raises(ValueError, match="a backslash is missing: --top_k=3"):
        shell_lines(["$ python -m run.fill_mask", "  --top_k=3"])


def test_flags_of_argparse_are_read_from_the_source(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("parser.add_argument('--rounds', type=int)\nflags.DEFINE_string('text', None, 'help')\n")
    assert set(flags_in_source(path)) == {"rounds", "text"}
