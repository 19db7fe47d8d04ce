/** The organizations that one belongs to, and what one may do there. */
import { useQuery } from '@tanstack/react-query';
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

/** Who administers the installation is an admin of each of its organizations. undefined: not known yet; null: no member. */
export function useRole(owner: string): { role: Membership['role'] | null | undefined; error: Error | null } {
  const { isSiteAdmin } = useConsole();
  const { data, error } = useMemberships();
  if (isSiteAdmin) return { role: 'admin', error: null };
  const own = data?.find(({ organization }) => organization.login.toLowerCase() === owner.toLowerCase());
  return { role: data && (own?.role ?? null), error };
}
