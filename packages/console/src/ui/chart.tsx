/** A time series chart by uPlot, with the same data as a table for people who cannot see it. Loaded when a page draws one. */
import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export type Series = {
  label: string;
  values: (number | null)[];
  tone: 'accent' | 'bad' | 'good' | 'soft';
  /** Fills the area below the line. */
  isArea?: boolean;
  isDashed?: boolean;
};

export type ChartProps = {
  title: string;
  /** Its message in a sentence: all that some people hear of it. */
  summary: string;
  /** One per point. */
  times: string[];
  series: Series[];
  /** How a value is written, as in a table. */
  format: (value: number) => string;
  /** The largest possible value, if there is one. */
  max?: number;
};

const height = 200;

export default function Chart({ title, summary, times, series, format, max }: ChartProps) {
  const [isRead, setRead] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data = useMemo(
    () => [times.map((at) => Date.parse(at) / 1000), ...series.map(({ values }) => values)] as uPlot.AlignedData,
    [times, series],
  );
  const latest = useRef({ data, series, format, max });
  latest.current = { data, series, format, max };
  const shape = series.map(({ label, tone }) => `${label} ${tone}`).join();

  // Recreated when colours or lines change; new values alone go into the existing one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` says what of the series matters
  useEffect(() => {
    const element = holder.current!;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest.current, element), latest.current.data, element);
    };
    draw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      dark.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <p className="hint">{summary}</p>
      <div ref={holder} aria-hidden="true" />
      <details onToggle={({ currentTarget }) => setRead(currentTarget.open)}>
        <summary>As a table</summary>
        {isRead && <Table title={title} times={times} series={series} format={format} />}
      </details>
    </figure>
  );
}

function Table({ title, times, series, format }: Omit<ChartProps, 'summary' | 'max'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section className="scroll table" tabIndex={0} aria-label={`${title}, as a table`}>
      <table className="data">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ label }) => (
              <th scope="col" className="number" key={label}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, index) => (
            <tr key={at}>
              <th scope="row">
                <time dateTime={at} title={`${at.slice(0, 16).replace('T', ' ')} UTC`}>
                  {clock.format(new Date(at))}
                </time>
              </th>
              {series.map(({ label, values }) => (
                <td className="number" key={label}>
                  {show(values[index], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'short' });
const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const days = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const daySeconds = 86_400;

const show = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);

type Drawn = Pick<ChartProps, 'series' | 'format' | 'max'>;

function optionsOf({ series, format, max }: Drawn, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const font = `12px ${style.fontFamily}`;
  const lines = { stroke: colour('soft'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font };
  return {
    width: element.clientWidth,
    height,
    cursor: { drag: { x: false, y: false }, sync: { key: 'overview' } },
    scales: { y: { range: (_plot, _low, high) => [0, max ?? (high > 0 ? high * 1.1 : 4)] } },
    axes: [
      {
        ...lines,
        space: 90,
        size: 32,
        values: (plot, ticks) => {
          const { min = 0, max: until = 0 } = plot.scales.x ?? {};
          const written = (until ?? 0) - (min ?? 0) > daySeconds * 1.5 ? days : hours;
          return ticks.map((tick) => written.format(new Date(tick * 1000)));
        },
      },
      { ...lines, size: 64, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      { label: 'Time', value: (_plot, at) => (at === null ? '' : clock.format(new Date(at * 1000))) },
      ...series.map(({ label, tone, isArea, isDashed }, index): uPlot.Series => {
        const stroke = colour(tone);
        return {
          label,
          stroke,
          width: 1.5,
          spanGaps: true,
          // A line with a single point is invisible.
          points: {
            show: (plot) => Array.from(plot.data[index + 1]!, (value) => value != null).filter(Boolean).length < 20,
          },
          // Unless something is pointed at, the legend only names the lines.
          value: (_plot, value, _series, at) => (at === null ? '' : show(value, format)),
          ...(isArea && { fill: `${stroke}33` }),
          ...(isDashed && { dash: [4, 4] }),
        };
      }),
    ],
  };
}
