import type { Flag } from './schema.ts'

/** How values stand in columns that both databases have. */
export function toFlag(value: boolean): Flag
export function toFlag(value: boolean | null): Flag | null
export function toFlag(value: boolean | null): Flag | null {
  return value === null ? null : value ? 1 : 0
}

export function booleanOf(column: Flag | null): boolean | null {
  return column === null ? null : column === 1
}

/** What is said twice counts once. */
export function encodeList(list: readonly unknown[] | null | undefined): string | null {
  return list ? JSON.stringify([...new Set(list)]) : null
}

/** Only what the schema of a request let through is ever stored, so the type is what was written. */
export function decodeList<T>(text: string | null): T[] | null {
  return text === null ? null : (JSON.parse(text) as T[])
}
