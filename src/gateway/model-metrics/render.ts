import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { MetricData } from '../worker-protocol.ts'

/** Lines that are written before others may run. */
const linesPerSlice = 1000

/** The text format of Prometheus. */
export async function renderMetrics(metrics: readonly MetricData[]): Promise<string> {
  const lines: string[] = []
  let next = linesPerSlice
  for (const { name, help, type, values } of metrics) {
    lines.push(`# HELP ${name} ${escapeText(help)}`, `# TYPE ${name} ${type}`)
    for (const { metricName = name, labels, value } of values) {
      lines.push(`${metricName}${formatLabels(labels)} ${value}`)
      if (lines.length < next) continue
      next += linesPerSlice
      await yieldToEventLoop()
    }
    lines.push('')
  }
  return `${lines.join('\n')}\n`
}

function formatLabels(labels: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeText(text).replaceAll('"', '\\"')
}
