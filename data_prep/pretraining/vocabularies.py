"""The vocabularies of existing records, from the files .run.json next to them."""

import dataclasses
import os

from bert_tf import files
from bert_tf.cli.paths import RUN_SUFFIX
from bert_tf.cli.run_state import CHANGEABLE
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from data_prep.pretraining.parts import shard_file


@dataclasses.dataclass(frozen=True)
class RecordVocabulary:
    """The vocabulary and the casing that records were created with.

    Attributes:
      run_file: Path of the file that states them.
      path: Path of the vocabulary when the records were created.
      digest: str. SHA-256 of the vocabulary.
      do_lower_case, strip_accents: See BertTokenizer.
    """

    run_file: str
    path: str
    digest: str
    do_lower_case: bool
    strip_accents: bool | None


def read_vocabularies(record_files):
    """Returns the RecordVocabulary of each run that created some of these files, a list.

    Files that this project did not create have none.
    """
    folders = {}
    for path in record_files:
        folders.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
    found = []
    for folder, names in folders.items():
        for name in files.at(folder or ".").names():
            if name.endswith(RUN_SUFFIX):
                vocabulary, described = _read(os.path.join(folder, name))
                found += [vocabulary] if names & described else []
    return found


def _read(path):
    """Returns the RecordVocabulary of a run and the names of its record files, a set.

    For a file that does not describe a run, returns `(None, set())`.
    """
    try:
        content = read_json_object(path)
        count = content["num_output_shards"]
        vocabulary = RecordVocabulary(
            path,
            content[CHANGEABLE]["vocab_file"],
            content["vocab_file"]["contents"],
            content["do_lower_case"],
            content["strip_accents"],
        )
        record_files = {
            shard_file(name, number, count)
            for name in content["output_file"].split(",")
            for number in range(count)
        }
        return vocabulary, record_files
    except (InputError, KeyError, TypeError, AttributeError):
        return None, set()  # The file has another purpose, or was edited by hand.
