/**
 * OpenTelemetry traces (docs/observability.md), instrumented by hand where our work begins and ends. When off, which is the default, `tracing`
 * is undefined and OpenTelemetry is not loaded. A trace is always passed on and stored as one text, `traceparent`
 * (https://www.w3.org/TR/trace-context/#traceparent-header).
 */
import type { Log } from './log.ts';

export type Attributes = Record<string, string | number | boolean | undefined>;

export type Span = {
  /** For everything that follows from this, wherever it is done. */
  traceparent: string;
  /** `error`: what failed, if anything; `name` replaces the initial one. */
  end(attributes?: Attributes, error?: string, name?: string): void;
};

export type Begin = {
  kind: 'server' | 'client' | 'consumer' | 'internal';
  /** A traceparent; anything else starts a new trace. */
  parent: unknown;
  attributes?: Attributes;
  /** When it began, if not now (ms since 1970). */
  beganAtMs?: number;
};

/** A request that is being answered. */
export type Scope = {
  /** Everything that `work` causes belongs to this request. */
  run<T>(work: () => T): T;
  /** The id of its trace, which is settled from then on. */
  traceId(): string;
  end(name: string, attributes: Attributes, error?: string): void;
};

export type Tracing = {
  begin(name: string, begin: Begin): Span;
  openScope(parent: unknown): Scope;
  /** The traceparent of the current request, to be passed on. */
  current(): string | undefined;
  /** The current request's trace id. Before its trace is known: undefined or, with `surely`, that of the trace it is then settled to. */
  traceId(surely: boolean): string | undefined;
  /** The current request belongs to this trace, as something it found says; the first call counts. */
  join(traceparent: unknown): void;
  /** Sends pending spans. */
  close(): Promise<void>;
};

export type TracingEnv = {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  OTEL_TRACES_SAMPLER: string;
  OTEL_TRACES_SAMPLER_ARG: number;
};

/** Undefined unless this process traces. */
export let tracing: Tracing | undefined;

/** Starts tracing if the environment says so. */
export async function startTracing(service: string, env: TracingEnv, log: Log): Promise<void> {
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return;
  const { openTracing } = await import('./otlp.ts');
  const opened = openTracing(service, env, log);
  tracing = {
    ...opened,
    close() {
      tracing = undefined;
      return opened.close();
    },
  };
}
