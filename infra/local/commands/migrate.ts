/** Both sides' migrations, each by its own program. */
import { runToEnd } from '../processes/child.ts';
import { endOf, Trouble } from '../processes/trouble.ts';

const programs = ['services/auth/src/migrations.ts', 'packages/webhook-db/src/migrations.ts'];

/** Runs them side by side. @throws Trouble with what the one that failed said. */
export async function migrate(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  await Promise.all(
    programs.map(async (program) => {
      const args = ['--conditions=source', '--disable-warning=ExperimentalWarning', program];
      const { code, output } = await runToEnd(process.execPath, args, { env, signal });
      if (code !== 0) throw new Trouble(`${program} failed:`, ...endOf(output));
    }),
  );
}
