/** The pooler that some tests put between the services and PostgreSQL. */
import { findProgram } from '../processes/programs.ts';
import type { Machine } from '../stores/stores.ts';
import type { Say } from './say.ts';

/** Installs it from the distribution if it is not there. */
export async function needPgBouncer(machine: Machine, say: Say): Promise<void> {
  if (findProgram(['pgbouncer'], machine.env.PATH)) return;
  const install = await machine.installer();
  if (install) await say.step('PgBouncer', 'installed', (note) => install('pgbouncer', note));
  else say.about('PgBouncer', 'is missing: the tests that need it will fail. Install the package pgbouncer');
}
