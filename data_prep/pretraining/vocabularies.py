"""The vocabularies of existing records, from the manifests next to them."""

import dataclasses
import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import read_json_object
from data_prep.sharding.manifest import SUFFIX
from data_prep.sharding.shard_plan import shard_file


@dataclasses.dataclass(frozen=True)
class RecordVocabulary:
    """The vocabulary and the casing that records were created with.

    Attributes:
      manifest: Path of the manifest that states them.
      path: Path of the vocabulary when the records were created; None if unknown.
      digest: str. SHA-256 of the vocabulary.
      do_lower_case, strip_accents: See BertTokenizer.
    """

    manifest: str
    path: str | None
    digest: str
    do_lower_case: bool
    strip_accents: bool | None


def read_vocabularies(record_files):
    """Returns the RecordVocabulary of each manifest of these files, a list; files without a manifest have none."""
    folders = {}
    for path in record_files:
        folders.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
    found = []
    for folder, names in folders.items():
        for name in files.at(folder or ".").names():
            if name.endswith(SUFFIX):
                vocabulary, described = _read(os.path.join(folder, name))
                found += [vocabulary] if names & described else []
    return found


def _read(path):
    """Returns the RecordVocabulary of a manifest and the names of its record files, a set; (None, set()) for others."""
    try:
        made_from = read_json_object(path)["made_from"]
        flags = made_from["flags"]
        vocabulary = RecordVocabulary(path, made_from.get("vocab_file"), made_from["vocabulary"],
                                      flags["do_lower_case"], flags.get("strip_accents"))
        count = flags["num_output_shards"]
        return vocabulary, {shard_file(name, number, count) for name in flags["output_file"].split(",")
                            for number in range(count)}
    except (InputError, KeyError, TypeError, AttributeError):  # of other files, or edited by hand
        return None, set()
