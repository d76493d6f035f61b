"""Records encrypted at rest: tokens of sign-ins, and secrets where the system has no keychain. One store, one way to its key."""
