"""Foreign programs that know Python (ty, ruff, pytest), each behind a small face of ours; all are children of ours."""
