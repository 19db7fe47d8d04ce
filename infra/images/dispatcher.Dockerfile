# The image of the dispatcher. Build it from the root: docker build --file infra/images/dispatcher.Dockerfile .
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json ./
COPY patches patches
COPY packages packages
COPY services/dispatcher services/dispatcher
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile --filter gatepost --filter "@gatepost/dispatcher..."
RUN npx pnpm --filter "@gatepost/dispatcher..." --if-present run generate \
  && npx tsc --build services/dispatcher \
  && npx pnpm --filter "@gatepost/dispatcher" deploy --legacy --prod /app

FROM node:24.21.0-bookworm-slim
# The threshold is fixed so that glibc gives the buffers of large messages back to the system.
ENV NODE_ENV=production HOST=0.0.0.0 MALLOC_MMAP_THRESHOLD_=131072
WORKDIR /app
COPY --from=build /app .
USER node
EXPOSE 4601
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4601/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=3", "dist/main.js"]
