import { join } from 'node:path';

// Unit tests stand beside the code, integration tests in a package's test/; stories start whole systems, and stand in tests/ and in
// test/ of infra. Several files run at a time: each has a database, a vhost and a key prefix of its own.
// Run through `npm test`, which brings the stores; it hands their addresses over as TEST_* variables.
// Node loads the files itself (infra/tests/runtime.mjs), and what it compiled once it compiles no more.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/node');

const shared = {
  runtime: '<rootDir>/infra/tests/runtime.mjs',
  testEnvironment: '<rootDir>/infra/tests/environment.mjs',
  transform: {},
  modulePathIgnorePatterns: ['/dist/', '<rootDir>/.gatepost/'],
};

export default {
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
  // A worker keeps the modules of each file it has run: beyond this it is started anew.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/infra/tests/spread-stories.mjs',
  // For what hangs: `until` gives up before it and says what did not come. On a busy machine everything takes ten times as long.
  testTimeout: 300_000,
};
