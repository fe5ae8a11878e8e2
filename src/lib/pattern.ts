import { RE2JS, RE2JSException } from 're2js'

/** A pattern that the engine cannot run, or that would cost too much; the message is for whoever wrote it. */
export class PatternError extends Error {}

/** A regular expression of a user, on an engine whose time grows with the text alone. */
export interface Pattern {
  readonly source: string
  /** Instructions of the compiled program: what it costs in memory, and in time for each character. */
  readonly size: number
  /** Whether it occurs anywhere in the text. */
  test(text: string): boolean
  /** The text with a label in the place of each match. */
  redact(text: string, label: string): string
}

/** Ten repetitions of a thousand: a short text must not unfold into a program of millions. */
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

/** Each alternative is bounded or ends the scan where it fails, so that no text makes it slow. */
const tokenPattern =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]{0,64}\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w{1,16}:\]|[^\]\\])*\]|\{\d{1,4}(?:,\d{0,4})?\}|[^[]/uy

/** At least the size of the program, known before it is built: building is what must not get out of hand. */
function estimateProgramSize(text: string): number {
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
  /** Size of what a repetition would repeat. */
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

/** What `{2}`, `{2,}` or `{2,5}` adds; an optional copy needs a branch of its own. */
function computeRepetitionSize(size: number, repetition: string): number {
  const count = Math.max(1, ...repetition.slice(1, -1).split(',').map(Number))
  return size * (count - 1) + (repetition.includes(',') ? count : 1)
}

/** What several patterns may cost together: each text is held against them all. */
export class PatternBudget {
  #characters: number
  #size: number

  constructor(limits: { characters: number; size: number }) {
    this.#characters = limits.characters
    this.#size = limits.size
  }

  /** Why the next pattern cannot be used, or null. Too many characters are not even compiled. */
  findProblem(source: string): string | null {
    this.#characters -= source.length
    if (this.#characters < 0) return 'with those before it, has too many characters'
    try {
      this.#size -= compilePattern(source).size
    } catch (error) {
      if (error instanceof PatternError) return error.message
      throw error
    }
    return this.#size < 0 ? 'with those before it, is too large' : null
  }
}
