"""A keychain for tests: remembers values, and can be locked, broken or forgetful."""

from openclaw.secrets.store.keychain import KeychainError


class FakeKeychain:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.fault = ""

    async def read(self, account: str) -> str | None:
        if self.fault:
            raise KeychainError(self.fault)
        return self.values.get(account)

    async def write(self, account: str, value: str) -> None:
        if self.fault:
            raise KeychainError(self.fault)
        self.values[account] = value
