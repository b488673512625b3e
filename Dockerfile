ARG PYTHON_VERSION=3.12

FROM docker.io/library/python:${PYTHON_VERSION}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements.txt .ci/requirements-build.txt ./
RUN python -m venv /build \
    && python -m venv --without-pip /opt/watchdog \
    && /build/bin/pip install --require-hashes --requirement requirements-build.txt \
    && /build/bin/pip --python /opt/watchdog/bin/python install --require-hashes --only-binary :all: --no-compile \
        --requirement requirements.txt
COPY pyproject.toml README.md LICENSE rules.example.toml ./
COPY watchdog watchdog
# Byte code is compiled here, since the running container cannot write it; libraries' own tests stay behind.
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /build/bin/pip --python /opt/watchdog/bin/python install --no-deps --no-index --no-compile /wheels/*.whl \
    && find /opt/watchdog -type d -name tests -prune -exec rm -r {} + \
    && /opt/watchdog/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/watchdog/lib

FROM docker.io/library/python:${PYTHON_VERSION}-slim
LABEL org.opencontainers.image.title="watchdog" \
    org.opencontainers.image.description="Watches GPU training jobs and tells people in Slack" \
    org.opencontainers.image.licenses="Apache-2.0"
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/pip* \
    && groupadd --gid 10001 watchdog \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /var/lib/watchdog \
        --shell /usr/sbin/nologin watchdog \
    && install -d -m 0755 /etc/watchdog \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/watchdog
COPY --from=build /opt/watchdog /opt/watchdog
ENV PATH=/opt/watchdog/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    WATCHDOG_LISTEN=0.0.0.0:9469 \
    WATCHDOG_RULES=/etc/watchdog
WORKDIR /var/lib/watchdog
VOLUME /var/lib/watchdog
EXPOSE 9469
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as h, os; c = h.HTTPConnection('127.0.0.1', int(os.environ['WATCHDOG_LISTEN'].rsplit(':', 1)[1]), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["watchdog"]
CMD ["run"]
