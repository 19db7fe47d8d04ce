/**
 * How long somebody waits for the console, with 10,000 hooks of one account and a full log, a fifth of it one hook's: from an address in a
 * new tab to the list's first row, or to "none", in local Chromium. Each load passes through the gate, since the console keeps no token.
 */
import { randomUUID } from 'node:crypto';
import { openConsole, signIn } from '@gatepost/testkit/console';
import { bareRow, openBarePages } from './bare-pages.ts';
import { fillLog } from './fill-log.ts';
import type { Result } from './main.ts';
import { ms, quantile, withTarget } from './quantile.ts';

const barMs = 1_000;
const tries = 7;
/** The element with that message. */
const emptyState = 'div.state:not(.problem)';

/** `rows`: deliveries in the log. */
export async function console(options: Record<string, string | undefined>): Promise<Result> {
  const deliveries = Number(options.rows ?? 10_000_000);
  const { DATABASE_URL, AMQP_URL, REDIS_URL } = process.env;
  await using stack = new AsyncDisposableStack();
  await using opened = await openConsole({
    databaseUrl: DATABASE_URL!,
    amqpUrl: AMQP_URL!,
    redisUrl: REDIS_URL!,
  });
  const { system, url, openPage } = opened;
  const filling = performance.now();
  const { hooks, busiest } = await fillLog(system.databaseUrl, deliveries, {
    hooks: 10_000,
    busiest: 0.2,
    counts: true,
  });
  const filledSeconds = Math.round((performance.now() - filling) / 1000);
  const { id, repository } = hooks.find((one) => one.id !== busiest.id)!;
  const newContext = async () => (await openPage()).context();

  /** From entering an address to the wanted content, in a new tab. */
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
    const { seen } = await watchFor(page, wanted);
    const from = performance.now();
    await page.goto(address, { waitUntil: 'commit' });
    const took = (await seen) - from;
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
  const busy = `${url}repos/acme/${busiest.repository}/hooks/${busiest.id}`;
  const row = '.rows.long li';
  const pages: { what: string; address: string; wanted: string }[] = [
    { what: 'hooks of an account with 10,000', address: `${url}accounts/acme`, wanted: '.rows li' },
    { what: 'the failing ones', address: `${url}accounts/acme?status=failure`, wanted: '.rows li' },
    { what: "a hook's deliveries", address: hook, wanted: row },
    { what: 'its failures', address: `${hook}?status=failure`, wanted: row },
    { what: 'its deliveries of one kind of event', address: `${hook}?event=push`, wanted: row },
    { what: 'the overview', address: url, wanted: 'canvas' },
    { what: "the busiest hook's deliveries", address: busy, wanted: row },
    { what: 'its deliveries up to yesterday', address: `${busy}?until=${yesterday()}`, wanted: row },
    { what: 'its failures (none)', address: `${busy}?status=failure`, wanted: emptyState },
    { what: 'of an unknown guid', address: `${busy}?guid=${randomUUID()}`, wanted: emptyState },
    { what: 'of an unknown event', address: `${busy}?event=issues`, wanted: emptyState },
    { what: 'of an unknown action', address: `${busy}?action=opened`, wanted: emptyState },
    { what: 'throttled ones (none)', address: `${busy}?throttled=true`, wanted: emptyState },
  ];
  const rows: Result['rows'] = [];
  const figures: Record<string, unknown> = { deliveries, hooks: hooks.length, filledSeconds };
  const tell = (what: string, took: number[], hasBar = true) => {
    const median = quantile(took, 0.5);
    const shown = `${ms(median)} (${ms(Math.min(...took))} to ${ms(Math.max(...took))})`;
    rows.push([what, hasBar ? withTarget(shown, `under ${barMs / 1000} s`, median < barMs) : shown]);
    figures[what] = took;
  };
  /** Repeated in one browser, after a first load that fills the caches. */
  async function loads(context: Awaited<ReturnType<typeof newContext>>, address: string, wanted: string) {
    const took: number[] = [];
    for (let count = 0; count <= tries; count += 1) took.push((await load(context, address, wanted)).took);
    await context.close();
    return took.slice(1);
  }

  const bare = await openBarePages(stack);
  tell('two servers that do nothing, same way', await loads(await newContext(), bare, bareRow), false);
  const first: { took: number; bytes: number }[] = [];
  for (let count = 0; count < tries; count += 1) {
    const stranger = await newContext();
    first.push(await load(stranger, url, '[name=identifier]'));
    await stranger.close();
  }
  tell(
    'not signed in: the sign-in page, empty cache',
    first.map(({ took }) => took),
  );
  for (const { what, address, wanted } of pages)
    tell(`${what}, signed in at the gate, to the first row`, await loads(await signedIn(), address, wanted));
  return { rows, figures };
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof openConsole>>['openPage']>>;

/**
 * When (`performance.now()`, ms) a page first shows the selector, checked at each frame. Playwright's own waiting checks only twice a second
 * after the first quarter.
 */
async function watchFor(page: Page, wanted: string): Promise<{ seen: Promise<number> }> {
  const { promise: seen, resolve } = Promise.withResolvers<number>();
  await page.exposeFunction('benchSeen', () => resolve(performance.now()));
  // As text: the page's types are not those of Node.
  await page.addInitScript(`
    (function look() {
      if (document.querySelector(${JSON.stringify(wanted)})) benchSeen();
      else requestAnimationFrame(look);
    })();
  `);
  return { seen };
}

const yesterday = () => new Date(Date.now() - 86_400_000).toISOString();
