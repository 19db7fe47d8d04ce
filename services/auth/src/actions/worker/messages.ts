/**
 * The messages between the gate and an action's process: one line of JSON each, over a socket that the process inherits as its third
 * descriptor. The gate trusts none of the process's messages, since the code in there may send anything.
 */

/** The npm packages of an action. @property folder the real path of a `node_modules` @property names what its code may require */
export type Packages = { folder: string; names: readonly string[] };

/** From the gate. */
export type Order =
  | { type: 'load'; code: string; secrets: Record<string, string>; packages?: Packages }
  | ({ type: 'run'; run: number; timeoutMs: number } & Call)
  | { type: 'fetched'; fetch: number; answer: FetchedAnswer }
  | { type: 'fetch failed'; fetch: number; message: string }
  | { type: 'ping' };

/** The function to call, and its arguments. */
export type Call = {
  trigger: string;
  handler: string;
  event: object;
  /** Whether there is a browser that could be sent elsewhere. */
  canRedirect?: boolean;
};

/** From the process. */
export type Report =
  | { type: 'loaded' }
  | { type: 'broken'; message: string }
  | { type: 'done'; run: number; commands: Command[]; output: string[] }
  | { type: 'failed'; run: number; reason: 'threw' | 'timeout' | 'absent'; message: string; output: string[] }
  | { type: 'fetch'; fetch: number; run?: number; request: FetchRequest }
  | { type: 'pong' };

/** What an action asked for through `api`, in order. */
export type Command = { name: string; args: unknown[] };

export type FetchRequest = {
  url: string;
  method: string;
  headers: [string, string][];
  /** In base64. */
  body?: string;
  redirect: 'follow' | 'manual' | 'error';
};

export type FetchedAnswer = {
  url: string;
  status: number;
  statusText: string;
  headers: [string, string][];
  body: string;
  redirected: boolean;
};

/** The longest line either way: an action's code, an event, or a fetched answer in base64. */
export const lineMaxBytes = 2 * 1024 * 1024;
/** Code, secrets and the names of packages, as JSON: the line that loads them also has the path of the packages' folder. */
export const programMaxBytes = lineMaxBytes - 16 * 1024;

/** Splits the arriving bytes into lines. @param onLine called with each; @param onTooLong called when a line grows too long */
export function readLines(onLine: (line: string) => void, onTooLong: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      if (line.length > lineMaxBytes) return onTooLong();
      onLine(line.toString());
    }
    bytes += rest.length;
    if (bytes > lineMaxBytes) return onTooLong();
    if (rest.length > 0) parts.push(rest);
  };
}
