/**
 * The pages on which somebody enters and confirms a device's code. The library reads the forms; each is answered by a redirect to
 * the next page, which `step` in the address names.
 */
import type { Client, Configuration, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { answerPage } from '../http/page.ts';
import type { CommonContext } from '../pages/pages.ts';
import type { ProblemName } from '../pages/strings/en.ts';
import type { Facts, PageMemory } from './page-memory.ts';

const path = '/activate';
type Step = 'confirm' | 'connected' | 'denied' | 'wait';

export type DevicePages = {
  userCodeInputSource(ctx: KoaContextWithOIDC, form: string, out?: ErrorOut, error?: Error): Promise<void>;
  userCodeConfirmSource(
    ctx: KoaContextWithOIDC,
    form: string,
    client: Client,
    info: unknown,
    userCode: string,
  ): Promise<void>;
  successSource(ctx: KoaContextWithOIDC): Promise<void>;
};

/** The key under which page memory stores these pages. */
export const deviceOwner = (sessionUid: string) => `device ${sessionUid}`;

/** Answers a form by sending the browser to a GET of the next page. */
export function turnToDevicePage(ctx: KoaContextWithOIDC, step?: Step): void {
  ctx.set({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  ctx.status = 303;
  ctx.redirect(step ? `${path}?step=${step}` : path);
}

/** Whether the form was refused: no such code, or one that is used or expired. */
export const isRefused = (ctx: KoaContextWithOIDC) => (ctx.state as { refused?: boolean }).refused === true;

type MakeContext = (ctx: KoaContextWithOIDC, client?: Client) => Promise<CommonContext>;

export function makeDevicePages(
  pageMemory: PageMemory,
  commonContext: MakeContext,
  renderError: NonNullable<Configuration['renderError']>,
): DevicePages {
  const { show, showEntry } = makeShow(pageMemory, commonContext);
  return {
    async userCodeInputSource(ctx, _form, out, error) {
      if (!error) return show(ctx);
      // Ours: the code had no part in it, and can be entered again (patches/).
      if (ctx.status >= 500) return renderError(ctx, out!, error);
      if (error.name === 'AbortedError') return turnToDevicePage(ctx, 'denied');
      (ctx.state as { refused?: boolean }).refused = true;
      const problem = problemOf(error);
      // A form that did not come from our page is refused in place.
      if (problem === 'refused') return showEntry(ctx, [problem]);
      const { userCode = '' } = error as { userCode?: string };
      await pageMemory.note(ownerOf(ctx), { userCode: userCode.slice(0, 40) }, { step: path, problems: [problem] });
      turnToDevicePage(ctx);
    },
    async userCodeConfirmSource(ctx, _form, _client, _info, userCode) {
      await pageMemory.note(ownerOf(ctx), { userCode });
      turnToDevicePage(ctx, 'confirm');
    },
    async successSource(ctx) {
      turnToDevicePage(ctx, 'connected');
    },
  };
}

const ownerOf = ({ oidc }: KoaContextWithOIDC) => deviceOwner(oidc.session!.uid);

/** Chooses the page for a GET from its step and what is remembered. */
function makeShow(pageMemory: PageMemory, commonContext: MakeContext) {
  const formOf = (ctx: KoaContextWithOIDC, hidden: Record<string, string> = {}) => ({
    action: path,
    hidden: { ...hidden, xsrf: ctx.oidc.session!.state!.secret as string },
  });

  const showEntry = async (ctx: KoaContextWithOIDC, problems: ProblemName[] = [], userCode = '') => {
    const page = { ...formOf(ctx), ...(userCode && { userCode }), problems };
    answerPage(ctx, 'device-code', { ...(await commonContext(ctx)), ...page }, problems.length > 0 ? 400 : 200);
  };

  /** False when the code does not exist (any more). */
  const showConfirmation = async (ctx: KoaContextWithOIDC, { userCode = '' }: Facts): Promise<boolean> => {
    const { DeviceCode, Client } = ctx.oidc.provider;
    // Normalized as the library does it for a typed code.
    const code = await DeviceCode.findByUserCode(userCode.toUpperCase().replace(/\W/g, ''), {});
    const client = code && !code.error && !code.accountId && !code.inFlight && (await Client.find(code.clientId!));
    if (!client) return false;
    const page = { ...formOf(ctx, { user_code: userCode }), userCode };
    answerPage(ctx, 'device-confirm', { ...(await commonContext(ctx, client)), ...page }, 200);
    return true;
  };

  /** False when the pause is over. */
  const showPause = async (ctx: KoaContextWithOIDC, { pause }: Facts): Promise<boolean> => {
    const seconds = Math.ceil(((pause?.until ?? 0) - Date.now()) / 1000);
    if (seconds <= 0) return false;
    ctx.set('retry-after', String(seconds));
    const page = { back: path, minutes: Math.ceil(seconds / 60) };
    answerPage(ctx, 'too-many-attempts', { ...(await commonContext(ctx)), ...page }, 429);
    return true;
  };

  const show = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { step } = ctx.query;
    if (step === 'connected' || step === 'denied') {
      const outcome = step === 'connected' ? ('allowed' as const) : ('denied' as const);
      answerPage(ctx, 'device-done', { ...(await commonContext(ctx)), outcome }, 200);
      return;
    }
    const recalled = await pageMemory.recall(ownerOf(ctx));
    if (step === 'confirm' && (await showConfirmation(ctx, recalled))) return;
    if (step === 'wait' && (await showPause(ctx, recalled))) return;
    const { outcome, userCode } = recalled;
    await (outcome ? showEntry(ctx, outcome.problems, userCode) : showEntry(ctx));
  };
  return { show, showEntry };
}

function problemOf(error: Error): ProblemName {
  switch (error.name) {
    case 'NoCodeError':
      return 'user_code_missing';
    case 'NotFoundError':
    case 'ExpiredError':
      return 'user_code_wrong';
    case 'AlreadyUsedError':
    // Somebody else was faster (adapter/redis.ts).
    case 'AlreadyConsumed':
      return 'user_code_used';
    default:
      return 'refused';
  }
}
