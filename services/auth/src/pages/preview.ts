/**
 * Serves every page with sample contexts, for looking at them during development:
 * `node --conditions=source src/pages/preview.ts [port]`, then http://127.0.0.1:4499/. `?ui_locales=de` and `?dir=rtl` change
 * the language and the direction; `?primary=%23ffd400`, `?pageBackground=`, `?logoUrl=` and `?fontUrl=` the branding.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { samples } from './sample.ts';

/** Opens the preview on 127.0.0.1 at a port, 0 for any free one. The caller closes it. */
export async function openPreview(port = 0): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const sample = samples.find(({ name }) => name === pathname.slice(1));
    if (sample === undefined) return void response.setHeader('content-type', 'text/html').end(contents());
    const { html, headers } = sample.render(
      searchParams.get('ui_locales') ?? undefined,
      Object.fromEntries(searchParams),
    );
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(searchParams.get('dir') === 'rtl' ? html.replace('dir="ltr"', 'dir="rtl"') : html);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

function contents(): string {
  return `<!DOCTYPE html><title>Pages</title><ul>${samples.map(({ name }) => `<li><a href="/${name}">${name}</a>`).join('')}</ul>`;
}

if (import.meta.main) process.stdout.write(`${(await openPreview(Number(process.argv[2] ?? 4499))).url}\n`);
