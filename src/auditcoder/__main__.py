"""Runs the command line: `python -m auditcoder`."""

import sys

from auditcoder.interfaces.cli.main import main

sys.exit(main())
