from tests.support.processes import imported, play

if __name__ == "__main__":
    raise SystemExit(play("working"))
imported("working")
