#!/bin/sh
# Versions: tensorflow 2.21.0, CPython 3.11 to 3.13
#
# Behavior:
# `pip install tensorflow` no longer installs tensorboard. tf.summary.create_file_writer works without it and creates the
# file of events; the first tf.summary.scalar then raises TBNotInstalledError, which is not an ImportError.
#
# Output:
#     files of events: 1
#     TBNotInstalledError, an ImportError: False
#
# Why a good guess is wrong:
# A good guess is that tf.summary is part of TensorFlow and works as up to 2.20, or that its absence shows at import or in
# create_file_writer. But `scalar`, `text`, `histogram`, and `image` are functions of the plugins of tensorboard; the name
# in tf.summary is a stand-in that fails when it is called. A training script passes its start, compiles, computes its first
# steps, and ends at the first logged number; a guard with `except ImportError` does not see it.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check tensorflow==2.21.0
cat > "$directory/summary.py" <<'PYTHON_END'
import importlib.util
import os
import sys

import tensorflow as tf

assert importlib.util.find_spec("tensorboard") is None
writer = tf.summary.create_file_writer(sys.argv[1])
writer.flush()
print("files of events:", len(os.listdir(sys.argv[1])))
assert len(os.listdir(sys.argv[1])) == 1
try:
    with writer.as_default():
        tf.summary.scalar("loss", 1.0, step=1)
except Exception as error:
    print(f"{type(error).__name__}, an ImportError: {isinstance(error, ImportError)}")
    assert type(error).__name__ == "TBNotInstalledError" and not isinstance(error, ImportError)
else:
    sys.exit("tf.summary.scalar wrote the number")
PYTHON_END
"$directory/venv/bin/python" "$directory/summary.py" "$directory/logs" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
