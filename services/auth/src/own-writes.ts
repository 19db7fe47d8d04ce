/**
 * Detects statements of this process that may have changed an account or a grant: any that is not a SELECT and names their tables, or those
 * whose triggers write to them. So no writer can forget to report it. Cached copies must be gone before the writer learns that it is done;
 * other processes are told by a notification (changes.ts).
 */

/** The adapter's statements, which it reports itself for a single grant (adapter/postgres.ts), and those that change only `last_login`. */
const harmless = /^(?:artefact |grant |last logins$)/;
/** The grants of a former member, or of a deleted organization, are ended by a trigger. */
const named = /\b(?:accounts|artefacts|organizations|organization_members)\b/;
const reading = /^\s*SELECT\b/i;
const committing = /^\s*COMMIT\b/i;

/** For one connection: the result is called with each request to the driver, once that is done. */
export function makeWriteWatch(written: () => void): (asked: unknown) => void {
  let wrote = false;
  return (asked) => {
    const { text = '', name = '' } = (typeof asked === 'string' ? { text: asked } : asked) as Statement;
    if (!harmless.test(name) && named.test(text) && !reading.test(text)) wrote = true;
    // In a transaction, others see the change only after the commit; outside of one there is none to wait for.
    else if (!wrote || !committing.test(text)) return;
    else wrote = false;
    written();
  };
}

type Statement = { text?: string; name?: string };
