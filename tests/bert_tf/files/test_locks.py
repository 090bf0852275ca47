"""An output has one writer at a time, and no lock outlives its process."""

import os
import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.files import only_writer
from data_prep.pretraining import local_runner
from data_prep.pretraining.settings import InstanceSettings

HOLD = ("import sys\nfrom bert_tf.files import only_writer\nwith only_writer('output_dir', sys.argv[1]):\n"
        "    print('held', flush=True)\n    sys.stdin.read()")


def refused(path):
    with pytest.raises(InputError) as caught, only_writer("output_dir", path):
        pass
    return str(caught.value)


def test_another_process_is_named_and_may_be_killed(tmp_path):
    (tmp_path / "run").mkdir()
    for path, left in ((tmp_path / "run", []), (tmp_path / "a.tfrecord", [".a.tfrecord.lock"])):
        with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as holder:
            assert holder.stdout.readline() == "held\n"
            assert refused(str(path)) == (f"`output_dir`={path}: process {holder.pid} is writing there; wait for its "
                                          "end, or stop it")
            with only_writer("output_dir", f"{path}_2") if left else only_writer("output_dir", str(tmp_path)):
                pass  # what lies beside it is free
            holder.kill()
        assert sorted(os.listdir(tmp_path)) == [*left, "run"]
        with only_writer("output_dir", str(path)):
            assert f"process {os.getpid()} is writing there" in refused(str(path))
        assert os.listdir(tmp_path) == ["run"]
        assert os.listdir(tmp_path / "run") == []


def test_an_error_releases_it(tmp_path):
    with pytest.raises(ZeroDivisionError), only_writer("output_file", str(tmp_path / "a")):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_remote_outputs_have_no_locks():
    with only_writer("output_dir", "ram://folder"), only_writer("output_dir", "ram://folder"):
        pass


def test_records_are_made_by_one(tmp_path, reference):
    from bert_tf.tokenization import BertTokenizer

    tokenizer = BertTokenizer(str(reference / "text" / "vocab.txt"))
    text, output = tmp_path / "text.txt", tmp_path / "a.tfrecord"
    text.write_text("A story.\nOf two.\n\nAnother story.\nOf three.\n")

    def make():
        local_runner.create_pretraining_data([str(text)], [str(output)], tokenizer, InstanceSettings(), 1)

    with only_writer("output_file", f"{output}.manifest.json"), pytest.raises(
            InputError, match=f"`output_file`={output}.manifest.json: process {os.getpid()} is writing there"):
        make()
    assert not output.exists()
    make()
    assert output.exists()
