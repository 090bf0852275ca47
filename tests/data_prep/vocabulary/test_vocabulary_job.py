"""A run of learn_vocab: what is refused."""

import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from data_prep.vocabulary import VocabularySettings, job
from tests.settings import resolved


@pytest.mark.parametrize(("settings", "message"), [
    ({}, "`input_file` is required"),
    ({"input_file": "{folder}/no.txt", "vocab_file": "{folder}/v"}, "`input_file`={folder}/no.txt: no such"),
    ({"input_file": "{folder}/t.txt"}, "`vocab_file` is required"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/t.txt"},
     "`vocab_file`={folder}/t.txt: lies where `input_file`"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/no/v"}, "a file in a folder that exists is needed"),
    ({"input_file": "{folder}/empty.txt", "vocab_file": "{folder}/v"}, "there are no words in it"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/v", "vocab_size": 0}, "`vocab_size`=0: it must be at"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/v", "initial_vocab": "{folder}/no"},
     "`initial_vocab`={folder}/no: no such file"),
    ({"input_file": "{folder}/t.txt", "vocab_file": "{folder}/v", "initial_vocab": "{folder}/vocab.txt",
      "vocab_size": 7}, "`vocab_size`=7: `initial_vocab` has 6 entries and keeps that number; leave `vocab_size` out"),
])
def test_what_is_refused(tmp_path, settings, message):
    (tmp_path / "t.txt").write_text("some words")
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    settings = {name: value.format(folder=tmp_path) if isinstance(value, str) else value
                for name, value in settings.items()}

    with pytest.raises(InputError) as raised:
        job.run(resolved(VocabularySettings(**settings)))

    assert message.format(folder=tmp_path) in str(raised.value)
    assert not (tmp_path / "v").exists()


def test_no_tensorflow():
    code = "import sys, data_prep.learn_vocab; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
