# Makes the executable of `npm run package`, and puts it alone into a small image. docs/deploy.md has the command that
# pins both images below by digest.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts/install.mjs scripts/console.mjs scripts/
COPY console console
RUN node scripts/console.mjs
COPY scripts/package.mjs scripts/compile.ts scripts/runtime-settings.mjs scripts/
COPY scripts/packaging scripts/packaging
COPY openapi.json LICENSE NOTICE ./
COPY docs docs
COPY src src
# Shown by `headgate --version`: the builder has no clone.
ARG COMMIT
ARG SOURCE_DATE_EPOCH
RUN node scripts/package.mjs own --output /out \
  && mv /out/headgate-linux-* /usr/local/bin/headgate \
  && rm /out/SHA256SUMS \
  && mv LICENSE NOTICE /out

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Headgate" \
  org.opencontainers.image.description="A self-hosted model gateway" \
  org.opencontainers.image.licenses="Apache-2.0"

RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin headgate \
  && install --directory --owner=headgate --group=headgate --mode=700 /data \
  && install --directory /etc/headgate
COPY --from=build /usr/local/bin/headgate /usr/local/bin/headgate
# The bill of materials, and the licenses of what is in the executable.
COPY --from=build /out /usr/share/doc/headgate

# The first three as in scripts/runtime-settings.mjs.
ENV BUN_CONFIG_MAX_HTTP_REQUESTS=65535 \
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000 \
  BUN_JSC_useWarmUpMarkedBlocks=false \
  HEADGATE_DATA_DIR=/data \
  HOST=0.0.0.0 \
  PORT=8080

USER 10001:10001
# headgate.yaml is looked for here.
WORKDIR /etc/headgate
VOLUME /data
EXPOSE 8080
# The executable is its own JavaScript runtime.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["env", "BUN_BE_BUN=1", "headgate", "-e", "process.exit((await fetch('http://127.0.0.1:' + process.env.PORT + '/healthz')).ok ? 0 : 1)"]
ENTRYPOINT ["headgate"]
CMD ["serve"]
