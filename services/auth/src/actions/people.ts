/**
 * The triggers around accounts: before a sign-up, which an action may refuse; and after a sign-up or a changed password, in the
 * background.
 */
import type { Background } from '../background.ts';
import type { ClientStore } from '../clients/store.ts';
import type { AccountModel } from '../generated/models.ts';
import { connectionOf, type EventParts, tenantOf, userOf } from './event.ts';
import type { Outcome } from './outcome.ts';
import { ActionFailed, type ActionRunner } from './runner.ts';

export type SignUpEvent = {
  connection: string;
  clientId: string;
  ip?: string | undefined;
  user: Record<string, unknown>;
};

export type Admitted =
  | { kind: 'admitted'; userMetadata: object; appMetadata: object }
  /** @property message shown to the person */
  | { kind: 'denied'; message: string };

export type PeopleActions = {
  /** If no action is bound, the person is simply admitted. */
  beforeSignUp(given: SignUpEvent): Promise<Admitted>;
  afterSignUp(account: AccountModel, where: { clientId: string; ip?: string | undefined }): Promise<void>;
  afterPasswordChange(account: AccountModel, where: { ip?: string | undefined }): Promise<void>;
};

const refusal = 'Sign-up is not possible.';

export function makePeopleActions(
  parts: EventParts & {
    runner: ActionRunner;
    background: Pick<Background, 'actions'>;
    clients: Pick<ClientStore, 'find'>;
  },
): PeopleActions {
  const { runner, background, issuer, clients } = parts;
  const clientNamed = async (clientId: string) => {
    const found = await clients.find(clientId);
    return { client_id: clientId, name: found?.name ?? '', metadata: found?.clientMetadata ?? {} };
  };
  const common = async (connection: string, ip: string | undefined) => ({
    tenant: tenantOf(issuer),
    request: { ip: ip ?? '', hostname: new URL(issuer).hostname, method: 'POST', query: {}, body: {}, geoip: {} },
    connection: await connectionOf(parts, connection),
    transaction: { metadata: {} },
  });
  /** Retries only if the event could not be built: an action that failed is not run again. */
  const later = async (
    trigger: 'post-user-registration' | 'post-change-password',
    about: { clientId?: string | undefined; userId: string; ip: string | undefined },
    makeEvent: () => Promise<object>,
  ) => {
    if (!(await runner.isBound(trigger))) return;
    background.actions.add(`a run of ${trigger}`, async () => {
      try {
        await runner.run(trigger, about, makeEvent);
      } catch (error) {
        if (!(error instanceof ActionFailed)) throw error;
      }
    });
  };
  return {
    async beforeSignUp({ connection, clientId, ip, user }) {
      if (!(await runner.isBound('pre-user-registration'))) return admitted(undefined);
      const makeEvent = async () => ({
        ...(await common(connection, ip)),
        client: await clientNamed(clientId),
        user,
      });
      try {
        const outcome = (await runner.run('pre-user-registration', { clientId, ip }, makeEvent))?.outcome;
        return outcome?.denied ? { kind: 'denied', message: outcome.denied.userMessage || refusal } : admitted(outcome);
      } catch (error) {
        if (!(error instanceof ActionFailed)) throw error;
        return { kind: 'denied', message: refusal };
      }
    },
    afterSignUp: (account, { clientId, ip }) =>
      later('post-user-registration', { clientId, userId: account.userId, ip }, async () => ({
        ...(await common(account.connection, ip)),
        client: await clientNamed(clientId),
        user: await userOf(parts, account),
      })),
    afterPasswordChange: (account, { ip }) =>
      later('post-change-password', { userId: account.userId, ip }, async () => ({
        ...(await common(account.connection, ip)),
        user: await userOf(parts, account),
      })),
  };
}

const admitted = (outcome: Outcome | undefined): Admitted => ({
  kind: 'admitted',
  userMetadata: outcome?.userMetadata ?? {},
  appMetadata: outcome?.appMetadata ?? {},
});
