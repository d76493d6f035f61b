"""A surface: an agent for editors that speak the Agent Client Protocol, on stdin and stdout."""
