/**
 * Asks a service by k-anonymity (https://haveibeenpwned.com/API/v3#PwnedPasswords): it receives the first five characters of a SHA-1,
 * which hundreds of passwords share, and answers with the rest of each hash.
 */
import type { Lookup } from './source.ts';

/** About 2,000 lines, padding included, take 90 KB. */
export const rangeMaxBytes = 512 * 1024;
const timeoutMs = 2_000;

/** @param base the URL that the five characters are appended to: `https://api.pwnedpasswords.com/range/` */
export function makeRangeLookup(base: string, ask: typeof fetch): Lookup {
  return async (sha1) => {
    const response = await ask(base + sha1.slice(0, 5), {
      // With padding all answers have a similar length, whatever was asked.
      headers: { accept: 'text/plain', 'add-padding': 'true', 'user-agent': 'gatepost' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status !== 200) throw new Error(`the range service answered ${response.status}`);
    const suffix = sha1.slice(5);
    let isThere = false;
    for (const line of (await response.text()).split('\n')) {
      const [, key, count] = /^([0-9a-f]{35}):(\d+)\r?$/i.exec(line) ?? [];
      if (key === undefined && line.trim() !== '') throw new Error('the range service answered no list of hashes');
      // Padding entries have a count of 0.
      if (key?.toUpperCase() === suffix && Number(count) > 0) isThere = true;
    }
    return isThere;
  };
}
