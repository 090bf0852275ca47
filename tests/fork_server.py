"""A process that has imported what the scripts import, and forks a child for each script that a test runs.

To import TensorFlow, TensorFlow Text and tf-models-official takes some five seconds of a core, and the tests run some
150 scripts. Here it is done once, and so is what takes most of a second of theirs: to import this project's modules,
and to make the tokenizer's tables of all characters. The server has run no operation of TensorFlow, so it has no
threads that a fork would lose. A child runs the script itself as `python -m` does. `tests.scripts` starts the server
and asks it.

Children see as `sys.executable` a program of the server's that does as Python does, but hands `-m` of a script of ours
to the server: the demo, which runs the other scripts, is as quick.

The server ends, and its children with it, when its standard input does: when the process that started it is gone.
A child is killed when its client closes the connection before it has ended.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import multiprocessing.process
import os
import pkgutil
import random
import selectors
import shlex
import signal
import socket
import sys
import tempfile
import types

# What the scripts import directly or, as matplotlib's canvas, when they need it.
PRELOADED = ("tensorflow", "tensorflow_text", "tf_keras", "official.common.distribute_utils",
             "official.modeling.optimization", "official.nlp.modeling", "matplotlib.backends.backend_agg",
             "matplotlib.figure", "sklearn.metrics", "scipy.stats", "seqeval.metrics", "safetensors.numpy",
             "tensorflow_serving.apis.prediction_log_pb2", "tokenizers", "tqdm", "absl.app", "tensorboard.summary.v1")
# Python's collector looks through all that a traced graph is made of, for a tenth of a script's time; so less often.
COLLECTION = 100_000, 50, 100
OURS = ("bert_tf", "data_prep", "run", "benchmarks")

ADDRESS = "BERT_TF_TESTS_FORK_SERVER"  # the environment variable with the path of the socket

exit_status = None  # of a child whose script has ended


def main():
    """Serves on the listening socket whose file descriptor is the one argument; with others, is a child's Python."""
    if len(sys.argv) != 2:
        run_python(sys.argv[1:])
    atexit.register(leave)  # the first registered is the last called
    listener = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in PRELOADED:
        importlib.import_module(name)
    for name in packages():
        importlib.import_module(name)
    sys.modules["bert_tf.tokenization.wordpiece"].make_tables(lower_case=True)
    sys.modules["data_prep.records.frames"].compute_checksum(b"")  # numba takes half a second for its first function
    draw_letters()
    measure_toy_products()
    sys.executable = write_python(os.path.dirname(listener.getsockname()))
    gc.collect()
    gc.freeze()  # the collector of a child need not touch, and so copy, what is here
    gc.set_threshold(*COLLECTION)
    asked = serve(listener)
    if asked:
        become(*asked)


def packages():
    """The names of this project's modules that are no scripts."""
    for top in ("bert_tf", "data_prep", "run"):
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            is_script = top != "bert_tf" and found.name.count(".") == 1 and not found.ispkg
            if not (is_script or found.name.endswith("__main__")):
                yield found.name


def draw_letters():
    """Has matplotlib look for its fonts and read them."""
    figure = sys.modules["matplotlib.figure"].Figure(figsize=(1, 1), layout="constrained")
    panel = figure.subplots()
    panel.plot([0, 1], label="loss")
    panel.legend()
    figure.savefig(io.BytesIO(), format="png")


def measure_toy_products():
    """Has the machine's rate of matrix products, beside which a training's is shown, measured in a moment."""
    rate = sys.modules.get("run.training.utilisation")
    if rate is not None:
        rate.MATRIX_WIDTHS, rate.TIMED_SECONDS = {**rate.MATRIX_WIDTHS, "CPU": 64}, 0.001


def is_ours(module):
    return module.split(".")[0] in OURS


def write_python(folder):
    """Writes the program that is Python to the children; returns its path."""
    path = os.path.join(folder, "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(__file__)} "
                   f'{shlex.quote(sys.executable)} "$@"\n')
    os.chmod(path, 0o700)
    return path


def run_python(command):
    """Does what a command does that begins with the path of Python, and ends this process."""
    if command[1] != "-m" or not is_ours(command[2]):
        os.execv(command[0], command)
    with socket.socket(socket.AF_UNIX) as server:
        ask(server, os.environ[ADDRESS], request(command[1:], os.curdir, dict(os.environ)), range(3))
        with server.makefile() as answers:
            _, status = answers
            os._exit(int(status) & 0xFF)


def request(arguments, folder, environment):
    """What to ask the server for; arguments: those of Python, which begin with -m."""
    option, module, *others = arguments
    assert option == "-m", arguments
    return {"module": module, "arguments": [str(each) for each in others], "folder": os.path.abspath(folder),
            "environment": environment}


def ask(server, address, wanted, files):
    """Sends a request by a new socket, with what is to be standard input, output and error.

    The server answers with the id of the child and, when it has ended, its exit status as in subprocess, a line each.
    """
    sys.audit("tests.start_process")
    server.connect(address)
    send(server, wanted, files)


def send(server, wanted, files):
    """Sends a request, with what is to be standard input, output and error."""
    message = json.dumps(wanted).encode() + b"\n"
    sent = socket.send_fds(server, [message], [each if isinstance(each, int) else each.fileno() for each in files])
    if sent < len(message):  # a script may have ended already, and the server closed the connection
        server.sendall(message[sent:])


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
                    wanted, files = receive(connection)
                    pid = os.fork()
                    if not pid:
                        close([listener, connection, *children], [end for _, end in children.values()])
                        return wanted, files
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
    """A request and the three file descriptors that come with it; None and none where the client has gone."""
    text, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while text and not text.endswith(b"\n"):
        text += connection.recv(1 << 16)
    return (json.loads(text) if text else None), files


def tell(connection, number):
    with contextlib.suppress(OSError):  # of a client that has gone
        connection.sendall(b"%d\n" % number)


def close(connections, files):
    for connection in connections:
        connection.close()
    for file in files:
        os.close(file)


def become(wanted, files):
    """Turns this process into `python -m module arguments`; to return is to end as that would.

    wanted: a request. files: the file descriptors that are to be standard input, output and error.
    """
    os.environ.clear()
    os.environ.update(wanted["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    global exit_status
    exit_status = 1
    try:
        run(wanted, files)
    except SystemExit as ending:
        exit_status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        raise
    exit_status = 0


def run(wanted, files):
    """Runs a script in this process, with these standard files."""
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(wanted["folder"])
    tempfile.tempdir = None  # which may have been looked for
    random.seed()
    sys.modules["numpy"].random.seed()
    multiprocessing.process.ORIGINAL_DIR = sys.path[0] = wanted["folder"]
    importlib.invalidate_caches()

    spec = importlib.util.find_spec(wanted["module"])
    if spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{wanted['module']}.__main__")
    script = types.ModuleType("__main__")
    script.__dict__.update(__spec__=spec, __file__=spec.origin, __loader__=spec.loader, __package__=spec.parent,
                           __cached__=spec.cached, __builtins__=__builtins__)
    sys.modules["__main__"] = script
    sys.argv = [spec.origin, *wanted["arguments"]]
    exec(spec.loader.get_code(spec.name), script.__dict__)


def leave():
    """Ends a child when threads and exit functions have, without what Python does next.

    That takes a third of a second: to destroy all objects is to copy all memory that is shared with the server.
    """
    if exit_status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_status & 0xFF)


def switch_autotuning_off():
    """Lets this process make all tf.data iterators without autotuning.

    The end of an iterator waits for the thread that tunes its pipeline. TensorFlow 2.20 wakes it before it marks
    the iterator as cancelled, so that the thread may find nothing to do and sleep on: as long as the iterator has
    lived, at most a minute. All threads stand still when Python's collector so ends an iterator of an earlier test.
    """
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    def without_autotuning(dataset):
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)

    # All iterators pass through this, those that a strategy makes for each replica too, which know no options.
    dataset_ops.DatasetV2._apply_debug_options = without_autotuning


if __name__ == "__main__":
    main()
