"""Writes added_tokens.json: tokenizers with added tokens, and their IDs in transformers.

    python -m venv /path/of/environment
    /path/of/environment/bin/pip install transformers==5.24.0 tokenizers==0.23.3
    /path/of/environment/bin/python tests/reference/today/added_tokens.py

It requires neither this project nor PyTorch.
"""

import itertools
import json
import pathlib
import random
import tempfile

import tokenizers
import transformers
from transformers import AddedToken, AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefilmoxy01.[]<>/_#"
VOCABULARY = [
    *SPECIAL,
    "[unused1]",
    *LETTERS,
    *(f"##{letter}" for letter in "abcdefilmoxyσ01"),
    *("film", "the", "##films", "é", "中", "国", "σ", "δ", "ο"),
]
TOKENS = ["[E1]", "[E11]", "</e>", "film", "Film", "the film", "é1", "中国", "ΔΟ", "İx", "x", "a.b"]
PARTS = [
    *TOKENS,
    *("[E1]", "[E11]", "[e1]", "</e>", "</E>", "film", "FILM", "the", " ", "  ", "\t", "\n"),
    *("é", "e\u0301", "\u0301", "1", "x", "a", "b", ".", "_", "中", "国", "Δ", "Ο", "δ", "ο"),
    *("\u200b", "\x00", "İ", "i", "\u3000", "[MISSING]", "y", "[", "]"),
]
FLAGS = ("normalized", "special", "single_word", "lstrip", "rstrip")
NUM_TEXTS = 60


def main():
    """Writes the file next to this script."""
    generator = random.Random(67)
    cases = [make_case(generator, *names) for names in list_cases()]
    content = {
        "versions": {
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        },
        "vocabulary": VOCABULARY,
        "cases": cases,
    }
    lines = json.dumps(content, ensure_ascii=True, indent=0)
    pathlib.Path(__file__).with_suffix(".json").write_text(lines + "\n", encoding="utf-8")


def list_cases():
    """Returns (form of the directory, whether it lowercases) of each case."""
    forms = ("tokenizer.json", "PreTrainedTokenizerFast", "decoder", "added_tokens.json")
    return [*itertools.product(forms, (True, False))] * 2


def make_case(generator, form, lower_case):
    """Returns a directory of a tokenizer as a dict of files, and its IDs of texts."""
    chosen = generator.sample(TOKENS, generator.randint(3, 9))
    added = [
        AddedToken(content, **{flag: generator.random() < 0.4 for flag in FLAGS})
        for content in chosen
    ]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
        (folder / "config.json").write_text('{"model_type": "bert"}')
        if form == "added_tokens.json":
            write_older_files(folder, chosen, lower_case)
        else:
            tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=lower_case)
            tokenizer.add_tokens(added)
            write_files(folder, form, tokenizer, lower_case)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = [
            "".join(generator.choices(PARTS, k=generator.randint(1, 10))) for _ in range(NUM_TEXTS)
        ]
        encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)
        return {
            "form": form,
            "lower_case": lower_case,
            "files": {
                path.name: json.loads(path.read_text(encoding="utf-8"))
                for path in sorted(folder.glob("*.json"))
            },
            "texts": texts,
            "ids": encoded["input_ids"],
            "offsets": encoded["offset_mapping"],
            "size": len(tokenizer),
        }


def write_files(folder, form, tokenizer, lower_case):
    """Writes a tokenizer in one of the forms of `list_cases`."""
    if form == "tokenizer.json":
        tokenizer.save_pretrained(folder)
    elif form == "PreTrainedTokenizerFast":
        names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer.backend_tokenizer, **names
        ).save_pretrained(folder)
    else:
        decoder = {
            id_: {"content": token.content, **{flag: getattr(token, flag) for flag in FLAGS}}
            for id_, token in tokenizer.added_tokens_decoder.items()
        }
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": lower_case,
            "added_tokens_decoder": decoder,
            "additional_special_tokens": ["[unused1]"],
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_older_files(folder, chosen, lower_case):
    """Writes the files of older versions of transformers, with an added_tokens.json."""
    ids = itertools.count(len(VOCABULARY))
    added = {content: next(ids) for content in chosen if content not in VOCABULARY}
    (folder / "added_tokens.json").write_text(json.dumps(added))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower_case}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    name = "additional_special_tokens" if lower_case else "extra_special_tokens"
    special = {name: [next(iter(added)), "[unused1]"]}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))


if __name__ == "__main__":
    main()
