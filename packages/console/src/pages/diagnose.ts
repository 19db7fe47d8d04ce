/** Tries the usual mistakes with signatures until one of them explains the mismatch. */
export async function diagnose(
  secret: string,
  given: string,
  body: string,
): Promise<{ isRight: boolean; text: string }> {
  const signature = given.trim();
  if (signature.startsWith('sha1='))
    return { isRight: false, text: 'This is X-Hub-Signature, which uses SHA-1. Use the header X-Hub-Signature-256.' };
  if (signature.startsWith('v1,'))
    return {
      isRight: false,
      text: 'This is webhook-signature of Standard Webhooks. Use the header X-Hub-Signature-256.',
    };
  const wanted = signature.replace(/^sha256=/, '').toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(wanted))
    return {
      isRight: false,
      text: 'A signature is `sha256=` followed by 64 hexadecimal digits. This one is cut off, or something else.',
    };
  const is = async (key: string, text: string) => (await hmac(key, text)) === wanted;
  if (await is(secret, body))
    return signature === `sha256=${wanted}`
      ? { isRight: true, text: 'It matches.' }
      : {
          isRight: true,
          text: 'It matches except for its form: the header is `sha256=` followed by lower-case digits.',
        };

  const bodies: [string, string][] = [
    [body.replace(/\r?\n$/, ''), 'The body ends with a line break that was not sent.'],
    [`${body}\n`, 'The line break at the end of the body is missing.'],
    [body.replaceAll('\r\n', '\n'), 'The body’s line breaks were changed to Windows line breaks.'],
    [body.replaceAll('\n', '\r\n'), 'The body’s line breaks were changed from Windows line breaks.'],
    ...reparsed(body),
    [
      formPayload(body),
      'The signature was computed over the payload inside the form. It must be computed over the whole form.',
    ],
    [
      `payload=${encodeURIComponent(body).replaceAll('%20', '+')}`,
      'The hook sends a form. The signature is computed over `payload=…`, exactly as received.',
    ],
    [`\ufeff${body}`, 'The byte order mark at the start of the body is missing.'],
  ];
  for (const [text, mistake] of bodies)
    if (text !== body && (await is(secret, text))) return { isRight: false, text: mistake };
  const secrets: [string, string][] = [
    [secret.trim(), 'The secret has spaces or a line break around it.'],
    [`${secret}\n`, 'The hook’s secret ends with a line break. Perhaps it was read from a file.'],
    ['', 'It was signed with an empty secret. Perhaps a variable was not set.'],
    [
      secret.replace(/^whsec_/, ''),
      'The secret was used without `whsec_`. For X-Hub-Signature-256, use the whole text.',
    ],
  ];
  for (const [key, mistake] of secrets)
    if (key !== secret && (await is(key, body))) return { isRight: false, text: mistake };
  return {
    isRight: false,
    text: 'None of the usual mistakes explains it: the secret or the body is a different one. Has the secret changed since?',
  };
}

function reparsed(body: string): [string, string][] {
  try {
    const value = JSON.parse(body);
    const mistake = 'The body was parsed and serialized again. Compute the signature over the bytes as received.';
    return [
      [JSON.stringify(value), mistake],
      [JSON.stringify(value, null, 2), mistake],
      [JSON.stringify(value, null, 4), mistake],
    ];
  } catch {
    return [];
  }
}

const formPayload = (body: string) => new URLSearchParams(body).get('payload') ?? body;

async function hmac(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  // Web Crypto accepts no empty key; HMAC pads keys with zeros, so a single zero is equivalent.
  const bytes = secret === '' ? new Uint8Array(1) : encoder.encode(secret);
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(text));
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
