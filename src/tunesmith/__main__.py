"""``python -m tunesmith``."""

import sys

from tunesmith.cli import main

sys.exit(main())
