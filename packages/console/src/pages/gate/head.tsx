/** The head of a detail page: the way back, the name, the mark, and the id. */
import type { ReactNode } from 'react';
import { Copy } from '../../ui/copy.tsx';
import { Path } from '../shell.tsx';

export function Head({ back, name, children }: { back: ReactNode; name: string; children?: ReactNode }) {
  return (
    <>
      <Path>
        {back} / {name}
      </Path>
      <div className="title">
        <h1>{name}</h1>
        {children}
      </div>
    </>
  );
}

export function Id({ what, id, children }: { what: string; id: string; children?: ReactNode }) {
  return (
    <p className="ids">
      <span className="soft">{what}</span> <code className="url">{id}</code> <Copy text={id} />
      {children}
    </p>
  );
}
