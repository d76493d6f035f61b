"""The long-lived process: control socket, HTTP port, hot reload."""
