# Server and orchestrator from one image: `python server.py` (the default) and `python main.py`; `maas` is there, too.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
WORKDIR /app
RUN python -m venv /venv
COPY requirements.lock ./
RUN /venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . .
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && /venv/bin/python -m compileall -q maas workers shared main.py server.py

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
RUN useradd --system --uid 10001 --create-home maas
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH="/venv/bin:$PATH" MAAS_HOST=0.0.0.0 MAAS_AUTH=keys MAAS_ENVIRONMENT=production MAAS_LOG_FORMAT=json
USER 10001
EXPOSE 8000
HEALTHCHECK --start-period=10s --interval=5s --timeout=4s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
CMD ["python", "server.py"]
