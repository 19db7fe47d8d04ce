/** Time-based one-time passwords (RFC 6238): six digits, thirty seconds, SHA-1, which every authenticator app supports. */
import { Secret, TOTP } from 'otpauth';
import { encode } from 'uqr';

const periodSeconds = 30;
/** Clocks differ, and typing takes time: the previous and the next step count too (RFC 6238 5.2). */
const window = 1;

/** 160 bits (RFC 4226 4), in the alphabet used for typing keys. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** The time step this code belongs to; undefined for a wrong one. The caller must make sure that a step is used only once. */
export function stepOf(secret: string, code: string, now = Date.now()): number | undefined {
  const token = code.replace(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const delta = new TOTP({ secret }).validate({ token, timestamp: now, window });
  return delta === null ? undefined : Math.floor(now / 1000 / periodSeconds) + delta;
}

/** What an app reads: the issuer and the account's label. */
export function totpUri({ secret, issuer, label }: { secret: string; issuer: string; label: string }): string {
  // A colon separates the two (https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
  const plain = (text: string) => text.replaceAll(':', ' ').slice(0, 80).toWellFormed();
  return new TOTP({ secret, issuer: plain(issuer), label: plain(label) }).toString();
}

/**
 * A picture that our Content-Security-Policy allows: a `data:` URL, nothing is fetched. Each run of black modules is one line, which
 * makes it a fifth of the size of one rectangle per module.
 */
export function qrPicture(text: string): string {
  const { data, size } = encode(text, { border: 2, ecc: 'M' });
  const lines = data.flatMap((row, y) => runsOf(row).map(([x, length]) => `M${x} ${y}.5h${length}`)).join('');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path stroke="#000" d="${lines}"/></svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}

/** Where each black run begins, and its length. */
function runsOf(row: boolean[]): [x: number, length: number][] {
  const runs: [number, number][] = [];
  for (const [x, isBlack] of row.entries()) {
    const last = runs.at(-1);
    if (!isBlack) continue;
    if (last && last[0] + last[1] === x) last[1] += 1;
    else runs.push([x, 1]);
  }
  return runs;
}

/** In groups of four, for typing. */
export function spaced(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, '$& ');
}
