import type { Flag } from './schema.ts'

/** Converts a boolean to the number that both databases store. */
export function toFlag(value: boolean): Flag
export function toFlag(value: boolean | null): Flag | null
export function toFlag(value: boolean | null): Flag | null {
  return value === null ? null : value ? 1 : 0
}

export function booleanOf(column: Flag | null): boolean | null {
  return column === null ? null : column === 1
}

/** Duplicates count once. */
export function encodeList(list: readonly unknown[] | null | undefined): string | null {
  return list ? JSON.stringify([...new Set(list)]) : null
}

/** Only values that the schema of a request accepted are ever stored, so the type is known. */
export function decodeList<T>(text: string | null): T[] | null {
  return text === null ? null : (JSON.parse(text) as T[])
}
