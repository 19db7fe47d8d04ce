/**
 * What one of our patches of oidc-provider (patches/) is for: what belongs to a single request is freed with the young generation, not held
 * until the next full collection. See docs/decisions/0005-libraries.md.
 */
import { runAlone } from '@gatepost/testkit/old-generation';
import { expect, test } from '@jest/globals';

test('requests to the gate that have ended hold nothing in the old generation', async () => {
  // Of 6 MB that they sent.
  expect(await runAlone(new URL('./ended-requests.ts', import.meta.url))).toBeLessThan(3_000_000);
});
