"""Runs a command for which gs://BUCKET/... is a directory: python -m tests.cloud_storage FOLDER COMMAND...

    mkdir -p /tmp/cloud/buckets/mine
    python -m tests.cloud_storage /tmp/cloud python -m data_prep.learn_vocab --input_file=text.txt \\
        --vocab_file=gs://mine/vocab.txt --vocab_size=1000

The command sees no other network. FOLDER stays, so that a killed command can be run again. Exits with the
status of the command.
"""

import os
import subprocess
import sys

from tests.cloud_storage import cloud, namespace
from tests.cloud_storage.server import HOSTS, Server
from tests.cloud_storage.store import Store

INSIDE = "BERT_TF_TESTS_CLOUD_STORAGE"  # Environment variable: the FOLDER whose namespace this process is in.


def main():
    """Enters the namespace, and serves there until the command ends."""
    folder, *command = sys.argv[1:]
    folder = os.path.abspath(folder)
    if os.environ.get(INSIDE) != folder:
        again = [sys.executable, "-m", "tests.cloud_storage", folder, *command]
        os.execvpe(namespace.ENTER[0], [*namespace.ENTER, *again], {**os.environ, INSIDE: folder})
    namespace.raise_loopback()
    namespace.resolve_here(HOSTS, folder)
    tls = namespace.make_certificate(HOSTS, cloud.get_certificate(folder))
    with Server(Store(folder), ("127.0.0.1", 443), tls):
        # The command inherits the open files of this process.
        sys.exit(subprocess.run(command, env={**os.environ, **cloud.get_variables(folder)}, close_fds=False,
                                check=False).returncode)


if __name__ == "__main__":
    main()
