/** An example of GRANT_PLUGINS: tokens for somebody who has a session of an older system. */
import { errors } from 'oidc-provider';
import type { GrantPluginModule } from '../../src/grants/plugin.ts';

/** Stands for a look-up in the older system. */
const sessions = new Map([['session-of-alice', 'auth0|alice']]);

const plugin: GrantPluginModule = ({ findAccount }) => ({
  grantType: 'urn:example:legacy-session',
  parameters: ['session'],
  async authenticate(ctx) {
    const { session } = ctx.oidc.params as { session?: string };
    if (!session) throw new errors.InvalidRequest('missing required parameter(s) session');
    const userId = sessions.get(session);
    const account = userId ? await findAccount(userId) : undefined;
    if (!account) throw new errors.InvalidGrant('no such session');
    return { accountId: account.userId, amr: ['legacy'] };
  },
});

export default plugin;
