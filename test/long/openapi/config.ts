import { loadOperations } from '../../../src/api/all.ts'
import type { Operation } from '../../../src/http/operation.ts'
import { infoOf } from '../../../src/identity/permissions/permissions.ts'
import { unstated } from './exceptions.ts'

const operations = await loadOperations()

/** A member is signed in, and calls what no key can. */
export const callerKinds = ['management', 'inference', 'member'] as const
export type CallerKind = (typeof callerKinds)[number]

/**
 * schemathesis.toml for the operations of one kind of caller. The kinds are apart because management operations take
 * inference keys away: random requests also delete keys and workspaces.
 */
export function configFor(kind: CallerKind, headers: Record<string, string>): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  const line = `headers = { ${fields.join(', ')} }`
  return [general, ...operations.map((operation) => section(operation, kind, line))].join('\n')
}

/** The only kind that calls the operation. */
export function callerOf({ permission }: Operation): CallerKind {
  const keys = permission === 'public' ? 'management' : infoOf(permission).keys
  if (keys === 'none') return 'member'
  return keys === 'inference' ? 'inference' : 'management'
}

const general = `
seed = 1
continue-on-failure = true
request-timeout = 20
# The number of discarded examples says nothing about the server.
suppress-health-check = ["filter_too_much", "too_slow"]

[generation]
max-examples = 10
# Unknown query parameters are ignored.
allow-extra-parameters = false
# No text may contain U+0000; the document states it once.
allow-x00 = false

# The models that exist without any provider.
[dictionaries.models]
values = ["sandbox/echo", "sandbox/echo:free", "auto"]

[parameters]
"body.model" = { dictionary = "models", probability = 0.9 }

[phases.stateful]
enabled = false

[checks.not_a_server_error]
# Without network, providers cannot be reached: documented responses, unlike 500.
expected-statuses = ["2xx", "3xx", "4xx", 502, 503]
`

function section(operation: Operation, kind: CallerKind, headers: string): string {
  const { id, permission } = operation
  const isOurs = callerOf(operation) === kind
  const lines = ['', '[[operations]]', `include-operation-id = ${JSON.stringify(id)}`]
  lines.push(`enabled = ${isOurs}`)
  if (isOurs && permission !== 'public') lines.push(headers)
  if (Object.hasOwn(unstated, id)) lines.push('checks.positive_data_acceptance.enabled = false')
  return lines.join('\n')
}
