"""Clusters of several processes on this machine."""

import contextlib
import json
import socket

from tests import scripts


def start_workers(stack, folder, command, count=2):
    """Starts the first `count` workers of a cluster of two.

    Returns the addresses and the processes.
    """
    with contextlib.ExitStack() as ports:
        sockets = [ports.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    return addresses, [
        stack.enter_context(
            scripts.Process(
                command,
                folder,
                environment={
                    "TF_CONFIG": json.dumps(
                        {
                            "cluster": {"worker": addresses},
                            "task": {"type": "worker", "index": index},
                        }
                    ),
                    "TMPDIR": str(folder),
                },
            )
        )
        for index in range(count)
    ]
