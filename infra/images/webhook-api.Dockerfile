# The image of the webhook API. Build it from the root: docker build --file infra/images/webhook-api.Dockerfile .
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG BASE_IMAGE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json ./
COPY patches patches
# Only its package.json: the root's depends on it, for `npx gatepost` in a clone.
COPY infra/package.json infra/package.json
COPY packages packages
COPY services/webhook-api services/webhook-api
# The console shows the receivers of this page, and the quick starts.
COPY docs/receivers.md docs/receivers.md
COPY examples examples
COPY infra/images/trim.sh infra/images/trim.sh
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter gatepost --filter "@gatepost/webhook-api..."
RUN npx tsc --build services/webhook-api \
  && npx pnpm --filter "@gatepost/console" run build \
  && npx pnpm --filter "@gatepost/webhook-api" deploy --legacy --prod /app \
  && sh infra/images/trim.sh /app

# Only Node, without npm.
FROM ${BASE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 MALLOC_ARENA_MAX=2
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app .
# Numeric, so that Kubernetes can verify that it is not root.
USER 1000:1000
EXPOSE 4500 4501
HEALTHCHECK --interval=5s --timeout=10s --start-period=90s --retries=6 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4501/readyz?exclude=stores').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--heap-growing-percent=150", "--max-semi-space-size=8", "--no-parallel-scavenge", "--max-old-space-size=192", "dist/main.js"]
# Last, so that a new version or commit rebuilds nothing else.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Gatepost: the webhook API" org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0" org.opencontainers.image.revision="${REVISION}"
