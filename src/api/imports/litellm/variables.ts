import { parseEnv } from 'node:util'

export type Variables = Readonly<Record<string, string | undefined>>

const prefix = 'os.environ/'

/** Names of variables that a value refers to and that are not set. */
export interface Resolved {
  value: unknown
  missing: string[]
}

/** Replaces `os.environ/NAME` in every text of a value. */
export function resolveVariables(value: unknown, variables: Variables): Resolved {
  const missing: string[] = []
  const resolve = (part: unknown): unknown => {
    if (typeof part === 'string' && part.startsWith(prefix)) {
      const name = part.slice(prefix.length)
      const found = variables[name]
      if (found === undefined) missing.push(name)
      return found
    }
    if (Array.isArray(part)) return part.map(resolve)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, resolve(inner)]))
  }
  return { value: resolve(value), missing }
}

/** Reads a file of `NAME=value` lines. */
export function parseVariables(text: string): Variables {
  return parseEnv(text)
}
