/** The accounts: one repository each, every fourth throttled, every fourth with a hook of the organization too. */
import { join } from 'node:path';
import type { Api } from '@gatepost/testkit/api';
import { writePrivate } from '../local/processes/home.ts';
import { secret } from './record.ts';

export type Place = {
  /** `owner/repo`, the subject of its events. */
  subject: string;
  hooks: { id: number; path: string }[];
};

type Size = { accounts: number; eventsPerSecond: number };

const audience = 'http://localhost:4500/';
const scope = ['admin:repo_hook', 'admin:org_hook', 'site_admin'];
const loginOf = (index: number) => `chaos-${String(index + 1).padStart(2, '0')}`;
const isThrottled = (index: number) => index % 4 === 1;
const hasOrganizationHook = (index: number) => index % 4 === 2;

/** Writes the seed file and returns its path. A throttled account's limit is four fifths of what is published for it. */
export function writeSeed(home: string, { accounts, eventsPerSecond }: Size): string {
  const path = join(home, 'chaos-seed.yaml');
  const seed = {
    apis: [{ identifier: audience, scopes: scope }],
    clients: [
      {
        client_id: 'demo-m2m',
        client_secret: 'demo-m2m-secret',
        app_type: 'non_interactive',
        grant_types: ['client_credentials'],
        client_grants: [{ audience, scope }],
      },
    ],
    organizations: Array.from({ length: accounts }, (_, index) => ({
      login: loginOf(index),
      members: [{ subject: 'demo-m2m', role: 'admin' }],
      repositories: ['widgets'],
      ...(isThrottled(index) ? { throttle: { rate: (eventsPerSecond / accounts) * 0.8, burst: 10 } } : {}),
    })),
  };
  writePrivate(path, JSON.stringify(seed)); // JSON is YAML
  return path;
}

/** Registers the hooks, each with its own path at the receiver. */
export async function createHooks(api: Api, url: string, { accounts }: Size): Promise<Place[]> {
  const places: Place[] = [];
  for (let index = 0; index < accounts; index += 1) {
    const login = loginOf(index);
    const subject = `${login}/widgets`;
    const owners = [`repos/${subject}`, ...(hasOrganizationHook(index) ? [`orgs/${login}`] : [])];
    const hooks = [];
    for (const place of owners)
      hooks.push({ id: await api.createHook({ url: `${url}/${place}`, secret }, ['push'], place), path: place });
    places.push({ subject, hooks });
  }
  return places;
}
