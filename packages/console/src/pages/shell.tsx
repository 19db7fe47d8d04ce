/** What stands around every page: where one is, who one is. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import { useConsole } from '../session/context.ts';

export function Shell({ children }: { children: ReactNode }) {
  const { session } = useConsole();
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <Link to="/" className="brand">
          Gatepost
        </Link>
        <nav aria-label="Main">
          <Link to="/" activeOptions={{ exact: true }}>
            Accounts
          </Link>
        </nav>
        <span className="person">
          <span className="name">{session.person.name}</span>
          <Button className="button small" onPress={() => session.signOut()}>
            Sign out
          </Button>
        </span>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** The way from the top to this page. */
export function Path({ children }: { children: ReactNode }) {
  return (
    <nav className="path" aria-label="Breadcrumb">
      {children}
    </nav>
  );
}
