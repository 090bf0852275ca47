"""Runs a command for which gs://BUCKET/... is a folder: python -m tests.cloud_storage FOLDER COMMAND...

    mkdir -p /tmp/cloud/buckets/mine
    python -m tests.cloud_storage /tmp/cloud python -m data_prep.learn_vocab --input_file=text.txt \\
        --vocab_file=gs://mine/vocab.txt --vocab_size=1000

The command sees no other network. FOLDER stays, so that a command that was killed can be run again. The exit status is
the command's.
"""

import os
import subprocess
import sys

from tests.cloud_storage import cloud, namespace
from tests.cloud_storage.server import HOSTS, Server
from tests.cloud_storage.store import Store

INSIDE = "BERT_TF_TESTS_CLOUD_STORAGE"  # an environment variable: which folder's namespace this process is in


def main():
    """Enters the namespace, and there serves until the command has ended."""
    folder, *command = sys.argv[1:]
    folder = os.path.abspath(folder)
    if os.environ.get(INSIDE) != folder:
        again = [sys.executable, "-m", "tests.cloud_storage", folder, *command]
        os.execvpe(namespace.ENTER[0], [*namespace.ENTER, *again], {**os.environ, INSIDE: folder})
    store = Store(folder)
    namespace.raise_loopback()
    namespace.resolve_here(HOSTS, folder)
    tls = namespace.make_certificate(HOSTS, cloud.certificate(folder))
    variables = {**os.environ, **cloud.variables(folder)}
    with Server(store, ("127.0.0.1", 443), tls):
        # Files that this process has been given beside standard input, output and error are for the command.
        sys.exit(subprocess.run(command, env=variables, close_fds=False, check=False).returncode)


if __name__ == "__main__":
    main()
