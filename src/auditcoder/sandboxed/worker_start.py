"""Starts the sandbox's worker: `python worker_start.py CONTROL_SOCKET`.

The import path is restored before anything else runs, so that candidates cannot import the
sandbox's own code.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 2)[0])
    from sandboxed.zygote import main  # type: ignore[import-not-found]

    del sys.path[0]
    main(int(sys.argv[1]))
