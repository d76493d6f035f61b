"""The long-lived OpenClaw: one process that keeps servers warm, and the two ways to it, a control socket and an HTTP port."""
