# The image of the post's REST API. Build it from the root: docker build --file infra/images/webhook-api.Dockerfile .
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json ./
COPY patches patches
COPY packages packages
COPY services/webhook-api services/webhook-api
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter gatepost --filter "@gatepost/webhook-api..."
RUN npx pnpm --filter "@gatepost/webhook-api..." --if-present run generate \
  && npx tsc --build services/webhook-api \
  && npx pnpm --filter "@gatepost/webhook-api" deploy --legacy --prod /app

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app .
USER node
EXPOSE 4500 4501
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4501/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=8", "--no-parallel-scavenge", "--max-old-space-size=192", "dist/main.js"]
