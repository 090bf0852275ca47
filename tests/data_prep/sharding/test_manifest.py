"""Comparison of finished shards with their manifest: of a sample of their bytes, or of all bytes."""

import hashlib
import json
import pathlib

import pytest

from bert_tf.errors import InputError
from data_prep.sharding import manifest
from data_prep.sharding.shards import OutputKind, Shard, ShardCounts

KIND = OutputKind("output_file", ShardCounts)
MADE_FROM = {"flags": {}, "vocabulary": "", "inputs": []}


@pytest.fixture
def output(tmp_path, monkeypatch):
    """The path of a manifest and the file of its only shard, with 1000 bytes, of which 3 x 10 are the sample."""
    monkeypatch.setattr(manifest, "SAMPLE_BYTES", 10)
    content = bytes(number % 251 for number in range(1000))
    path, file = str(tmp_path / "m.json"), tmp_path / "a.tfrecord"
    file.write_bytes(content)
    shard = Shard(0, [{"file": file.name, "bytes": 1000, "sha256": hashlib.sha256(content).hexdigest()}], ShardCounts())
    manifest.Manifest(path, KIND, MADE_FROM, [(str(file),)]).add(shard)
    return path, file


def read(output, **options):
    return manifest.Manifest(output[0], KIND, MADE_FROM, [(str(output[1]),)], **options)


@pytest.mark.parametrize(("place", "is_in_sample"), [(0, True), (9, True), (10, False), (495, True), (504, True),
                                                     (505, False), (989, False), (990, True), (999, True)])
def test_changed_bytes(output, place, is_in_sample):
    content = bytearray(output[1].read_bytes())
    content[place] ^= 1
    output[1].write_bytes(content)
    assert read(output).num_changed == is_in_sample
    assert read(output, verify=True).num_changed == 1
    assert read(output, verify=True).missing == [0]


def test_unchanged_files(output):
    assert read(output).missing == read(output, verify=True).missing == []
    assert read(output).num_changed == 0


@pytest.mark.parametrize("is_current", [True, False])
def test_notes_of_workers(tmp_path, is_current):
    """A note of a run with other inputs is removed."""
    path, files = str(tmp_path / "a.tfrecord.manifest.json"), [(str(tmp_path / f"{i}.tfrecord"),) for i in range(2)]
    pathlib.Path(files[1][0]).write_bytes(b"records")
    entry = {"file": "1.tfrecord", "bytes": 7, "sha256": hashlib.sha256(b"records").hexdigest()}
    manifest.write_note(path, MADE_FROM if is_current else {**MADE_FROM, "flags": {"masking": "dynamic"}},
                        Shard(1, [entry], ShardCounts(99)), files[1])
    assert not pathlib.Path(path).exists()
    read = manifest.Manifest(path, KIND, MADE_FROM, files)
    assert read.missing == ([0] if is_current else [0, 1])
    assert read.counts == ShardCounts(99 * is_current)
    read.collect_notes()
    assert not [*tmp_path.glob("*.shard-*")]
    assert manifest.Manifest(path, KIND, MADE_FROM, files, verify=True).missing == read.missing


def test_notes_in_a_directory_whose_name_is_a_pattern(tmp_path):
    folder = tmp_path / "[ab]*"
    folder.mkdir()
    path, file = str(folder / "a.tfrecord.manifest.json"), str(folder / "0.tfrecord")
    pathlib.Path(file).write_bytes(b"records")
    manifest.write_note(path, MADE_FROM, Shard(0, [{"file": "0.tfrecord", "bytes": 7, "sha256": ""}], ShardCounts()),
                        (file,))
    assert manifest.Manifest(path, KIND, MADE_FROM, [(file,)]).missing == []


def test_manifests_of_early_versions_have_no_samples(output):
    content = json.loads(pathlib.Path(output[0]).read_text())
    del content["shards"][0]["files"][0]["sample"]
    pathlib.Path(output[0]).write_text(json.dumps(content))
    output[1].write_bytes(b"x" * 1000)
    assert read(output).missing == []
    assert read(output, verify=True).missing == [0]


@pytest.mark.parametrize(("change", "message"), [
    (lambda content: content["shards"].append(None), "does not match the shards of this run; delete it"),
    (lambda content: content["shards"].clear(), "does not match the shards"),
    (lambda content: content["shards"][0]["files"].clear(), "does not match the shards"),
    (lambda content: content["shards"][0]["files"][0].pop("bytes"), "is not a manifest of format 1"),
    (lambda content: content["shards"][0]["files"][0].update(sample=3), "is not a manifest"),
    (lambda content: content["shards"][0]["counts"].update(more=3), "is not a manifest"),
    (lambda content: content["shards"][0].update(counts=[1]), "is not a manifest"),
    (lambda content: content["shards"][0].clear(), "is not a manifest"),
    (lambda content: content["made_from"].update(flags=None), "is not a manifest"),
    (lambda content: content["made_from"].update(inputs=[3]), "is not a manifest"),
    (lambda content: content.update(format=2), "is not a manifest"),
    (lambda content: content.clear(), "is not a manifest"),
])
def test_damaged_manifests(output, change, message):
    content = json.loads(pathlib.Path(output[0]).read_text())
    change(content)
    pathlib.Path(output[0]).write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        read(output)
