/** `GET /`: tells people who open the issuer in a browser what it is. */
import { type ReadyCheck, watchChecks } from '@gatepost/runtime/checks';
import { Router } from 'express';
import type { MakeCommonContext } from '../interaction/common-context.ts';
import { renderStart } from '../pages/start-page.ts';
import { setRoute } from './route.ts';

export function makeStartPage(parts: {
  issuer: string;
  /** The management API's audience. */
  management: string;
  commonContext: MakeCommonContext;
  stores: Record<string, ReadyCheck>;
}): Router {
  const look = watchChecks(parts.stores);
  const router = Router();
  router.get('/', async (_request, response) => {
    setRoute(response, 'start');
    // The tenant's name comes from one of those stores.
    const { tenant } = await parts.commonContext({}).catch(() => ({ tenant: undefined }));
    const { html, headers } = renderStart({
      issuer: parts.issuer,
      management: parts.management,
      tenant: tenant?.friendly_name ?? 'Gatepost',
      stores: await look(),
    });
    response.set(headers).end(html);
  });
  return router;
}
