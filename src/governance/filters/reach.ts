import { RE2JS } from 're2js'
import { measureLongestMatch } from '../../platform/text/pattern.ts'
import type { DetectorSlug } from './detectors.ts'
import { findFromEnd } from './plain-text.ts'
import type { FilterRules } from './rules.ts'

/** The length of text that must follow the beginning of a match before the match is certain. */
export interface Reach {
  /** Characters without invisible ones; infinite if only the whole text decides. */
  characters: number
  /** Whether some matches are longer, but have no space in them. */
  hasLongWords: boolean
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
  }
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

/** Finds the end up to which nothing that may still follow the text changes its matches. */
export function findCertainEnd(text: string, { characters, hasLongWords }: Reach): number {
  if (characters === Number.POSITIVE_INFINITY) return 0
  const end = findFromEnd(text, characters)
  return hasLongWords ? Math.min(end, findLastWord(text)) : end
}

/** A byte order mark is a space for the engine, and invisible for the filters. */
const space = /[^\S\ufeff]/

function findLastWord(text: string): number {
  const least = Math.max(0, text.length - maxWordLength)
  let start = text.length
  while (start > least && !space.test(text.charAt(start - 1))) start--
  return start
}
