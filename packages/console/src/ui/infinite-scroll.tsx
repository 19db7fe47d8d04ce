import { useEffect, useRef } from 'react';
import { Button } from 'react-aria-components';

/** The end of a list: loads more when scrolled into view, with a button for those who do not scroll. */
export function InfiniteScroll({
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
