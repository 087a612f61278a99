"""`python -m seamfs` is the command `seamfs`."""

import sys

from seamfs.cli import main

sys.exit(main())
