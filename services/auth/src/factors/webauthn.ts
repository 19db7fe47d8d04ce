/**
 * Passkeys and security keys (WebAuthn level 3): the options sent to a browser, and the check of its answer. The relying party is the
 * issuer's host; no origin but the issuer’s counts, and no page in a frame. A key whose counter has gone backwards is a copy.
 */
import type { Provider } from 'oidc-provider';
import type { AccountModel, SettingsModel } from '../generated/models.ts';
import type { Proof } from './proof.ts';
import type { FactorStore, Method } from './store.ts';

type Parts = { provider: Provider; factors: FactorStore };
export type KeyType = 'webauthn-roaming' | 'webauthn-platform' | 'passkey';

const timeout = 300_000;
/** A credential with its certificates; far larger than any real one. */
const answerMax = 32_000;

/** Loaded on demand: with its dependencies it would be a tenth of what the gate loads at startup, and many gates never need it. */
const library = () => import('@simplewebauthn/server');

const relyingParty = ({ provider }: Parts) => {
  const { origin, hostname } = new URL(provider.issuer);
  return { origin, id: hostname };
};

/** Asks for one of these keys; with none given, for any of our passkeys on the device. */
export async function askForKey(parts: Parts, methods: Method[]) {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: relyingParty(parts).id,
    allowCredentials: methods.map(({ credentialId, transports }) => ({ id: credentialId!, transports })),
    userVerification: methods.every(verifiesItself) ? 'required' : 'preferred',
    timeout,
  });
}

/** A device or a passkey verifies its user; a security key may just be touched. */
const verifiesItself = ({ type }: Pick<Method, 'type'>) => type !== 'webauthn-roaming';

export async function checkKey(
  parts: Parts,
  { methods, credential, challenge }: { methods: Method[]; credential: string; challenge: string },
): Promise<Proof> {
  const response = parse(credential);
  const method = methods.find(({ credentialId }) => credentialId === response?.id);
  if (!response || !method) return { kind: 'wrong' };
  const { id, origin } = relyingParty(parts);
  const { verifyAuthenticationResponse } = await library();
  try {
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response: response as never, // checked there
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: verifiesItself(method),
      credential: {
        id: method.credentialId!,
        publicKey: new Uint8Array(method.publicKey!),
        counter: Number(method.signCount),
      },
    });
    // If two answers arrive at once, one is accepted; the library compared only with the counter as it was read.
    if (!verified || !(await parts.factors.takeSignature(method, info.newCounter, info.credentialBackedUp)))
      return { kind: 'wrong' };
    return { kind: 'right', amr: info.userVerified ? ['hwk', 'user', 'mfa'] : ['hwk', 'mfa'], method };
  } catch {
    return { kind: 'wrong' }; // whatever is wrong: the library throws in each case
  }
}

/** The account of a passkey, if it is right. */
export async function checkPasskey(
  parts: Parts,
  given: { credential: string; challenge: string },
): Promise<{ method: Method; amr: string[] } | undefined> {
  const response = parse(given.credential);
  const method = response && (await parts.factors.findCredential(response.id));
  if (method?.type !== 'passkey') return undefined;
  const proof = await checkKey(parts, { ...given, methods: [method] });
  return proof.kind === 'right' ? { method, amr: proof.amr } : undefined;
}

/** Asks for a new key that the account does not have yet. */
export async function askForNewKey(
  parts: Parts,
  asked: { account: AccountModel; type: KeyType; settings: Pick<SettingsModel, 'friendlyName'> },
) {
  const { account, type, settings } = asked;
  const known = await parts.factors.list(account.userId);
  const name = account.email ?? account.username ?? account.phoneNumber ?? account.userId;
  const isPasskey = type === 'passkey';
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpID: relyingParty(parts).id,
    rpName: settings.friendlyName ?? 'Gatepost',
    userName: name,
    userDisplayName: account.name ?? name,
    // Reveals nothing about the person, and is unique to the account.
    userID: handleOf(account),
    attestationType: 'none',
    timeout,
    excludeCredentials: known.flatMap(({ credentialId, transports }) =>
      credentialId === null ? [] : [{ id: credentialId, transports }],
    ),
    authenticatorSelection: {
      residentKey: isPasskey ? 'required' : 'discouraged',
      userVerification: type === 'webauthn-roaming' ? 'preferred' : 'required',
      ...(type === 'webauthn-roaming' && { authenticatorAttachment: 'cross-platform' }),
      ...(type === 'webauthn-platform' && { authenticatorAttachment: 'platform' }),
    },
  });
}

const handleOf = ({ incarnation }: Pick<AccountModel, 'incarnation'>) =>
  new Uint8Array(Buffer.from(incarnation.replaceAll('-', ''), 'hex'));

/** Whether the passkey itself says that it is this account's (WebAuthn 7.2, step 6). */
export function isHandleOf(credential: string, account: Pick<AccountModel, 'incarnation'>): boolean {
  const handle = (parse(credential) as { response?: { userHandle?: unknown } } | undefined)?.response?.userHandle;
  return handle === Buffer.from(handleOf(account)).toString('base64url');
}

export type NewKey = {
  credentialId: string;
  publicKey: Uint8Array;
  signCount: number;
  transports: string[];
  aaguid: string;
  backedUp: boolean;
};

/** The key that the browser made; undefined if it is not what was asked for. */
export async function checkNewKey(
  parts: Parts,
  given: { credential: string; challenge: string; type: KeyType },
): Promise<NewKey | undefined> {
  const response = parse(given.credential);
  if (!response) return undefined;
  const { id, origin } = relyingParty(parts);
  const { verifyRegistrationResponse } = await library();
  try {
    const { verified, registrationInfo: info } = await verifyRegistrationResponse({
      response: response as never, // checked there
      expectedChallenge: given.challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: given.type !== 'webauthn-roaming',
    });
    if (!verified) return undefined;
    const { credential, aaguid, credentialBackedUp } = info;
    return {
      credentialId: credential.id,
      publicKey: credential.publicKey,
      signCount: credential.counter,
      transports: (credential.transports ?? []).filter((text) => typeof text === 'string').slice(0, 8),
      aaguid,
      backedUp: credentialBackedUp,
    };
  } catch {
    return undefined; // whatever is wrong: the library throws in each case
  }
}

function parse(credential: string): { id: string } | undefined {
  if (credential.length > answerMax) return undefined;
  try {
    const parsed = JSON.parse(credential) as { id?: unknown } | null;
    // Base64url of at most 1,023 bytes (WebAuthn 5.8.3): it is looked up before it is verified.
    return typeof parsed?.id === 'string' && /^[\w-]{1,1364}$/.test(parsed.id) ? (parsed as { id: string }) : undefined;
  } catch {
    return undefined; // not from our script
  }
}
