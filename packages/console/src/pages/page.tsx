import type { RouteComponent } from '@tanstack/react-router';

/**
 * A route's component, which shows a page from its address. The page is loaded when it is opened or a link to it is pointed at. The router also
 * passes on what `validateSearch` does not know, so a page validates its search once more.
 */
export function page(loaded: Pick<RouteComponent, 'preload'>, shown: RouteComponent): RouteComponent {
  return Object.assign(shown, { preload: () => loaded.preload?.() });
}
