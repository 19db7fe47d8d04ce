import { useEffect, useRef } from 'react';
import { Button } from 'react-aria-components';

/** At the end of a list: reads on when it is scrolled to, and for those who do not scroll there is a button. */
export function Endless({
  label,
  hasNextPage,
  isFetching,
  fetchNextPage,
}: {
  label: string;
  hasNextPage: boolean;
  isFetching: boolean;
  fetchNextPage: () => unknown;
}) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!end.current || !hasNextPage || isFetching) return;
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage(), {
      rootMargin: '400px',
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [fetchNextPage, hasNextPage, isFetching]);
  return (
    <div ref={end}>
      {hasNextPage && (
        <Button className="button" onPress={() => fetchNextPage()} isDisabled={isFetching}>
          {label}
        </Button>
      )}
    </div>
  );
}
