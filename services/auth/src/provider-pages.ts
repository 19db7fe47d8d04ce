/** The pages that oidc-provider asks us for: errors, logout, and the entry of device codes. */
import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { addressForDeveloper } from './authorization/refused-request.ts';
import { answerPage } from './http/page.ts';
import type { MakeCommonContext } from './interaction/common-context.ts';
import { linkBack, rememberedClient } from './interaction/way-back.ts';
import type { CommonContext } from './pages/pages.ts';
import type { ProblemName } from './pages/strings/en.ts';

export type ProviderPages = {
  /** Answers a browser that requests an unknown path. */
  notFound: (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;
  renderError: NonNullable<Configuration['renderError']>;
  rpInitiatedLogout: {
    logoutSource(ctx: KoaContextWithOIDC): Promise<void>;
    postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void>;
  };
  deviceFlow: {
    userCodeInputSource(ctx: KoaContextWithOIDC, form: string, out?: unknown, error?: Error): Promise<void>;
    userCodeConfirmSource(
      ctx: KoaContextWithOIDC,
      form: string,
      client: Client,
      info: unknown,
      userCode: string,
    ): Promise<void>;
    successSource(ctx: KoaContextWithOIDC): Promise<void>;
  };
};

export function makeProviderPages(makeCommonContext: MakeCommonContext): ProviderPages {
  const commonContext = (
    ctx: KoaContextWithOIDC,
    client: Client | undefined = ctx.oidc?.client,
  ): Promise<CommonContext> =>
    makeCommonContext({
      acceptLanguage: ctx.get('accept-language'),
      client,
      params: ctx.oidc?.params as Record<string, unknown> | undefined,
    });
  const form = (ctx: KoaContextWithOIDC, route: string, hidden: Record<string, string> = {}) => ({
    action: ctx.oidc.urlFor(route),
    hidden: { ...hidden, xsrf: sessionSecret(ctx) },
  });

  return {
    async notFound(ctx, next) {
      await next();
      if (ctx.status !== 404 || ctx.body || ctx.accepts('json', 'html') !== 'html') return;
      answerPage(ctx, 'error', { ...(await commonContext(ctx).catch(() => ({}))), error: 'not_found' }, 404);
    },

    async renderError(ctx, out, error) {
      const status = ctx.status;
      if (error instanceof errors.SessionNotFound) {
        const client = ctx.oidc?.client ?? (await rememberedClient(ctx.oidc.provider, ctx));
        const back = linkBack(client);
        answerPage(ctx, 'stale', { ...(await commonContext(ctx, client)), ...(back ? { back } : {}) }, status);
        return;
      }
      const { error: code, error_description: description } = out as { error: string; error_description?: string };
      const reference = ctx.oidc?.entities.Interaction?.uid;
      const address = ctx.oidc && addressForDeveloper(ctx, error);
      answerPage(
        ctx,
        'error',
        {
          ...(await commonContext(ctx).catch(() => ({}))), // a store that is away is what this page may be about
          error: code,
          ...(description ? { description: address ? `${description}: ${address}` : description } : {}),
          ...(reference ? { reference } : {}),
        },
        status,
      );
    },

    rpInitiatedLogout: {
      async logoutSource(ctx) {
        // With an ID token of this very session as a hint there is no need to ask (OpenID Connect RP-Initiated Logout, section 2).
        const hint = ctx.oidc.entities.IdTokenHint as { payload: { sub?: string } } | undefined;
        const { action, hidden } = form(ctx, 'end_session_confirm');
        if (hint && hint.payload.sub === ctx.oidc.session?.accountId) {
          const fields = { ...hidden, logout: 'yes' };
          answerPage(
            ctx,
            'form-post',
            { ...(await commonContext(ctx)), redirectUri: returnUri(ctx), action, fields },
            200,
          );
          return;
        }
        answerPage(ctx, 'logout', { ...(await commonContext(ctx)), redirectUri: returnUri(ctx), action, hidden }, 200);
      },
      async postLogoutSuccessSource(ctx) {
        const back = linkBack(ctx.oidc.client);
        answerPage(ctx, 'logged-out', { ...(await commonContext(ctx)), ...(back ? { back } : {}) }, 200);
      },
    },

    deviceFlow: {
      async userCodeInputSource(ctx, _form, _out, error) {
        const problem = error ? deviceProblem(error) : undefined;
        if (problem === 'refused' && error?.name === 'AbortedError') {
          answerPage(ctx, 'device-done', { ...(await commonContext(ctx)), outcome: 'denied' }, 200);
          return;
        }
        const userCode = (error as { userCode?: string } | undefined)?.userCode;
        answerPage(
          ctx,
          'device-code',
          {
            ...(await commonContext(ctx)),
            ...form(ctx, 'code_verification'),
            ...(userCode ? { userCode } : {}),
            ...(problem ? { problems: [problem] } : {}),
          },
          problem ? 400 : 200,
        );
      },
      async userCodeConfirmSource(ctx, _form, client, _info, userCode) {
        const page = { ...form(ctx, 'code_verification', { user_code: userCode }), userCode };
        answerPage(ctx, 'device-confirm', { ...(await commonContext(ctx, client)), ...page }, 200);
      },
      async successSource(ctx) {
        answerPage(ctx, 'device-done', { ...(await commonContext(ctx)), outcome: 'allowed' }, 200);
      },
    },
  };
}

function deviceProblem(error: Error): ProblemName {
  switch (error.name) {
    case 'NoCodeError':
      return 'user_code_missing';
    case 'NotFoundError':
    case 'ExpiredError':
    case 'AlreadyUsedError':
      return 'user_code_wrong';
    default:
      return 'refused';
  }
}

/** The fields that the library’s forms must send back. */
export function sessionSecret(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session as unknown as { state?: { secret?: string } }).state?.secret ?? '';
}

/** Where a logout finally leads. */
export function returnUri(ctx: KoaContextWithOIDC): string | undefined {
  const uri = (ctx.oidc.params as { post_logout_redirect_uri?: string } | undefined)?.post_logout_redirect_uri;
  return uri;
}
