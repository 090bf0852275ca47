import pytest

from run.training import run_metadata


def test_a_run_goes_on_only_with_what_it_was_started_with(tmp_path):
    folder = str(tmp_path)
    run_metadata.keep(folder, {"train_batch_size": 6, "optimizer": "adamw"})
    run_metadata.keep(folder, {"train_batch_size": 7, "optimizer": "adamw"})  # no checkpoint there: nothing to spoil
    (tmp_path / "checkpoint").touch()
    run_metadata.keep(folder, {"train_batch_size": 7, "optimizer": "adamw", "masking": "static"})
    with pytest.raises(ValueError, match=r"`output_dir`=.* holds a run with `train_batch_size` 7, not 8; choose"):
        run_metadata.keep(folder, {"train_batch_size": 8, "optimizer": "adamw"})


def test_a_fingerprint_tells_names_and_sizes_but_not_folders(tmp_path):
    for name in ("a/1", "a/2", "b/1", "b/2"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * int(name[-1]))
    first = run_metadata.fingerprint([str(tmp_path / "a" / "1"), str(tmp_path / "a" / "2")])
    assert (first["files"], first["bytes"]) == (2, 3)
    assert first == run_metadata.fingerprint([str(tmp_path / "b" / "1"), str(tmp_path / "b" / "2")])
    assert first != run_metadata.fingerprint([str(tmp_path / "b" / "2"), str(tmp_path / "b" / "1")])
