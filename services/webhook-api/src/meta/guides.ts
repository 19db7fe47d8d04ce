/** Pages of `/docs` besides the operations: each is a tag of the description (`x-traitTag`), with its text in Markdown. */
import { anchorOf } from '@gatepost/api-docs/viewer';
import { type EventCatalog, gateEvents, githubEvents } from '../hooks/catalog.ts';

export type Tag = { name: string; description?: string; 'x-displayName': string; 'x-traitTag'?: true };

/** The operations' tags, in page order. */
export const operationTags: Tag[] = [
  { name: 'repos', 'x-displayName': 'Repositories and their hooks' },
  { name: 'orgs', 'x-displayName': 'Organizations, their hooks and policies' },
  { name: 'users', 'x-displayName': 'People and machines' },
  { name: 'admin', 'x-displayName': 'Installation' },
  { name: 'accounts', 'x-displayName': 'Delivery limits' },
  { name: 'meta', 'x-displayName': 'About the service' },
];

/** Names of pages that errors link to. */
export const guideNames = {
  errors: 'errors',
  limits: 'rate-limits',
  secondaryLimits: 'secondary-rate-limits',
  localReceivers: 'local-receivers',
} as const;

/** Below the API's root. */
export const guideUrl = (name: keyof typeof guideNames): string => `/docs#${anchorOf.tag(guideNames[name])}`;

export function guides(catalog: EventCatalog): Tag[] {
  return [
    guide(guideNames.errors, 'Errors', errors),
    guide(guideNames.limits, 'Rate limits', limits),
    guide(guideNames.secondaryLimits, 'Secondary rate limits', secondaryLimits),
    guide('signatures', 'Verify the signature', signatures),
    guide('events', 'Events', eventsOf(catalog)),
    guide(guideNames.localReceivers, 'Receivers on this machine', localReceivers),
  ];
}

const guide = (name: string, title: string, description: string): Tag => ({
  name,
  description,
  'x-displayName': title,
  'x-traitTag': true,
});

const errors = `
An error has GitHub's form:

\`\`\`json
{
  "message": "Validation Failed",
  "errors": [{ "resource": "Hook", "field": "url", "code": "missing_field" }],
  "documentation_url": "http://localhost:4500/docs#operation/repos/create-webhook",
  "status": "422"
}
\`\`\`

\`documentation_url\` leads to the operation on this page. Each operation links to GitHub's own page about it, where there is one.

| status | meaning | what to do |
|---|---|---|
| 400 | The request cannot be read. | Send JSON, and an API version that \`/versions\` lists. |
| 401 | There is no token, or it is invalid. | See \`WWW-Authenticate\`, which says why. |
| 403 | A rate limit is used up, or the organization restricts this OAuth application. | Wait until \`X-RateLimit-Reset\`, or ask an admin for the approval. |
| 404 | It does not exist, or the token may not see it. | Check the scopes: compare \`X-OAuth-Scopes\` with \`X-Accepted-OAuth-Scopes\`. |
| 422 | The request is well formed but cannot be done. | \`errors\` says which field is wrong. |
| 429 | Too many requests run at once, or too much of earlier answers is unread. | Wait for \`Retry-After\` seconds. |
| 503 | A store or the gate is away. | Try again after \`Retry-After\` seconds. |
`;

const limits = `
A caller may make a number of requests an hour: 5,000, unless the operator changed it. A \`304\` is not counted.

| header | meaning |
|---|---|
| \`X-RateLimit-Limit\` | requests in an hour |
| \`X-RateLimit-Remaining\` | how many of them are left |
| \`X-RateLimit-Used\` | how many were made |
| \`X-RateLimit-Reset\` | when the hour ends, in seconds since 1970 |

When none are left, the answer is \`403\` with \`X-RateLimit-Remaining: 0\`. \`GET /rate_limit\` says the same and is not counted.
Deliveries have a separate limit for each account: see \`/accounts/{login}/throttle\`.
`;

const secondaryLimits = `
A caller may run 100 requests at once in each process of the API, unless the operator changed it, and create 500 repositories and events of
their own (\`…/triggers\`) an hour, counted together. While 64 MiB of its answers are unread, it gets none of more than 64 KiB. Anything beyond
that is answered \`429\`. Wait for as many seconds as \`Retry-After\` says.
`;

const signatures = `
A hook with a secret signs each delivery. The header \`X-Hub-Signature-256\` is \`sha256=\` and the HMAC-SHA256 of the body under the secret, in hexadecimal.

1. Compute the HMAC over the bytes of the body as they arrived, before parsing them. With \`content_type: form\` too, that is the whole body.
2. Compare in constant time, never with \`==\`.
3. Refuse a delivery without the header or with a wrong one. Only then parse the body.

The signature does not say when a delivery was sent. Keep the guids (\`X-GitHub-Delivery\`) that you have handled: a redelivery has the same one.

To test your code: with the secret \`It's a Secret to Everybody\` and the body \`Hello, World!\` the header is
\`sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\`.

**JavaScript**

\`\`\`js
import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the raw bytes, for example of express.raw({ type: () => true })
export function isSigned(secret, body, header = '') {
  const expected = Buffer.from('sha256=' + createHmac('sha256', secret).update(body).digest('hex'));
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
\`\`\`

**Python**

\`\`\`python
import hashlib
import hmac


def is_signed(secret: str, body: bytes, header: str | None) -> bool:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (header or "").encode())
\`\`\`

**Go**

\`\`\`go
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

func IsSigned(secret string, body []byte, header string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(header))
}
\`\`\`

**Java**

\`\`\`java
import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class Signature {
  static boolean isSigned(String secret, byte[] body, String header) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
    String expected = "sha256=" + HexFormat.of().formatHex(mac.doFinal(body));
    return header != null && MessageDigest.isEqual(expected.getBytes(UTF_8), header.getBytes(UTF_8));
  }
}
\`\`\`

Libraries for GitHub's webhooks do the same: \`@octokit/webhooks\`, go-github's \`ValidatePayload\`, octokit.py and others work unchanged.
`;

/** The page linked from the refusal of a hook on this machine. */
const localReceivers = `
A webhook never goes to \`localhost\` or \`127.0.0.1\`, as at GitHub. To receive on a machine of your own, let a program listen: GitHub's \`gh webhook forward\`,
or any that makes a webhook with \`"name": "cli"\` and opens the WebSocket at its \`ws_url\`. There are two more ways on the machine that the service runs on:

- Listen on another loopback address and use that in the hook: \`http://127.0.0.2:8080/hook\`. \`npm start\` allows \`127.0.0.2\`. Elsewhere the
  operator lists the address in \`DELIVERY_ALLOWED_NETWORKS\`, for example \`127.0.0.2/32\`. On macOS add the address first:
  \`sudo ifconfig lo0 alias 127.0.0.2\`.
- Or let a tunnel with a public https address lead to your port, and use its address in the hook.
`;

function eventsOf(catalog: EventCatalog): string {
  const own = [...catalog].filter(([name]) => !(name in githubEvents) && !(name in gateEvents));
  return `
A hook names its events in \`events\`, or \`*\` for all of them. \`X-GitHub-Event\` says which one a delivery is. The payload is what its producer
sent; those of GitHub's events have the form of [GitHub's payloads](https://docs.github.com/webhooks/webhook-events-and-payloads).

${table(Object.entries(githubEvents))}

**The gate's events**, for the account that the operator chose (\`EVENTS_ACCOUNT\`):

${table(Object.entries(gateEvents))}

**Events of this installation** are added in the file that \`EVENT_CATALOG_FILE\` names${own.length === 0 ? '. There are none yet.' : `:\n\n${table(own)}`}
`;
}

const table = (events: [name: string, description: string][]): string =>
  ['| event | when |', '|---|---|', ...events.map(([name, text]) => `| \`${name}\` | ${escapeCell(text)} |`)].join(
    '\n',
  );

/** Descriptions may come from a file of the installation. */
const escapeCell = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[&<>|[\]`*_\\]/g, (character) => `&#${character.charCodeAt(0)};`);
