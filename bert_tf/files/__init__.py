"""Local and remote files, which appear under their names only when they are complete.

A path is a str, bytes, or os.PathLike, of Python's file system (`local.Local`) or of one that
TensorFlow supports, such as gs:// (`remote.Remote`). `at(path)` returns the object of either class
that queries and changes it. TensorFlow is imported only for remote paths.

Errors are OSErrors that name the path; for a remote path, with the server's reason.
"""

from bert_tf.files.locks import lock_output
from bert_tf.files.reading import (
    LineDecoder,
    check_json_object,
    check_text,
    describe_dropped_bytes,
    open_standard_input,
    read_bytes,
    read_json,
    read_json_object,
    read_lines,
    read_text,
    replace_surrogates,
)
from bert_tf.files.remote import at, check_no_pattern, folders_among, is_remote
from bert_tf.files.temporary import use_temporary_directory
from bert_tf.files.writing import (
    PARTIAL_SUFFIX,
    folder_for,
    is_empty,
    new_file,
    new_files,
    new_folder,
    to_json,
)
