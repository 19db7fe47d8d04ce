/** What stands in the navigation. */
import type { LinkProps } from '@tanstack/react-router';

export type NavigationItem = { to: NonNullable<LinkProps['to']>; text: string };
