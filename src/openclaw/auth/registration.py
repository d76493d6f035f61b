"""The client to use at an authorization server: configured, by document, registered earlier, or registered now and kept.

The order and the rules are `protocol/oauth/registration.py`'s; here is what is stored. A client is kept under its issuer, and a configured
one is not shown to another issuer than the one it was first used at.
"""

import logging

from openclaw.auth.account import Account
from openclaw.auth.records import Registration, ServerRecord
from openclaw.errors import AuthError, OpenClawError, StoreError
from openclaw.protocol.oauth.metadata import AuthDiscovery
from openclaw.protocol.oauth.registration import OAuthClient, Wish, known_client, register, suits, unregister

_log = logging.getLogger(__name__)


async def obtain_client(account: Account, record: ServerRecord, discovery: AuthDiscovery, wish: Wish) -> OAuthClient:
    """Raises AuthError when there is none to be had."""
    client = await own_client(account, record, discovery)
    if client is not None:
        return client
    stored = await account.store.read(Registration, discovery.issuer, *account.identity)
    if stored is not None and suits(stored.client, discovery.server, wish):
        return stored.client
    client = await account.flows.run(register(discovery.server, wish, discovery.scopes_supported))
    await account.store.write(Registration(client), discovery.issuer, *account.identity)
    return client


async def own_client(account: Account, record: ServerRecord, discovery: AuthDiscovery) -> OAuthClient | None:
    """The client that the config brings along. Raises AuthError when it belongs to another authorization server."""
    client = known_client(discovery.server, await account.configured())
    if client is None or client.source != "configured" or account.settings.authorization_server_url:
        return client
    if record.client_id == client.id and record.client_issuer not in ("", discovery.issuer):
        raise AuthError(
            f"The server '{account.spec.name}' has moved to another authorization server than the one `auth.clientId` was used at.",
            hint="If you trust the move, register a client there and set `auth.clientId` and `auth.authorizationServerUrl`.",
        )
    return client


async def retire_client(account: Account, issuer: str) -> None:
    """A registration that nobody needs any more: taken back where the authorization server allows that, and forgotten."""
    try:
        stored = await account.store.read(Registration, issuer, *account.identity)
    except StoreError:
        # The tokens could be opened, so this one is damaged: nothing to take it back with, and no reason to keep it.
        stored = None
    if stored is not None and stored.client.manage_url:
        try:
            await account.flows.run(unregister(stored.client))
        except OpenClawError as error:
            # It stays there without any rights: its tokens were revoked.
            _log.debug("A registration could not be taken back: %s", type(error).__name__)
    await forget_client(account, issuer)


async def forget_client(account: Account, issuer: str) -> None:
    """A registration that the authorization server no longer accepts; the next sign-in makes a new one."""
    await account.store.delete(Registration, issuer, *account.identity)
