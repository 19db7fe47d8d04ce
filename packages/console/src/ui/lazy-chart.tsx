import { lazy, Suspense } from 'react';
import type { ChartProps } from './chart.tsx';

const Loaded = lazy(() => import('./chart.tsx'));

/** A chart, whose library comes when the first one is drawn. */
export function Chart(props: ChartProps) {
  return (
    <Suspense
      fallback={
        <figure className="chart">
          <figcaption>{props.title}</figcaption>
          <p className="hint">{props.summary}</p>
          <div className="blank" />
        </figure>
      }
    >
      <Loaded {...props} />
    </Suspense>
  );
}
