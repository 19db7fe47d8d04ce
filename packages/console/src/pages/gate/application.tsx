/** One application: its settings, code that uses it, its credentials, what it may call, and whether it works. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Application } from '../../api/management-types.ts';
import { isInTheWay, Loading, Problem } from '../../ui/states.tsx';
import { useTitle } from '../../ui/title.ts';
import { gatePage, useGate } from './gate-page.tsx';
import { Head, Id } from './head.tsx';
import { kinds } from './kinds.ts';
import { type ApplicationSearch, type ApplicationTab, applicationTabs } from './search.ts';

const Settings = lazy(async () => ({ default: (await import('./application-settings.tsx')).ApplicationSettings }));
const Credentials = lazy(async () => ({ default: (await import('./credentials.tsx')).Credentials }));
const Grants = lazy(async () => ({ default: (await import('./application-apis.tsx')).ApplicationApis }));
const QuickStart = lazy(async () => ({ default: (await import('./quick-start.tsx')).QuickStart }));
const TrySignIn = lazy(async () => ({ default: (await import('./try-sign-in.tsx')).TrySignIn }));

export const applicationKey = (clientId: string) => ['gate', 'application', clientId];

export const ApplicationPage = gatePage(
  'Application',
  'read:clients',
  ({ clientId, search }: { clientId: string; search: ApplicationSearch }) => {
    const { api, may } = useGate();
    const { data, error, refetch } = useQuery({
      queryKey: applicationKey(clientId),
      queryFn: ({ signal }) => api.get<Application>(`/clients/${encodeURIComponent(clientId)}`, signal),
    });
    useTitle(data?.name ?? 'Application');
    if (isInTheWay(error, data)) return <Problem error={error} onRetry={refetch} isPage />;
    if (!data) return <Loading what="the application" />;
    const isMachine = data.app_type === 'non_interactive';
    const hidden: Partial<Record<ApplicationTab, boolean>> = {
      try: isMachine || !data.grant_types.includes('authorization_code'),
      apis: !may('read:client_grants') || !may('read:resource_servers'),
    };
    const tabs = (Object.keys(applicationTabs) as ApplicationTab[]).filter((tab) => !hidden[tab]);
    const tab = search.tab && tabs.includes(search.tab) ? search.tab : 'settings';
    return (
      <>
        <Head back={<Link to="/gate/applications">Applications</Link>} name={data.name}>
          <span className="tag">{kinds[data.app_type]?.text ?? data.app_type}</span>
          {!data.is_first_party && <span className="tag">third party</span>}
        </Head>
        <Id what="Client ID" id={data.client_id}>
          {may('read:logs') && (
            <Link to="/gate/log" search={{ client: data.client_id }}>
              Log
            </Link>
          )}
        </Id>
        <nav className="tabs" aria-label="Application">
          {tabs.map((name) => (
            <Link
              key={name}
              to="/gate/applications/$clientId"
              params={{ clientId }}
              search={name === 'settings' ? {} : { tab: name }}
              activeOptions={{ exact: true, includeSearch: true }}
            >
              {applicationTabs[name]}
            </Link>
          ))}
        </nav>
        <Suspense fallback={<Loading what="the page" />}>
          {tab === 'settings' && <Settings key={clientId} application={data} />}
          {tab === 'start' && <QuickStart application={data} />}
          {tab === 'credentials' && <Credentials application={data} />}
          {tab === 'apis' && <Grants application={data} />}
          {tab === 'try' && <TrySignIn application={data} />}
        </Suspense>
      </>
    );
  },
);
