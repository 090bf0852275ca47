"""Each key of other libraries' files is in one list, and a new key is noticed."""

import json
import pathlib
import shutil

import pytest

from bert_tf.checkpoints import (
    ModelDirectory,
    huggingface_file_keys,
    keras_hub,
    peft,
    sentence_transformers,
)
from bert_tf.checkpoints.file_keys import FileKeys
from bert_tf.errors import InputError
from tests.errors import rejects

REFERENCE = pathlib.Path(__file__).parents[2] / "reference"
MODELS = REFERENCE / "today" / "models"
# Name of the file -> its keys.
FILES = {
    "config.json": huggingface_file_keys.CONFIG,
    "tokenizer.json": huggingface_file_keys.TOKENIZER,
    "tokenizer_config.json": huggingface_file_keys.TOKENIZER_CONFIG,
    "special_tokens_map.json": huggingface_file_keys.SPECIAL_TOKENS_MAP,
    "adapter_config.json": peft.ADAPTER_CONFIG,
    "modules.json": sentence_transformers.MODULE,
    "sentence_bert_config.json": sentence_transformers.SENTENCE_BERT_CONFIG,
    "config_sentence_transformers.json": sentence_transformers.SENTENCE_TRANSFORMERS_CONFIG,
    "1_Pooling/config.json": sentence_transformers.POOLING,
    "2_Normalize/config.json": sentence_transformers.NORMALIZE,
    "keras_hub/config.json": keras_hub.PRESET,
    "keras_hub/metadata.json": keras_hub.PRESET_METADATA,
    "keras_hub/task.json": keras_hub.PRESET_TASK,
}
# Name of the file and key of an object in it -> the keys of the object.
OBJECTS = {
    ("tokenizer.json", "model"): huggingface_file_keys.TOKENIZER_MODEL,
    ("tokenizer.json", "normalizer"): huggingface_file_keys.TOKENIZER_NORMALIZER,
    ("tokenizer.json", "pre_tokenizer"): huggingface_file_keys.TOKENIZER_PRE_TOKENIZER,
    ("tokenizer.json", "post_processor"): huggingface_file_keys.TOKENIZER_POST_PROCESSOR,
    ("keras_hub/config.json", "config"): keras_hub.PRESET_BACKBONE,
    ("keras_hub/tokenizer.json", "config"): keras_hub.PRESET_TOKENIZER,
    ("keras_hub/task.json", "config"): keras_hub.PRESET_CLASSIFIER,
}
ALL = {**FILES, **OBJECTS}
# Objects of components that are not supported.
OTHER_KEYS = {"processors"}


def name_file(path):
    """Returns the key of FILES for the path of a file."""
    long_name = f"{path.parent.name}/{path.name}"
    if path.parent.name.startswith("keras_hub"):
        return f"keras_hub/{path.name}"
    return long_name if path.parent.name in ("1_Pooling", "2_Normalize") else path.name


@pytest.mark.parametrize("name", ALL, ids=str)
def test_each_key_is_in_one_list(name):
    known = ALL[name].known
    assert len(known) == len(set(known))


def test_the_libraries_write_no_other_keys():
    """A key of a new version of a library, after regenerating the directories, fails here."""
    found = {}
    for path in sorted([*MODELS.rglob("*.json"), *REFERENCE.glob("hf_*/**/*.json")]):
        name = name_file(path)
        values = json.loads(path.read_text())
        for value in values if isinstance(values, list) else [values]:
            if name in FILES:
                found.setdefault(name, set()).update(value)
            for (file, key), _ in OBJECTS.items():
                if file == name and isinstance(value.get(key), dict):
                    found.setdefault((file, key), set()).update(value[key])
    unknown = {
        name: keys - {*ALL[name].known, *OTHER_KEYS}
        for name, keys in found.items()
        if keys - {*ALL[name].known, *OTHER_KEYS}
    }
    assert not unknown
    assert found.keys() >= ALL.keys() - {"special_tokens_map.json"}


def test_check():
    keys = FileKeys(("a",), {"b": (False,), "c": ()}, {"reason": ("d",)})
    keys.check({"a": 1, "b": False, "c": None, "d": 2}, "file")
    with rejects("file", "x.b is True", "only False is supported"):
        keys.check({"b": True}, "file", "x.")
    # 0 is not False.
    with rejects("file", "b is 0", "only False is supported"):
        keys.check({"b": 0}, "file")
    with pytest.raises(InputError, match=r"^file: c is 3: not supported$"):
        keys.check({"c": 3}, "file")
    keys.check({"b": True}, "file", without=("b",))


# Name of the folder, file, and keys that lead to an object in it.
CASES = [
    ("cased_classifier", "config.json", ()),
    ("cased_classifier", "tokenizer_config.json", ()),
    ("fast_cased", "tokenizer.json", ()),
    ("fast_cased", "tokenizer.json", ("model",)),
    ("fast_cased", "tokenizer.json", ("normalizer",)),
    ("fast_cased", "tokenizer.json", ("pre_tokenizer",)),
    ("fast_cased", "tokenizer.json", ("post_processor",)),
    ("fast_cased", "special_tokens_map.json", ()),
    ("st_normalized", "modules.json", ()),
    ("st_normalized", "sentence_bert_config.json", ()),
    ("st_normalized", "config_sentence_transformers.json", ()),
    ("st_normalized", "1_Pooling/config.json", ()),
    ("st_normalized", "2_Normalize/config.json", ()),
    ("peft_on_base", "adapter_config.json", ()),
    ("keras_hub_classifier", "config.json", ()),
    ("keras_hub_classifier", "config.json", ("config",)),
    ("keras_hub_classifier", "metadata.json", ()),
    ("keras_hub_classifier", "tokenizer.json", ("config",)),
    ("keras_hub_classifier", "task.json", ()),
    ("keras_hub_classifier", "task.json", ("config",)),
]


def find_keys(folder, file, keys):
    """Returns the FileKeys of an object in a file of one of MODELS."""
    name = name_file(MODELS / folder / file)
    return ALL[(name, *keys)] if keys else ALL[name]


def copy_with(tmp_path, case, **values):
    """Copies a folder with other values of an object; returns the paths of the folder and file."""
    folder, file, keys = case
    copy = tmp_path / "model"
    shutil.copytree(MODELS / folder, copy, dirs_exist_ok=True)
    path = copy / file
    source = MODELS / folder / file
    content = json.loads(source.read_text()) if source.exists() else {}
    for each in content if isinstance(content, list) else [content]:
        changed = each
        for key in keys:
            changed = changed[key]
        changed.update(values)
    path.write_text(json.dumps(content))
    return copy, path


def read_all(folder):
    """Reads all that the files of a model describe, without creating it."""
    directory = ModelDirectory.open(str(folder))
    for name in ("config", "tokenizer", "served_task", "checkpoint"):
        getattr(directory, name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_unknown_key_prints_a_note(case, tmp_path, capsys):
    folder, path = copy_with(tmp_path, case, new_in_version_99=1)
    read_all(folder)
    scope = "".join(f"{key}." for key in case[2])
    message = f"note: {path}: ignoring unknown keys: {scope}new_in_version_99\n"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fixed_key_is_rejected_with_another_value(case, tmp_path):
    for key in find_keys(*case).fixed:
        folder, path = copy_with(tmp_path, case, **{key: "other"})
        with pytest.raises(InputError, match=f"{path}: .*{key}.* is 'other'"):
            read_all(folder)


def test_each_list_has_a_case():
    cases = {id(find_keys(*case)) for case in CASES}
    assert cases == {*map(id, ALL.values())}
