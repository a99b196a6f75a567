"""Starts a stage of the sandbox's worker: `python worker_start.py CONTROL_SOCKET [SETTINGS]`.

The first stage isolates the process and starts this file again inside the isolation, with settings.
The import path is restored before anything else runs, so that candidates cannot import the
sandbox's own code.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 2)[0])
    if len(sys.argv) == 2:
        from sandboxed.worker_setup import main as isolate  # type: ignore[import-not-found]

        isolate(int(sys.argv[1]))
    from sandboxed.zygote import main  # type: ignore[import-not-found]

    del sys.path[0]
    main(int(sys.argv[1]), int(sys.argv[2]))
