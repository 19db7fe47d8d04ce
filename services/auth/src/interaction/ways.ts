/** The ways to log in that a request offers: the connections allowed by its application, its organization and its `connection`. */
import { parseIdentifier } from '../accounts/identifier.ts';
import type { ConnectionModel } from '../generated/models.ts';
import type { OrganizationStore } from '../organizations/store.ts';
import type { Channel } from '../passwordless/message.ts';
import { isUpstream } from '../upstream/strategies.ts';
import type { Interaction } from './interaction.ts';

export type Ways = {
  identifierFirst: boolean;
  database: ConnectionModel | undefined;
  email: ConnectionModel | undefined;
  sms: ConnectionModel | undefined;
  signup: boolean;
  /** Providers at which people sign in elsewhere. */
  upstream: ConnectionModel[];
};

export async function waysOf({ parts, params, client }: Interaction): Promise<Ways> {
  const [settings, all] = await Promise.all([parts.settings.load(), parts.connections.list(client.clientId)]);
  const inOrganization = await organizationSignIn(parts.organizations, params);
  const connections = all.filter(({ id }) => inOrganization.takes(id));
  const asked = connections.find((connection) => connection.name === params.connection);
  const offers = (strategy: string) =>
    asked ? (asked.strategy === strategy ? asked : undefined) : connections.find((one) => one.strategy === strategy);
  const database = offers('auth0');
  return {
    identifierFirst: settings.identifierFirst,
    database,
    // Without identifier-first there is one page with both fields, and no choice of a code.
    email: settings.identifierFirst || !database ? offers('email') : undefined,
    sms: settings.identifierFirst || !database ? offers('sms') : undefined,
    signup: settings.allowSignup && database !== undefined && inOrganization.takesNewcomers(database.id),
    upstream: (asked ? [asked] : connections).filter(({ strategy }) => isUpstream(strategy)).map(inOrganization.shows),
  };
}

/** For a request that names an organization: its connections, which of them it shows, and whether signing up there leads anywhere. */
async function organizationSignIn(
  organizations: OrganizationStore,
  { organization: id, invitation }: Interaction['params'],
) {
  const organization = typeof id === 'string' ? await organizations.find(id) : undefined;
  const named = organization?.connections ?? [];
  const of = (connection: string) => named.find(({ connectionId }) => connectionId === connection);
  return {
    takes: (connection: string) => (named.length === 0 ? !organization?.lostConnection : of(connection) !== undefined),
    /** Its own choice of buttons replaces the connection's. */
    shows(connection: ConnectionModel): ConnectionModel {
      const enabled = of(connection.id);
      if (!enabled) return connection;
      return { ...connection, inert: { ...(connection.inert as object), show_as_button: enabled.showAsButton } };
    },
    takesNewcomers(connection: string) {
      const { isSignupEnabled = false, assignMembershipOnLogin = false } = of(connection) ?? {};
      return !organization || invitation !== undefined || (isSignupEnabled && assignMembershipOnLogin);
    },
  };
}

type CodeTarget = { channel: Channel; connection: string; recipient: string };

/** Where a code for this login would be sent, if any connection sends codes there. */
export function codeTarget(ways: Ways, typed: string): CodeTarget | undefined {
  const identifier = parseIdentifier(typed);
  if (identifier?.kind === 'email' && ways.email)
    return { channel: 'email', connection: ways.email.name, recipient: identifier.value };
  if (identifier?.kind === 'phone' && ways.sms)
    return { channel: 'sms', connection: ways.sms.name, recipient: identifier.value };
  return undefined;
}
