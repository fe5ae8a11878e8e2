import type { TracingConfig } from '../../config.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { loadOtlpEncoder } from './otlp-encoder.ts'
import { SpanExporter } from './span-exporter.ts'
import { Tracer } from './tracer.ts'

/** Called at the start, so that loading the library delays no request. */
export async function openTracer(
  config: TracingConfig,
  { clock, log, metrics }: Pick<Gateway, 'clock' | 'log' | 'metrics'>,
): Promise<Tracer> {
  const exporter = new SpanExporter(config, await loadOtlpEncoder(config), log)
  metrics.registerTraces(exporter)
  return new Tracer(exporter, config.sampler, clock)
}
