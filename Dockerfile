# syntax=docker/dockerfile:1
# The gateway in a container: built from this folder, run by a user without rights, with a root that may be read-only.
#
#     docker build -t openclaw-host .
#     docker run --rm --read-only --tmpfs /tmp -p 127.0.0.1:28789:28789 -v openclaw:/data openclaw-host
#
# It stands by its tag: the digest could not be looked up where this was written. Whoever releases an image names one:
#     docker build --build-arg BASE=docker.io/library/python:3.13-slim@sha256:…
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
COPY requirements/build.lock requirements/image.lock requirements/
# What is built with stays in this stage; what is run has neither pip nor anything else that nobody uses.
RUN python -m venv /build \
    && /build/bin/python -m pip install --require-hashes -r requirements/build.lock \
    && python -m venv --without-pip /opt/openclaw \
    && /build/bin/python -m pip --python /opt/openclaw/bin/python install --require-hashes -r requirements/image.lock
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY scripts/package_metadata.py scripts/
COPY src src
RUN /build/bin/python -m hatchling build -t wheel -d /wheels \
    && /build/bin/python -m pip --python /opt/openclaw/bin/python install --no-deps --no-index /wheels/*.whl \
    && python -m compileall -q /opt/openclaw/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="openclaw-host" \
      org.opencontainers.image.description="A personal agent gateway whose tools come from any MCP server." \
      org.opencontainers.image.licenses="MIT"
# Servers leave processes behind that only process 1 can collect, and ours collects no children but its own: tini does.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 openclaw \
    && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin openclaw \
    && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /opt/openclaw /opt/openclaw
# The port is open on every address of the container; the token in /data is asked for. Mount a file of your own in its place.
COPY deploy/openclaw.json /etc/openclaw/openclaw.json
ENV PATH=/opt/openclaw/bin:$PATH \
    HOME=/data \
    OPENCLAW_CONFIG_PATH=/etc/openclaw/openclaw.json \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# By number, so that whoever runs it can see that it is not root.
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 28789
# By the control socket: no token is needed, and it tells whether this gateway answers.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["openclaw", "gateway", "status"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "openclaw"]
CMD ["gateway", "run"]
