"""`python -m headway` is the command `headway`."""

from headway.cli import main

raise SystemExit(main())
