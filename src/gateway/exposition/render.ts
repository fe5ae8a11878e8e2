import type { MetricData } from './metric-data.ts'
import { contentTypes, negotiateFormat } from './negotiate.ts'
import { renderProtobuf } from './protobuf.ts'
import { renderText } from './text.ts'

/** Metrics as the response to a scraper that accepts `accept`. */
export async function renderMetrics(
  metrics: readonly MetricData[],
  accept: string | null,
): Promise<Response> {
  const format = negotiateFormat(accept)
  const body =
    format === 'protobuf' ? new Uint8Array(await renderProtobuf(metrics)) : await renderText(metrics, format)
  return new Response(body, { headers: { 'content-type': contentTypes[format], vary: 'accept' } })
}
