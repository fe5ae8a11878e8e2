import { RE2JS } from 're2js'
import { estimateProgramSize, measureLongestMatch } from '../../platform/text/pattern.ts'
import { openProgram, type PatternProgram } from '../../platform/text/pattern-progress.ts'
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
  /** Those of the detectors; null if one has none. */
  flows: readonly Flow[] | null
  /** The custom patterns, to be followed in a stream; null if they are not. */
  programs: readonly PatternProgram[] | null
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

/** Larger programs together take longer for a character than is worth it: their longest match is held back. */
const maxFollowedSize = 256

/** The reach of all filters together. */
export function computeReach({ builtins, customs }: FilterRules): Reach {
  const characters = Math.max(reachOfDetectors(builtins), reachOfPatterns(customs))
  return {
    characters: characters > maxReach ? Number.POSITIVE_INFINITY : characters,
    hasLongWords: builtins.some(({ slug }) => slug === 'secrets'),
    flows: collectFlows(builtins),
    programs: customs.length > 0 ? null : [],
  }
}

/** The reach in a stream, where a match of a custom pattern has a window. */
export function computeStreamReach(rules: FilterRules): Reach {
  const { builtins, customs } = rules
  return {
    ...computeReach(rules),
    characters: Math.max(reachOfDetectors(builtins), Math.min(maxReach, reachOfPatterns(customs))),
    programs: openPrograms(customs),
  }
}

function reachOfDetectors(builtins: FilterRules['builtins']): number {
  return Math.max(0, ...builtins.map(({ slug }) => detectorReach[slug]))
}

function reachOfPatterns(customs: FilterRules['customs']): number {
  // A pattern may look at the next character: `\b`.
  return Math.max(0, ...customs.map(({ pattern }) => measureLongestMatch(RE2JS.translateRegExp(pattern)) + 1))
}

function openPrograms(customs: FilterRules['customs']): PatternProgram[] | null {
  const size = customs.reduce((sum, { pattern }) => sum + estimateProgramSize(pattern), 0)
  return size > maxFollowedSize ? null : customs.map(({ pattern }) => openProgram(pattern))
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

/**
 * Finds the end up to which nothing that may still follow the text changes its matches. `customOpen`: where a match of a
 * custom pattern may begin, if that is known.
 */
export function findCertainEnd(
  text: string,
  { characters, hasLongWords, flows, programs }: Reach,
  customOpen = programs?.length === 0 ? text.length : 0,
): number {
  if (characters === Number.POSITIVE_INFINITY) return 0
  const reached = findFromEnd(text, characters)
  const least = Math.max(0, text.length - maxWordLength)
  const end = hasLongWords ? Math.min(reached, findWordStart(text, text.length, least)) : reached
  const start = Math.max(0, text.length - tailLength)
  const tail = text.slice(start)
  if (!flows || !isPlain(tail)) return end
  const open = Math.min(tail.length, ...flows.map(({ findOpen }) => findOpen(tail)))
  // What is open from the beginning of the end may have begun before it: a long token.
  return open === 0 ? end : Math.max(end, Math.min(customOpen, start + open))
}

/** Whether a text certainly has no match of a detector, nor the beginning of one before its open end; `from`: before this place is only context. */
export function isQuiet(text: string, from: number, { flows }: Reach): boolean {
  return flows !== null && isPlain(text) && !flows.some(({ mayMatch }) => mayMatch(text, from))
}
