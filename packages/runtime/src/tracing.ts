/**
 * OpenTelemetry traces (docs/observability.md), written by hand where our work begins and ends. Off, which is the default, `tracing` is
 * undefined and nothing of OpenTelemetry is loaded. What is passed on and stored of a trace is always one text, `traceparent`
 * (https://www.w3.org/TR/trace-context/#traceparent-header).
 */
import type { Log } from './log.ts';

export type Attributes = Record<string, string | number | boolean | undefined>;

export type Span = {
  /** For whatever follows from this, wherever it is done. */
  traceparent: string;
  /** `error`: what failed, if it did; `name` takes the place of the one that it began with. */
  end(attributes?: Attributes, error?: string, name?: string): void;
};

export type Begin = {
  kind: 'server' | 'client' | 'consumer' | 'internal';
  /** A traceparent; anything that is none begins a trace. */
  parent: unknown;
  attributes?: Attributes;
  /** When it began, if not now (ms since 1970). */
  beganAtMs?: number;
};

/** A request that is being answered. */
export type Scope = {
  /** All that follows from `work` is done for this request. */
  run<T>(work: () => T): T;
  /** Of its trace. It belongs to that from then on. */
  traceId(): string;
  end(name: string, attributes: Attributes, error?: string): void;
};

export type Tracing = {
  begin(name: string, begin: Begin): Span;
  openScope(parent: unknown): Scope;
  /** Of the request that is being answered: what is to be handed on. */
  current(): string | undefined;
  /** Of that request's trace. Where nothing has said yet which that is: undefined, or, with `surely`, the one that it then belongs to. */
  traceId(surely: boolean): string | undefined;
  /** The request that is being answered belongs to this trace, as something that it found says; the first one holds. */
  join(traceparent: unknown): void;
  /** Sends what is not sent yet. */
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

/** Begins to trace, if the environment says so. */
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
