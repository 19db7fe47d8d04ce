/** The demo application's pages. */
export type PageParts = {
  user: Record<string, unknown> | undefined;
  idTokenClaims: object | undefined;
  /** The claims of the access token. */
  claims: object | undefined;
  /** The webhook API's answer, if it was just called. */
  answer: { line: string; status: number; body: unknown } | undefined;
};

export function page(parts: PageParts): string {
  const signedOut =
    '<p>You are not signed in. Use alice@example.com, password <code>correct horse battery staple</code>.</p><p><a class="button" href="/login">Log in</a></p>';
  return document(parts.user ? signedIn(parts) : signedOut);
}

export const problemPage = (problem: string): string =>
  document(`<p>${escaped(problem)}</p><p><a class="button" href="/login">Log in again</a></p>`);

function document(content: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gatepost's demo application</title>
<link rel="icon" href="data:,">
<style>
  :root { --page: #f3f4ef; --card: #fff; --line: #dfe1d8; --green: #0d5f4f; --on: #fff; color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) { :root { --page: #151a18; --card: #1e2522; --line: #38423d; --green: #6fd0b4; --on: #10211c; } }
  body { max-width: 52rem; margin: 3rem auto; padding: 0 1rem; background: var(--page); }
  main { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.5rem 2rem 2rem; }
  h1 { font-size: 1.6rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } a { color: var(--green); } form { display: inline; }
  button, .button { font: inherit; font-weight: 600; display: inline-block; padding: .5rem 1.1rem; margin: 0 .4rem .5rem 0; border: 0; border-radius: .5rem; background: var(--green); color: var(--on); text-decoration: none; cursor: pointer; }
  pre { overflow: auto; max-height: 20rem; padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; font-size: .85rem; }
  td, th { text-align: left; padding: .15rem 1rem .15rem 0; } td { font-size: .9rem; font-variant-numeric: tabular-nums; } .table { overflow-x: auto; }
</style>
<main>
<h1>Gatepost's demo application</h1>
<p>It signs people in at the gate, calls the webhook API for them, and shows webhooks as they arrive.</p>
${content}
</main>
</html>`;
}

function signedIn({ user, idTokenClaims, claims, answer }: PageParts): string {
  const button = (path: string, text: string) => `<form method="post" action="${path}"><button>${text}</button></form>`;
  return `<p>Signed in as <strong>${escaped(user?.name ?? user?.sub)}</strong>. <a href="/logout">Log out</a></p>
<p>${button('/call', 'List the hooks of acme/widgets')}${button('/hook', 'Have its webhooks sent here')}${button('/event', 'Publish an event')}</p>
${answer ? `<h2>The webhook API answered ${answer.status}</h2><p><code>${escaped(answer.line)}</code> · <a href="/">back</a></p>${json(answer.body)}` : ''}
<h2>Webhooks as they arrive</h2>
<div class="table"><table><thead><tr><th>received</th><th>event</th><th>delivery</th><th>signature</th></tr></thead>
<tbody id="arrived"></tbody></table></div>
<h2>Your ID token says</h2>${json(idTokenClaims)}
${claims ? `<h2>Your access token for the webhook API says</h2>${json(claims)}` : ''}
<script>
  const arrived = new EventSource('/arrived');
  arrived.onopen = () => document.getElementById('arrived').replaceChildren(); // all are sent again
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
