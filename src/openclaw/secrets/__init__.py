"""From a secret reference to its value, one module per provider; resolved late, never logged."""
