# Runs the smoke test against the system of docker-compose.yml: docker compose run --build --rm smoke
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG BASE_IMAGE=debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY patches patches
COPY packages packages
COPY infra infra
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --prod --filter "@gatepost/infra" \
  && npx --yes pnpm@12.21.0 --filter "@gatepost/infra" deploy --legacy --prod /app \
  && sh infra/images/trim.sh /app

FROM ${BASE_IMAGE}
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app .
USER 1000:1000
CMD ["node", "demo/smoke.ts"]
# Last, so that a new version or commit rebuilds nothing else.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Gatepost: the smoke test" org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.1.0" org.opencontainers.image.revision="${REVISION}"
