import { lazy, Suspense, useEffect } from 'react';
import type { ChartProps } from './chart.tsx';

const load = () => import('./chart.tsx');
const Loaded = lazy(load);

/** Starts loading the library while the data is still being fetched. */
export function useCharts(): void {
  useEffect(() => void load(), []);
}

/** A chart whose library loads when the first one is drawn. */
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
