import { ConfigError, type Environment, readInteger, readUrl } from './values.ts'

/** The variables that OpenTelemetry specifies for exporters. */
export interface OtlpExporterConfig {
  /** The full URL for the signal. */
  endpoint: string
  headers: Readonly<Record<string, string>>
  protocol: OtlpProtocol
  serviceName: string
}

export interface TracingConfig extends OtlpExporterConfig {
  sampler: SamplerConfig
}

export interface MetricsExportConfig extends OtlpExporterConfig {
  intervalMs: number
  histograms: 'explicit' | 'exponential'
}

/** OpenTelemetry's names of the buckets of histograms. */
const histogramKinds: Record<string, MetricsExportConfig['histograms']> = {
  explicit_bucket_histogram: 'explicit',
  base2_exponential_bucket_histogram: 'exponential',
}

export interface SamplerConfig {
  /** A request that belongs to a trace of its client is sampled as the client decided. */
  isParentBased: boolean
  /** Share of sampled requests, from 0 to 1. */
  ratio: number
}

const otlpProtocols = ['http/protobuf', 'http/json'] as const
export type OtlpProtocol = (typeof otlpProtocols)[number]

/** The ratio is that of OTEL_TRACES_SAMPLER_ARG where it is null. */
const samplers: Record<string, { isParentBased: boolean; ratio: number | null }> = {
  always_on: { isParentBased: false, ratio: 1 },
  always_off: { isParentBased: false, ratio: 0 },
  traceidratio: { isParentBased: false, ratio: null },
  parentbased_always_on: { isParentBased: true, ratio: 1 },
  parentbased_always_off: { isParentBased: true, ratio: 0 },
  parentbased_traceidratio: { isParentBased: true, ratio: null },
}

/** The variables for a signal override those for all. */
export function readTracing(environment: Environment, secrets: Environment): TracingConfig | null {
  const exporter = readExporter('TRACES', environment, secrets)
  if (exporter === null) return null
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument } = environment
  return { ...exporter, sampler: readSampler(sampler, argument) }
}

/**
 * Needs an endpoint for metrics, or OTEL_METRICS_EXPORTER: a receiver of traces at the common endpoint may accept nothing
 * else.
 */
export function readMetricsExport(
  environment: Environment,
  secrets: Environment,
): MetricsExportConfig | null {
  const { OTEL_METRICS_EXPORTER: name = '', OTEL_METRIC_EXPORT_INTERVAL: interval } = environment
  if (name !== '' && name !== 'otlp' && name !== 'none')
    throw new ConfigError(`OTEL_METRICS_EXPORTER must be otlp or none, not "${name}".`)
  if (name === 'none') return null
  if (name === '' && !environment.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT) return null
  const exporter = readExporter('METRICS', environment, secrets)
  if (exporter === null)
    throw new ConfigError(
      'OTEL_METRICS_EXPORTER needs OTEL_EXPORTER_OTLP_ENDPOINT, the receiver of the metrics.',
    )
  const intervalMs = readInteger('OTEL_METRIC_EXPORT_INTERVAL', interval, 60_000, [1000, 99_999])
  return { ...exporter, intervalMs, histograms: readHistogramKind(environment) }
}

const histogramVariable = 'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION'

function readHistogramKind(environment: Environment): MetricsExportConfig['histograms'] {
  const name = environment[histogramVariable] || 'explicit_bucket_histogram'
  const kind = histogramKinds[name.toLowerCase()]
  if (kind) return kind
  const names = Object.keys(histogramKinds).join(', ')
  throw new ConfigError(`${histogramVariable} must be one of ${names}, not "${name}".`)
}

type Signal = 'TRACES' | 'METRICS'

function readExporter(
  signal: Signal,
  environment: Environment,
  secrets: Environment,
): OtlpExporterConfig | null {
  const prefix = `OTEL_EXPORTER_OTLP_${signal}`
  const endpoint = readEndpoint(signal, environment)
  if (endpoint === null) return null
  const protocol = environment[`${prefix}_PROTOCOL`]
  return {
    endpoint,
    headers: {
      ...readHeaders('OTEL_EXPORTER_OTLP_HEADERS', secrets.OTEL_EXPORTER_OTLP_HEADERS),
      ...readHeaders(`${prefix}_HEADERS`, secrets[`${prefix}_HEADERS`]),
    },
    protocol: protocol
      ? readProtocol(`${prefix}_PROTOCOL`, protocol)
      : readProtocol('OTEL_EXPORTER_OTLP_PROTOCOL', environment.OTEL_EXPORTER_OTLP_PROTOCOL),
    serviceName: environment.OTEL_SERVICE_NAME || 'headgate',
  }
}

function readEndpoint(signal: Signal, environment: Environment): string | null {
  const name = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, [name]: own } = environment
  if (own) return readExporterUrl(name, own).href
  if (!base) return null
  const url = readExporterUrl('OTEL_EXPORTER_OTLP_ENDPOINT', base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`
  return url.href
}

function readExporterUrl(name: string, text: string): URL {
  const url = new URL(readUrl(name, text, ['http:', 'https:']) ?? text)
  if (url.username || url.password)
    throw new ConfigError(`${name} must not contain a user name or password. Use OTEL_EXPORTER_OTLP_HEADERS.`)
  return url
}

function readProtocol(name: string, text: string | undefined): OtlpProtocol {
  if (!text) return 'http/protobuf'
  const protocol = otlpProtocols.find((known) => known === text)
  if (protocol) return protocol
  throw new ConfigError(`${name} must be one of ${otlpProtocols.join(', ')}, not "${text}".`)
}

/** `name=value,name=value`, percent-encoded. The value is not in the message: headers contain keys. */
function readHeaders(name: string, text = ''): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  const headers = pairs.map((pair) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair))
  return Object.fromEntries(
    headers.map((header) => {
      const value = decodeHeader(header?.[2] ?? '')
      if (header?.[1] && value !== null) return [header[1].toLowerCase(), value]
      throw new ConfigError(`${name} must be a list such as name=value,name=value, percent-encoded.`)
    }),
  )
}

function decodeHeader(text: string): string | null {
  try {
    const value = decodeURIComponent(text)
    return /^[\t\x20-\x7e]*$/.test(value) ? value : null
  } catch {
    return null
  }
}

function readSampler(name: string | undefined, argument: string | undefined): SamplerConfig {
  const sampler = samplers[name || 'parentbased_always_on']
  if (!sampler)
    throw new ConfigError(
      `OTEL_TRACES_SAMPLER must be one of ${Object.keys(samplers).join(', ')}, not "${name}".`,
    )
  if (sampler.ratio !== null) return { ...sampler, ratio: sampler.ratio }
  const ratio = /^(?:0|1|0?\.\d{1,15}|1\.0+)$/.test(argument || '1') ? Number(argument || '1') : Number.NaN
  if (ratio <= 1) return { ...sampler, ratio }
  throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG must be a ratio from 0 to 1 such as 0.1, not "${argument}".`)
}
