import { useEffect } from 'react';

/** The title of the browser tab while a page is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Gatepost`;
    return () => {
      document.title = 'Gatepost';
    };
  }, [title]);
}
