/** The formats of `GET /metrics`. */
export type ExpositionFormat = 'text' | 'openmetrics' | 'protobuf'

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  protobuf: 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
}

const maxAcceptLength = 2000

/** What a scraper prefers of the formats. Anything else gets the text format, as every scraper reads it. */
export function negotiateFormat(accept: string | null): ExpositionFormat {
  let best: { format: ExpositionFormat; quality: number } = { format: 'text', quality: 0 }
  for (const range of (accept ?? '').slice(0, maxAcceptLength).split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const values = new Map(parameters.map((parameter) => splitParameter(parameter)))
    const format = findFormat(type, values)
    const quality = Number(values.get('q') ?? 1)
    if (format && quality > best.quality) best = { format, quality }
  }
  return best.format
}

function splitParameter(parameter: string): [string, string] {
  const [name = '', value = ''] = parameter.split('=')
  return [name.trim(), value.trim().replaceAll('"', '')]
}

function findFormat(type: string, parameters: ReadonlyMap<string, string>): ExpositionFormat | null {
  if (type === 'text/plain') return 'text'
  if (type === 'application/openmetrics-text')
    return ['1.0.0', '0.0.1', undefined].includes(parameters.get('version')) ? 'openmetrics' : null
  if (type !== 'application/vnd.google.protobuf') return null
  const isKnown =
    parameters.get('proto') === 'io.prometheus.client.metricfamily' &&
    parameters.get('encoding') === 'delimited'
  return isKnown ? 'protobuf' : null
}
