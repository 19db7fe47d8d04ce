/** The start of each gate page: tells those who may not see it, and lets the page know what else the person may do. */
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, createContext, type ReactNode, use } from 'react';
import type { Management } from '../../api/management.ts';
import { Empty, Loading, Problem } from '../../ui/states.tsx';
import { useTitle } from '../../ui/title.ts';
import { scopesQuery, useManagement } from './navigation.ts';
import './gate.css';

type Gate = { api: Management; may(scope: string): boolean };
const GateContext = createContext<Gate | null>(null);

/** The management API and the person's permissions there; anything not permitted is not shown. */
export function useGate(): Gate {
  const gate = use(GateContext);
  if (!gate) throw new Error('outside of the gate’s pages');
  return gate;
}

export function gatePage<P extends object>(
  title: string,
  scope: string,
  Page: ComponentType<P>,
): (props: P) => ReactNode {
  return function GatePage(props: P) {
    const api = useManagement();
    const { data, error, refetch } = useQuery(scopesQuery(api));
    useTitle(title);
    // Known data stays: replacing the page with an error would discard what somebody has typed.
    if (error && !data) return <Problem error={error} onRetry={refetch} isPage />;
    if (!data) return <Loading what="your permissions" />;
    if (!data.has(scope))
      return (
        <Empty title="Only administrators of the gate can see this page" isPage>
          <p>
            You need the permission <code>{scope}</code> of the management API. An administrator of the gate can give it
            to you with a role.
          </p>
        </Empty>
      );
    return (
      <GateContext value={{ api, may: (wanted) => data.has(wanted) }}>
        <Page {...props} />
      </GateContext>
    );
  };
}
