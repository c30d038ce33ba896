"""A process that stores message after message and says so, until it is killed. Arguments: home, user."""

import sys

from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.paths import find_home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.working import LmdbWorkingStore
from aico_memory.vault.master import open_vault

home = find_home(sys.argv[1])
store = LmdbWorkingStore.open(home.store("working"), open_vault(home, SecuritySettings(), {}), 1 << 20)
number = store.cursor()[1]
while True:
    number += 1
    event_id = number.to_bytes(16, "big")
    with store.transaction() as transaction:
        transaction.add(
            StoredMessage(event_id=event_id, user_id=sys.argv[2], session_id="s", content="word " * 200, said_at_us=number),
            number,
        )
        transaction.acknowledge(sys.argv[2], [(number // 2).to_bytes(16, "big")])
        transaction.emit(OutgoingRecord(event_id, "memory/working/stored/v1/", sys.argv[2], b"envelope"))
        transaction.set_cursor(1, number)
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
