"""Who answers for us, each behind a small face of ours: our child programs (ty, ruff, pytest), and endpoints."""
