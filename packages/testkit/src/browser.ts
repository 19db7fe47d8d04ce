/** A browser without JavaScript: keeps cookies, follows redirects while they stay at the gate, fills in forms. */
export type Page = {
  status: number;
  headers: Headers;
  html: string;
  url: string;
  /** Where the gate redirected us to, if elsewhere. */
  location?: URL;
  /** The page's forms, with hidden and preset values. */
  forms: { action: string; fields: Record<string, string> }[];
};

export class Browser {
  readonly cookies = new Map<string, { value: string; path: string }>();
  readonly gate: { issuer: string };
  constructor(gate: { issuer: string }) {
    this.gate = gate;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#ask(new URL(path, this.gate.issuer), { headers });
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    return this.#ask(new URL(path, this.gate.issuer), { method: 'POST', body: new URLSearchParams(fields), headers });
  }

  /** Starts an authorization request. */
  authorize(params: Record<string, string>): Promise<Page> {
    return this.get(`authorize?${new URLSearchParams(params)}`);
  }

  /** Submits a page's form with these fields. */
  submit(page: Page, fields: Record<string, string> = {}, form = 0): Promise<Page> {
    if (!page.forms[form]) throw new Error(`${page.url} has no such form: ${page.status} ${page.html}`);
    const { action, fields: hidden } = page.forms[form];
    return this.post(new URL(action, page.url).href, { ...hidden, ...fields });
  }

  /** Logs in with a password, on whichever login page this is. */
  async logIn(page: Page, identifier = 'alice@example.com', password = 'correct horse battery staple'): Promise<Page> {
    const next = page.html.includes('name="password"') ? page : await this.submit(page, { identifier });
    return this.submit(next, { identifier, password, action: 'default' });
  }

  cookieHeader(url: URL): string {
    return [...this.cookies.entries()]
      .filter(
        ([, { path }]) => url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
      )
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');
  }

  async #ask(url: URL, init: RequestInit): Promise<Page> {
    let [current, options] = [url, init];
    for (let hop = 0; hop < 10; hop += 1) {
      const headers = { accept: 'text/html', ...(options.headers as object), cookie: this.cookieHeader(current) };
      const response = await fetch(current, { ...options, headers, redirect: 'manual' });
      for (const line of response.headers.getSetCookie()) this.#keep(line);
      const target = response.headers.get('location');
      const location = target ? new URL(target, current) : undefined;
      if (!location || location.origin !== new URL(this.gate.issuer).origin) {
        const html = await response.text();
        return {
          status: response.status,
          headers: response.headers,
          html,
          url: current.href,
          ...(location ? { location } : {}),
          forms: formsOf(html),
        };
      }
      await response.arrayBuffer();
      [current, options] = [location, {}];
    }
    throw new Error(`too many redirects from ${url}`);
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
    const key = `${name} ${path}`;
    if (value === '' || attributes.some((attribute) => /^expires=Thu, 01 Jan 1970/i.test(attribute)))
      this.cookies.delete(key);
    else this.cookies.set(key, { value, path });
  }
}

function formsOf(html: string): Page['forms'] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, head = '', body = '']) => ({
    action: unescapeHtml(attribute(head, 'action') ?? ''),
    fields: Object.fromEntries(
      [...body.matchAll(/<input\b([^>]*)>/g)]
        // An unticked checkbox is not sent.
        .filter(([, input = '']) => !/\btype="checkbox"/.test(input) || /\bchecked\b/.test(input))
        .map(([, input = '']) => [attribute(input, 'name'), unescapeHtml(attribute(input, 'value') ?? '')])
        .filter(([name]) => name !== undefined),
    ),
  }));
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
