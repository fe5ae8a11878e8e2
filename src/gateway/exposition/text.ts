import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { Exemplar, MetricData, MetricLabels } from './metric-data.ts'

/** Lines that are written before others may run. */
const linesPerSlice = 1000

/** The text format of Prometheus, or that of OpenMetrics, which has exemplars. */
export async function renderText(
  metrics: readonly MetricData[],
  format: 'text' | 'openmetrics' = 'text',
): Promise<string> {
  const isOpen = format === 'openmetrics'
  const lines: string[] = []
  let next = linesPerSlice
  for (const { name, help, type, values } of metrics) {
    const family = isOpen && type === 'counter' ? name.replace(/_total$/, '') : name
    lines.push(
      `# HELP ${family} ${isOpen ? escapeLabel(help) : escapeText(help)}`,
      `# TYPE ${family} ${String(type)}`,
    )
    for (const { metricName = name, labels, value, exemplar } of values) {
      const line = `${metricName}${formatLabels(labels, isOpen)} ${formatValue(value)}`
      lines.push(isOpen && exemplar ? line + formatExemplar(exemplar) : line)
      if (lines.length < next) continue
      next += linesPerSlice
      await yieldToEventLoop()
    }
    // OpenMetrics has no empty lines.
    if (!isOpen) lines.push('')
  }
  lines.push(isOpen ? '# EOF' : '')
  return `${lines.join('\n')}\n`
}

function formatLabels(labels: MetricLabels, isOpen: boolean): string {
  const parts = Object.entries(labels).map(([name, value]) => {
    const text = isOpen && name === 'le' ? formatBound(value) : String(value)
    return `${name}="${escapeLabel(text)}"`
  })
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

/** OpenMetrics wants bounds as floating-point numbers. */
function formatBound(bound: string | number): string {
  return Number.isInteger(Number(bound)) ? `${bound}.0` : String(bound)
}

function formatExemplar({ traceId, spanId, value, at }: Exemplar): string {
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${at / 1000}`
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeText(text).replaceAll('"', '\\"')
}
