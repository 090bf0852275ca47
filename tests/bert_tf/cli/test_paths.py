import pytest

from bert_tf.cli import paths


def test_globs_give_each_file_once_sorted_within_a_pattern(tmp_path):
    for name in ("b.txt", "a.txt", "c.gz"):
        (tmp_path / name).write_text("x")
    found = paths.expand_globs("input_file", f"{tmp_path}/c.gz,{tmp_path}/*.txt,{tmp_path}/a.txt")
    assert found == [f"{tmp_path}/{name}" for name in ("c.gz", "a.txt", "b.txt")]


def test_a_folder_stands_for_its_files(tmp_path):
    for name in ("b.txt", "a/z.txt", "a/b/c.gz", ".hidden", "a/.hidden", ".git/x", "d.txt.partial", "empty/.x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    found = paths.expand_globs("input_file", f"{tmp_path},{tmp_path}/b.txt", folders=True)

    assert found == [f"{tmp_path}/{name}" for name in ("a/b/c.gz", "a/z.txt", "b.txt")]
    with pytest.raises(ValueError, match=r"`input_file`=.*/empty: a directory without files"):
        paths.expand_globs("input_file", f"{tmp_path}/empty", folders=True)


def test_wildcards_leave_out_what_is_no_data(tmp_path):
    for name in ("r.tfrecord", "r.tfrecord.manifest.json", "s.tfrecord.partial"):
        (tmp_path / name).write_text("x")
    assert paths.expand_globs("input_file", f"{tmp_path}/*") == [f"{tmp_path}/r.tfrecord"]
    named = f"{tmp_path}/r.tfrecord.manifest.json"
    assert paths.expand_globs("input_file", named) == [named]


@pytest.mark.parametrize(("patterns", "message"), [
    ("{}/*.txt", r"`input_file`=.*/\*\.txt: no such file"),
    ("{}/a.gz,{}", "`input_file`=.*: is a directory, files are needed"),
    (",", "`input_file` is needed"),
    (None, "`input_file` is needed"),
])
def test_globs_that_give_no_files(tmp_path, patterns, message):
    (tmp_path / "a.gz").write_text("x")
    with pytest.raises(ValueError, match=message):
        paths.expand_globs("input_file", patterns and patterns.replace("{}", str(tmp_path)))


def test_files(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("x")
    paths.check_file("vocab_file", path)
    paths.check_file("vocab_file", "gs://bucket/vocab.txt")
    for wrong, message in ((None, "`vocab_file` is needed"), (tmp_path, "is a directory, a file is needed"),
                           (tmp_path / "none", "none: no such file")):
        with pytest.raises(ValueError, match=message):
            paths.check_file("vocab_file", wrong)
