# The image of the gate. Build it from the root: docker build --file infra/images/auth.Dockerfile .
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json ./
COPY patches patches
COPY packages packages
COPY services/auth services/auth
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter gatepost --filter "@gatepost/auth..."
RUN npx pnpm --filter "@gatepost/auth..." --if-present run generate \
  && npx tsc --build services/auth \
  && npx pnpm --filter "@gatepost/auth" deploy --legacy --prod /app

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=build /app .
USER node
EXPOSE 4400 4401
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4401/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=4", "--max-old-space-size=160", "dist/main.js"]
