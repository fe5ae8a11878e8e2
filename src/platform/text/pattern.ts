import { RE2JS, RE2JSException } from 're2js'

/** A pattern that the engine does not support or that is too expensive; the message is for its author. */
export class PatternError extends Error {}

/** A user's regular expression, on an engine that runs in linear time. */
export interface Pattern {
  readonly source: string
  /** Instructions of the compiled program: its memory, and its time per character. */
  readonly size: number
  test(text: string): boolean
  /** Replaces each match with the label. */
  redact(text: string, label: string): string
}

/** Ten repetitions of a thousand: a short pattern must not compile to millions of instructions. */
const maxGrowth = 10_000

const maxReasonLength = 200

export function compilePattern(source: string): Pattern {
  const text = RE2JS.translateRegExp(source)
  if (estimateProgramSize(text) > text.length + maxGrowth) {
    throw new PatternError('its repetitions make it too large; use smaller counts')
  }
  const program = compile(text)
  return {
    source,
    size: program.programSize(),
    test: (input) => program.test(input),
    redact: (input, label) => program.matcher(input).replaceAll(RE2JS.quoteReplacement(label)),
  }
}

function compile(text: string): RE2JS {
  try {
    return RE2JS.compile(text)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const reason = error.message.replace(/^error parsing regexp: /, '').slice(0, maxReasonLength)
    throw new PatternError(reason, { cause: error })
  }
}

/** Each alternative is bounded or ends the scan where it fails, so that no pattern makes it slow. */
const tokenPattern =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]{0,64}\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w{1,16}:\]|[^\]\\])*\]|\{\d{1,4}(?:,\d{0,4})?\}|[^[]/uy

/** An upper bound of the program size, known before compiling, which is what must stay bounded. */
export function estimateProgramSize(text: string): number {
  const groups = [{ total: 0, last: 0 }]
  tokenPattern.lastIndex = 0
  for (let match = tokenPattern.exec(text); match; match = tokenPattern.exec(text)) {
    const group = groups.at(-1)
    if (group) addToken(groups, group, match[0])
  }
  return groups.reduce((sum, { total }) => sum + total, 0)
}

interface Group {
  total: number
  /** Size of the part that a repetition would repeat. */
  last: number
}

function addToken(groups: Group[], group: Group, tokenText: string): void {
  if (tokenText === '(') groups.push({ total: 2, last: 0 })
  else if (tokenText === ')') closeGroup(groups)
  else if (/^\{\d/.test(tokenText)) addSize(group, computeRepetitionSize(group.last, tokenText))
  else if (/^[*+?]$/.test(tokenText)) addSize(group, 1)
  else {
    group.last = 0
    addSize(group, tokenText.startsWith('\\Q') ? tokenText.length : 1)
  }
}

function addSize(group: Group, size: number): void {
  group.total += size
  group.last += size
}

function closeGroup(groups: Group[]): void {
  if (groups.length === 1) return
  const inner = groups.pop()
  const outer = groups.at(-1)
  if (!inner || !outer) return
  outer.last = 0
  addSize(outer, inner.total)
}

/** The size that `{2}`, `{2,}` or `{2,5}` adds; an optional copy needs an extra branch. */
function computeRepetitionSize(size: number, repetition: string): number {
  const count = Math.max(1, ...repetition.slice(1, -1).split(',').map(Number))
  return size * (count - 1) + (repetition.includes(',') ? count : 1)
}

interface Alternatives {
  /** Length of the longest earlier alternative. */
  longest: number
  /** Length of the current alternative so far. */
  length: number
  /** Length of the part that a repetition would repeat. */
  last: number
}

/** An upper bound of the length of a match; infinite if a repetition has no limit. */
export function measureLongestMatch(text: string): number {
  const groups: Alternatives[] = [{ longest: 0, length: 0, last: 0 }]
  let end = 0
  tokenPattern.lastIndex = 0
  for (let match = tokenPattern.exec(text); match; match = tokenPattern.exec(text)) {
    end = tokenPattern.lastIndex
    const group = groups.at(-1)
    if (match[0] === '(') groups.push({ longest: 0, length: 0, last: 0 })
    else if (match[0] === ')') endGroup(groups)
    else if (group) lengthen(group, match[0])
  }
  return end < text.length
    ? Number.POSITIVE_INFINITY
    : groups.reduce((sum, group) => sum + longestOf(group), 0)
}

function endGroup(groups: Alternatives[]): void {
  const inner = groups.length > 1 ? groups.pop() : undefined
  const outer = groups.at(-1)
  if (!inner || !outer) return
  outer.last = longestOf(inner)
  outer.length += outer.last
}

function longestOf({ longest, length }: Alternatives): number {
  return Math.max(longest, length)
}

function lengthen(group: Alternatives, tokenText: string): void {
  if (tokenText === '|') Object.assign(group, { longest: longestOf(group), length: 0, last: 0 })
  else if (/^\{\d/.test(tokenText)) repeat(group, tokenText)
  else if (/^[*+]$/.test(tokenText)) repeat(group, '{0,}')
  else if (tokenText !== '?') {
    // A character outside the basic plane is two.
    group.last = tokenText.startsWith('\\Q') ? tokenText.length : 2
    group.length += group.last
  }
}

function repeat(group: Alternatives, repetition: string): void {
  const most = repetition.slice(1, -1).split(',').at(-1)
  const count = most === '' ? Number.POSITIVE_INFINITY : Math.max(1, Number(most))
  if (group.last === 0 || count === 1) return
  group.length += group.last * (count - 1)
  group.last *= count
}

/** The total cost of several patterns, which are all run on each text. */
export class PatternBudget {
  #characters: number
  #size: number

  constructor(limits: { characters: number; size: number }) {
    this.#characters = limits.characters
    this.#size = limits.size
  }

  /** The reason the next pattern is not allowed, or null. A pattern with too many characters is not compiled. */
  findProblem(source: string): string | null {
    this.#characters -= source.length
    if (this.#characters < 0)
      return 'exceeds the maximum total length of all patterns; shorten or remove some'
    try {
      this.#size -= compilePattern(source).size
    } catch (error) {
      if (error instanceof PatternError) return error.message
      throw error
    }
    return this.#size < 0 ? 'exceeds the maximum total size of all patterns; simplify or remove some' : null
  }
}
