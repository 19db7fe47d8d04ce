/**
 * What the gate and the process of an action say to each other: one line of JSON each, over a socket that the process inherits as its
 * third descriptor. Nothing that comes from there is believed: what runs there may say anything.
 */

/** The npm packages of an action. @property folder the real path of a `node_modules` @property names what its code may require */
export type Packages = { folder: string; names: readonly string[] };

/** From the gate. */
export type Order =
  | { type: 'load'; code: string; secrets: Record<string, string>; packages?: Packages }
  | ({ type: 'run'; run: number; timeoutMs: number } & Call)
  | { type: 'fetched'; fetch: number; answer: FetchedAnswer }
  | { type: 'fetch failed'; fetch: number; message: string };

/** Which function is called, and with what. */
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
  | { type: 'fetch'; fetch: number; run?: number; request: FetchRequest };

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

/** Of one line either way: an event, or an answer that was fetched, in base64. */
export const lineMaxBytes = 2 * 1024 * 1024;

/** The bytes that arrive, cut into lines. @param onLine called with each; @param onTooLong when one has no end in sight */
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
