/** `@jest/globals` for test files that Node itself has loaded. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } =
  globalThis[Symbol.for('gatepost.test')];
