/** The content of the navigation. */
import type { LinkProps } from '@tanstack/react-router';

export type NavigationItem = { to: NonNullable<LinkProps['to']>; text: string };
