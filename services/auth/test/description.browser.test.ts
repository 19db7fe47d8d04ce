/** The page of the gate's description, in Chromium. */
import { launchOptions } from '@gatepost/testkit/chromium';
import { followAnchor, inDocs, moveToAnchor } from '@gatepost/testkit/docs-page';
import { expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';
import { openGate } from './gate.ts';
import { fullSeed } from './seeds.ts';

test('/docs loads nothing from elsewhere, obeys its policy, and lists each operation', async () => {
  await using gate = await openGate(fullSeed);
  const browser = await chromium.launch(launchOptions);
  try {
    const troubles = await inDocs(browser, `${gate.issuer}docs`, async (page) => {
      const url = `${gate.issuer}docs#operation/`;
      expect(await followAnchor(page, `${url}token`)).toBe('Get tokens (RFC 6749 section 4)');
      expect(await moveToAnchor(page, `${url}management/post-clients`)).toBe('Create an application');
    });
    expect(troubles).toEqual([]);
  } finally {
    await browser.close();
  }
});
