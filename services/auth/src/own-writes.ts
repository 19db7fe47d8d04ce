/**
 * Which statements of this process may have changed an account or a grant: any that is no SELECT and names their tables. So nobody who
 * writes can forget to say so. What is cached of them must be gone before the writer hears that it has written; other processes hear of
 * it by a notification (changes.ts).
 */

/** The adapter's own, which it tells of by itself and for one grant alone (adapter/postgres.ts), and what changes no more than `last_login`. */
const harmless = /^(?:artefact |grant |last logins$)/;
const named = /\b(?:accounts|artefacts)\b/;
const reading = /^\s*SELECT\b/i;
const committing = /^\s*COMMIT\b/i;

/** For one connection: called with what was asked of its driver, once that is done. */
export function makeWriteWatch(written: () => void): (asked: unknown) => void {
  let wrote = false;
  return (asked) => {
    const { text = '', name = '' } = (typeof asked === 'string' ? { text: asked } : asked) as Statement;
    if (!harmless.test(name) && named.test(text) && !reading.test(text)) wrote = true;
    // In a transaction others see it only from the commit on; outside of one there is none to wait for.
    else if (!wrote || !committing.test(text)) return;
    else wrote = false;
    written();
  };
}

type Statement = { text?: string; name?: string };
