import { join } from 'node:path'

/** Interpreter with which scripts/test.mjs installed the definitions of OpenTelemetry. */
const python = process.env.TEST_OTLP_PYTHON ?? ''

/** The test runner fails in CI when there is no decoder. */
export const hasOtlpDecoder = python !== ''

export type OtlpBody = { contentType: string; bytes: Uint8Array }

export interface OtlpRequest {
  resourceSpans?: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: KeyValue[]
  status: { code?: string; message?: string }
}

interface KeyValue {
  key: string
  value: {
    stringValue?: string
    intValue?: string
    doubleValue?: number
    boolValue?: boolean
    arrayValue?: { values?: KeyValue['value'][] }
  }
}

/** Decodes export requests with the protobuf definitions of the OpenTelemetry project. */
export async function decodeExports<T = OtlpRequest>(
  bodies: readonly OtlpBody[],
  signal: 'traces' | 'metrics' = 'traces',
): Promise<T[]> {
  const lines = bodies.map(({ contentType, bytes }) =>
    JSON.stringify(
      contentType === 'application/json'
        ? { signal, json: Buffer.from(bytes).toString() }
        : { signal, protobuf: Buffer.from(bytes).toString('base64') },
    ),
  )
  const child = Bun.spawn([python, join(import.meta.dir, 'otlp-decoder', 'decode.py')], {
    stdin: Buffer.from(lines.map((line) => `${line}\n`).join('')),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(errors)
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}

export function listSpans({ resourceSpans = [] }: OtlpRequest): OtlpSpan[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

export function readAttributes(holder: { attributes?: KeyValue[] } | undefined): Record<string, unknown> {
  return Object.fromEntries((holder?.attributes ?? []).map(({ key, value }) => [key, readValue(value)]))
}

function readValue(value: KeyValue['value']): unknown {
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(readValue)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.doubleValue ?? value.boolValue
}
