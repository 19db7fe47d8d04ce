import { join } from 'node:path';

// Unit tests are next to the code, integration tests in a package's test/; stories, which start whole systems, are in tests/ and in
// test/ of infra. Several files run at a time: each has a database, a vhost and a key prefix of its own.
// Run through `npm test`, which starts the stores and passes their addresses in TEST_* variables.
// Node itself loads the files (infra/tests/runtime.mjs); compiled code is cached.
const cache = join(import.meta.dirname, 'node_modules/.cache');
process.env.NODE_COMPILE_CACHE ??= join(cache, 'node');

const shared = {
  runtime: '<rootDir>/infra/tests/runtime.mjs',
  testEnvironment: '<rootDir>/infra/tests/environment.mjs',
  transform: {},
  modulePathIgnorePatterns: ['/dist/', '<rootDir>/.gatepost/'],
};

export default {
  // Not in the temporary folder, which ends with the run.
  cacheDirectory: join(cache, 'jest'),
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/{packages,services}/*/src/**/*.test.ts',
        '<rootDir>/infra/*/*.test.ts',
        '<rootDir>/infra/local/{stores,processes,commands}/*.test.ts',
        '<rootDir>/bench/**/*.test.ts',
      ],
    },
    {
      ...shared,
      displayName: 'integration',
      testMatch: ['<rootDir>/{packages,services}/*/test/**/*.test.ts'],
    },
    {
      ...shared,
      displayName: 'stories',
      testMatch: ['<rootDir>/tests/**/*.test.ts', '<rootDir>/infra/*/test/**/*.test.ts'],
    },
  ],
  // A worker keeps the modules of every file it has run: above this it is restarted.
  workerIdleMemoryLimit: '1GB',
  // Its memory takes a busy machine seconds to free; after half a second Jest would speak of a leak.
  workerGracefulExitTimeout: 20_000,
  testSequencer: '<rootDir>/infra/tests/spread-stories.mjs',
  // For tests that hang: `until` gives up earlier and says what it waited for. On a busy machine everything takes ten times as long.
  testTimeout: 300_000,
};
