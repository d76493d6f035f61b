"""What the surfaces share: the control socket and its client, the running gateway, the config watch, this process's streams and signals."""
