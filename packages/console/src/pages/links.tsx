/** Links to a hook's pages, whose addresses depend on its place. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Place } from '../api/place.ts';
import type { HookSearch } from './hook-search.ts';

export function LinkToPlace({ place }: { place: Place }) {
  return (
    <Link to="/accounts/$owner" params={{ owner: place.owner }}>
      {place.owner}
    </Link>
  );
}

/** `isMain`: the page's main link, rather than one per row. */
export function LinkToNewHook({ place: { owner, repo }, isMain = false }: { place: Place; isMain?: boolean }) {
  const text = 'New hook';
  const look = isMain ? 'button primary' : 'button small';
  return repo === undefined ? (
    <Link className={look} to="/orgs/$owner/hooks/new" params={{ owner }}>
      {text}
    </Link>
  ) : (
    <Link className={look} to="/repos/$owner/$repo/hooks/new" params={{ owner, repo }}>
      {text}
    </Link>
  );
}

export function LinkToHook({
  place: { owner, repo },
  hookId,
  search = {},
  className,
  children,
}: {
  place: Place;
  hookId: string;
  search?: HookSearch;
  className?: string;
  children: ReactNode;
}) {
  const activeOptions = { exact: true, includeSearch: true };
  const common = { search, className, activeOptions, children };
  return repo === undefined ? (
    <Link to="/orgs/$owner/hooks/$hookId" params={{ owner, hookId }} {...common} />
  ) : (
    <Link to="/repos/$owner/$repo/hooks/$hookId" params={{ owner, repo, hookId }} {...common} />
  );
}

export function LinkToDelivery({
  place: { owner, repo },
  hookId,
  deliveryId,
  className,
  children,
}: {
  place: Place;
  hookId: string;
  deliveryId: number;
  className?: string;
  children: ReactNode;
}) {
  const common = { className, children };
  const ids = { owner, hookId, deliveryId: String(deliveryId) };
  return repo === undefined ? (
    <Link to="/orgs/$owner/hooks/$hookId/deliveries/$deliveryId" params={ids} {...common} />
  ) : (
    <Link to="/repos/$owner/$repo/hooks/$hookId/deliveries/$deliveryId" params={{ ...ids, repo }} {...common} />
  );
}
