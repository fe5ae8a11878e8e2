import { RE2JS } from 're2js'
import { measureLongestMatch } from '../../platform/text/pattern.ts'
import type { DetectorSlug } from './detectors.ts'
import { type Flow, findWordStart, flows } from './flow.ts'
import { findFromEnd, isPlain } from './plain-text.ts'
import type { FilterRules } from './rules.ts'

/** The length of text that must follow the beginning of a match before the match is certain. */
export interface Reach {
  /** Characters without invisible ones; infinite if only the whole text decides. */
  characters: number
  /** Whether some matches are longer, but have no space in them. */
  hasLongWords: boolean
  /** Those of all filters; null if one has none. */
  flows: readonly Flow[] | null
}

/** The longest match of each detector, and what it looks at behind the match. */
const detectorReach: Readonly<Record<DetectorSlug, number>> = {
  email: 700,
  phone: 256,
  ssn: 64,
  'credit-card': 160,
  'ip-address': 128,
  'person-name': 512,
  address: 640,
  // The mark that begins a private key; the other formats are words.
  secrets: 160,
  // Encoded text has any length.
  'regex-prompt-injection': Number.POSITIVE_INFINITY,
}

/** A filter with a longer reach reads the whole text: more would hardly be a stream. */
const maxReach = 4096

/** Length above which a word is decided without its end: tokens of three parts, the longest secrets, are shorter. */
const maxWordLength = 16_384

/** The reach of all filters together. */
export function computeReach({ builtins, customs }: FilterRules): Reach {
  const reaches = [
    ...builtins.map(({ slug }) => detectorReach[slug]),
    // A pattern may look at the next character: `\b`.
    ...customs.map(({ pattern }) => measureLongestMatch(RE2JS.translateRegExp(pattern)) + 1),
  ]
  const characters = Math.max(0, ...reaches)
  return {
    characters: characters > maxReach ? Number.POSITIVE_INFINITY : characters,
    hasLongWords: builtins.some(({ slug }) => slug === 'secrets'),
    flows: customs.length > 0 ? null : collectFlows(builtins),
  }
}

function collectFlows(builtins: FilterRules['builtins']): Flow[] | null {
  const all = new Set(builtins.map(({ slug }) => flows[slug]))
  return all.has(undefined) ? null : [...all].filter((flow) => flow !== undefined)
}

/** The rules with a reach, and those that only the whole text decides. */
export function splitRules(rules: FilterRules): { bounded: FilterRules; unbounded: FilterRules } {
  const { builtins, customs } = rules
  const none = { builtins: [], customs: [] }
  const isBounded = (rule: Partial<FilterRules>) =>
    computeReach({ ...none, ...rule }).characters < Number.POSITIVE_INFINITY
  const select = (wantsBounded: boolean): FilterRules => ({
    ...rules,
    builtins: builtins.filter((rule) => isBounded({ builtins: [rule] }) === wantsBounded),
    customs: customs.filter((rule) => isBounded({ customs: [rule] }) === wantsBounded),
  })
  return { bounded: select(true), unbounded: select(false) }
}

/** The end of a text that decides where it is open: longer than any match that is not a word. */
const tailLength = 1024

/** Finds the end up to which nothing that may still follow the text changes its matches. */
export function findCertainEnd(text: string, { characters, hasLongWords, flows }: Reach): number {
  if (characters === Number.POSITIVE_INFINITY) return 0
  const reached = findFromEnd(text, characters)
  const least = Math.max(0, text.length - maxWordLength)
  const end = hasLongWords ? Math.min(reached, findWordStart(text, text.length, least)) : reached
  const start = Math.max(0, text.length - tailLength)
  const tail = text.slice(start)
  if (!flows || !isPlain(tail)) return end
  const open = Math.min(tail.length, ...flows.map(({ findOpen }) => findOpen(tail)))
  // What is open from the beginning of the end may have begun before it: a long token.
  return open === 0 ? end : Math.max(end, start + open)
}

/** Whether a text certainly has no match, nor the beginning of one before its open end; `from`: before this place is only context. */
export function isQuiet(text: string, from: number, { flows }: Reach): boolean {
  return flows !== null && isPlain(text) && !flows.some(({ mayMatch }) => mayMatch(text, from))
}
