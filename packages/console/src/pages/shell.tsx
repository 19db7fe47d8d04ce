/** The frame of every page: navigation, and who is signed in. */
import { Link, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import { useConsole } from '../session/context.ts';
import { useFocusKept } from '../ui/focus.ts';
import { Offline } from '../ui/offline.tsx';
import { forgetUnsavedInput } from '../ui/unsaved-input.ts';
import { useGateNavigation } from './gate/navigation.ts';
import type { NavigationItem } from './navigation.ts';
import { SignInAgain } from './sign-in-again.tsx';
import { Unsaved } from './unsaved.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const { session } = useConsole();
  const [isOpen, setOpen] = useState(false);
  const navId = useId();
  const address = useRouterState({ select: ({ location }) => location.pathname });
  useFocusKept(address);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page begins anew
  useEffect(() => {
    setOpen(false);
    forgetUnsavedInput();
  }, [address]);
  const menu = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return;
      setOpen(false);
      menu.current?.focus();
    };
    document.addEventListener('keydown', close);
    return () => document.removeEventListener('keydown', close);
  }, [isOpen]);
  return (
    <>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Button
          ref={menu}
          className="button small menu"
          aria-expanded={isOpen}
          aria-controls={navId}
          onPress={() => setOpen(!isOpen)}
        >
          Menu
        </Button>
        <Link to="/" className="brand">
          Gatepost
        </Link>
        <span className="person">
          <span className="name">{session.person.name}</span>
          <Button className="button small" onPress={() => session.signOut()}>
            Sign out
          </Button>
        </span>
      </header>
      <div className="frame">
        <nav id={navId} className={isOpen ? 'side open' : 'side'} aria-label="Main">
          <Part title="The post" items={usePostNavigation()} />
          <Part title="The gate" items={useGateNavigation()} />
        </nav>
        <main id="content" tabIndex={-1}>
          <Offline />
          {children}
        </main>
      </div>
      <SignInAgain />
      <Unsaved />
    </>
  );
}

function usePostNavigation(): NavigationItem[] {
  const { isSiteAdmin } = useConsole();
  if (!isSiteAdmin) return [{ to: '/accounts', text: 'Accounts' }];
  return [
    { to: '/', text: 'Overview' },
    { to: '/accounts', text: 'Accounts' },
    { to: '/dead-letters', text: 'Dead letters' },
  ];
}

function Part({ title, items }: { title: string; items: NavigationItem[] }) {
  const id = useId();
  if (items.length === 0) return null;
  return (
    <>
      <p id={id}>{title}</p>
      <ul aria-labelledby={id}>
        {items.map(({ to, text }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to === '/' }}>
              {text}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The path from the top to this page. */
export function Path({ children }: { children: ReactNode }) {
  return (
    <nav className="path" aria-label="Breadcrumb">
      {children}
    </nav>
  );
}
