/**
 * How long somebody waits for the console, with 5,000 hooks of one account and a full log: from an address typed into a new tab to the first row of the list, in Chromium on the
 * machine itself. Whoever is signed in at the gate goes through it at each load, since the console keeps no token.
 */
import { openConsole, signIn } from '@gatepost/testkit/console';
import { fillLog } from './fill-log.ts';
import type { Result } from './main.ts';
import { beside, ms, quantile } from './quantile.ts';

const barMs = 1_000;
const tries = 7;

/** `rows`: deliveries in the log. */
export async function console(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.rows ?? 10_000_000);
  const { DATABASE_URL, AMQP_URL, REDIS_URL } = process.env;
  await using opened = await openConsole({
    databaseUrl: DATABASE_URL!,
    amqpUrl: AMQP_URL!,
    redisUrl: REDIS_URL!,
  });
  const { system, url, openPage } = opened;
  const { hooks } = await fillLog(system.databaseUrl, deliveries);
  const { id, repository } = hooks[0]!;
  const newContext = async () => (await openPage()).context();

  /** From an address to what it is opened for, in a new tab. */
  async function load(
    context: Awaited<ReturnType<typeof newContext>>,
    address: string,
    wanted: string,
  ): Promise<{ took: number; bytes: number }> {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    let bytes = 0;
    await session.send('Network.enable');
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    const from = performance.now();
    await page.goto(address, { waitUntil: 'commit' });
    await page.waitForSelector(wanted, { timeout: 60_000 });
    const took = performance.now() - from;
    await page.close();
    return { took, bytes };
  }
  const signedIn = async () => {
    const page = await openPage();
    await signIn(page, url, 'admin@example.com');
    await page.waitForSelector('#content h1');
    return page.context();
  };
  const hook = `${url}repos/acme/${repository}/hooks/${id}`;
  const pages: [what: string, address: string, wanted: string][] = [
    ['hooks of an account with 5,000', `${url}accounts/acme`, '.rows li'],
    ["a hook's deliveries", hook, '.rows.long li'],
    ['its failures', `${hook}?status=failure`, '.rows.long li'],
    ['its deliveries of one kind of event', `${hook}?event=push`, '.rows.long li'],
  ];
  const rows: Result['rows'] = [];
  const figures: Record<string, unknown> = { deliveries, hooks: hooks.length };
  const tell = (what: string, took: number[], more = '') => {
    const median = quantile(took, 0.5);
    rows.push([
      what,
      beside(
        `${ms(median)} (${ms(Math.min(...took))} to ${ms(Math.max(...took))})${more}`,
        'under 1 s',
        median < barMs,
      ),
    ]);
    figures[what] = took;
  };

  const first: { took: number; bytes: number }[] = [];
  for (let count = 0; count < tries; count += 1) {
    const stranger = await newContext();
    first.push(await load(stranger, url, '[name=identifier]'));
    await stranger.close();
  }
  tell(
    'a stranger, to the sign-in page, nothing in the cache',
    first.map(({ took }) => took),
  );
  for (const [what, address, wanted] of pages) {
    const context = await signedIn();
    const took: number[] = [];
    for (let count = 0; count <= tries; count += 1) {
      const one = await load(context, address, wanted);
      if (count > 0) took.push(one.took); // the first one fills the caches
    }
    await context.close();
    tell(`${what}, signed in at the gate, to the first row`, took);
  }
  return { rows, figures };
}
