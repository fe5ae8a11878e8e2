import { operations } from '../../../src/areas/all.ts'
import type { Operation } from '../../../src/http/operation.ts'
import { unstated } from './exceptions.ts'

export type KeyKind = 'management' | 'inference'

/**
 * schemathesis.toml for the operations of one kind of key. The kinds are apart because management operations take
 * inference keys away: random requests also delete keys and workspaces.
 */
export function configFor(kind: KeyKind, key: string): string {
  const header = `headers = { Authorization = ${JSON.stringify(`Bearer ${key}`)} }`
  return [general, ...operations.map((operation) => section(operation, kind, header))].join('\n')
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

function section({ id, access }: Operation, kind: KeyKind, header: string): string {
  const isOurs = (access === 'inference') === (kind === 'inference')
  const lines = ['', '[[operations]]', `include-operation-id = ${JSON.stringify(id)}`]
  lines.push(`enabled = ${isOurs}`)
  if (isOurs && access !== 'public') lines.push(header)
  if (Object.hasOwn(unstated, id)) lines.push('checks.positive_data_acceptance.enabled = false')
  return lines.join('\n')
}
