/** The receivers of docs/receivers.md, which a test runs, by language. */
import page from '../../../../docs/receivers.md?raw';

export const snippets: ReadonlyMap<string, string> = new Map(
  [...page.matchAll(/^## (\w+)\n.*?```\w+\n(.*?)```/gms)].map(([, language, code]) => [language!, code!]),
);
