from tests.support.processes import play

if __name__ == "__main__":
    raise SystemExit(play("broker"))
