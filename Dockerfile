# The locked dependencies, and the Bun binary that comes among them.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts/install.mjs scripts/console.mjs scripts/
COPY console console
RUN node scripts/console.mjs && rm -rf console/node_modules console/src
RUN mv "$(node -e "import('./scripts/install.mjs').then(({ findBunBinary }) => console.log(findBunBinary()))")" /usr/local/bin/bun \
  && rm -rf node_modules/@oven scripts
COPY LICENSE NOTICE openapi.json ./
COPY src src

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Headgate" \
  org.opencontainers.image.description="A self-hosted model gateway" \
  org.opencontainers.image.licenses="Apache-2.0"

RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin headgate \
  && install --directory --owner=headgate --group=headgate --mode=700 /data \
  && install --directory /etc/headgate \
  && printf '#!/bin/sh\nexec bun /app/src/cli.ts "$@"\n' > /usr/local/bin/headgate \
  && chmod 755 /usr/local/bin/headgate
COPY --from=build /usr/local/bin/bun /usr/local/bin/bun
COPY --from=build /app /app

# The first three as in scripts/runtime-settings.mjs.
ENV BUN_CONFIG_MAX_HTTP_REQUESTS=65535 \
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000 \
  BUN_JSC_useWarmUpMarkedBlocks=false \
  BUN_RUNTIME_TRANSPILER_CACHE_PATH=0 \
  HEADGATE_DATA_DIR=/data \
  HOST=0.0.0.0 \
  PORT=8080

USER headgate
# headgate.yaml is looked for here.
WORKDIR /etc/headgate
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["bun", "-e", "process.exit((await fetch('http://127.0.0.1:' + process.env.PORT + '/healthz')).ok ? 0 : 1)"]
ENTRYPOINT ["headgate"]
CMD ["serve"]
