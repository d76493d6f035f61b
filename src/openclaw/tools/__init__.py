"""Native tools, and the one place that calls any tool."""
