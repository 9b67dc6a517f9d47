"""Where steps run: the loop, threads, worker processes, a cluster; all behind `base.Executor`."""
