# The image of the dispatcher. Build it from the root: docker build --file infra/images/dispatcher.Dockerfile .
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG BASE_IMAGE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json ./
COPY patches patches
# Only its package.json: the root's depends on it, for `npx gatepost` in a clone.
COPY infra/package.json infra/package.json
COPY packages packages
COPY services/dispatcher services/dispatcher
COPY infra/images/trim.sh infra/images/trim.sh
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter gatepost --filter "@gatepost/dispatcher..."
RUN npx tsc --build services/dispatcher \
  && npx pnpm --filter "@gatepost/dispatcher" deploy --legacy --prod /app \
  && sh infra/images/trim.sh /app

# Only Node, without npm.
FROM ${BASE_IMAGE}
# A fixed threshold makes glibc return the buffers of large messages to the system.
ENV NODE_ENV=production HOST=0.0.0.0 MALLOC_MMAP_THRESHOLD_=131072
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app .
# Numeric, so that Kubernetes can verify that it is not root.
USER 1000:1000
EXPOSE 4601
HEALTHCHECK --interval=5s --timeout=10s --start-period=90s --retries=6 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4601/readyz?exclude=stores').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--no-allocation-site-pretenuring", "--heap-growing-percent=100", "--max-semi-space-size=16", "dist/main.js"]
# Last, so that a new version or commit rebuilds nothing else.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Gatepost: the dispatcher" org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0" org.opencontainers.image.revision="${REVISION}"
