"""A process that commits row after row and says so, until it is killed. Arguments: database, key in hex, migrations."""

import sys
from pathlib import Path

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.stores.sql import Database, SqlConsumerState

database = Database.open(Path(sys.argv[1]), bytes.fromhex(sys.argv[2]), Path(sys.argv[3]))
state = SqlConsumerState(database)
number = state.cursor()[1]
while True:
    number += 1
    with state.transaction() as transaction:
        transaction.connection.execute("INSERT INTO facts (id, text) VALUES (?, ?)", (number, "word " * 200))
        transaction.emit(OutgoingRecord(number.to_bytes(16, "big"), "memory/working/stored/v1/", "", b"envelope"))
        transaction.set_cursor(1, number)
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
