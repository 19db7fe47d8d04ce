/** The demo application's only page. */
export type PageParts = {
  user: Record<string, unknown> | undefined;
  idTokenClaims: object | undefined;
  /** Of the access token. */
  claims: object | undefined;
  /** What the webhook API said, if it was just asked. */
  answer: { line: string; status: number; body: unknown } | undefined;
};

export function page({ user, idTokenClaims, claims, answer }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gatepost's demo application</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
  form { display: inline; } button, .button { font: inherit; padding: .4rem .9rem; margin: 0 .3rem .5rem 0; cursor: pointer; }
  pre { overflow: auto; max-height: 20rem; padding: .75rem; border: 1px solid #8886; border-radius: .4rem; font-size: .85rem; }
  td, th { text-align: left; padding: .15rem 1rem .15rem 0; }
</style>
<h1>Gatepost's demo application</h1>
${user ? signedIn({ user, idTokenClaims, claims, answer }) : '<p>You are not signed in. Use alice@example.com, password <code>correct horse battery staple</code>.</p><p><a class="button" href="/login">Log in</a></p>'}
</html>`;
}

function signedIn({ user, idTokenClaims, claims, answer }: PageParts): string {
  const button = (path: string, text: string) => `<form method="post" action="${path}"><button>${text}</button></form>`;
  return `<p>Signed in as <strong>${escaped(user?.name ?? user?.sub)}</strong>. <a href="/logout">Log out</a></p>
<p>${button('/call', 'List the hooks of acme/widgets')}${button('/hook', 'Have its webhooks sent here')}${button('/event', 'Publish an event')}</p>
${answer ? `<h2>The webhook API answered ${answer.status}</h2><p><code>${escaped(answer.line)}</code> · <a href="/">back</a></p>${json(answer.body)}` : ''}
<h2>Webhooks as they arrive</h2>
<table><thead><tr><th>received</th><th>event</th><th>delivery</th><th>signature</th></tr></thead>
<tbody id="arrived"></tbody></table>
<h2>Your ID token says</h2>${json(idTokenClaims)}
${claims ? `<h2>Your access token for the webhook API says</h2>${json(claims)}` : ''}
<script>
  const arrived = new EventSource('/arrived');
  arrived.onopen = () => document.getElementById('arrived').replaceChildren(); // all come again
  arrived.onmessage = ({ data }) => {
    const { at, event, guid, signature } = JSON.parse(data);
    const row = document.getElementById('arrived').insertRow(0);
    for (const text of [at, event, guid, signature]) row.insertCell().textContent = text;
  };
</script>`;
}

const json = (value: unknown) => `<pre>${escaped(JSON.stringify(value, undefined, 2))}</pre>`;

function escaped(text: unknown): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return String(text).replace(/[&<>"]/g, (sign) => names[sign]!);
}
