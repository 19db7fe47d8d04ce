/**
 * The triggers around accounts: before a sign-up, which an action may refuse; and after a sign-up or a changed password, in the
 * background.
 */
import type { IncomingMessage } from 'node:http';
import type { Background } from '../background.ts';
import type { ClientStore } from '../clients/store.ts';
import type { AccountModel } from '../generated/models.ts';
import { connectionOf, type EventParts, requestOf, tenantOf, userOf } from './event.ts';
import type { Outcome } from './outcome.ts';
import { ActionFailed, type ActionRunner } from './runner.ts';

/** The person's request. @property ip their address, which an application that asks for them may state */
export type Asked = { request: IncomingMessage; ip: string };

export type SignUpEvent = Asked & {
  connection: string;
  clientId: string;
  user: Record<string, unknown>;
};

export type Admitted =
  | { kind: 'admitted'; userMetadata: object; appMetadata: object }
  /** @property message shown to the person */
  | { kind: 'denied'; message: string };

export type PeopleActions = {
  /** If no action is bound, the person is simply admitted. */
  beforeSignUp(given: SignUpEvent): Promise<Admitted>;
  afterSignUp(account: AccountModel, asked: Asked & { clientId: string }): Promise<void>;
  /** @param asked undefined: an administrator has changed it */
  afterPasswordChange(account: AccountModel, asked?: Asked): Promise<void>;
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
  const common = async (connection: string) => ({
    tenant: tenantOf(issuer),
    connection: await connectionOf(parts, connection),
    transaction: { metadata: {} },
  });
  // What a form has is no parameter of the protocol, and much of it is secret.
  const describe = ({ request, ip }: Asked) => ({ ...requestOf(issuer, request, {}), ip });
  /** Retries only if the event could not be built: an action that failed is not run again. */
  const later = async (
    trigger: 'post-user-registration' | 'post-change-password',
    about: { clientId?: string | undefined; userId: string; ip: string | undefined },
    asked: Asked | undefined,
    makeEvent: () => Promise<object>,
  ) => {
    if (!(await runner.isBound(trigger))) return;
    const request = asked ? describe(asked) : nobodysRequest(issuer);
    background.actions.add(`a run of ${trigger}`, async () => {
      try {
        await runner.run(trigger, about, async () => ({ ...(await makeEvent()), request }));
      } catch (error) {
        if (!(error instanceof ActionFailed)) throw error;
      }
    });
  };
  return {
    async beforeSignUp({ connection, clientId, user, ...asked }) {
      if (!(await runner.isBound('pre-user-registration'))) return admitted(undefined);
      const makeEvent = async () => ({
        ...(await common(connection)),
        request: describe(asked),
        client: await clientNamed(clientId),
        user,
      });
      try {
        const about = { clientId, ip: asked.ip };
        const outcome = (await runner.run('pre-user-registration', about, makeEvent))?.outcome;
        return outcome?.denied ? { kind: 'denied', message: outcome.denied.userMessage || refusal } : admitted(outcome);
      } catch (error) {
        if (!(error instanceof ActionFailed)) throw error;
        return { kind: 'denied', message: refusal };
      }
    },
    afterSignUp: (account, { clientId, ...asked }) =>
      later('post-user-registration', { clientId, userId: account.userId, ip: asked.ip }, asked, async () => ({
        ...(await common(account.connection)),
        client: await clientNamed(clientId),
        user: await userOf(parts, account),
      })),
    afterPasswordChange: (account, asked) =>
      later('post-change-password', { userId: account.userId, ip: asked?.ip }, asked, async () => ({
        ...(await common(account.connection)),
        user: await userOf(parts, account),
      })),
  };
}

/** For what an administrator does: the address and browser of that request are not the person's. */
const nobodysRequest = (issuer: string) => ({
  ip: '',
  user_agent: '',
  hostname: new URL(issuer).hostname,
  language: '',
  method: '',
  query: {},
  body: {},
  geoip: {},
});

const admitted = (outcome: Outcome | undefined): Admitted => ({
  kind: 'admitted',
  userMetadata: outcome?.userMetadata ?? {},
  appMetadata: outcome?.appMetadata ?? {},
});
