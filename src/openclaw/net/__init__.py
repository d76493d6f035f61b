"""The only place that opens client sockets: egress checks where the socket is made, HTTP/1.1, redirects, proxies, certificates, limits."""
