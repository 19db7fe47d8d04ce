/** The route template a response belongs to, for metrics and logs: never a path, which may hold an id. */
import type { ServerResponse } from 'node:http';

const routes = new WeakMap<ServerResponse, string>();

export function setRoute(response: ServerResponse, route: string): void {
  routes.set(response, route);
}

export function routeOf(response: ServerResponse): string {
  return routes.get(response) ?? 'unknown';
}
