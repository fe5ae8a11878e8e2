/** An array or an object. */
export interface ListNode {
  kind: 'list'
  brackets: '[]' | '{}'
  entries: readonly (readonly [name: string, value: unknown])[]
}

/** A value of JSON as the tree shows it. */
export type JsonNode = ListNode | { kind: 'text'; text: string } | { kind: 'plain'; text: string }

export function nodeOf(value: unknown): JsonNode {
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value !== 'object' || value === null) return { kind: 'plain', text: String(value) }
  if (Array.isArray(value))
    return {
      kind: 'list',
      brackets: '[]',
      entries: value.map((item, index) => [String(index), item] as const),
    }
  return { kind: 'list', brackets: '{}', entries: Object.entries(value) }
}

/** The content of a collapsed node. */
export function summaryOf({ brackets, entries }: ListNode): string {
  if (entries.length === 0) return brackets
  const noun = brackets === '[]' ? 'item' : 'field'
  return `${entries.length} ${noun}${entries.length === 1 ? '' : 's'}`
}

/** Characters of a text that are shown at first, and how many more with each click. */
export const textStep = 2000
/** Entries of a list, likewise. */
export const entryStep = 50
