"""``python -m caet_opt`` is ``caet-opt``."""

import sys

from caet_opt.cli import main

if __name__ == "__main__":
    sys.exit(main())
