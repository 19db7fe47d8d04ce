/** The organizations that the person belongs to, and their role there. */
import { useQuery } from '@tanstack/react-query';
import { ApiProblem } from '../api/client.ts';
import type { Membership } from '../api/types.ts';
import { useConsole } from '../session/context.ts';

export function useMemberships() {
  const { api } = useConsole();
  return useQuery({
    queryKey: ['memberships'],
    queryFn: async ({ signal }) => {
      const all: Membership[] = [];
      for (let path: string | null = '/user/memberships/orgs?per_page=100'; path !== null; ) {
        const { rows, next }: { rows: Membership[]; next: string | null } = await api.page<Membership>(path, signal);
        all.push(...rows);
        path = next;
      }
      return all;
    },
    staleTime: 60_000,
  });
}

/**
 * An administrator of the installation is an admin of every organization, until it turns out that there is none of this name. undefined: not
 * known yet; null: not a member, or no such organization.
 */
export function useRole(owner: string): { role: Membership['role'] | null | undefined; error: Error | null } {
  const { api, isSiteAdmin } = useConsole();
  const { data, error } = useMemberships();
  const organization = useQuery({
    queryKey: ['organization', owner],
    queryFn: ({ signal }) => api.get(`/orgs/${encodeURIComponent(owner)}`, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isSiteAdmin,
  });
  if (isSiteAdmin) return { role: isNone(organization.error) ? null : 'admin', error: null };
  const own = data?.find(({ organization }) => organization.login.toLowerCase() === owner.toLowerCase());
  return { role: data && (own?.role ?? null), error };
}

const isNone = (error: unknown): boolean => error instanceof ApiProblem && error.status === 404;
