# Runs the smoke story against the composed system: docker compose run --rm smoke
FROM node:24.21.0-bookworm-slim
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY patches patches
COPY packages packages
COPY infra infra
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter "@gatepost/infra..."
USER node
CMD ["node", "--conditions=source", "infra/demo/smoke.ts"]
