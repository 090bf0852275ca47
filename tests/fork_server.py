"""A server that has imported TensorFlow and this project, and forks a child for each script that a test runs.

To import TensorFlow, TensorFlow Text, tf-models-official, and this project takes about six seconds of a core. The
server has run no operation of TensorFlow, so it has no threads, which a fork would lose. A child runs a script as
`python -m` does. `tests.scripts` starts the server and sends the requests.

In a child, `sys.executable` is a program that behaves like Python, but lets the server run `-m` of this project's
scripts. So scripts that start other scripts are fast too.

The server and its children end when the server's standard input is closed, which means that its parent has ended. The
server kills a child when its client closes the connection.
"""

import atexit
import contextlib
import gc
import importlib
import io
import multiprocessing.connection
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
from multiprocessing import reduction

# Modules that the scripts import.
PRELOADED = ("tensorflow", "tensorflow_text", "tf_keras", "official.common.distribute_utils",
             "official.modeling.optimization", "official.nlp.modeling", "matplotlib.backends.backend_agg",
             "matplotlib.figure", "sklearn.metrics", "scipy.stats", "seqeval.metrics", "safetensors.numpy",
             "tensorflow_serving.apis.prediction_log_pb2", "tokenizers", "tqdm", "absl.app", "tensorboard.summary.v1")
# Thresholds of Python's garbage collector. With the defaults it takes a tenth of a script's time, since traced graphs
# consist of many objects.
COLLECTION = 100_000, 50, 100
PACKAGES = ("bert_tf", "data_prep", "run", "benchmarks")

ADDRESS = "BERT_TF_TESTS_FORK_SERVER"  # Environment variable: path of the socket.

exit_status = None  # Set in a child when its script has ended.


def main():
    """Serves on a listening socket, the file descriptor in the argument; with more arguments, acts as Python."""
    if len(sys.argv) != 2:
        run_python(sys.argv[1:])
    atexit.register(leave)  # The first registered function is called last.
    listener = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (*PRELOADED, *find_modules()):
        importlib.import_module(name)
    sys.modules["bert_tf.tokenization.wordpiece"].make_tables(lower_case=True)
    sys.modules["data_prep.records.frames"].compute_checksum(b"")  # Numba takes half a second for its first function.
    load_fonts()
    measure_toy_products()
    sys.executable = write_python(os.path.dirname(listener.getsockname()))
    gc.collect()
    gc.freeze()  # The collector of a child would touch, and so copy, these objects.
    gc.set_threshold(*COLLECTION)
    request = serve(listener)
    if request:
        become(*request)


def find_modules():
    """Yields the names of this project's modules that are not scripts."""
    for top in ("bert_tf", "data_prep", "run"):
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            is_script = top != "bert_tf" and found.name.count(".") == 1 and not found.ispkg
            if not (is_script or found.name.endswith("__main__")):
                yield found.name


def load_fonts():
    """Lets matplotlib find and read its fonts."""
    figure = sys.modules["matplotlib.figure"].Figure(figsize=(1, 1), layout="constrained")
    panel = figure.subplots()
    panel.plot([0, 1], label="loss")
    panel.legend()
    figure.savefig(io.BytesIO(), format="png")


def measure_toy_products():
    """Shortens the measurement of the machine's matmul rate, with which training compares its own."""
    rate = sys.modules.get("run.training.utilization")
    if rate is not None:
        rate.MATRIX_WIDTHS, rate.TIMED_SECONDS = {**rate.MATRIX_WIDTHS, "CPU": 64}, 0.001


def write_python(folder):
    """Writes the program that acts as Python in the children; returns its path."""
    path = os.path.join(folder, "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(__file__)} "
                   f'{shlex.quote(sys.executable)} "$@"\n')
    os.chmod(path, 0o700)
    return path


def run_python(command):
    """Runs a command that begins with the path of Python, and ends this process."""
    if command[1] != "-m" or command[2].split(".")[0] not in PACKAGES:
        os.execv(command[0], command)
    connection = send_request(os.environ[ADDRESS], make_request(command[1:], os.curdir, dict(os.environ)), range(3))
    connection.recv()
    os._exit(connection.recv() & 0xFF)


def make_request(arguments, folder, environment):
    """Returns a request, a dict; arguments: those of Python, beginning with "-m"."""
    option, module, *others = arguments
    assert option == "-m", arguments
    return {"module": module, "arguments": [str(each) for each in others], "folder": os.path.abspath(folder),
            "environment": environment}


def send_request(address, request, files):
    """Sends a request to the server, with the file descriptors of standard input, output, and error.

    Returns:
      multiprocessing.connection.Connection. The server sends the ID of the child, and its exit status at its end.
    """
    sys.audit("tests.start_process")
    connection = multiprocessing.connection.Client(address, "AF_UNIX")
    connection.send(request)
    for file in files:
        reduction.send_handle(connection, file, None)
    return connection


def serve(listener):
    """Forks for each request. In a child, returns the request and its file descriptors; at the end, returns None."""
    children = {}  # Connection -> (ID of its child, file descriptor of the child's process).
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
                    connection = multiprocessing.connection.Connection(listener.accept()[0].detach())
                    request, files = connection.recv(), [reduction.recv_handle(connection) for _ in range(3)]
                    pid = os.fork()
                    if not pid:
                        for each in (listener, connection, *children):
                            each.close()
                        for _, process in children.values():
                            os.close(process)
                        return request, files
                    for file in files:
                        os.close(file)
                    process = os.pidfd_open(pid)
                    children[connection] = pid, process
                    selector.register(process, selectors.EVENT_READ, connection)
                    selector.register(connection, selectors.EVENT_READ, connection)
                    send_number(connection, pid)
                elif key.fileobj is key.data:  # The client has closed the connection; it never sends anything else.
                    os.kill(children[key.data][0], signal.SIGKILL)
                    selector.unregister(key.data)
                else:
                    pid, process = children.pop(key.data)
                    _, status = os.waitpid(pid, 0)
                    send_number(key.data, os.waitstatus_to_exitcode(status))
                    selector.unregister(process)
                    if key.data in selector.get_map():
                        selector.unregister(key.data)
                    key.data.close()
                    os.close(process)


def send_number(connection, number):
    """Sends a number, if the client has not closed the connection."""
    with contextlib.suppress(OSError):
        connection.send(number)


def become(request, files):
    """Turns this process into `python -m module arguments`.

    Args:
      request: Dict from `make_request`.
      files: File descriptors of standard input, output, and error.
    """
    global exit_status
    exit_status = 1
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    tempfile.tempdir = None  # A library may have looked for it.
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
    try:
        exec(spec.loader.get_code(spec.name), script.__dict__)
    except SystemExit as error:
        exit_status = error.code if isinstance(error.code, int) else int(error.code is not None)
        raise
    exit_status = 0


def leave():
    """Ends a child after its threads and exit functions, without the rest of Python's shutdown.

    To destroy all objects takes a third of a second, because it copies the memory that is shared with the server.
    """
    if exit_status is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_status & 0xFF)


def switch_autotuning_off():
    """Lets this process create all tf.data iterators without autotuning.

    The end of an iterator waits for the thread that tunes its pipeline. TensorFlow 2.20 wakes the thread before it
    marks the iterator as canceled, so the thread may sleep again: for as long as the iterator has existed, at most a
    minute. If Python's collector ends the iterator, all threads wait.
    """
    import tensorflow as tf
    from tensorflow.python.data.ops import dataset_ops

    def without_autotuning(dataset):
        options = tf.data.Options()
        options.autotune.enabled = False
        return dataset.with_options(options)

    # All iterators call this method, also the iterators that a strategy creates for each replica without options.
    dataset_ops.DatasetV2._apply_debug_options = without_autotuning


if __name__ == "__main__":
    main()
