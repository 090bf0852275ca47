"""A process that has imported what the scripts import, and forks a child for each script that a test runs.

To import TensorFlow, TensorFlow Text and tf-models-official takes some five seconds of a core, and the tests run some
150 scripts. Here it is done once. The server has run no operation of TensorFlow, so it has no threads that a fork
would lose, and it has imported nothing of this project: a child imports the script and all that it uses, as
`python -m` does. `tests.scripts` starts the server and asks it.

The server ends, and its children with it, when its standard input does: when the process that started it is gone.
A child is killed when its client closes the connection before it has ended.
"""

import atexit
import gc
import importlib
import json
import multiprocessing.process
import os
import random
import selectors
import signal
import socket
import sys
import types

# What the scripts import directly or, as matplotlib's canvas, when they need it.
PRELOADED = ("tensorflow", "tensorflow_text", "tf_keras", "orbit", "official.common.distribute_utils",
             "official.modeling.optimization", "official.nlp.modeling", "matplotlib.backends.backend_agg",
             "matplotlib.figure", "sklearn.metrics", "scipy.stats", "seqeval.metrics", "safetensors.numpy",
             "tensorflow_serving.apis.prediction_log_pb2", "tokenizers", "tqdm", "absl.app")
OURS = ("bert_tf", "data_prep", "run", "benchmarks")

exit_status = None  # of a child whose script has ended


def main():
    """Serves on the listening socket whose file descriptor is the one argument."""
    atexit.register(leave)  # the first registered is the last called
    listener = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in PRELOADED:
        importlib.import_module(name)
    assert not [name for name in sys.modules if name.split(".")[0] in OURS]
    gc.collect()
    gc.freeze()  # the collector of a child need not touch, and so copy, what is here
    request = serve(listener)
    if request:
        become(*request)


def serve(listener):
    """Forks for each request; returns the request and its file descriptors in a child, None when it is to end."""
    children = {}  # connection -> its child's id and the file descriptor that tells of the child's end
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    for pid, _ in children.values():
                        os.kill(pid, signal.SIGKILL)
                    return None
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    request, files = receive(connection)
                    pid = os.fork()
                    if not pid:
                        close([listener, connection, *children], [end for _, end in children.values()])
                        return request, files
                    close([], files)
                    end = os.pidfd_open(pid)
                    children[connection] = pid, end
                    selector.register(end, selectors.EVENT_READ, connection)
                    selector.register(connection, selectors.EVENT_READ, connection)
                    tell(connection, pid)
                elif key.fileobj is key.data:  # the client has gone, nothing else is ever sent
                    os.kill(children[key.data][0], signal.SIGKILL)
                    selector.unregister(key.data)
                else:
                    pid, end = children.pop(key.data)
                    _, status = os.waitpid(pid, 0)
                    tell(key.data, os.waitstatus_to_exitcode(status))
                    selector.unregister(end)
                    if key.data in selector.get_map():
                        selector.unregister(key.data)
                    close([key.data], [end])


def receive(connection):
    """A request and the three file descriptors that come with it."""
    text, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += connection.recv(1 << 16)
    return json.loads(text), files


def tell(connection, number):
    try:
        connection.sendall(b"%d\n" % number)
    except OSError:  # nobody waits for it any more
        pass


def close(connections, files):
    for connection in connections:
        connection.close()
    for file in files:
        os.close(file)


def become(request, files):
    """Turns this process into `python -m module arguments`; to return is to end as that would.

    request: dict of the command's "module" and "arguments", its "folder" and "environment". files: the file descriptors
    that are to be standard input, output and error.
    """
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    sys.modules["numpy"].random.seed()
    multiprocessing.process.ORIGINAL_DIR = sys.path[0] = request["folder"]
    importlib.invalidate_caches()

    spec = importlib.util.find_spec(request["module"])
    if spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{request['module']}.__main__")
    script = types.ModuleType("__main__")
    script.__dict__.update(__spec__=spec, __file__=spec.origin, __loader__=spec.loader, __package__=spec.parent,
                           __cached__=spec.cached, __builtins__=__builtins__)
    sys.modules["__main__"] = script
    sys.argv = [spec.origin, *request["arguments"]]
    global exit_status
    exit_status = 1
    try:
        exec(spec.loader.get_code(spec.name), script.__dict__)
    except SystemExit as ending:
        exit_status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        raise
    exit_status = 0


def leave():
    """Ends a child when threads and exit functions have, without what Python does next.

    That takes a third of a second: to destroy all objects is to copy all memory that is shared with the server.
    """
    if exit_status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_status & 0xFF)


if __name__ == "__main__":
    main()
