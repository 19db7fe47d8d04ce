import { useEffect } from 'react';

/** What the tab of the browser says while a page is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Gatepost`;
    return () => {
      document.title = 'Gatepost';
    };
  }, [title]);
}
