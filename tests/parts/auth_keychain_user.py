"""A process that keeps tokens with the key in the system's keychain: `python auth_keychain_user.py TOKENS_DIR write|read`."""

import asyncio
import sys
from pathlib import Path

from openclaw.auth.records import ServerRecord
from openclaw.errors import StoreError
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.secrets.store.key import StoreKey
from openclaw.secrets.store.keychain import SystemKeychain
from openclaw.secrets.store.records import FileRecords


async def main(folder: Path, what: str) -> str:
    store = EncryptedStore(FileRecords(folder), StoreKey(folder, configured=None, keychain=SystemKeychain()))
    try:
        if what == "write":
            await store.write(ServerRecord(issuer="kept in the keychain"), "x")
        record = await store.read(ServerRecord, "x")
    except StoreError as error:
        return str(error)
    return f"{await store.key.source()}: {record.issuer if record is not None else 'nothing'}"


print(asyncio.run(main(Path(sys.argv[1]), sys.argv[2])))
