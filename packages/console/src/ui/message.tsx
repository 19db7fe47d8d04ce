/** Headers and body of a request or response. */
import { useState } from 'react';
import { Button } from 'react-aria-components';
import { Copy } from './copy.tsx';
import { Fact } from './fact.tsx';

export function Message({
  title,
  headers,
  body,
  none = 'no body',
}: {
  title: string;
  headers: Record<string, string>;
  body: string;
  /** Shown in place of an empty body. */
  none?: string;
}) {
  const [isRaw, setRaw] = useState(false);
  const pretty = prettyOf(body);
  return (
    <section className="panel" aria-label={title}>
      <div className="title">
        <h2>{title}</h2>
        <span className="grow" />
        {pretty !== body && (
          <Button className="button small" onPress={() => setRaw(!isRaw)}>
            {isRaw ? 'Pretty' : 'Raw'}
          </Button>
        )}
        <Copy text={body} label="Copy body" />
      </div>
      <dl className="facts headers">
        {Object.entries(headers).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <pre tabIndex={0}>{body === '' ? none : isRaw ? body : pretty}</pre>
    </section>
  );
}

function prettyOf(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
