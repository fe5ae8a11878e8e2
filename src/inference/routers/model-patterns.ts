import { invalidFieldError } from '../../platform/errors/gateway-error.ts'

/** Characters of all patterns of one list together. */
const maxPatternCharacters = 65_536

/** Whether a model's id matches one of the patterns; a pattern without a suffix also matches variants such as `:free`. */
export type ModelMatcher = (id: string) => boolean

interface Wildcard {
  /** No shorter name matches. */
  minLength: number
  prefix: string
  middle: string[]
  suffix: string
}

/** Compiles patterns. Throws a 400 that names the field if they are too long together. */
export function compileModelPatterns(patterns: readonly string[], field: string): ModelMatcher {
  let characters = 0
  for (const pattern of patterns) characters += pattern.length
  if (characters > maxPatternCharacters)
    throw invalidFieldError(field, `must have at most ${maxPatternCharacters} characters in total`)
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const wildcards = [...new Set(patterns)].filter((pattern) => pattern.includes('*')).map(splitWildcard)
  const matches = (name: string) =>
    exact.has(name) || wildcards.some((wildcard) => matchWildcard(wildcard, name))
  return (id) => {
    const suffix = id.indexOf(':')
    return matches(id) || (suffix > 0 && matches(id.slice(0, suffix)))
  }
}

function splitWildcard(pattern: string): Wildcard {
  const parts = pattern.split('*')
  const minLength = parts.reduce((sum, { length }) => sum + length, 0)
  const [prefix = '', ...rest] = parts
  return { minLength, prefix, suffix: rest.pop() ?? '', middle: rest.filter((text) => text !== '') }
}

/** Each part is searched from where the previous one ended: the time does not grow with the number of stars. */
function matchWildcard({ minLength, prefix, middle, suffix }: Wildcard, name: string): boolean {
  if (name.length < minLength || !name.startsWith(prefix) || !name.endsWith(suffix)) return false
  const end = name.length - suffix.length
  let at = prefix.length
  for (const text of middle) {
    const found = name.indexOf(text, at)
    if (found === -1 || found + text.length > end) return false
    at = found + text.length
  }
  return true
}
