/** Asks somebody by mail whether an address is theirs, and welcomes them once they confirm it. */
import { baseUrlOf } from '@gatepost/runtime/issuer';
import type { Background } from '../background.ts';
import { appAddress } from '../clients/app-address.ts';
import type { ClientStore, RegisteredClient } from '../clients/store.ts';
import type { AccountModel } from '../generated/models.ts';
import { networkOf } from '../http/network.ts';
import type { Languages } from '../mail/language.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';
import type { AccountTickets } from './account-ticket.ts';
import type { MessageLimits } from './message-limits.ts';
import type { Rate } from './rate.ts';
import type { AccountStore } from './store.ts';

type VerificationRequest = { account: AccountModel; clientId: string | undefined; languages: Languages };

export type VerificationMails = {
  /**
   * Sends the mail after the answer. @param ip the network address of the recipient’s own request; absent when an administrator
   * asks @param done is told the outcome
   */
  send(
    asked: VerificationRequest & { ip?: string; done?: (outcome: 'completed' | 'failed') => Promise<void> },
  ): Promise<'accepted' | 'too_many' | 'disabled' | 'busy'>;
  /** For a newly created account. A mail that cannot be sent now can be requested later. */
  signedUp(asked: VerificationRequest & { ip: string }): Promise<void>;
  /** Sent once the address is confirmed, if the tenant has a template for it. */
  welcome(about: VerificationRequest): Promise<void>;
};

/** Auth0's value, for links whose template does not say. */
export const verificationTtlSeconds = 432_000;
export const verificationPath = '/email-verification';

/** For each asking network, per hour. */
const perAsker = { max: 100, windowSeconds: 3_600 };

type VerificationMailParts = {
  issuer: string;
  accounts: AccountStore;
  clients: ClientStore;
  verificationTickets: AccountTickets;
  rate: Rate;
  limits: MessageLimits;
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail'>;
};

export function makeVerificationMails(parts: VerificationMailParts): VerificationMails {
  return {
    send: (asked) => send(parts, asked),
    welcome: (about) => welcome(parts, about),
    async signedUp(asked) {
      if (asked.account.emailVerified) return;
      if ((await send(parts, asked)) === 'disabled') await welcome(parts, asked);
    },
  };
}

async function send(
  parts: VerificationMailParts,
  { account, clientId, languages, ip, done }: Parameters<VerificationMails['send']>[0],
): ReturnType<VerificationMails['send']> {
  const { letters, postBox, background } = parts;
  const { email, connection } = account;
  const rules = await letters.linkRules('verify_email', clientId);
  if (!rules.isSent || !email) return 'disabled';
  const network = ip === undefined ? 'an administrator' : networkOf(ip);
  const { max, windowSeconds } = perAsker;
  if (ip !== undefined && !(await parts.rate.take('verification-mails-by', network, max, windowSeconds)))
    return 'too_many';
  const counted = { kind: 'verification' as const, recipient: email, network, ownNetwork: undefined };
  if (!(await parts.limits.take(counted))) return 'too_many';
  const work = async () => {
    const { ttlSeconds = verificationTtlSeconds, resultUrl, includeEmail } = rules;
    const kept = { email, includeEmail, ...(clientId && { clientId }), ...(resultUrl && { resultUrl }) };
    const { uiLocales } = languages;
    const ticket = await parts.verificationTickets.issue(
      { account, ...kept, ...(uiLocales && { uiLocales }) },
      ttlSeconds,
    );
    const url = `${baseUrlOf(parts.issuer)}${verificationPath.slice(1)}?ticket=${ticket}`;
    const about = { email, account, connection, clientId, languages };
    await postBox.sendMail({
      to: email,
      ...(await letters.write({ name: 'verify_email', ...about, url, ttlSeconds })),
    });
  };
  const job = () =>
    work().then(
      () => done?.('completed'),
      async (error) => {
        await done?.('failed');
        throw error;
      },
    );
  return background.mail.add('a verification mail', job) ? 'accepted' : 'busy';
}

async function welcome(
  { letters, clients, postBox, background }: VerificationMailParts,
  { account, clientId, languages }: VerificationRequest,
): Promise<void> {
  const { email, connection } = account;
  const { isSent, resultUrl } = await letters.linkRules('welcome_email', clientId);
  if (!isSent || !email) return;
  const client = clientId === undefined ? undefined : await clients.find(clientId);
  const url = resultUrl ?? (client?.isVouchedFor ? addressOf(client) : undefined);
  const about = { email, account, connection, clientId, languages, ...(url && { url }) };
  background.mail.add('a welcome', async () =>
    postBox.sendMail({ to: email, ...(await letters.write({ name: 'welcome_email', ...about })) }),
  );
}

const addressOf = ({ inert, callbacks, appType }: RegisteredClient) =>
  appAddress({
    loginUri: (inert as { initiate_login_uri?: string }).initiate_login_uri,
    callbacks,
    isNative: appType === 'native',
  });
