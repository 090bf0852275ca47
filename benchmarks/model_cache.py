"""Exported and converted models of benchmarks, stored in a directory, so that only the first run creates them."""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

import bert_tf
from benchmarks import measurements
from bert_tf.cli.settings import setting

MODELS_DIR = os.path.join("build", "bench_models")


@dataclasses.dataclass(frozen=True)
class CachedModels(measurements.KeptResults):
    """Settings for a benchmark that exports or converts models."""

    models_dir: str = setting(
        MODELS_DIR, "Directory for exported and converted models, which later runs use again. A model is created again "
                    "if its size, a package version, or the source code changes.")


def find_or_create(models_dir, name, key, create):
    """Returns the directory of a model. If it does not exist, creates it, and deletes older ones of the same name.

    Args:
      models_dir: str. Directory of all models.
      name: str. Name of the model.
      key: Value for JSON. Everything besides versions and source code on which the model depends.
      create: Function that takes an empty directory and writes the model into it. If its module or bert_tf changes, the
        model is created again.

    Returns:
      str. The absolute path of the directory, which contains what `create` wrote.
    """
    digest = hashlib.sha256(json.dumps([key, measurements.get_versions()], sort_keys=True).encode())
    for path in [create.__code__.co_filename, *sorted(pathlib.Path(bert_tf.__file__).parent.rglob("*.py"))]:
        digest.update(pathlib.Path(path).read_bytes())
    directory = os.path.abspath(os.path.join(models_dir, f"{name}-{digest.hexdigest()[:16]}"))
    if not os.path.isdir(directory):
        os.makedirs(models_dir, exist_ok=True)
        for old in pathlib.Path(models_dir).glob(f"{name}-*"):
            shutil.rmtree(old)
        print(f"creating {os.path.relpath(directory)}", flush=True)
        with tempfile.TemporaryDirectory(dir=models_dir) as incomplete:
            os.mkdir(new := os.path.join(incomplete, name))
            create(new)
            os.replace(new, directory)
    return directory


def fingerprint_file(path):
    """Returns the SHA-256 of a file in hexadecimal, for the key of a model that depends on it."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
