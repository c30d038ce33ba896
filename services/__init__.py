"""Process entry points, one package a process."""

import sys

# structlog draws tracebacks with rich where it finds it, and importing it costs every process 10 MiB; the processes
# write JSON lines and never draw. Only in a process of ours: while `python -m services.x` looks for its module,
# the first argument is "-m".
if sys.argv[:1] == ["-m"]:
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
