import type { Schemas } from '../../api/client.ts'
import { formatExactMoney } from '../../format/money.ts'
import { formatCount, formatDuration } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'

/** What is known of a request. */
export interface ComparedRequest {
  request: Schemas['LoggedRequest']
  routing: Schemas['RequestExplanation']['routing']
}

export interface ComparedField {
  label: string
  values: [string, string]
  isDifferent: boolean
}

type Read = (request: Schemas['LoggedRequest']) => string | null

const count = (value: number | null) => (value === null ? null : formatCount(value))
const duration = (value: number | null) => (value === null ? null : formatDuration(value))

const fields: Record<string, Read> = {
  Time: ({ created_at }) => formatTime(created_at),
  Status: ({ status }) => status,
  Error: ({ error_code }) => error_code,
  'Requested model': ({ requested_model }) => requested_model,
  Model: ({ model }) => model,
  Provider: ({ provider_name }) => provider_name,
  Endpoint: ({ endpoint }) => endpoint,
  'BYOK key': ({ is_byok }) => (is_byok ? 'yes' : 'no'),
  'Response cache': ({ is_cached }) => (is_cached ? 'yes' : 'no'),
  Format: ({ format }) => format,
  Streamed: ({ streamed }) => (streamed ? 'yes' : 'no'),
  Preset: ({ preset_id }) => preset_id,
  Key: ({ key }) => key?.name ?? null,
  Member: ({ user }) => user?.name ?? user?.id ?? null,
  Workspace: ({ workspace }) => workspace.name ?? workspace.id,
  App: ({ app }) => app?.title ?? app?.url ?? null,
  Session: ({ session_id }) => session_id,
  'End user': ({ external_user }) => external_user,
  Tags: ({ tags }) => tags.join(', '),
  'Finish reason': ({ finish_reason }) => finish_reason,
  'Tokens in': ({ tokens_prompt }) => count(tokens_prompt),
  'Tokens from a cache': ({ tokens_cached }) => count(tokens_cached),
  'Tokens out': ({ tokens_completion }) => count(tokens_completion),
  Charged: ({ cost }) => formatExactMoney(cost),
  Duration: ({ latency }) => duration(latency),
  'First token': ({ first_token }) => duration(first_token),
  Attempts: ({ attempts }) => String(attempts),
}

/** Characters of a value that are shown. */
const maxLength = 500

/** The figures and parameters of two requests, side by side. */
export function compareFields(one: ComparedRequest, other: ComparedRequest): ComparedField[] {
  const known = Object.entries(fields).map(([label, read]) =>
    toField(label, read(one.request), read(other.request)),
  )
  const options = [paramsOf(one), paramsOf(other)] as const
  const names = [...new Set(options.flatMap((params) => Object.keys(params)))].sort()
  return [
    ...known,
    ...names.map((name) => toField(`Routing: ${name}`, write(options[0][name]), write(options[1][name]))),
  ]
}

function paramsOf({ routing }: ComparedRequest): Record<string, unknown> {
  return routing === null ? {} : { strategy: routing.strategy, ...routing.params }
}

function write(value: unknown): string | null {
  return value === undefined || typeof value === 'string' ? (value ?? null) : JSON.stringify(value)
}

function toField(label: string, one: string | null, other: string | null): ComparedField {
  return { label, values: [show(one), show(other)], isDifferent: (one ?? '') !== (other ?? '') }
}

function show(value: string | null): string {
  if (value === null || value === '') return '–'
  return value.length > maxLength ? `${value.slice(0, maxLength)}…` : value
}
