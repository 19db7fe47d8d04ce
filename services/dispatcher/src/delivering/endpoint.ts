/**
 * What all requests to one URL share, made once per hook: got would copy and check its options for each request, and Node read the URL again
 * (docs/benchmarks.md#got-and-nodehttp).
 */
import { urlToHttpOptions } from 'node:url';
import { Options } from 'got';

export type Endpoint = {
  /** got's, frozen, so that requests share what none of them changes. */
  options: Options;
  isSecure: boolean;
  /** Where node:http connects to, and the path it asks for. */
  address: { hostname: string; port: number | undefined; path: string };
  /** The Host header, with the port unless it is the protocol's own. */
  host: string;
};

const endpoints = new WeakMap<URL, Endpoint>();

/** `target`: without credentials, and never changed. */
export function endpointOf(target: URL): Endpoint {
  const known = endpoints.get(target);
  if (known) return known;
  const made = makeEndpoint(target);
  endpoints.set(target, made);
  return made;
}

function makeEndpoint(target: URL): Endpoint {
  const options = new Options(target, {
    method: 'POST',
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
    request: unset,
  });
  options.isStream = true;
  options.freeze();
  const { hostname, port, path } = urlToHttpOptions(target);
  return {
    options,
    isSecure: target.protocol === 'https:',
    address: { hostname: hostname!, port: port ? Number(port) : undefined, path: path! },
    host: target.host,
  };
}

/** Each request has a function of its own. Without it, got would ask Node itself, past our guard. */
function unset(): never {
  throw new Error('a delivery has no request function');
}
