"""A server that has imported TensorFlow and this project, and forks a child for each script that a test runs.

To import TensorFlow, TensorFlow Text, tf-models-official, and this project takes about six seconds of a core. The
server has run no operation of TensorFlow, so it has no threads, which a fork would lose. A child runs a script as
`python -m` does. `tests.scripts` starts the server and sends the requests.

For each request, the server forks a supervisor, which forks the child. The supervisor kills the child when its client
closes the connection, or when the server's standard input is closed, which means that the server's parent has ended.
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
import signal
import socket
import sys
import tempfile
import types
import warnings
from multiprocessing import reduction

# Modules that the scripts import.
PRELOADED = ("tensorflow", "tensorflow_text", "tf_keras", "official.common.distribute_utils",
             "official.modeling.optimization", "official.nlp.modeling", "matplotlib.backends.backend_agg",
             "matplotlib.figure", "sklearn.metrics", "scipy.stats", "seqeval.metrics", "safetensors.numpy",
             "tensorflow_serving.apis.prediction_log_pb2", "tokenizers", "tqdm", "absl.app", "tensorboard.summary.v1")
# Thresholds of Python's garbage collector. With the defaults it takes a tenth of a script's time, since traced graphs
# consist of many objects.
COLLECTION = 100_000, 50, 100

ADDRESS = "BERT_TF_TESTS_FORK_SERVER"  # Environment variable: path of the socket.

exit_status = None  # Set in a child when its script has ended.


def main():
    """Serves on a listening socket, the file descriptor in the argument."""
    atexit.register(leave)  # The first registered function is called last.
    listener = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python 3.12 and later count the idle threads of libraries, such as NumPy's.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    for name in (*PRELOADED, *find_modules()):
        importlib.import_module(name)
    build_tokenizer_tables()
    sys.modules["data_prep.records.writer"].compute_checksum(b"")  # Numba takes half a second for its first function.
    load_fonts()
    gc.collect()
    gc.freeze()  # The collector of a child would touch, and so copy, these objects.
    gc.set_threshold(*COLLECTION)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The system removes supervisors that have ended.
    while multiprocessing.connection.wait([0, listener]) == [listener]:
        connection = multiprocessing.connection.Connection(listener.accept()[0].detach())
        if not os.fork():
            listener.close()
            become(*supervise(connection))
            break
        connection.close()


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


def make_request(arguments, folder, environment):
    """Returns a request, a dict; arguments: those of Python, beginning with "-m"."""
    option, module, *others = arguments
    assert option == "-m", arguments
    return {"module": module, "arguments": [str(each) for each in others], "folder": os.path.abspath(folder),
            "environment": environment}


def build_tokenizer_tables():
    """Builds the tables that all uncased tokenizers share, which takes half a second."""
    wordpiece = sys.modules["bert_tf.tokenization.wordpiece"]
    wordpiece._character_model(True, True)
    wordpiece._mark_model()
    wordpiece._rare_text_pattern(True)
    wordpiece._disordered_marks_pattern()


def send_request(address, request, files):
    """Sends a request to the server, with the file descriptors of standard input, output, and error.

    Returns:
      multiprocessing.connection.Connection. The server sends the ID of the child, and its exit status at its end.
    """
    connection = multiprocessing.connection.Client(address, "AF_UNIX")
    connection.send(request)
    for file in files:
        reduction.send_handle(connection, file, None)
    return connection


def supervise(connection):
    """Forks a child for the request of a client, and ends with the child.

    Returns:
      In the child: the request and its file descriptors.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files = connection.recv(), [reduction.recv_handle(connection) for _ in range(3)]
    pid = os.fork()
    if not pid:
        connection.close()
        return request, files
    with contextlib.suppress(OSError):  # The client has closed the connection.
        connection.send(pid)
    process = os.pidfd_open(pid)
    if process not in multiprocessing.connection.wait([process, connection, 0]):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        connection.send(os.waitstatus_to_exitcode(status))
    os._exit(0)


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
