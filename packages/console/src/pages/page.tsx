import type { RouteComponent } from '@tanstack/react-router';

/**
 * A route's component which shows a page by what its address says. The page is loaded when it is opened, or a link to it is pointed at. The
 * router hands on what `validateSearch` does not know, too: a page validates what it is shown by once more.
 */
export function page(loaded: Pick<RouteComponent, 'preload'>, shown: RouteComponent): RouteComponent {
  return Object.assign(shown, { preload: () => loaded.preload?.() });
}
