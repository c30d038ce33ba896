from tests.support.processes import play

raise SystemExit(play("semantic"))
