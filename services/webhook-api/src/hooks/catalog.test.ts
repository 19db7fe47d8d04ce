import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readCatalog } from './catalog.ts';

const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
afterAll(() => rmSync(folder, { recursive: true }));
const fileOf = (text: string): string => {
  const path = join(folder, `${Math.random()}.yaml`);
  writeFileSync(path, text);
  return path;
};

describe('the event catalogue', () => {
  test("holds GitHub's events of repositories and organizations, and the gate's, but none that only apps get", () => {
    const catalog = readCatalog(undefined);
    for (const name of ['push', 'issues', 'membership', 'ping', 'user_signed_up']) expect(catalog.has(name)).toBe(true);
    for (const name of ['installation', 'workflow_dispatch', 'marketplace_purchase'])
      expect(catalog.has(name)).toBe(false);
  });

  test.each([
    ['a YAML list', '- invoice_paid\n- invoice_sent\n'],
    ['a JSON list', '["invoice_paid", "invoice_sent"]'],
    ['names with blanks between', 'invoice_paid\ninvoice_sent\n'],
    ['names with descriptions', 'invoice_paid: An invoice was paid\ninvoice_sent: An invoice was sent\n'],
  ])('is extended by %s', (_what, text) => {
    const catalog = readCatalog(fileOf(text));
    expect([catalog.has('invoice_paid'), catalog.has('invoice_sent'), catalog.has('push')]).toEqual([true, true, true]);
  });

  test('describes each event, including those that the installation adds', () => {
    const catalog = readCatalog(fileOf('invoice_paid: An invoice was paid'));
    expect(catalog.get('invoice_paid')).toBe('An invoice was paid');
    expect([...readCatalog(undefined).values()].filter((text) => text === '')).toEqual([]);
  });

  test('refuses an invalid name of an event type', () => {
    expect(() => readCatalog(fileOf('- Invoice Paid'))).toThrow('not an event type: Invoice Paid');
    expect(() => readCatalog(fileOf('invoice_paid: 1'))).toThrow('not an event type: invoice_paid');
    expect(() => readCatalog(fileOf('7'))).toThrow('does not hold a list');
  });
});
