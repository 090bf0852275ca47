"""Files and directories appear only when they are complete, on all file systems.

An output has only one writer.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import lock_output
from bert_tf.files.remote import Remote
from tests import remote_folders, scripts
from tests.errors import rejects
from tests.remote_folders import put

ON_EVERY_SYSTEM = pytest.mark.parametrize(
    "folder_path", ["local", "remote", "store"], indirect=True
)


def write(path, value, mode="w", error=None):
    """Writes a new file; then raises `error` in the block."""
    with files.new_file(path, mode) as file:
        file.write(value)
        if error is not None:
            raise error


def fill(context, names, error=None):
    """Writes files with the content "new" to the directory of a context; then raises `error`."""
    with context as unfinished:
        for name in names:
            file = pathlib.Path(unfinished, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("new")
        if error is not None:
            raise error


def read_all(folder):
    """Returns a dict of the relative path of each file in a local directory -> its text."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


@dataclasses.dataclass(frozen=True)
class Written:
    """A value, and the bytes of its file.

    Attributes:
      value: str or bytes. What is written.
      mode: str. Mode of the file.
      options: Dict of other options of `new_file`.
      expected: bytes. Content of the file.
    """

    value: str | bytes | memoryview
    mode: str
    options: dict
    expected: bytes


@ON_EVERY_SYSTEM
@pytest.mark.parametrize(
    "case",
    [
        Written(value="é\n", mode="w", options={}, expected="é\n".encode()),
        Written(value="a\n", mode="w", options={"newline": "\r\n"}, expected=b"a\r\n"),
        Written(value=memoryview(b"\xff\r\n\0"), mode="wb", options={}, expected=b"\xff\r\n\0"),
        # Larger than the buffers.
        Written(value=b"12345678" * 400_000, mode="wb", options={}, expected=b"12345678" * 400_000),
    ],
)
def test_new_file_appears_when_it_is_complete(folder_path, case):
    with files.new_file(f"{folder_path}/results", case.mode, **case.options) as file:
        assert file.write(case.value) == len(case.value)
        file.flush()
        assert files.at(folder_path).names() == (
            [] if files.is_remote(folder_path) else ["results.partial"]
        )
    assert files.at(folder_path).names() == ["results"]
    assert files.read_bytes(f"{folder_path}/results") == case.expected


@ON_EVERY_SYSTEM
def test_new_file_replaces_an_old_one(folder_path):
    put(f"{folder_path}/results", "before, and longer")
    if not files.at(folder_path).is_store:
        put(f"{folder_path}/results.partial", "of a killed run")
    write(f"{folder_path}/results", "after")
    assert files.read_bytes(f"{folder_path}/results") == b"after"
    assert files.at(folder_path).names() == ["results"]


@ON_EVERY_SYSTEM
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "of a socket")])
def test_an_error_in_the_block_leaves_the_old_file(folder_path, error):
    put(f"{folder_path}/results", "before")
    for name in ("results", "new"):
        with pytest.raises(type(error)) as caught:
            write(f"{folder_path}/{name}", "half", error=error)
        assert caught.value is error
    assert files.at(folder_path).names() == ["results"]
    assert files.read_bytes(f"{folder_path}/results") == b"before"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("directory", "Is a directory"),
        ("taken", "Is a directory"),
        ("none/results", "No such file or directory"),
        ("full", "No space left on device"),
    ],
)
def test_errors_name_the_local_file(tmp_path, name, reason):
    (tmp_path / "directory").mkdir()
    (tmp_path / "taken.partial").mkdir()
    os.symlink("/dev/full", tmp_path / "full.partial")
    with pytest.raises(OSError, match=f"^{tmp_path}/{name}: cannot be written: {reason}$"):
        write(str(tmp_path / name), "x")
    left = {"directory", "taken.partial", "full.partial"} - (
        {"full.partial"} if name == "full" else set()
    )
    assert {*os.listdir(tmp_path)} == left


def test_a_full_disk_does_not_hide_an_earlier_error(tmp_path):
    os.symlink("/dev/full", tmp_path / "results.partial")
    with pytest.raises(KeyboardInterrupt):
        write(str(tmp_path / "results"), "x", error=KeyboardInterrupt)
    assert not os.listdir(tmp_path)


def test_new_folder_appears_when_it_is_complete(tmp_path):
    (tmp_path / "model.partial" / "of a killed run").mkdir(parents=True)
    with files.new_folder(f"{tmp_path}/model/") as unfinished:
        assert unfinished == f"{tmp_path}/model.partial"
        assert sorted(os.listdir(tmp_path)) == [".model.lock", "model.partial"]
        put(f"{unfinished}/weights", "x")
        with pytest.raises(
            InputError, match=f"^{tmp_path}/model: locked by process {os.getpid()};"
        ):
            fill(files.new_folder(f"{tmp_path}/model"), ["other"])
        assert os.listdir(unfinished) == ["weights"]
    assert read_all(tmp_path) == {"model/weights": "x"}


def test_after_an_error_there_is_no_new_folder(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fill(files.new_folder(tmp_path / "model"), ["weights"], KeyboardInterrupt)
    assert not os.listdir(tmp_path)
    other_process = "../model/theirs"  # finishes first
    with rejects("model", "cannot be written", "Directory not empty", error=OSError):
        fill(files.new_folder(tmp_path / "model"), ["weights", other_process])
    assert read_all(tmp_path) == {"model/theirs": "new"}
    with pytest.raises(FileExistsError, match=r"^/.*/model: already exists$"):
        fill(files.new_folder(str(tmp_path / "model")), [], AssertionError("must not run"))


def test_new_files_appear_together(tmp_path):
    folder = tmp_path / "created" / "out"
    fill(files.new_files(str(folder)), ["a", "b"])
    assert read_all(folder) == {"a": "new", "b": "new"}
    (folder / "mine").write_text("kept")
    put(f"{folder}/.partial/c", "of a killed run")
    with files.new_files(str(folder)) as unfinished:
        put(f"{unfinished}/a", "newer")
        assert (folder / "a").read_text() == "new"
    assert read_all(folder) == {"a": "newer", "b": "new", "mine": "kept"}


@pytest.mark.parametrize("before", [{}, {"out/a": "old"}])
def test_after_an_error_there_are_no_new_files(tmp_path, before):
    for name, text in before.items():
        put(f"{tmp_path}/{name}", text)
    with pytest.raises(KeyboardInterrupt):
        fill(files.new_files(str(tmp_path / "out")), ["a", "b"], KeyboardInterrupt)
    assert read_all(tmp_path) == before
    assert (tmp_path / "out").exists() == bool(before)


def test_new_files_do_not_replace_a_directory(tmp_path):
    before = {"a": "old", "b/theirs": "old"}
    for name, text in before.items():
        put(f"{tmp_path}/{name}", text)
    with rejects("b", "cannot be written", "Is a directory", error=OSError):
        fill(files.new_files(tmp_path), ["a", "b"])
    assert read_all(tmp_path) == before
    with rejects("a", "cannot be written", "Not a directory", error=OSError):
        fill(files.new_files(str(tmp_path / "a")), ["b"])
    assert read_all(tmp_path) == before


def test_a_failed_move_of_new_files_is_undone(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}")
    replace = os.replace

    def fail_at_new_b(source, target):
        if target == str(tmp_path / "b") and pathlib.Path(source).read_text() == "new":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_new_b)
    with rejects(tmp_path, "cannot be written", "No space left on device", error=OSError):
        fill(files.new_files(str(tmp_path)), ["a", "b", "c"])
    assert read_all(tmp_path) == {"a": "old a", "b": "old b"}


@pytest.mark.parametrize(
    ("names", "is_empty"),
    [
        ([], True),
        (["run.json.partial", ".partial"], True),
        (["run.json.partial", "run.json"], False),
        (["partial"], False),
    ],
)
def test_a_directory_of_unfinished_files_is_empty(tmp_path, names, is_empty):
    for name in names:
        (tmp_path / name).touch()
    assert files.is_empty(tmp_path) is is_empty
    assert files.is_empty(tmp_path / "missing")


def test_errors_of_an_upload_name_the_object(store, monkeypatch):
    def fail(*_, **__):
        raise tf.errors.PermissionDeniedError(None, None, "no permission")

    monkeypatch.setattr(tf.io.gfile, "copy", fail)
    with pytest.raises(
        PermissionError, match=rf"^{store}/results: cannot be written: no permission$"
    ):
        write(f"{store}/results", "x")
    assert files.at(store).names() == []


@pytest.mark.parametrize("folder_name", ["folder", "store"])
def test_a_remote_directory_is_uploaded_in_order(request, monkeypatch, folder_name):
    """Readers wait for saved_model.pb, which is last."""
    root = (
        request.getfixturevalue("store") if folder_name == "store" else remote_folders.new_folder()
    )
    names = [
        f"{root}/model/{name}" for name in ("variables/index", "fingerprint.pb", "saved_model.pb")
    ]
    uploaded = []
    upload = Remote.upload
    monkeypatch.setattr(
        Remote,
        "upload",
        lambda target, local: uploaded.append(target.path) or upload(target, local),
    )
    inside = ["saved_model.pb", "variables/index", "fingerprint.pb"]
    fill(files.new_folder(f"{root}/model/"), inside)
    assert uploaded == names
    assert {files.read_bytes(name) for name in names} == {b"new"}
    with pytest.raises(FileExistsError, match=rf"^{root}/model: already exists$"):
        fill(files.new_folder(f"{root}/model"), inside)
    with pytest.raises(KeyboardInterrupt):
        fill(files.new_folder(f"{root}/other"), inside, KeyboardInterrupt)
    assert not files.at(f"{root}/other").exists()


def test_a_failed_upload_of_several_leaves_none(store, monkeypatch):
    upload = Remote.upload

    def fail_at_b(target, local):
        if target.path.endswith("b"):
            raise OSError(f"{target.path}: cannot be written: no permission")
        upload(target, local)

    monkeypatch.setattr(Remote, "upload", fail_at_b)
    with pytest.raises(OSError, match="b: cannot be written: no permission"):
        fill(files.new_folder(f"{store}/model"), ["a", "b"])
    assert files.at(store).files_below() == []


def test_old_objects_are_removed_before_new_ones_are_uploaded(store, monkeypatch):
    fill(files.new_files(store), ["model.index", "model.data"])
    put(f"{store}/kept", "mine")
    existing = []
    upload = Remote.upload
    monkeypatch.setattr(
        Remote,
        "upload",
        lambda target, local: existing.append(files.at(store).names()) or upload(target, local),
    )
    fill(files.new_files(store), ["model.index", "model.data"])
    assert existing == [["kept"], ["kept", "model.data"]]
    assert files.at(store).names() == ["kept", "model.data", "model.index"]


HOLD = (
    "import sys\nfrom bert_tf.files import lock_output\nwith lock_output('output_dir', "
    "sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()"
)


def lock_error(path):
    """Returns the message of the error in locking a path."""
    with pytest.raises(InputError) as caught, lock_output("output_dir", str(path)):
        pass
    return str(caught.value)


@pytest.mark.parametrize("name", ["directory", "a.tfrecord"])
def test_this_process_locks_an_output_once(tmp_path, name):
    (tmp_path / "directory").mkdir()
    path = str(tmp_path / name)
    with lock_output("output_dir", path), lock_output("output_dir", f"{tmp_path}/other"):
        assert (
            lock_error(path)
            == f"`output_dir`={path}: locked by process {os.getpid()}; wait until it finishes, "
            "or stop it"
        )
    with pytest.raises(ZeroDivisionError), lock_output("output_dir", path):
        raise ZeroDivisionError
    with lock_output("output_dir", path):
        pass
    assert os.listdir(tmp_path) == ["directory"]
    assert os.listdir(tmp_path / "directory") == []


@pytest.mark.large
def test_a_lock_ends_with_a_killed_process(tmp_path):
    for path, left in ((tmp_path, []), (tmp_path / "a.tfrecord", [".a.tfrecord.lock"])):
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=scripts.ROOT,
        ) as holder:
            assert holder.stdout.readline() == "held\n"
            assert f"locked by process {holder.pid};" in lock_error(path)
            holder.kill()
        assert os.listdir(tmp_path) == left
        with lock_output("output_dir", str(path)):
            pass


def test_records_have_one_writer(tmp_path, reference):
    from data_prep.pretraining import JobSettings, job

    text = tmp_path / "text.txt"
    output = tmp_path / "a.tfrecord"
    text.write_text("A story.\nOf two.\n\nAnother story.\nOf three.\n")
    with (
        lock_output("output_file", str(output)),
        pytest.raises(
            InputError, match=f"`output_file`={output}: locked by process {os.getpid()};"
        ),
    ):
        job.run(JobSettings(str(text), str(output), str(reference / "text" / "vocab.txt")))
    assert not output.exists()
