import { z } from 'zod'
import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { KeyName } from '../../../identity/record-names.ts'

const maxSample = 10
/** Keys, members and workspaces that are listed, those with the most rejections first. */
const maxListed = 100

const outcomeFields = {
  rejected: z.int().describe('Requests that no endpoint, or no budget, would have been left for.'),
  moved: z.int().describe('Requests that another endpoint of the model would have served.'),
}
const countFields = { requests: z.int(), ...outcomeFields }

export const requestTotals = z
  .strictObject({
    from: z.string().describe('Requests that arrived at this time or later.'),
    examined: z.int(),
    is_complete: z.boolean().describe('Whether all requests of the period were examined.'),
    ...outcomeFields,
    undecided: z
      .int()
      .describe(
        'Requests whose model or endpoint no longer exists, or whose BYOK key decides about retention.',
      ),
    rules: z.array(z.strictObject({ field: z.string(), ...outcomeFields })),
    keys: z.array(
      z.strictObject({
        api_key_hash: z.string().nullable().describe('null if the key was deleted.'),
        api_key_name: z.string().nullable(),
        ...countFields,
      }),
    ),
    members: z.array(z.strictObject({ user_id: z.string().nullable(), ...countFields })),
    workspaces: z.array(z.strictObject({ workspace_id: z.string(), ...countFields })),
    sample: z.array(z.string()).describe(`The newest rejected generations, at most ${maxSample}.`),
  })
  .meta({ id: 'GuardrailRequests' })

/** What one request would have met; `field` is that of the guardrail. */
export type PastOutcome =
  | { kind: 'allowed' | 'undecided'; field: null }
  | { kind: 'rejected' | 'moved'; field: string }

/** The part of a record that is counted. */
export type CountedRequest = Pick<GenerationRow, 'id' | 'key_id' | 'user_id' | 'workspace_id'>

interface Counts {
  requests: number
  rejected: number
  moved: number
}

/** Adds up outcomes of past requests, newest first. */
export class RequestTotals {
  examined = 0
  #rejected = 0
  #moved = 0
  #undecided = 0
  readonly #rules = new Map<string, Counts>()
  readonly #keys = new Map<number, Counts>()
  readonly #members = new Map<string | null, Counts>()
  readonly #workspaces = new Map<string, Counts>()
  readonly #sample: string[] = []

  add({ id, key_id, user_id, workspace_id }: CountedRequest, { kind, field }: PastOutcome): void {
    this.examined++
    if (kind === 'undecided') this.#undecided++
    if (kind === 'moved') this.#moved++
    if (kind === 'rejected') {
      this.#rejected++
      if (this.#sample.length < maxSample) this.#sample.push(id)
    }
    const counts = [
      entryOf(this.#keys, key_id),
      entryOf(this.#members, user_id),
      entryOf(this.#workspaces, workspace_id),
      ...(field === null ? [] : [entryOf(this.#rules, field)]),
    ]
    for (const count of counts) {
      count.requests++
      if (kind === 'rejected' || kind === 'moved') count[kind]++
    }
  }

  get keyIds(): number[] {
    return listFirst(this.#keys).map(([id]) => id)
  }

  toRecord(names: ReadonlyMap<number, KeyName>): Omit<z.input<typeof requestTotals>, 'from' | 'is_complete'> {
    return {
      examined: this.examined,
      rejected: this.#rejected,
      moved: this.#moved,
      undecided: this.#undecided,
      rules: listFirst(this.#rules).map(([field, { rejected, moved }]) => ({ field, rejected, moved })),
      keys: listFirst(this.#keys).map(([id, counts]) => ({
        api_key_hash: names.get(id)?.hash ?? null,
        api_key_name: names.get(id)?.name ?? null,
        ...counts,
      })),
      members: listFirst(this.#members).map(([user_id, counts]) => ({ user_id, ...counts })),
      workspaces: listFirst(this.#workspaces).map(([workspace_id, counts]) => ({ workspace_id, ...counts })),
      sample: this.#sample,
    }
  }
}

function entryOf<K>(map: Map<K, Counts>, key: K): Counts {
  const known = map.get(key) ?? { requests: 0, rejected: 0, moved: 0 }
  map.set(key, known)
  return known
}

function listFirst<K>(map: ReadonlyMap<K, Counts>): [K, Counts][] {
  return [...map]
    .toSorted(([, a], [, b]) => b.rejected - a.rejected || b.moved - a.moved || b.requests - a.requests)
    .slice(0, maxListed)
}
