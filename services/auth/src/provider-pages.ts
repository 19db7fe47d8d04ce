/** The pages that oidc-provider asks us for: errors, logout, and entering device codes. */
import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { adviceForDeveloper } from './authorization/refused-request.ts';
import { isForPrograms } from './http/for-programs.ts';
import { answerPage } from './http/page.ts';
import type { MakeCommonContext } from './interaction/common-context.ts';
import { type DevicePages, makeDevicePages } from './interaction/device-pages.ts';
import type { PageMemory } from './interaction/page-memory.ts';
import { linkBack, rememberedClient } from './interaction/way-back.ts';
import type { Change } from './library/middleware.ts';
import type { CommonContext } from './pages/pages.ts';
import { federatedField } from './upstream/logout.ts';

export type ProviderPages = {
  /** Answers a browser that requests an unknown path. */
  notFound: Change;
  renderError: NonNullable<Configuration['renderError']>;
  rpInitiatedLogout: {
    logoutSource(ctx: KoaContextWithOIDC): Promise<void>;
    postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void>;
  };
  deviceFlow: DevicePages;
};

export function makeProviderPages(makeCommonContext: MakeCommonContext, pageMemory: PageMemory): ProviderPages {
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

  const answerNotFound = async (ctx: KoaContextWithOIDC) => {
    answerPage(ctx, 'error', { ...(await commonContext(ctx).catch(() => ({}))), error: 'not_found' }, 404);
  };

  const showError: ProviderPages['renderError'] = (ctx, out, error) => renderError(commonContext, ctx, out, error);

  return {
    notFound(ctx) {
      const isUnknown =
        ctx.status === 404 && !ctx.body && !isForPrograms(ctx) && ctx.accepts('json', 'html') === 'html';
      return isUnknown ? answerNotFound(ctx) : undefined;
    },

    renderError: showError,

    rpInitiatedLogout: {
      async logoutSource(ctx) {
        // With an ID token of this very session as a hint, there is no need to ask (OpenID Connect RP-Initiated Logout, section 2).
        const hint = ctx.oidc.entities.IdTokenHint as { payload: { sub?: string } } | undefined;
        const isFederated = federatedField in ctx.query;
        const { action, hidden } = form(ctx, 'end_session_confirm', isFederated ? { [federatedField]: 'yes' } : {});
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

    deviceFlow: makeDevicePages(pageMemory, commonContext, showError),
  };
}

type MakeContext = (ctx: KoaContextWithOIDC, client?: Client) => Promise<CommonContext>;

async function renderError(
  commonContext: MakeContext,
  ...[ctx, out, error]: Parameters<ProviderPages['renderError']>
): Promise<void> {
  const status = ctx.status;
  if (isForPrograms(ctx)) {
    ctx.body = out;
    return;
  }
  if (error instanceof errors.SessionNotFound) {
    const client = ctx.oidc?.client ?? (await rememberedClient(ctx.oidc.provider, ctx));
    const back = linkBack(client);
    answerPage(ctx, 'stale', { ...(await commonContext(ctx, client)), ...(back ? { back } : {}) }, status);
    return;
  }
  const { error: code, error_description: description } = out as { error: string; error_description?: string };
  const reference = ctx.oidc?.entities.Interaction?.uid;
  const advice = ctx.oidc && adviceForDeveloper(ctx, error);
  answerPage(
    ctx,
    'error',
    {
      ...(await commonContext(ctx).catch(() => ({}))), // this page may be about that very outage
      error: code,
      ...(description ? { description: advice ? `${description}: ${advice}` : description } : {}),
      ...(reference ? { reference } : {}),
    },
    status,
  );
}

/** The secret that the library’s forms must send back. */
export function sessionSecret(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session?.state?.secret as string | undefined) ?? '';
}

/** Where a logout finally leads. */
export function returnUri(ctx: KoaContextWithOIDC): string | undefined {
  const uri = (ctx.oidc.params as { post_logout_redirect_uri?: string } | undefined)?.post_logout_redirect_uri;
  return uri;
}
