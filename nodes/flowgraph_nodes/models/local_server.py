"""The process behind `LocalModel`: serves one GGUF file on the loopback address until its parent is gone.

Run as a script, by path, with the standard library and xllamacpp only, so that it starts in a blink:

    python -P local_server.py MODEL.gguf CONTEXT PARALLEL THREADS

One line on standard output, the server's address, says that it is ready. Standard input is the life line: it is
closed when the parent closes the model and also when the parent is killed, so no server is ever left behind.
A process of its own because xllamacpp keeps Python's global lock while it loads a model, and hangs for good when
it is closed while a request is being answered.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

ERRORS_ONLY = 1  # llama.cpp's log levels: 0 nothing, 1 errors, 2 warnings, 3 information


def serve(path: str, context: int, parallel: int, threads: int) -> None:
    """Serve the model at `path` until standard input ends, then leave the process.

    context: tokens for all slots together. parallel: slots. threads: threads that compute.

    Raises:
        RuntimeError: xllamacpp cannot load the model.
    """
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.n_ctx = context
    params.n_parallel = parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.ui = False
    params.verbosity = ERRORS_ONLY
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # the server's destructor would wait for requests that nobody waits for any more


if __name__ == "__main__":
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the calls under way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.argv[1], *map(int, sys.argv[2:5]))
