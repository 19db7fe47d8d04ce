/** Code that checks this hook's signatures, and a field that explains why a signature does not match. Nothing leaves the browser. */
import { useState } from 'react';
import type { Hook } from '../api/types.ts';
import { Copy } from '../ui/copy.tsx';
import { TextField } from '../ui/fields.tsx';
import { diagnose } from './diagnose.ts';
import { snippets } from './snippets.ts';

export function Verify({ hook }: { hook: Hook }) {
  const [language, setLanguage] = useState('Node');
  const code = snippets.get(language)!;
  return (
    <>
      {!hook.config.secret && (
        <p className="note">This hook has no secret, so its deliveries are not signed. Set one under Settings first.</p>
      )}
      <section className="panel" aria-label="Code for a receiver">
        <div className="title">
          <h2>Verify signatures in your receiver</h2>
          <span className="grow" />
          <Copy text={code} />
        </div>
        <fieldset className="filters">
          <legend className="hidden">Language</legend>
          {[...snippets.keys()].map((name) => (
            <button key={name} type="button" aria-pressed={name === language} onClick={() => setLanguage(name)}>
              {name}
            </button>
          ))}
        </fieldset>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
        <pre tabIndex={0}>{code}</pre>
      </section>
      <Diagnosis />
    </>
  );
}

function Diagnosis() {
  const [secret, setSecret] = useState('');
  const [signature, setSignature] = useState('');
  const [body, setBody] = useState('');
  const [verdict, setVerdict] = useState<{ isRight: boolean; text: string } | null>(null);
  const check = async () => setVerdict(await diagnose(secret, signature, body));
  return (
    <section className="panel form" aria-label="Why does it not match?">
      <h2>Why does a signature not match?</h2>
      <p className="soft">Nothing leaves this browser.</p>
      <TextField label="Secret" value={secret} onChange={setSecret} />
      <TextField label="X-Hub-Signature-256" value={signature} onChange={setSignature} placeholder="sha256=…" />
      <label className="field">
        <span>Body, exactly as received</span>
        <textarea rows={6} value={body} onChange={(event) => setBody(event.target.value)} spellCheck={false} />
      </label>
      <div className="actions">
        <button type="button" className="button primary" onClick={check} disabled={!secret || !signature}>
          Compare
        </button>
      </div>
      <p role="status" className={verdict?.isRight ? 'good-text' : 'bad-text'}>
        {verdict?.text}
      </p>
    </section>
  );
}
