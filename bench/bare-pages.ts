/**
 * The path of a page through a still valid sign-in, without anything behind it: a document redirects to another origin, which sends the
 * browser straight back; then a token and the data are fetched. No page can be faster than what a browser needs for that.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What it finally shows. */
export const bareRow = '.row';

/** @returns the address of the page. */
export async function openBarePages(stack: AsyncDisposableStack): Promise<string> {
  const open = async (answer: RequestListener) => {
    const server = createServer(answer).listen(0, 'localhost');
    await once(server, 'listening');
    stack.defer(() => void server.close().closeAllConnections());
    return `http://localhost:${(server.address() as AddressInfo).port}/`;
  };
  let page = '';
  const gate = await open((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    if (request.method === 'POST') return void response.end('{}');
    response.writeHead(302, { Location: `${page}?code=1` }).end();
  });
  page = await open((request, response) => {
    // Like the console's, this page shares its process with no other.
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    if (request.url === '/data') return void response.end('{}');
    response.setHeader('Content-Type', request.url === '/script' ? 'text/javascript' : 'text/html');
    response.end(
      request.url === '/script' ? script(gate) : '<!doctype html><script type="module" src="/script"></script>',
    );
  });
  return page;
}

const script = (gate: string) => `
  if (!location.search) location.assign('${gate}');
  else {
    await fetch('${gate}', { method: 'POST' });
    await fetch('/data');
    document.body.innerHTML = '<p class="row">there</p>';
  }`;
